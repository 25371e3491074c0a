package agent

import (
	"context"
	"errors"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/idempotency"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/text"
)

// Create makes an agent. It needs TOOLING.
func (s *Service) Create(ctx context.Context, in CreateInput) (*CreatePayload, error) {
	v, err := key.Permitted(ctx, key.Tooling)
	if err != nil {
		return nil, err
	}
	var a *Agent
	err = errors.Join(text.Label("input.name", in.Name), checkMaxScripts(in.MaxScripts), checkConnectedTools(in.ConnectedTools),
		checkTools(in.Tools), idempotency.Check(in.IdempotencyKey))
	if err == nil {
		err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
			a, err = s.createOnce(ctx, tx, v, in)
			return err
		})
	}
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &CreatePayload{UserErrors: refused}, err
	}
	return &CreatePayload{Agent: a, UserErrors: refused}, nil
}

func (s *Service) createOnce(ctx context.Context, tx *database.Tx, v *key.Viewer, in CreateInput) (*Agent, error) {
	a := planned(v.Organization.ID, in)
	a.CreatedAt = s.now()
	a.UpdatedAt = a.CreatedAt
	request := idempotency.Request{
		OrganizationID: v.Organization.ID, KeyID: v.Key.ID, Mutation: "agentCreate", Key: in.IdempotencyKey, Input: in,
	}
	answer, replayed, err := s.once.Once(ctx, tx, request, func(ctx context.Context) ([]string, error) {
		if err := checkNamed(ctx, tx, v, a.Tools, nil); err != nil {
			return nil, err
		}
		return []string{a.ID}, insert(ctx, tx, a)
	})
	if err != nil || !replayed {
		return a, err
	}
	found, err := byIDs(ctx, tx.Ent(), v.Organization.ID, answer, true)
	return found[answer[0]], err
}

// planned is the new agent with its defaults.
func planned(organizationID string, in CreateInput) *Agent {
	a := &Agent{
		ID: id.New(id.Agent), OrganizationID: organizationID, Name: in.Name, Scripting: true, MaxScripts: DefaultMaxScripts,
		ConnectedTools: in.ConnectedTools, Tools: in.Tools,
	}
	if in.Scripting != nil {
		a.Scripting = *in.Scripting
	}
	if in.KeepsHome != nil {
		a.KeepsHome = *in.KeepsHome
	}
	if in.MaxScripts != nil {
		a.MaxScripts = *in.MaxScripts
	}
	if a.ConnectedTools == nil {
		a.ConnectedTools = []string{}
	}
	if a.Tools == nil {
		a.Tools = []string{}
	}
	return a
}
