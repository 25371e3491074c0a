package file

import (
	"context"
	"errors"
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/upload"
)

const (
	// MaxUpload is the largest upload, in bytes.
	MaxUpload = 32 << 20
	// maxFilename is the longest name of an upload, in bytes of UTF-8: what file systems hold.
	maxFilename = 255
	// maxContentType is the longest content type that is kept, in bytes.
	maxContentType = 255
	anyBytes       = "application/octet-stream"
)

// UploadInput is what fileUpload takes.
type UploadInput struct {
	File *upload.Upload
}

// UploadPayload is what fileUpload answers.
type UploadPayload struct {
	File       *File
	UserErrors []fault.UserError
}

// Upload keeps a file that came with a request. It needs FILES.
func (s *Service) Upload(ctx context.Context, in UploadInput) (*UploadPayload, error) {
	v, err := key.Permitted(ctx, key.Files)
	if err != nil {
		return nil, err
	}
	f := &File{
		ID: id.New(id.File), OrganizationID: v.Organization.ID, KeyID: v.Key.ID, Filename: in.File.Filename, ContentType: contentType(in.File.ContentType),
		CreatedAt: s.now(),
	}
	if err = checkFilename("input.file", f.Filename); err == nil {
		err = s.keepUpload(ctx, f, in.File)
	}
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &UploadPayload{UserErrors: refused}, err
	}
	return &UploadPayload{File: f, UserErrors: refused}, nil
}

// keepUpload keeps an upload's bytes, then its row.
func (s *Service) keepUpload(ctx context.Context, f *File, u *upload.Upload) error {
	if _, err := u.Content.Seek(0, 0); err != nil {
		return err
	}
	c, err := s.Keep(ctx, u.Content, MaxUpload)
	if errors.Is(err, ErrTooLarge) {
		return fault.Plain(fault.TooLarge, "input.file", "input.file is larger than %d bytes", MaxUpload)
	}
	if err != nil {
		return err
	}
	f.SHA256, f.Size = c.SHA256, int(c.Size)
	return s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		if err := s.Refer(ctx, tx, c); err != nil {
			return err
		}
		return insert(ctx, tx, f)
	})
}

// checkFilename holds the rules about an upload's name: it can be a file's name on a computer, and shown.
func checkFilename(path, name string) error {
	odd := func(r rune) bool { return unicode.IsControl(r) || r == '/' || r == '\\' }
	switch {
	case !utf8.ValidString(name) || strings.ContainsFunc(name, odd):
		return fault.Plain(fault.Invalid, path, `%s: its name is not valid UTF-8, or holds control characters, / or \`, path)
	case strings.TrimSpace(name) == "" || name == "." || name == "..":
		return fault.Plain(fault.Invalid, path, "%s has no name: send a filename", path)
	case len(name) > maxFilename:
		return fault.Plain(fault.Invalid, path, "%s: its name is longer than %d bytes", path, maxFilename)
	}
	return nil
}

// contentType answers what a client says that a file is, where it says so properly.
func contentType(said string) string {
	media, params, err := mime.ParseMediaType(said)
	if err != nil || !strings.Contains(media, "/") {
		return anyBytes
	}
	if formatted := mime.FormatMediaType(media, params); formatted != "" && len(formatted) <= maxContentType {
		return formatted
	}
	return anyBytes
}
