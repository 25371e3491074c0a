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

// referred says that something refers to a content: every table with bytes of its own.
const referred = `EXISTS (SELECT 1 FROM files f WHERE f.sha256 = c.id) OR EXISTS (SELECT 1 FROM version_files v WHERE v.sha256 = c.id)
	OR EXISTS (SELECT 1 FROM attachments a WHERE a.sha256 = c.id) OR EXISTS (SELECT 1 FROM artifacts r WHERE r.sha256 = c.id)`

// unreferredContents reads contents that nothing refers to, and that were not touched since a time; the longest ago first.
func unreferredContents(ctx context.Context, q *database.Querier, before time.Time, limit int) (ids []string, err error) {
	rows, err := q.QueryContext(ctx, "SELECT c.id FROM contents c WHERE c.touched_at < $1 AND NOT ("+referred+") ORDER BY c.touched_at, c.id LIMIT $2", before, limit)
	if err != nil {
		return nil, fmt.Errorf("file: look for contents: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("file: look for contents: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// removeContent deletes a content's row where that may be; it is looked at again when it is locked.
func removeContent(ctx context.Context, tx *database.Tx, sha256 string, before time.Time) (bool, error) {
	if tx.Dialect() == database.Postgres { // a statement sees what there was when it began: so the lock comes first
		if _, err := tx.SQL().ExecContext(ctx, "SELECT 1 FROM contents WHERE id = $1 FOR UPDATE", sha256); err != nil {
			return false, fmt.Errorf("file: lock a content: %w", err)
		}
	}
	result, err := tx.SQL().ExecContext(ctx, "DELETE FROM contents AS c WHERE c.id = $1 AND c.touched_at < $2 AND NOT ("+referred+")", sha256, before)
	if err != nil {
		return false, fmt.Errorf("file: forget a content: %w", err)
	}
	n, err := result.RowsAffected()
	return n > 0, err
}
