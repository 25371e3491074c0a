package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/scriptorium-dev/scriptorium/internal/batch"
	"github.com/scriptorium-dev/scriptorium/internal/database"
)

// differencesOf compares snapshots with the live scripts of their agents: what of a snapshot is not the latest version of the live script of the name,
// and what is live and absent from it.
func differencesOf(ctx context.Context, d *database.DB, organizationID string, snapshotIDs []string) (map[string][]*SnapshotDifference, error) {
	rows, err := d.SQL().QueryContext(ctx, `SELECT s.id, e.name, e.version_id, COALESCE(c.latest_version_id, '') FROM snapshots s
		JOIN runs r ON r.id = s.run_id
		JOIN snapshot_entries e ON e.organization_id = $1 AND e.snapshot_id = s.id
		LEFT JOIN scripts c ON c.organization_id = $1 AND c.agent_id = r.agent_id AND c.name = e.name AND c.deleted_at IS NULL
		WHERE s.organization_id = $1 AND s.id IN `+batch.In(d.Dialect(), 2)+` AND (c.id IS NULL OR c.latest_version_id <> e.version_id)
		UNION ALL
		SELECT s.id, c.name, '', c.latest_version_id FROM snapshots s
		JOIN runs r ON r.id = s.run_id
		JOIN scripts c ON c.organization_id = $1 AND c.agent_id = r.agent_id AND c.deleted_at IS NULL
		WHERE s.organization_id = $1 AND s.id IN `+batch.In(d.Dialect(), 2)+` AND NOT EXISTS (SELECT 1 FROM snapshot_entries e
			WHERE e.organization_id = $1 AND e.snapshot_id = s.id AND e.name = c.name)`, organizationID, batch.List(snapshotIDs))
	if err != nil {
		return nil, fmt.Errorf("snapshot: differences: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	found := make(map[string][]*SnapshotDifference, len(snapshotIDs))
	for rows.Next() {
		var diff SnapshotDifference
		var id string
		if err := rows.Scan(&id, &diff.Name, &diff.TakenID, &diff.LiveID); err != nil {
			return nil, fmt.Errorf("snapshot: differences: %w", err)
		}
		found[id] = append(found[id], &diff)
	}
	for _, differences := range found {
		slices.SortFunc(differences, func(a, b *SnapshotDifference) int { return cmp.Compare(a.Name, b.Name) })
	}
	return found, rows.Err()
}
