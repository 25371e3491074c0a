package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/scriptorium-dev/scriptorium/ent/db"
	"github.com/scriptorium-dev/scriptorium/ent/db/snapshot"
	"github.com/scriptorium-dev/scriptorium/internal/batch"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/script"
)

// insertSnapshot writes what a run took. The entries point at versions, which never change, so nothing is copied.
func insertSnapshot(ctx context.Context, tx *database.Tx, s *Snapshot, entries []script.Entry) error {
	err := tx.Ent().Snapshot.Create().SetID(s.ID).SetOrganizationID(s.OrganizationID).SetRunID(s.RunID).SetCreatedAt(s.CreatedAt).Exec(ctx)
	if err != nil {
		return fmt.Errorf("snapshot: write: %w", err)
	}
	const atOnce = 500 // far below what a statement's arguments may be
	for start := 0; start < len(entries); start += atOnce {
		var rows []*db.SnapshotEntryCreate
		for _, e := range entries[start:min(start+atOnce, len(entries))] {
			rows = append(rows, tx.Ent().SnapshotEntry.Create().SetOrganizationID(s.OrganizationID).SetSnapshotID(s.ID).
				SetScriptID(e.Script.ID).SetVersionID(e.Version.ID).SetName(e.Script.Name))
		}
		if err := tx.Ent().SnapshotEntry.CreateBulk(rows...).Exec(ctx); err != nil {
			return fmt.Errorf("snapshot: write entries: %w", err)
		}
	}
	return nil
}

// deleteEntries takes scripts out of the snapshots of open runs (S1-delnow).
func deleteEntries(ctx context.Context, tx *database.Tx, organizationID string, scriptIDs []string) error {
	_, err := tx.SQL().ExecContext(ctx, `DELETE FROM snapshot_entries WHERE organization_id = $1 AND script_id IN `+batch.In(tx.Dialect(), 2)+`
		AND snapshot_id IN (SELECT s.id FROM snapshots s JOIN runs r ON r.id = s.run_id WHERE s.organization_id = $1 AND r.status = $3)`,
		organizationID, batch.List(scriptIDs), string(Open))
	if err != nil {
		return fmt.Errorf("snapshot: remove scripts: %w", err)
	}
	return nil
}

