package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// maxText is how many bytes a file has whose text is answered.
const maxText = MaxSource

// TextKey names the text of the file for Texts: files of the same content have the same.
func (f *VersionFile) TextKey() string { return f.SHA256 + " " + strconv.FormatInt(f.Size, 10) }

// Texts answers the texts of contents by their TextKeys: nil where it is no UTF-8, or too large. They are as many bytes as MaxSources at most.
func (s *Service) Texts(ctx context.Context, _ string, keys []string) (map[string]*string, error) {
	total := int64(0)
	sizes := make(map[string]int64, len(keys))
	for _, key := range keys {
		_, decimal, _ := strings.Cut(key, " ")
		size, err := strconv.ParseInt(decimal, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("script: the key of a text: %w", err)
		}
		if size > maxText {
			continue
		}
		if total += size; total > MaxSources {
			return nil, fault.NewProblem(fault.LimitExceeded, "these files are more than %d bytes: ask for fewer at a time", MaxSources)
		}
		sizes[key] = size
	}
	texts := make(map[string]*string, len(sizes))
	for key := range sizes {
		sha256, _, _ := strings.Cut(key, " ")
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
func (s *Service) EntryTexts(ctx context.Context, organizationID string, versionIDs []string) (map[string]*string, error) {
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
	texts, err := s.Texts(ctx, organizationID, distinct)
	found := make(map[string]*string, len(files))
	for _, f := range files {
		found[f.VersionID] = texts[f.TextKey()]
	}
	return found, err
}
