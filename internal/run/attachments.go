package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/file"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/runner"
)

// Bounds of a run's attachments.
const (
	MaxAttachments     = 32
	MaxAttachmentBytes = 32 << 20 // each
	MaxAttachedBytes   = 64 << 20 // together
	maxAttachmentName  = 255      // in bytes: what a computer's folder takes
	attachmentMode     = 0o644
	attachmentsPath    = "input.attachments"
)

// reservedNames are those in a computer's /workspace that are the system's.
var reservedNames = []string{".", "..", ".calls"}

// checkAttachments holds the rules about attachments by themselves.
func checkAttachments(v *key.Viewer, ids []string) error {
	switch {
	case len(ids) > 0 && !v.Has(key.Files):
		return fault.Plain(fault.Forbidden, attachmentsPath, "%s: your key does not have %s", attachmentsPath, key.Files)
	case len(ids) > MaxAttachments:
		return fault.Plain(fault.TooLarge, attachmentsPath, "%s has %d files; %d are allowed", attachmentsPath, len(ids), MaxAttachments)
	}
	return nil
}

// attach copies uploads to a new run, in the transaction that writes it: what becomes of the uploads is nothing to the run.
func (s *Service) attach(ctx context.Context, tx *database.Tx, r *Run, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	uploads, err := s.files.Uploads(ctx, tx.SQL(), r.OrganizationID, id.Only(id.File, ids))
	if err != nil {
		return err
	}
	files := make([]*file.File, 0, len(ids))
	contents := make([]file.Content, 0, len(ids))
	var faults []error
	size := 0
	for i, id := range ids {
		f := uploads[id]
		if err := checkAttachment(fmt.Sprintf("%s.%d", attachmentsPath, i), f, files); err != nil {
			faults = append(faults, err)
			continue
		}
		files, contents, size = append(files, f), append(contents, file.Content{SHA256: f.SHA256, Size: int64(f.Size)}), size+f.Size
	}
	if len(faults) == 0 && size > MaxAttachedBytes {
		faults = append(faults, fault.Plain(fault.TooLarge, attachmentsPath, "%s have %d bytes together; %d are allowed", attachmentsPath, size, MaxAttachedBytes))
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	if err := s.files.Refer(ctx, tx, contents...); err != nil {
		return err
	}
	return s.files.InsertAttachments(ctx, tx, r.OrganizationID, r.ID, files)
}

// checkAttachment says why a file cannot be attached beside others.
func checkAttachment(path string, f *file.File, others []*file.File) error {
	switch {
	case f == nil:
		return fault.Plain(fault.NotFound, path, "%s: there is no such file", path)
	case slices.Contains(reservedNames, f.Filename) || len(f.Filename) > maxAttachmentName || strings.ContainsAny(f.Filename, "/\x00"):
		return fault.Plain(fault.Invalid, path, "%s: a file cannot be attached under the name %.64s", path, f.Filename)
	case slices.ContainsFunc(others, func(o *file.File) bool { return o.Filename == f.Filename }):
		return fault.Plain(fault.Invalid, path, "%s: another attachment has the name %.64s, too", path, f.Filename)
	case f.Size > MaxAttachmentBytes:
		return fault.Plain(fault.TooLarge, path, "%s has %d bytes; %d are allowed", path, f.Size, MaxAttachmentBytes)
	}
	return nil
}

// Attachments answers the files that runs were given, each by its run's id, in one statement.
func (s *Service) Attachments(ctx context.Context, organizationID string, runIDs []string) (map[string][]*file.File, error) {
	found, err := s.files.Attachments(ctx, s.db.SQL(), organizationID, runIDs)
	if err != nil {
		return nil, err
	}
	for _, id := range runIDs {
		if found[id] == nil {
			found[id] = []*file.File{}
		}
	}
	return found, nil
}

// bringAttachments writes the run's attachments to a new computer's /workspace, as the scripts' own files.
func (m *Machine) bringAttachments(ctx context.Context) error {
	if !m.attachments {
		return nil
	}
	all, err := m.host.config.Files.Attachments(ctx, m.host.db.SQL(), m.OrganizationID, []string{m.RunID})
	if err != nil {
		return err
	}
	var changes []runner.FileChange
	size := 0
	flush := func() error {
		_, err := m.computer.Files(ctx, changes)
		changes, size = nil, 0
		return err
	}
	for _, f := range all[m.RunID] {
		content, err := m.host.readContent(ctx, f)
		if err != nil {
			return errors.Join(runner.ErrUnavailable, err)
		}
		if size > 0 && size+len(content) > filesAtOnce {
			if err := flush(); err != nil {
				return err
			}
		}
		size += len(content)
		changes = append(changes, runner.FileChange{
			Op: runner.FileWrite, Path: Workspace + "/" + f.Filename, Mode: attachmentMode, UID: runner.ScriptUser, GID: runner.ScriptUser, Content: content,
		})
	}
	return flush()
}

// readContent reads a whole attachment.
func (h *Host) readContent(ctx context.Context, f *file.File) ([]byte, error) {
	r, err := h.config.Files.OpenContent(ctx, f.SHA256, 0, -1)
	if err != nil {
		return nil, fmt.Errorf("run: the attachment %s: %w", f.ID, err)
	}
	defer r.Close() //nolint:errcheck // it was read
	content := make([]byte, f.Size)
	if _, err := io.ReadFull(r, content); err != nil {
		return nil, fmt.Errorf("run: the attachment %s: %w", f.ID, err)
	}
	return content, nil
}
