package secret

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/database"
)

const (
	// resealBatch is how many secrets are sealed anew in a transaction.
	resealBatch = 100
	// resealPause is how long it takes until a failure is tried again.
	resealPause = time.Minute
)

// Run seals anew, with the first key, what older keys sealed, says so once that is done, and ends.
func (s *Service) Run(ctx context.Context) error {
	total := 0
	for {
		n, err := s.reseal(ctx)
		total += n
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errUnknownKey): // another server's, since this one started
			slog.ErrorContext(ctx, "secrets are not sealed with this server's first key", "error", err)
			return nil
		case err != nil:
			slog.WarnContext(ctx, "secrets could not be sealed anew: it is tried again", "error", err)
			select {
			case <-time.After(resealPause):
			case <-ctx.Done():
				return ctx.Err()
			}
		case n == 0:
			if total > 0 {
				slog.InfoContext(ctx, "all secrets are sealed with the first key now: older ones are not needed any more",
					"key", s.keys.Load().IDs()[0], "secrets", total)
			}
			return nil
		}
	}
}

// reseal seals a batch anew, and answers how many there were.
func (s *Service) reseal(ctx context.Context) (n int, err error) {
	keys := s.keys.Load()
	err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		rows, err := sealedByOthers(ctx, tx, keys.IDs()[0], resealBatch)
		if err != nil {
			return err
		}
		for _, r := range rows {
			value, err := keys.open(r.place, r.keyID, r.sealed)
			if err != nil {
				return err
			}
			keyID, sealed := keys.seal(r.place, value)
			if err := replaceSeal(ctx, tx, r, keyID, sealed); err != nil {
				return err
			}
		}
		n = len(rows)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}
