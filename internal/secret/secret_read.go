package secret

import (
	"context"

	"github.com/scriptorium-dev/scriptorium/internal/id"
)

// OfAgents answers the names and descriptions of the agents' secrets, by name, in one statement.
func (s *Service) OfAgents(ctx context.Context, organizationID string, agentIDs []string) (map[string][]*Secret, error) {
	return ofAgents(ctx, s.db.Read(), organizationID, id.Only(id.Agent, agentIDs))
}

// Values answers the agent's secrets with their values, for the environment of a call that is about to start. No error has a value.
func (s *Service) Values(ctx context.Context, organizationID, agentID string) (map[string]string, error) {
	rows, err := sealedOf(ctx, s.db.Read(), organizationID, agentID)
	if err != nil {
		return nil, err
	}
	values := make(map[string]string, len(rows))
	for _, r := range rows {
		if values[r.place.name], err = s.keys.Load().open(r.place, r.keyID, r.sealed); err != nil {
			return nil, err
		}
	}
	return values, nil
}
