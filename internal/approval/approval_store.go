package approval

import (
	"context"
	"fmt"

	"github.com/scriptorium-dev/scriptorium/ent/db"
	"github.com/scriptorium-dev/scriptorium/ent/db/approval"
	"github.com/scriptorium-dev/scriptorium/internal/database"
)

// insert writes a decision.
func insert(ctx context.Context, tx *database.Tx, a *Approval) error {
	err := tx.Ent().Approval.Create().SetID(a.ID).SetOrganizationID(a.OrganizationID).SetVersionID(a.VersionID).SetDecision(string(a.Decision)).
		SetComment(a.Comment).SetKeyID(a.KeyID).SetCreatedAt(a.At).Exec(ctx)
	if err != nil {
		return fmt.Errorf("approval: write: %w", err)
	}
	return nil
}

// byIDs reads decisions of the organization.
func byIDs(ctx context.Context, client *db.Client, organizationID string, ids, decisions []string) ([]*Approval, error) {
	return read(ctx, client.Approval.Query().Where(approval.OrganizationID(organizationID), approval.IDIn(ids...), approval.DecisionIn(decisions...)))
}

// ofVersions reads decisions about versions.
func ofVersions(ctx context.Context, client *db.Client, organizationID string, versionIDs, decisions []string) ([]*Approval, error) {
	return read(ctx, client.Approval.Query().
		Where(approval.OrganizationID(organizationID), approval.VersionIDIn(versionIDs...), approval.DecisionIn(decisions...)))
}

// read reads a query's decisions, oldest first: ids sort by age.
func read(ctx context.Context, query *db.ApprovalQuery) ([]*Approval, error) {
	rows, err := query.Order(db.Asc(approval.FieldID)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("approval: read: %w", err)
	}
	approvals := make([]*Approval, len(rows))
	for i, row := range rows {
		approvals[i] = &Approval{
			ID: row.ID, OrganizationID: row.OrganizationID, VersionID: row.VersionID, Decision: Decision(row.Decision), Comment: row.Comment,
			KeyID: row.KeyID, At: row.CreatedAt,
		}
	}
	return approvals, nil
}
