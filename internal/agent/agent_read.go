package agent

import (
	"context"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/page"
)

// ByIDs answers the organization's agents with these ids, without deleted ones, in one statement.
func (s *Service) ByIDs(ctx context.Context, organizationID string, ids []string) (map[string]*Agent, error) {
	return byIDs(ctx, s.db.Read(), organizationID, id.Only(id.Agent, ids), false)
}

// KeptByIDs is ByIDs with deleted agents: for what history still shows of them.
func (s *Service) KeptByIDs(ctx context.Context, organizationID string, ids []string) (map[string]*Agent, error) {
	return byIDs(ctx, s.db.Read(), organizationID, id.Only(id.Agent, ids), true)
}

// Page answers a page of the organization's agents, oldest first.
func (s *Service) Page(ctx context.Context, organizationID string, args page.Args) (*page.Connection[*Agent], error) {
	const order = "agents"
	w, err := args.Window(order, id.Agent)
	if err != nil {
		return nil, err
	}
	rows, err := list(ctx, s.db.Read(), organizationID, w)
	if err != nil {
		return nil, err
	}
	return page.New(w, rows, func(a *Agent) string { return page.Encode(order, a.ID) }, func(ctx context.Context) (int, error) {
		return count(ctx, s.db.Read(), organizationID)
	}), nil
}

// Lock answers the agent and locks its set of scripts until the transaction ends: the same cap, the same names, the same numbers for
// whoever holds it. NOT_FOUND at input.agent where there is no such agent.
func (s *Service) Lock(ctx context.Context, tx *database.Tx, organizationID, agentID string) (*Agent, error) {
	var a *Agent
	if id.Is(id.Agent, agentID) {
		var err error
		if a, err = lock(ctx, tx, organizationID, agentID); err != nil {
			return nil, err
		}
	}
	if a == nil {
		return nil, fault.Plain(fault.NotFound, "input.agent", "input.agent: there is no such agent")
	}
	return a, nil
}
