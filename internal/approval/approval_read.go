package approval

import (
	"context"

	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/key"
)

// seen are the decisions that who asks may see: without MANAGEMENT what was approved. What was rejected was a draft, and stays one.
func seen(ctx context.Context) []string {
	if v, err := key.From(ctx); err == nil && v.Has(key.Management) {
		return []string{string(Approved), string(Rejected)}
	}
	return []string{string(Approved)}
}

// ByIDs answers the organization's approvals with these ids, in one statement.
func (s *Service) ByIDs(ctx context.Context, organizationID string, ids []string) (map[string]*Approval, error) {
	rows, err := byIDs(ctx, s.db.Read(), organizationID, id.Only(id.Approval, ids), seen(ctx))
	found := make(map[string]*Approval, len(rows))
	for _, a := range rows {
		found[a.ID] = a
	}
	return found, err
}

// OfVersions answers, by the version's id, what was decided about each of the versions, oldest first, in one statement.
func (s *Service) OfVersions(ctx context.Context, organizationID string, versionIDs []string) (map[string][]*Approval, error) {
	rows, err := ofVersions(ctx, s.db.Read(), organizationID, versionIDs, seen(ctx))
	found := map[string][]*Approval{}
	for _, a := range rows {
		found[a.VersionID] = append(found[a.VersionID], a)
	}
	return found, err
}
