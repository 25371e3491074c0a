package file

import (
	"context"
	"fmt"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/batch"
	"github.com/scriptorium-dev/scriptorium/internal/database"
)

// touch notes that bytes are kept, and wanted at this time.
func touch(ctx context.Context, tx *database.Tx, c Content, at time.Time) error {
	_, err := tx.SQL().ExecContext(ctx, `INSERT INTO contents (id, size, touched_at) VALUES ($1, $2, $3)
		ON CONFLICT (id) DO UPDATE SET touched_at = excluded.touched_at`, c.SHA256, c.Size, at)
	if err != nil {
		return fmt.Errorf("file: keep a content: %w", err)
	}
	return nil
}

// lockContents touches contents, which locks them until the transaction ends, and answers how many of them are there. They are locked one after another in one
// order, so that no two transactions wait for each other.
func lockContents(ctx context.Context, tx *database.Tx, ids []string, at time.Time) (int, error) {
	in := batch.In(tx.Dialect(), 2)
	if tx.Dialect() == database.Postgres {
		in = "(SELECT id FROM contents WHERE id IN " + in + " ORDER BY id FOR UPDATE)"
	}
	result, err := tx.SQL().ExecContext(ctx, "UPDATE contents SET touched_at = $1 WHERE id IN "+in, at, batch.List(ids))
	if err != nil {
		return 0, fmt.Errorf("file: refer to contents: %w", err)
	}
	n, err := result.RowsAffected()
	return int(n), err
}
