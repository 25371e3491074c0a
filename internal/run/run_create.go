package run

import (
	"context"
	"errors"
	"slices"

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
	computers := true
	if err = errors.Join(err, tool.Check(in.Tools), checkAttachments(v, in.Attachments), idempotency.Check(in.IdempotencyKey)); err == nil {
		computers, err = s.host.configured(ctx, tool.Names(in.Tools)) // before the transaction: the check may still be going on
	}
	var r *Run
	if err == nil {
		err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
			r, err = s.createOnce(ctx, tx, v, in, settled{environment, computers})
			return err
		})
	}
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &CreatePayload{UserErrors: refused}, err
	}
	return &CreatePayload{Run: r, UserErrors: refused}, nil
}

// settled is what was settled of a new run before its transaction.
type settled struct {
	environment map[string]string
	computers   bool // there are some here
}

func (s *Service) createOnce(ctx context.Context, tx *database.Tx, v *key.Viewer, in CreateInput, p settled) (*Run, error) {
	r := &Run{
		ID: id.New(id.Run), OrganizationID: v.Organization.ID, AgentID: in.Agent, KeyID: v.Key.ID, Status: Open, CreatedAt: s.now(),
	}
	request := idempotency.Request{OrganizationID: v.Organization.ID, KeyID: v.Key.ID, Mutation: "runCreate", Key: in.IdempotencyKey, Input: in}
	answer, replayed, err := s.once.Once(ctx, tx, request, func(ctx context.Context) ([]string, error) {
		return []string{r.ID}, s.create(ctx, tx, v, r, in, p)
	})
	if err != nil || !replayed {
		return r, err
	}
	found, err := byIDs(ctx, tx.Ent(), v.Organization.ID, answer)
	return found[answer[0]], err
}

// create writes the run, its tools (S1-schemakeep, S2-resolved) and its snapshot.
func (s *Service) create(ctx context.Context, tx *database.Tx, v *key.Viewer, r *Run, in CreateInput, p settled) error {
	var entries []script.Entry
	scripting := false
	choice := tool.Choice{Entries: in.Tools, Computers: p.computers}
	if r.AgentID != nil {
		a, err := s.agents.Lock(ctx, tx, r.OrganizationID, *r.AgentID)
		if err != nil {
			return err
		}
		scripting, choice.Toolset = a.Scripting, a.Tools
		if entries, err = s.scripts.Live(ctx, tx, r.OrganizationID, a.ID); err != nil {
			return err
		}
	}
	packages, err := s.tools.Choose(ctx, tx.SQL(), v, choice)
	if err != nil {
		return err
	}
	own := slices.DeleteFunc(tool.Of(entries, scripting), func(t *tool.Tool) bool { return !v.PermitsTool(t.Name) }) // S2-policy
	tools, err := tool.Encode(append(own, packages...))
	if err != nil {
		return err
	}
	if err := insert(ctx, tx, newRun{Run: r, scripting: scripting, environment: p.environment, tools: tools}); err != nil {
		return err
	}
	if err := insertTools(ctx, tx, r, packages); err != nil {
		return err
	}
	if err := s.attach(ctx, tx, r, in.Attachments); err != nil {
		return err
	}
	snapshot := &Snapshot{ID: id.New(id.Snapshot), OrganizationID: r.OrganizationID, RunID: r.ID, CreatedAt: r.CreatedAt}
	return insertSnapshot(ctx, tx, snapshot, entries)
}
