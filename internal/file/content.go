package file

import (
	"context"
	"errors"
	"io"

	"github.com/scriptorium-dev/scriptorium/internal/blob"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// Content is bytes that are kept.
type Content struct {
	SHA256 string // lower-case hex
	Size   int64
}

// ErrTooLarge: there are more bytes than the limit.
var ErrTooLarge = errors.New("file: more bytes than allowed")

// Keep keeps bytes up to their end, before a transaction that will refer to them. They are safe from the collector for at least an hour. ErrTooLarge past the
// limit: then nothing is kept.
func (s *Service) Keep(ctx context.Context, r io.Reader, limit int64) (Content, error) {
	// They are noted first: a collector that has chosen the same bytes is done with them by then, or finds them touched.
	ref, err := s.blobs.PutAfter(ctx, r, limit, func(ref blob.Ref) error {
		return s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
			return touch(ctx, tx, Content{SHA256: ref.SHA256, Size: ref.Size}, s.now())
		})
	})
	if errors.Is(err, blob.ErrTooLarge) {
		return Content{}, ErrTooLarge
	}
	return Content{SHA256: ref.SHA256, Size: ref.Size}, err
}

// Refer is called in the transaction that writes rows which refer to contents: it locks and touches them until the transaction ends. One that was collected
// meanwhile is an UNAVAILABLE Problem: it must be kept again.
func (s *Service) Refer(ctx context.Context, tx *database.Tx, contents ...Content) error {
	ids := make([]string, len(contents))
	wanted := map[string]bool{}
	for i, c := range contents {
		ids[i] = c.SHA256
		wanted[c.SHA256] = true
	}
	found, err := lockContents(ctx, tx, ids, s.now())
	if err != nil {
		return err
	}
	if found < len(wanted) {
		return fault.NewProblem(fault.Unavailable, "bytes that were uploaded were given up meanwhile: send them again")
	}
	return nil
}

// OpenContent reads kept bytes from an offset on; length < 0: to the end.
func (s *Service) OpenContent(ctx context.Context, sha256 string, offset, length int64) (io.ReadCloser, error) {
	return s.blobs.Open(ctx, sha256, offset, length)
}
