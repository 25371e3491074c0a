package script

import (
	"context"

	"github.com/scriptorium-dev/scriptorium/internal/change"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/key"
)

// Clear removes all scripts of an agent, each as Delete does (S1-clear). It is one change; where there were none, it is none. It
// needs TOOLING.
func (s *Service) Clear(ctx context.Context, in ClearInput) (*ClearPayload, error) {
	v, err := key.Permitted(ctx, key.Tooling)
	if err != nil {
		return nil, err
	}
	var deleted []string
	err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		a, err := s.agents.Lock(ctx, tx, v.Organization.ID, in.Agent)
		if err != nil {
			return err
		}
		deleted, err = s.clear(ctx, tx, a.OrganizationID, a.ID, change.AuthorOf(ctx, v.Key.ID))
		return err
	})
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &ClearPayload{UserErrors: refused}, err
	}
	return &ClearPayload{DeletedIDs: deleted, UserErrors: refused}, nil
}

// clear removes all scripts of an agent that is locked, and answers their ids.
func (s *Service) clear(ctx context.Context, tx *database.Tx, organizationID, agentID string, author change.Author) ([]string, error) {
	scripts, err := liveScripts(ctx, tx.SQL(), organizationID, agentID)
	ids := make([]string, len(scripts))
	for i, script := range scripts {
		ids[i] = script.ID
	}
	if err != nil || len(scripts) == 0 {
		return ids, err
	}
	if err := s.remove(ctx, tx, organizationID, scripts); err != nil {
		return nil, err
	}
	_, err = s.changes.Append(ctx, tx, organizationID, []change.New{{Action: change.Clear, AgentID: &agentID, Author: author}})
	return ids, err
}

// InTx implements agent.Removal: an agent's scripts go with it.
func (s *Service) InTx(ctx context.Context, tx *database.Tx, organizationID, agentID string) error {
	v, err := key.From(ctx)
	if err != nil {
		return err
	}
	_, err = s.clear(ctx, tx, organizationID, agentID, change.AuthorOf(ctx, v.Key.ID))
	return err
}

// AfterCommit implements agent.Removal. What is to be told of scripts is told already.
func (*Service) AfterCommit(context.Context, string, string) {}

// NamesInUse implements agent.NamesInUse.
func (s *Service) NamesInUse(ctx context.Context, tx *database.Tx, organizationID, agentID string, names []string) (map[string]bool, error) {
	scripts, err := liveScripts(ctx, tx.SQL(), organizationID, agentID)
	if err != nil {
		return nil, err
	}
	has := make(map[string]bool, len(scripts))
	for _, script := range scripts {
		has[script.Name] = true
	}
	used := map[string]bool{}
	for _, name := range names {
		if has[name] {
			used[name] = true
		}
	}
	return used, nil
}
