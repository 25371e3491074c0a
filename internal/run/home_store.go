package run

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/scriptorium-dev/scriptorium/ent/db/agent"
	"github.com/scriptorium-dev/scriptorium/ent/db/home"
	"github.com/scriptorium-dev/scriptorium/internal/database"
)

// readKeepsHome says whether the agent is there and wants its home kept.
func readKeepsHome(ctx context.Context, d *database.DB, organizationID, agentID string) (bool, error) {
	keeps, err := d.Read().Agent.Query().Where(agent.OrganizationID(organizationID), agent.ID(agentID), agent.KeepsHome(true), agent.DeletedAtIsNil()).Exist(ctx)
	if err != nil {
		return false, fmt.Errorf("home: read the agent: %w", err)
	}
	return keeps, nil
}

// readHomeBlob answers the name of the archive that the agent's next computer begins with; empty where there is none, or none is wanted.
func readHomeBlob(ctx context.Context, d *database.DB, organizationID, agentID string) (name string, err error) {
	err = d.SQL().QueryRowContext(ctx, `SELECT h.blob FROM homes h JOIN agents a ON a.id = h.agent_id
		WHERE h.organization_id = $1 AND h.agent_id = $2 AND a.keeps_home`, organizationID, agentID).Scan(&name)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("home: read: %w", err)
	}
	return name, nil
}

// writeHome notes the archive that a lease leaves, in place of the one before, whose name is answered. It is not written where the run is not
// the lease's any more, or the agent has gone or wants no home kept; the agent is locked meanwhile.
func writeHome(ctx context.Context, d *database.DB, h KeptHome, l Lease) (before string, written bool, err error) {
	err = d.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		before, written = "", false
		locked, err := tx.SQL().ExecContext(ctx, `UPDATE agents SET keeps_home = keeps_home WHERE organization_id = $1 AND id = $2 AND keeps_home AND deleted_at IS NULL
			AND EXISTS (SELECT 1 FROM runs WHERE runs.id = $3 AND owner = $4 AND owner_token = $5)`, h.OrganizationID, h.AgentID, h.RunID, l.Server, l.Token)
		if err != nil {
			return err
		}
		if n, err := locked.RowsAffected(); err != nil || n == 0 {
			return err
		}
		written = true
		err = tx.SQL().QueryRowContext(ctx, "SELECT blob FROM homes WHERE agent_id = $1", h.AgentID).Scan(&before)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		_, err = tx.SQL().ExecContext(ctx, `INSERT INTO homes (agent_id, organization_id, run_id, blob, entries, bytes, left_out, kept_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
			ON CONFLICT (agent_id) DO UPDATE SET run_id = excluded.run_id, blob = excluded.blob, entries = excluded.entries, bytes = excluded.bytes,
			left_out = excluded.left_out, kept_at = excluded.kept_at`, h.AgentID, h.OrganizationID, h.RunID, h.blob, h.Entries, h.Bytes, h.LeftOut, h.KeptAt)
		return err
	})
	if err != nil {
		return "", false, fmt.Errorf("home: write: %w", err)
	}
	return before, written, nil
}

// deleteHome removes the agent's kept home, in the transaction that deletes the agent, and answers the name of its archive.
func deleteHome(ctx context.Context, tx *database.Tx, organizationID, agentID string) (name string, err error) {
	err = tx.SQL().QueryRowContext(ctx, "DELETE FROM homes WHERE organization_id = $1 AND agent_id = $2 RETURNING blob", organizationID, agentID).Scan(&name)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("home: delete: %w", err)
	}
	return name, nil
}

// homesOfAgents reads kept homes by agent.
func homesOfAgents(ctx context.Context, d *database.DB, organizationID string, agentIDs []string) (map[string]*KeptHome, error) {
	rows, err := d.Read().Home.Query().Where(home.OrganizationID(organizationID), home.IDIn(agentIDs...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("home: read: %w", err)
	}
	found := make(map[string]*KeptHome, len(rows))
	for _, r := range rows {
		found[r.ID] = &KeptHome{
			OrganizationID: r.OrganizationID, AgentID: r.ID, RunID: r.RunID, Entries: r.Entries, Bytes: r.Bytes, LeftOut: r.LeftOut, KeptAt: r.KeptAt, blob: r.Blob,
		}
	}
	return found, nil
}
