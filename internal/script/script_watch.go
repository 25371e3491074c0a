package script

import (
	"context"

	"github.com/scriptorium-dev/scriptorium/internal/change"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// Watch delivers what happens to the organization's scripts, or to those of one agent, as change.Service.Watch does (S1-event). An agent that was
// deleted can still be followed, to what happened before; NOT_FOUND where the organization never had one of this id.
func (s *Service) Watch(ctx context.Context, organizationID string, agentID, after *string) (<-chan change.Item, error) {
	if agentID != nil {
		known, err := s.agents.KeptByIDs(ctx, organizationID, []string{*agentID})
		if err != nil {
			return nil, err
		}
		if known[*agentID] == nil {
			return nil, fault.NewProblem(fault.Missing, "there is no such agent")
		}
	}
	return s.changes.Watch(ctx, organizationID, agentID, after)
}
