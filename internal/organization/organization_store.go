package organization

import (
	"context"
	"fmt"

	"github.com/scriptorium-dev/scriptorium/ent/db"
	"github.com/scriptorium-dev/scriptorium/ent/db/organization"
	"github.com/scriptorium-dev/scriptorium/internal/database"
)

// insert writes an organization's row.
func insert(ctx context.Context, tx *database.Tx, o *Organization) error {
	err := tx.Ent().Organization.Create().SetID(o.ID).SetName(o.Name).SetNillableParentID(o.ParentID).SetCreatedAt(o.CreatedAt).Exec(ctx)
	if err != nil {
		return fmt.Errorf("organization: write: %w", err)
	}
	return nil
}

// byIDs reads organizations.
func byIDs(ctx context.Context, client *db.Client, ids []string) (map[string]*Organization, error) {
	rows, err := client.Organization.Query().Where(organization.IDIn(ids...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("organization: read: %w", err)
	}
	found := make(map[string]*Organization, len(rows))
	for _, row := range rows {
		found[row.ID] = &Organization{ID: row.ID, Name: row.Name, ParentID: row.ParentID, CreatedAt: row.CreatedAt}
	}
	return found, nil
}
