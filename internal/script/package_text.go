package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// maxText is how many bytes a file has whose text is answered.
const maxText = MaxSource

// TextBudget is how many bytes of files' texts one query still reads.
type TextBudget struct{ spent atomic.Int64 }

// take takes bytes out of the budget, or refuses them.
func (b *TextBudget) take(n int64) error {
	if b.spent.Add(n) > MaxSources {
		return fault.NewProblem(fault.LimitExceeded, "these files are more than %d bytes: ask for fewer at a time", MaxSources)
	}
	return nil
}

// TextKey names the text of the file for Texts: files of the same content have the same.
func (f *VersionFile) TextKey() string { return f.SHA256 + " " + strconv.FormatInt(f.Size, 10) }

// Texts answers the texts of contents by their TextKeys: nil where it is no UTF-8, or too large.
func (s *Service) Texts(ctx context.Context, keys []string, budget *TextBudget) (map[string]*string, error) {
	texts := make(map[string]*string, len(keys))
	for _, key := range keys {
		sha256, decimal, _ := strings.Cut(key, " ")
		size, err := strconv.ParseInt(decimal, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("script: the key of a text: %w", err)
		}
		if size > maxText {
			continue
		}
		if err := budget.take(size); err != nil {
			return nil, err
		}
		text, err := s.read(ctx, sha256)
		if err != nil {
			return nil, err
		}
		if utf8.ValidString(text) {
			texts[key] = &text
		}
	}
	return texts, nil
}

// read reads one content.
func (s *Service) read(ctx context.Context, sha256 string) (string, error) {
	r, err := s.files.OpenContent(ctx, sha256, 0, -1)
	if err != nil {
		return "", err
	}
	raw, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		return "", fmt.Errorf("script: read a file: %w", err)
	}
	return string(raw), nil
}

// EntryTexts answers, by the version's id, the text of the file that each package's entrypoint names, as Texts does.
func (s *Service) EntryTexts(ctx context.Context, organizationID string, versionIDs []string, budget *TextBudget) (map[string]*string, error) {
	files, err := entryFiles(ctx, s.db.SQL(), organizationID, versionIDs)
	if err != nil {
		return nil, err
	}
	keys := map[string]bool{}
	for _, f := range files {
		keys[f.TextKey()] = true
	}
	var distinct []string
	for key := range keys {
		distinct = append(distinct, key)
	}
	texts, err := s.Texts(ctx, distinct, budget)
	found := make(map[string]*string, len(files))
	for _, f := range files {
		found[f.VersionID] = texts[f.TextKey()]
	}
	return found, err
}
