package script

import (
	"context"

	"github.com/scriptorium-dev/scriptorium/internal/change"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/key"
)

// Delete removes a script of an agent: it leaves the snapshots of open runs and the agent's home, and stops at once where it runs
// (S1-delnow). It needs TOOLING.
func (s *Service) Delete(ctx context.Context, in DeleteInput) (*DeletePayload, error) {
	v, err := key.Permitted(ctx, key.Tooling)
	if err != nil {
		return nil, err
	}
	var deleted string
	err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		deleted, err = s.deleteInTx(ctx, tx, v, in)
		return err
	})
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &DeletePayload{UserErrors: refused}, err
	}
	return &DeletePayload{DeletedID: &deleted, UserErrors: refused}, nil
}

// DeleteInTx is Delete in a transaction of the caller's, for the tools of a run; refusals are errors. The change is its last write.
func (s *Service) DeleteInTx(ctx context.Context, tx *database.Tx, in DeleteInput) error {
	v, err := key.Permitted(ctx, key.Tooling)
	if err != nil {
		return err
	}
	_, err = s.deleteInTx(ctx, tx, v, in)
	return err
}

func (s *Service) deleteInTx(ctx context.Context, tx *database.Tx, v *key.Viewer, in DeleteInput) (string, error) {
	a, err := s.agents.Lock(ctx, tx, v.Organization.ID, in.Agent)
	if err != nil {
		return "", err
	}
	var entry *Entry
	if ValidName(in.Name) {
		if entry, err = liveByName(ctx, tx.SQL(), a.OrganizationID, a.ID, in.Name); err != nil {
			return "", err
		}
	}
	if entry == nil {
		return "", fault.Plain(fault.NotFound, "input.name", "input.name: the agent has no such script")
	}
	if err := s.remove(ctx, tx, a.OrganizationID, []*Script{entry.Script}); err != nil {
		return "", err
	}
	_, err = s.changes.Append(ctx, tx, a.OrganizationID, []change.New{{
		Action: change.Delete, AgentID: &a.ID, Name: &in.Name, ScriptID: &entry.Script.ID, Author: change.AuthorOf(ctx, v.Key.ID),
	}})
	return entry.Script.ID, err
}

// remove deletes scripts of an agent that is locked, and has other words do their part.
func (s *Service) remove(ctx context.Context, tx *database.Tx, organizationID string, scripts []*Script) error {
	at := s.now()
	ids := make([]string, len(scripts))
	for i, script := range scripts {
		ids[i], script.DeletedAt = script.ID, &at
	}
	if err := markDeleted(ctx, tx, organizationID, ids, at); err != nil {
		return err
	}
	if err := s.removal.InTx(ctx, tx, organizationID, ids); err != nil {
		return err
	}
	tell := context.WithoutCancel(ctx)
	tx.AfterCommit(func() { s.removal.AfterCommit(tell, organizationID, scripts) })
	return nil
}
