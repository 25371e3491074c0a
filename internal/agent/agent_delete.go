package agent

import (
	"context"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/key"
)

// Delete removes an agent with its scripts; its runs finish and their calls are cancelled. What happened stays readable. It needs TOOLING.
func (s *Service) Delete(ctx context.Context, in DeleteInput) (*DeletePayload, error) {
	v, err := key.Permitted(ctx, key.Tooling)
	if err != nil {
		return nil, err
	}
	err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		return s.deleteInTx(ctx, tx, v.Organization.ID, in.Agent)
	})
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &DeletePayload{UserErrors: refused}, err
	}
	return &DeletePayload{DeletedID: &in.Agent, UserErrors: refused}, nil
}

func (s *Service) deleteInTx(ctx context.Context, tx *database.Tx, organizationID, agentID string) error {
	if _, err := s.Lock(ctx, tx, organizationID, agentID); err != nil {
		return err
	}
	if err := markDeleted(ctx, tx, organizationID, agentID, s.now()); err != nil {
		return err
	}
	for _, r := range s.removals {
		if err := r.InTx(ctx, tx, organizationID, agentID); err != nil {
			return err
		}
	}
	tell := context.WithoutCancel(ctx)
	tx.AfterCommit(func() {
		for _, r := range s.removals {
			r.AfterCommit(tell, organizationID, agentID)
		}
	})
	return nil
}
