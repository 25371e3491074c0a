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
		found[row.ID] = fromRow(row)
	}
	return found, nil
}

func fromRow(row *db.Organization) *Organization {
	return &Organization{
		ID: row.ID, Name: row.Name, ParentID: row.ParentID, CreatedAt: row.CreatedAt, VersionsNeedApproval: row.VersionsNeedApproval,
	}
}

// lock reads an organization and locks its row; nil where there is none.
func lock(ctx context.Context, tx *database.Tx, organizationID string) (*Organization, error) {
	row, err := tx.Ent().Organization.Query().Where(organization.ID(organizationID), database.ForUpdate).Only(ctx)
	if db.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("organization: lock: %w", err)
	}
	return fromRow(row), nil
}

// update writes what can change of an organization that is locked.
func update(ctx context.Context, tx *database.Tx, o *Organization) error {
	err := tx.Ent().Organization.UpdateOneID(o.ID).SetName(o.Name).SetVersionsNeedApproval(o.VersionsNeedApproval).Exec(ctx)
	if err != nil {
		return fmt.Errorf("organization: update: %w", err)
	}
	return nil
}
