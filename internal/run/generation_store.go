package run

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/scriptorium-dev/scriptorium/ent/db"
	"github.com/scriptorium-dev/scriptorium/ent/db/generation"
	"github.com/scriptorium-dev/scriptorium/internal/batch"
	"github.com/scriptorium-dev/scriptorium/internal/database"
)

// insertGeneration asks the run's owner for a generation.
func insertGeneration(ctx context.Context, tx *database.Tx, g *Generation) error {
	err := tx.Ent().Generation.Create().SetID(g.ID).SetOrganizationID(g.OrganizationID).SetRunID(g.RunID).SetStatus(string(g.Status)).
		SetMaterialised([]string{}).SetRemoved([]string{}).SetCreatedAt(g.CreatedAt).Exec(ctx)
	if err != nil {
		return fmt.Errorf("generation: write: %w", err)
	}
	return nil
}

// readGeneration reads a generation; nil where there is none.
func readGeneration(ctx context.Context, client *db.Client, organizationID, id string) (*Generation, error) {
	row, err := client.Generation.Query().Where(generation.OrganizationID(organizationID), generation.ID(id)).Only(ctx)
	if db.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("generation: read: %w", err)
	}
	return &Generation{
		ID: row.ID, OrganizationID: row.OrganizationID, RunID: row.RunID, Status: generationStatus(row.Status), Reason: generationReason(row.Reason),
		Number: row.Number, Materialised: row.Materialised, Removed: row.Removed, CreatedAt: row.CreatedAt,
	}, nil
}

// queuedGenerations answers the ids of those that a run is to start, oldest first.
func queuedGenerations(ctx context.Context, d *database.DB, runID string) ([]string, error) {
	return ids(d.SQL().QueryContext(ctx, "SELECT id FROM generations WHERE run_id = $1 AND status = $2 ORDER BY id LIMIT 100", runID, string(generationQueued)))
}

// unownedGenerations answers runs that nobody owns and that are to start a generation, oldest first.
func unownedGenerations(ctx context.Context, d *database.DB) (found []Work, err error) {
	rows, err := d.SQL().QueryContext(ctx, `SELECT r.organization_id, r.agent_id, r.id, g.created_at, r.owner_until FROM generations g JOIN runs r ON r.id = g.run_id
		WHERE g.status = $1 AND r.owner = '' AND r.status = $2 ORDER BY g.id LIMIT 1000`, string(generationQueued), string(Open))
	if err != nil {
		return nil, fmt.Errorf("generation: look: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	for rows.Next() {
		var w Work
		if err := w.Scan(rows); err != nil {
			return nil, fmt.Errorf("generation: look: %w", err)
		}
		found = append(found, w)
	}
	return found, rows.Err()
}

// Scan reads a row of r.organization_id, r.agent_id, r.id, when it was asked for and r.owner_until, and what more there is.
func (w *Work) Scan(rows *sql.Rows, more ...any) error {
	var agentID *string
	var released *time.Time
	if err := rows.Scan(append([]any{&w.OrganizationID, &agentID, &w.RunID, &w.Since, &released}, more...)...); err != nil {
		return err
	}
	w.Ref = refOf(w.OrganizationID, agentID, w.RunID)
	if w.Since = w.Since.UTC(); released != nil && released.After(w.Since) {
		w.Since = released.UTC()
	}
	return nil
}

// countUp starts the next generation of a run that is still the lease's, and answers its number.
func countUp(ctx context.Context, tx *database.Tx, runID string, l Lease) (number int, err error) {
	err = tx.SQL().QueryRowContext(ctx, "UPDATE runs SET generation = generation + 1 WHERE id = $1 AND owner = $2 AND owner_token = $3 RETURNING generation",
		runID, l.Server, l.Token).Scan(&number)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, ErrFenced
	}
	if err != nil {
		return 0, fmt.Errorf("generation: count up: %w", err)
	}
	return number, nil
}

// endGeneration writes how a generation that waits came out.
func endGeneration(ctx context.Context, tx *database.Tx, g *Generation, at time.Time) error {
	materialised, err := json.Marshal(g.Materialised)
	if err != nil {
		return err
	}
	removed, err := json.Marshal(g.Removed)
	if err != nil {
		return err
	}
	_, err = tx.SQL().ExecContext(ctx, `UPDATE generations SET status = $2, reason = $3, number = $4, materialised = $5, removed = $6, ended_at = $7
		WHERE id = $1 AND status = $8`, g.ID, string(g.Status), string(g.Reason), g.Number, string(materialised), string(removed), at, string(generationQueued))
	if err != nil {
		return fmt.Errorf("generation: end: %w", err)
	}
	return nil
}

// refuseGenerations ends those that runs were to start, and answers their ids.
func refuseGenerations(ctx context.Context, tx *database.Tx, runIDs []string, why generationReason) ([]string, error) {
	return ids(tx.SQL().QueryContext(ctx, "UPDATE generations SET status = $1, reason = $2, ended_at = $3 WHERE status = $4 AND run_id IN "+
		batch.In(tx.Dialect(), 5)+" RETURNING id", string(generationRefused), string(why), database.Now(), string(generationQueued), batch.List(runIDs)))
}
