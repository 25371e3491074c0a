package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/scriptorium-dev/scriptorium/internal/batch"
	"github.com/scriptorium-dev/scriptorium/internal/database"
)

// lockPackages answers which of the names the organization's scripts have, of which a version is published, and keeps them from being deleted until the
// transaction ends.
func lockPackages(ctx context.Context, tx *database.Tx, organizationID string, names []string) (map[string]bool, error) {
	lock := ""
	if tx.Dialect() == database.Postgres {
		lock = " ORDER BY name FOR SHARE"
	}
	rows, err := tx.SQL().QueryContext(ctx, `SELECT name FROM scripts WHERE organization_id = $1 AND agent_id IS NULL AND deleted_at IS NULL AND published
		AND name IN `+batch.In(tx.Dialect(), 2)+lock, organizationID, batch.List(names))
	if err != nil {
		return nil, fmt.Errorf("agent: lock the scripts of its tools: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	found := map[string]bool{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("agent: lock the scripts of its tools: %w", err)
		}
		found[name] = true
	}
	return found, rows.Err()
}

// naming reads the agents whose tools hold one of the names, oldest first.
func naming(ctx context.Context, q *database.Querier, organizationID string, names []string) (map[string][]*Agent, error) {
	tools := "json_each(a.tools) t WHERE t.value"
	if q.Dialect() == database.Postgres {
		tools = "jsonb_array_elements_text(a.tools) t(value) WHERE t.value"
	}
	rows, err := q.QueryContext(ctx, `SELECT a.id, a.name, a.scripting, a.keeps_home, a.max_scripts, a.connected_tools, a.tools, a.created_at, a.updated_at
		FROM agents a WHERE a.organization_id = $1 AND a.deleted_at IS NULL AND EXISTS (SELECT 1 FROM `+tools+" IN "+batch.In(q.Dialect(), 2)+") ORDER BY a.id",
		organizationID, batch.List(names))
	if err != nil {
		return nil, fmt.Errorf("agent: find those that name tools: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	found := make(map[string][]*Agent, len(names))
	for _, name := range names {
		found[name] = nil
	}
	for rows.Next() {
		a := &Agent{OrganizationID: organizationID}
		var connected, own []byte
		err := rows.Scan(&a.ID, &a.Name, &a.Scripting, &a.KeepsHome, &a.MaxScripts, &connected, &own, &a.CreatedAt, &a.UpdatedAt)
		if err == nil {
			err = json.Unmarshal(connected, &a.ConnectedTools)
		}
		if err == nil {
			err = json.Unmarshal(own, &a.Tools)
		}
		if err != nil {
			return nil, fmt.Errorf("agent: find those that name tools: %w", err)
		}
		a.CreatedAt, a.UpdatedAt = a.CreatedAt.UTC(), a.UpdatedAt.UTC()
		for _, name := range a.Tools {
			if _, asked := found[name]; asked {
				found[name] = append(found[name], a)
			}
		}
	}
	return found, rows.Err()
}
