package call

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/scriptorium-dev/scriptorium/internal/artifact"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/run"
	"github.com/scriptorium-dev/scriptorium/runner"
)

// Bounds of what a call's folder of outputs is looked at for.
const (
	// maxOutputs is how many names are looked at, MaxLeft how many of those that were left on the computer are kept (SDL: Call.leftOnComputer).
	maxOutputs = 10_000
	MaxLeft    = 1000
	// maxLines and maxLineBytes bound what the model reads of files that were left.
	maxLines     = 100
	maxLineBytes = 16 << 10
	// maxHardLinks is how many files with several names are passed over in the search for those that are kept.
	maxHardLinks = 100
	// collectTime bounds how long a call's files are kept, lookTime how long those of a stopped one are listed.
	collectTime = time.Minute
	lookTime    = 3 * time.Second
)

// outputs are the files that a call made in its folder of outputs, by name, byte by byte (S2-art, S2-left).
type outputs struct {
	names []string             // as they are
	kept  []*artifact.Artifact // those that are kept, in their order
	more  bool                 // there are more than maxOutputs
}

// collect keeps what the call made, where its key has ARTIFACTS, and lists the rest. What cannot be read or kept is left on the computer: the call has ended all the
// same.
func (s *Service) collect(ctx context.Context, m *run.Machine, c *claimed, o *outcome) *outputs {
	if !o.ran || !o.result.Made || o.code == OutOfMemory || o.status == Lost {
		return &outputs{}
	}
	stopped := ctx.Err() != nil // nobody waits for its files
	patience := collectTime
	if stopped {
		ctx, patience = context.WithoutCancel(ctx), lookTime
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	read := runner.Read{Path: folder(c.ID) + "/outputs", MaxEntries: maxOutputs}
	made, files, links := &outputs{}, 0, 0
	report, err := m.Read(ctx, read, func(e runner.Entry, _ io.Reader) error {
		made.names = append(made.names, e.Path)
		switch {
		case !mayBeKept(e):
		case e.Links > 1:
			links++
		default:
			files++
		}
		return nil
	})
	if err != nil {
		s.log.WarnContext(ctx, "the files of a call cannot be listed", "call", c.ID, "error", err)
	}
	made.more = report.Truncated
	if files == 0 || stopped || err != nil || !s.mayKeep(ctx, c) {
		return made
	}
	read.MaxFiles = artifact.MaxPerCall + min(links, maxHardLinks)
	read.MaxFileBytes, read.MaxBytes = artifact.MaxBytes, artifact.MaxBytes*int64(read.MaxFiles)
	_, err = m.Read(ctx, read, func(e runner.Entry, content io.Reader) error {
		if content == nil || !mayBeKept(e) || e.Links > 1 || len(made.kept) == artifact.MaxPerCall {
			return nil
		}
		a, err := s.artifacts.Keep(ctx, e.Path, content)
		if err == nil {
			made.kept = append(made.kept, a)
		}
		return err
	})
	if err != nil {
		s.log.ErrorContext(ctx, "files of a call cannot be kept: they are left on its computer", "call", c.ID, "error", err)
	}
	return made
}

// mayBeKept says whether an entry is a file within the bounds. One that has several names is a link, too: see collect.
func mayBeKept(e runner.Entry) bool {
	return e.Type == runner.EntryFile && e.Size <= artifact.MaxBytes
}

// mayKeep says whether the key of a call has ARTIFACTS.
func (s *Service) mayKeep(ctx context.Context, c *claimed) bool {
	keys, err := s.keys.ByIDs(ctx, c.OrganizationID, []string{c.KeyID})
	if err != nil {
		s.log.ErrorContext(ctx, "whether files of a call may be kept is not known: they are left on its computer", "call", c.ID, "error", err)
	}
	k := keys[c.KeyID]
	return k != nil && (&key.Viewer{Key: k}).Has(key.Artifacts)
}

// isKept says which of the names are kept.
func (o *outputs) isKept() map[string]bool {
	kept := make(map[string]bool, len(o.kept))
	for _, a := range o.kept {
		kept[string(a.Bytes)] = true
	}
	return kept
}

// left are the names of what was left on the computer, at most MaxLeft, as text.
func (o *outputs) left() []string {
	kept := o.isKept()
	var left []string
	for _, name := range o.names {
		if !kept[name] && len(left) < MaxLeft {
			left = append(left, artifact.Readable([]byte(name)))
		}
	}
	return left
}

// write appends the block of files, where there are any: a line each, by name. What is kept is always told; of what was left, so much as fits, and how much
// more there is.
func (o *outputs) write(to *bytes.Buffer) {
	if o == nil || len(o.names) == 0 {
		return
	}
	to.WriteString("files:\n")
	kept := o.isKept()
	lines, size, omitted := 0, 0, 0
	for _, name := range o.names {
		if kept[name] {
			to.WriteString(shown(name) + ": kept as an artifact\n")
			continue
		}
		line := shown(name) + ": left on the computer\n"
		if omitted > 0 || lines == maxLines || size+len(line) > maxLineBytes {
			omitted++
			continue
		}
		lines, size = lines+1, size+len(line)
		to.WriteString(line)
	}
	switch {
	case o.more:
		fmt.Fprintf(to, "[more than %d others left on the computer]\n", omitted)
	case omitted > 0:
		fmt.Fprintf(to, "[%d others left on the computer]\n", omitted)
	}
}

// shown is a file's name as the model reads it: with control characters as a JSON string.
func shown(name string) string {
	text := artifact.Readable([]byte(name))
	if !strings.ContainsFunc(text, unicode.IsControl) {
		return text
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return fmt.Sprintf("%q", text) // no text fails
	}
	var quoted strings.Builder
	for _, r := range strings.TrimSuffix(b.String(), "\n") {
		if unicode.IsControl(r) { // JSON lets those behind U+007E be
			fmt.Fprintf(&quoted, `\u%04x`, r)
			continue
		}
		quoted.WriteRune(r)
	}
	return quoted.String()
}
