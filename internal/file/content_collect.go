package file

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/database"
)

const (
	// unreferred is how long bytes are kept to which nothing refers: whoever has kept them may be about to.
	unreferred = time.Hour
	// collectEvery is how often they are looked for, collectAtOnce how many of them one look takes.
	collectEvery  = 10 * time.Minute
	collectAtOnce = 200
)

// Run collects bytes to which nothing refers any more, until ctx ends. Several servers may.
func (s *Service) Run(ctx context.Context) error {
	ticker := time.NewTicker(collectEvery)
	defer ticker.Stop()
	for {
		if _, err := s.Collect(ctx, s.now().Add(-unreferred)); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "bytes that nothing refers to could not be collected: they are looked for again later", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Collect deletes bytes that nothing refers to, and that nobody has kept or begun to refer to since a time. It answers of how many.
func (s *Service) Collect(ctx context.Context, before time.Time) (n int, err error) {
	for {
		ids, err := unreferredContents(ctx, s.db.SQL(), before, collectAtOnce)
		if err != nil {
			return n, err
		}
		collected := 0
		var failed error
		for _, sha256 := range ids { // one that cannot be deleted must not keep the others
			gone, err := s.collect(ctx, sha256, before)
			if gone && err == nil {
				collected++
			}
			failed = errors.Join(failed, err)
		}
		if n += collected; failed != nil || len(ids) < collectAtOnce || collected == 0 {
			return n, failed
		}
	}
}

// collect deletes one content, if that still holds once its row is locked. The blob goes while the lock is held: who keeps the same bytes meanwhile waits, and
// puts them again. Where the transaction fails behind that, the row is left without its blob (unless that is in the database, too): nothing refers to it, and the
// next look takes it.
func (s *Service) collect(ctx context.Context, sha256 string, before time.Time) (gone bool, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		if gone, err = removeContent(ctx, tx, sha256, before); err != nil || !gone {
			return err
		}
		return s.blobs.Delete(ctx, sha256) // which may be in the database, too: then in this transaction
	})
	return gone, err
}