// inOpenSnapshot says whether an open run of the agent has the name in its snapshot.
func inOpenSnapshot(ctx context.Context, tx *database.Tx, organizationID, agentID, name string) (found bool, err error) {
	err = tx.SQL().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM runs r JOIN snapshots s ON s.organization_id = $1 AND s.run_id = r.id
		JOIN snapshot_entries e ON e.organization_id = $1 AND e.snapshot_id = s.id AND e.name = $3
		WHERE r.organization_id = $1 AND r.agent_id = $2 AND r.status = $4)`, organizationID, agentID, name, string(Open)).Scan(&found)
	if err != nil {
		return false, fmt.Errorf("snapshot: look for a name: %w", err)
	}
	return found, nil
}

func snapshotsOfRuns(ctx context.Context, client *db.Client, organizationID string, runIDs []string) (map[string]*Snapshot, error) {
	rows, err := client.Snapshot.Query().Where(snapshot.OrganizationID(organizationID), snapshot.RunIDIn(runIDs...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("snapshot: read: %w", err)
	}
	found := make(map[string]*Snapshot, len(rows))
	for _, row := range rows {
		found[row.RunID] = snapshotFromRow(row)
	}
	return found, nil
}

func snapshotsByIDs(ctx context.Context, client *db.Client, organizationID string, ids []string) (map[string]*Snapshot, error) {
	rows, err := client.Snapshot.Query().Where(snapshot.OrganizationID(organizationID), snapshot.IDIn(ids...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("snapshot: read: %w", err)
	}
	found := make(map[string]*Snapshot, len(rows))
	for _, row := range rows {
		found[row.ID] = snapshotFromRow(row)
	}
	return found, nil
}

func snapshotFromRow(row *db.Snapshot) *Snapshot {
	return &Snapshot{ID: row.ID, OrganizationID: row.OrganizationID, RunID: row.RunID, CreatedAt: row.CreatedAt}
}

// entriesOf reads the entries of snapshots, by name, without the sources: a snapshot may have many.
func entriesOf(ctx context.Context, d *database.DB, organizationID string, snapshotIDs []string) (map[string][]*SnapshotEntry, error) {
	rows, err := d.SQL().QueryContext(ctx, `SELECT e.snapshot_id, e.script_id, e.version_id, v.number, e.name, v.description, v.parameters, v.source_hash
		FROM snapshot_entries e JOIN versions v ON v.id = e.version_id
		WHERE e.organization_id = $1 AND v.organization_id = $1 AND e.snapshot_id IN `+batch.In(d.Dialect(), 2)+`
		ORDER BY e.snapshot_id, `+batch.Bytewise(d.Dialect(), "e.name"), organizationID, batch.List(snapshotIDs))
	if err != nil {
		return nil, fmt.Errorf("snapshot: entries: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	found := make(map[string][]*SnapshotEntry, len(snapshotIDs))
	for rows.Next() {
		var e SnapshotEntry
		var id string
		var parameters []byte
		if err := rows.Scan(&id, &e.ScriptID, &e.VersionID, &e.Version, &e.Name, &e.Description, &parameters, &e.SourceHash); err != nil {
			return nil, fmt.Errorf("snapshot: entries: %w", err)
		}
		e.Parameters = parameters
		found[id] = append(found[id], &e)
	}
	return found, rows.Err()
}

// homeFiles answers what a run's home should hold: its snapshot's scripts, and the live ones of its agent whose names are absent from
// it (S1-mat, S1-matlive), and how far the agent's changes went before.
func homeFiles(ctx context.Context, d *database.DB, organizationID, agentID, runID string) (files []homeFile, changes int64, err error) {
	err = d.InReadTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		if changes, err = lastChange(ctx, tx.SQL(), organizationID, agentID); err != nil {
			return err
		}
		rows, err := tx.SQL().QueryContext(ctx, `SELECT e.name, e.version_id, 0 AS live FROM snapshots s
			JOIN snapshot_entries e ON e.organization_id = $1 AND e.snapshot_id = s.id WHERE s.organization_id = $1 AND s.run_id = $3
			UNION ALL
			SELECT c.name, c.latest_version_id, 1 FROM scripts c WHERE c.organization_id = $1 AND c.agent_id = $2 AND c.deleted_at IS NULL
			AND NOT EXISTS (SELECT 1 FROM snapshots s JOIN snapshot_entries e ON e.organization_id = $1 AND e.snapshot_id = s.id
				WHERE s.organization_id = $1 AND s.run_id = $3 AND e.name = c.name)
			`, organizationID, agentID, runID)
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // rows.Err tells
		files = nil
		for rows.Next() {
			var f homeFile
			if err := rows.Scan(&f.Name, &f.VersionID, &f.live); err != nil {
				return err
			}
			files = append(files, f)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, 0, fmt.Errorf("run: what its home should hold: %w", err)
	}
	slices.SortFunc(files, func(a, b homeFile) int { return cmp.Or(cmp.Compare(a.live, b.live), cmp.Compare(a.Name, b.Name)) })
	return files, changes, nil
}

// lastChange is the offset of the newest change of an agent's scripts.
func lastChange(ctx context.Context, q *database.Querier, organizationID, agentID string) (offset int64, err error) {
	err = q.QueryRowContext(ctx, `SELECT COALESCE(MAX("offset"), 0) FROM changes WHERE organization_id = $1 AND agent_id = $2`, organizationID, agentID).Scan(&offset)
	return offset, err
}

// readSources reads the sources of versions.
func readSources(ctx context.Context, d *database.DB, organizationID string, versionIDs []string) (map[string]string, error) {
	rows, err := d.SQL().QueryContext(ctx, "SELECT id, source FROM versions WHERE organization_id = $1 AND id IN "+batch.In(d.Dialect(), 2),
		organizationID, batch.List(versionIDs))
	if err != nil {
		return nil, fmt.Errorf("run: sources: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	found := make(map[string]string, len(versionIDs))
	for rows.Next() {
		var id, source string
		if err := rows.Scan(&id, &source); err != nil {
			return nil, fmt.Errorf("run: sources: %w", err)
		}
		found[id] = source
	}
	return found, rows.Err()
}
