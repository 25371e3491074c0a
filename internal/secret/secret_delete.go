package secret

import (
	"context"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/text"
)

// Delete removes an agent's secret. A call that runs keeps it; those that start later have none. It needs TOOLING.
func (s *Service) Delete(ctx context.Context, in DeleteInput) (*DeletePayload, error) {
	v, err := key.Permitted(ctx, key.Tooling)
	if err != nil {
		return nil, err
	}
	var a *agent.Agent
	err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		if a, err = s.agents.Lock(ctx, tx, v.Organization.ID, in.Agent); err != nil {
			return err
		}
		found := false
		if text.ValidVariable(in.Name) { // no other has such a name, and a database may not take it
			found, err = remove(ctx, tx, v.Organization.ID, in.Agent, in.Name)
		}
		if err == nil && !found {
			err = fault.Plain(fault.NotFound, "input.name", "input.name: the agent has no such secret")
		}
		return err
	})
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &DeletePayload{UserErrors: refused}, err
	}
	return &DeletePayload{Agent: a, DeletedID: &in.Name, UserErrors: refused}, nil
}

// AgentRemoval removes the secrets of agents that are deleted; it is an agent.Removal.
type AgentRemoval struct{}

// AgentRemoval is what the secrets do when an agent is deleted.
func (s *Service) AgentRemoval() AgentRemoval { return AgentRemoval{} }

// InTx removes the agent's secrets, with their rows.
func (AgentRemoval) InTx(ctx context.Context, tx *database.Tx, organizationID, agentID string) error {
	return removeAll(ctx, tx, organizationID, agentID)
}

// AfterCommit has nobody to tell.
func (AgentRemoval) AfterCommit(context.Context, string, string) {}
