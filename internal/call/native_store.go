package call

import (
	"context"
	"fmt"

	"github.com/scriptorium-dev/scriptorium/internal/database"
)

// snapshotNumbers answers, by name, which versions a run has in its snapshot; with a name, only of that.
func snapshotNumbers(ctx context.Context, q *database.Querier, organizationID, runID, name string) (map[string]int, error) {
	rows, err := q.QueryContext(ctx, `SELECT e.name, v.number FROM snapshots s
		JOIN snapshot_entries e ON e.organization_id = s.organization_id AND e.snapshot_id = s.id
		JOIN versions v ON v.id = e.version_id
		WHERE s.organization_id = $1 AND s.run_id = $2 AND ($3 = '' OR e.name = $3)`, organizationID, runID, name)
	if err != nil {
		return nil, fmt.Errorf("call: read the snapshot: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	numbers := map[string]int{}
	for rows.Next() {
		var name string
		var number int
		if err := rows.Scan(&name, &number); err != nil {
			return nil, fmt.Errorf("call: read the snapshot: %w", err)
		}
		numbers[name] = number
	}
	return numbers, rows.Err()
}
