package artifact

import (
	"context"
	"fmt"

	"github.com/scriptorium-dev/scriptorium/ent/db"
	"github.com/scriptorium-dev/scriptorium/ent/db/artifact"
	"github.com/scriptorium-dev/scriptorium/ent/db/call"
	"github.com/scriptorium-dev/scriptorium/internal/database"
)

// insert writes the rows of a call's artifacts.
func insert(ctx context.Context, tx *database.Tx, artifacts []*Artifact) error {
	rows := make([]*db.ArtifactCreate, len(artifacts))
	for i, a := range artifacts {
		rows[i] = tx.Ent().Artifact.Create().SetID(a.ID).SetOrganizationID(a.OrganizationID).SetCallID(a.CallID).SetPosition(i).SetName(a.Bytes).
			SetContentType(a.ContentType).SetSha256(a.SHA256).SetSize(int64(a.Size)).SetCreatedAt(a.CreatedAt)
	}
	if err := tx.Ent().Artifact.CreateBulk(rows...).Exec(ctx); err != nil {
		return fmt.Errorf("artifact: write: %w", err)
	}
	return nil
}

// ofCalls reads the artifacts of calls, in their order.
func ofCalls(ctx context.Context, client *db.Client, organizationID string, callIDs []string) (map[string][]*Artifact, error) {
	rows, err := client.Artifact.Query().Where(artifact.OrganizationID(organizationID), artifact.CallIDIn(callIDs...)).
		Order(db.Asc(artifact.FieldCallID, artifact.FieldPosition)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("artifact: read: %w", err)
	}
	found := make(map[string][]*Artifact, len(callIDs))
	for _, id := range callIDs {
		found[id] = []*Artifact{}
	}
	for _, row := range rows {
		found[row.CallID] = append(found[row.CallID], fromRow(row))
	}
	return found, nil
}

// byIDs reads artifacts of the organization; trials' where wanted.
func byIDs(ctx context.Context, client *db.Client, organizationID string, ids []string, trials bool) (map[string]*Artifact, error) {
	query := client.Artifact.Query().Where(artifact.OrganizationID(organizationID), artifact.IDIn(ids...))
	if !trials {
		query.Where(artifact.HasCallWith(call.Trial(false)))
	}
	rows, err := query.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("artifact: read: %w", err)
	}
	found := make(map[string]*Artifact, len(rows))
	for _, row := range rows {
		found[row.ID] = fromRow(row)
	}
	return found, nil
}

func fromRow(row *db.Artifact) *Artifact {
	return &Artifact{
		ID: row.ID, OrganizationID: row.OrganizationID, CallID: row.CallID, Bytes: row.Name, ContentType: row.ContentType, SHA256: row.Sha256, Size: int(row.Size),
		CreatedAt: row.CreatedAt,
	}
}
