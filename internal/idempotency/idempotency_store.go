package idempotency

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/database"
)

// kept is a remembered answer.
type kept struct {
	sum    []byte
	answer []string
}

// claim writes the request's row and answers nil, or answers the row of an equal key that is there and not older than oldest. It waits
// for a transaction that wrote one and has not ended.
func claim(ctx context.Context, tx *database.Tx, r Request, sum []byte, now, oldest time.Time) (*kept, error) {
	const same = " WHERE organization_id = $1 AND key_id = $2 AND mutation = $3 AND idempotency_key = $4"
	who := []any{r.OrganizationID, r.KeyID, r.Mutation, *r.Key}
	if _, err := tx.SQL().ExecContext(ctx, "DELETE FROM idempotencies"+same+" AND created_at <= $5", append(who, oldest)...); err != nil {
		return nil, fmt.Errorf("idempotency: forget an old row: %w", err)
	}
	result, err := tx.SQL().ExecContext(ctx, `INSERT INTO idempotencies (organization_id, key_id, mutation, idempotency_key, input_sha256, answer, created_at)
		VALUES ($1, $2, $3, $4, $5, '[]', $6) ON CONFLICT (organization_id, key_id, mutation, idempotency_key) DO NOTHING`, append(who, sum, now)...)
	if err != nil {
		return nil, fmt.Errorf("idempotency: claim: %w", err)
	}
	written, err := result.RowsAffected()
	if err != nil || written == 1 {
		return nil, err
	}
	var there kept
	var answer []byte
	err = tx.SQL().QueryRowContext(ctx, "SELECT input_sha256, answer FROM idempotencies"+same, who...).Scan(&there.sum, &answer)
	if errors.Is(err, sql.ErrNoRows) { // swept between the two statements, on the very edge of its 24 hours
		return nil, errors.New("idempotency: the row went away")
	}
	if err != nil {
		return nil, fmt.Errorf("idempotency: read: %w", err)
	}
	if err := json.Unmarshal(answer, &there.answer); err != nil {
		return nil, fmt.Errorf("idempotency: kept answer: %w", err)
	}
	return &there, nil
}

// remember completes the row that claim wrote.
func remember(ctx context.Context, tx *database.Tx, r Request, answer []string) error {
	raw, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("idempotency: answer has no JSON: %w", err)
	}
	_, err = tx.SQL().ExecContext(ctx, `UPDATE idempotencies SET answer = $5
		WHERE organization_id = $1 AND key_id = $2 AND mutation = $3 AND idempotency_key = $4`,
		r.OrganizationID, r.KeyID, r.Mutation, *r.Key, string(raw))
	if err != nil {
		return fmt.Errorf("idempotency: remember: %w", err)
	}
	return nil
}

// sweep removes at most limit rows that are not younger than oldest, of all organizations, and answers how many.
func sweep(ctx context.Context, d *database.DB, oldest time.Time, limit int) (removed int, err error) {
	err = d.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		result, err := tx.SQL().ExecContext(ctx, `DELETE FROM idempotencies WHERE id IN
			(SELECT id FROM idempotencies WHERE created_at <= $1 ORDER BY created_at LIMIT $2)`, oldest, limit)
		if err != nil {
			return fmt.Errorf("idempotency: sweep: %w", err)
		}
		n, err := result.RowsAffected()
		removed = int(n)
		return err
	})
	return removed, err
}
