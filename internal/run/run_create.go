package run

import (
	"context"
	"errors"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/idempotency"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/internal/tool"
)

// Create makes a run and takes the snapshot of the agent's scripts (S1-snap) under the agent's lock: every save is in it whole or not at
// all. No computer is made yet, and none need be there. It needs TOOLING.
func (s *Service) Create(ctx context.Context, in CreateInput) (*CreatePayload, error) {
	v, err := key.Permitted(ctx, key.Tooling)
	if err != nil {
		return nil, err
	}
	environment, err := parseEnvironment(in.Environment)
	var r *Run
	if err = errors.Join(err, idempotency.Check(in.IdempotencyKey)); err == nil {
		err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
			r, err = s.createOnce(ctx, tx, v, in, environment)
			return err
		})
	}
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &CreatePayload{UserErrors: refused}, err
	}
	return &CreatePayload{Run: r, UserErrors: refused}, nil
}

func (s *Service) createOnce(ctx context.Context, tx *database.Tx, v *key.Viewer, in CreateInput, environment map[string]string) (*Run, error) {
	r := &Run{
		ID: id.New(id.Run), OrganizationID: v.Organization.ID, AgentID: in.Agent, KeyID: v.Key.ID, Status: Open, CreatedAt: s.now(),
	}
	request := idempotency.Request{OrganizationID: v.Organization.ID, KeyID: v.Key.ID, Mutation: "runCreate", Key: in.IdempotencyKey, Input: in}
	answer, replayed, err := s.once.Once(ctx, tx, request, func(ctx context.Context) ([]string, error) {
		return []string{r.ID}, s.create(ctx, tx, r, environment)
	})
	if err != nil || !replayed {
		return r, err
	}
	found, err := byIDs(ctx, tx.Ent(), v.Organization.ID, answer)
	return found[answer[0]], err
}

// create writes the run, its tools (S1-schemakeep) and its snapshot.
func (s *Service) create(ctx context.Context, tx *database.Tx, r *Run, environment map[string]string) error {
	var entries []script.Entry
	scripting := false
	if r.AgentID != nil {
		a, err := s.agents.Lock(ctx, tx, r.OrganizationID, *r.AgentID)
		if err != nil {
			return err
		}
		scripting = a.Scripting
		if entries, err = s.scripts.Live(ctx, tx, r.OrganizationID, a.ID); err != nil {
			return err
		}
	}
	tools, err := tool.Encode(tool.Of(entries, scripting))
	if err != nil {
		return err
	}
	if err := insert(ctx, tx, newRun{r, scripting, environment, tools}); err != nil {
		return err
	}
	snapshot := &Snapshot{ID: id.New(id.Snapshot), OrganizationID: r.OrganizationID, RunID: r.ID, CreatedAt: r.CreatedAt}
	return insertSnapshot(ctx, tx, snapshot, entries)
}
