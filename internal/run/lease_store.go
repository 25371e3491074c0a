package run

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/batch"
	"github.com/scriptorium-dev/scriptorium/internal/database"
)

// taken is what a server learns of a run that it takes.
type taken struct {
	organizationID string
	agentID        *string
	token          int64
	generation     int
	environment    map[string]string
	direct         bool
	attachments    bool // there are some
}

// takeLease makes the server the owner of an open run that has none; nil where it cannot.
func takeLease(ctx context.Context, d *database.DB, runID, server string, until time.Time) (*taken, error) {
	var t *taken
	err := d.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		t = &taken{}
		var environment []byte
		err := tx.SQL().QueryRowContext(ctx, `UPDATE runs SET owner = $2, owner_token = owner_token + 1, owner_until = $3
			WHERE id = $1 AND owner = '' AND status = $4 RETURNING organization_id, agent_id, owner_token, generation, environment, direct,
			EXISTS (SELECT 1 FROM attachments a WHERE a.organization_id = runs.organization_id AND a.run_id = runs.id)`,
			runID, server, until, string(Open)).Scan(&t.organizationID, &t.agentID, &t.token, &t.generation, &environment, &t.direct, &t.attachments)
		if errors.Is(err, sql.ErrNoRows) {
			t = nil
			return nil
		}
		if err != nil {
			return err
		}
		return json.Unmarshal(environment, &t.environment)
	})
	if err != nil {
		return nil, fmt.Errorf("run: take the lease: %w", err)
	}
	return t, nil
}

// renewLeases prolongs the server's leases of these runs and answers their tokens by run.
func renewLeases(ctx context.Context, d *database.DB, server string, runIDs []string, until time.Time) (map[string]int64, error) {
	var tokens map[string]int64
	err := d.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		tokens = make(map[string]int64, len(runIDs))
		rows, err := tx.SQL().QueryContext(ctx, "UPDATE runs SET owner_until = $2 WHERE owner = $1 AND id IN "+batch.In(tx.Dialect(), 3)+
			" RETURNING id, owner_token", server, until, batch.List(runIDs))
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // rows.Err tells
		for rows.Next() {
			var id string
			var token int64
			if err := rows.Scan(&id, &token); err != nil {
				return err
			}
			tokens[id] = token
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("run: renew leases: %w", err)
	}
	return tokens, nil
}

// releaseLease gives a run back. When it was is kept: its calls wait for a computer since then.
func releaseLease(ctx context.Context, d *database.DB, runID string, l Lease, at time.Time) error {
	err := d.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.SQL().ExecContext(ctx, "UPDATE runs SET owner = '', owner_until = $4 WHERE id = $1 AND owner = $2 AND owner_token = $3",
			runID, l.Server, l.Token, at)
		return err
	})
	if err != nil {
		return fmt.Errorf("run: release the lease: %w", err)
	}
	return nil
}

// owned is a run with the owner's name in it.
type owned struct {
	organizationID, runID, owner string
	token                        int64
}

// staleLeases answers runs whose owner's lease ran out; with every, the runs of all owners, or of one.
func staleLeases(ctx context.Context, d *database.DB, now time.Time, owner string, every bool, limit int) ([]owned, error) {
	where, args := "owner > '' AND owner_until < $1", []any{now}
	switch {
	case every:
		where, args = "owner > ''", nil
	case owner != "":
		where, args = "owner = $1", []any{owner}
	}
	rows, err := d.SQL().QueryContext(ctx, fmt.Sprintf("SELECT organization_id, id, owner, owner_token FROM runs WHERE %s ORDER BY id LIMIT %d", where, limit), args...)
	if err != nil {
		return nil, fmt.Errorf("run: stale leases: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	var found []owned
	for rows.Next() {
		var o owned
		if err := rows.Scan(&o.organizationID, &o.runID, &o.owner, &o.token); err != nil {
			return nil, fmt.Errorf("run: stale leases: %w", err)
		}
		found = append(found, o)
	}
	return found, rows.Err()
}

// clearLease takes a run from an owner whose lease ran out before now (a zero now: in any case), and counts the token up, so that nothing that
// this owner still writes is taken. It answers false where the lease is another one by now, or was renewed.
func clearLease(ctx context.Context, tx *database.Tx, o owned, now time.Time) (bool, error) {
	statement := "UPDATE runs SET owner = '', owner_until = NULL, owner_token = owner_token + 1 WHERE id = $1 AND owner = $2 AND owner_token = $3"
	args := []any{o.runID, o.owner, o.token}
	if !now.IsZero() {
		statement, args = statement+" AND owner_until < $4", append(args, now)
	}
	result, err := tx.SQL().ExecContext(ctx, statement, args...)
	if err != nil {
		return false, fmt.Errorf("run: clear a lease: %w", err)
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// seen is what a look shows of a run that the server owns.
type seen struct {
	token    int64
	status   Status
	changes  int64 // offset of the newest change of its agent's scripts
	starting bool  // a generation is to be started
}

// lookAt reads the state of the runs that the server owns.
func lookAt(ctx context.Context, d *database.DB, server string) (map[string]seen, error) {
	rows, err := d.SQL().QueryContext(ctx, `SELECT r.id, r.owner_token, r.status,
		COALESCE((SELECT MAX(c."offset") FROM changes c WHERE c.organization_id = r.organization_id AND c.agent_id = r.agent_id), 0),
		EXISTS (SELECT 1 FROM generations g WHERE g.run_id = r.id AND g.status = $2)
		FROM runs r WHERE r.owner = $1`, server, string(generationQueued))
	if err != nil {
		return nil, fmt.Errorf("run: look: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	found := map[string]seen{}
	for rows.Next() {
		var id string
		var s seen
		if err := rows.Scan(&id, &s.token, &s.status, &s.changes, &s.starting); err != nil {
			return nil, fmt.Errorf("run: look: %w", err)
		}
		found[id] = s
	}
	return found, rows.Err()
}
