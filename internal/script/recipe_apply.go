package script

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/change"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/idempotency"
	"github.com/scriptorium-dev/scriptorium/internal/key"
)

// ApplyRecipe saves several scripts of an agent, each as Save does: all of them, or none (S1-recipe). It needs TOOLING.
//
// In order: the rules about the input itself; the answer to an equal request before; the agent's lock; S1-reserved for all new names, and
// S1-cap for all of them together; the rows; the changes, one a script. After the commit each is written through to running machines.
func (s *Service) ApplyRecipe(ctx context.Context, in RecipeInput) (*RecipePayload, error) {
	v, err := key.Permitted(ctx, key.Tooling)
	if err != nil {
		return nil, err
	}
	in.Scripts = slices.Clone(in.Scripts) // the caller's stay as they are
	for i, c := range in.Scripts {
		own := *c
		own.Parameters = absent(c.Parameters)
		in.Scripts[i] = &own
	}
	var scripts []*Script
	if err = in.checkShape(); err == nil {
		err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
			scripts, err = s.applyOnce(ctx, tx, v, in)
			return err
		})
	}
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &RecipePayload{UserErrors: refused}, err
	}
	return &RecipePayload{Scripts: scripts, UserErrors: refused}, nil
}

// applyOnce applies, or answers the scripts that an equal request wrote, as they are now.
func (s *Service) applyOnce(ctx context.Context, tx *database.Tx, v *key.Viewer, in RecipeInput) (scripts []*Script, err error) {
	request := idempotency.Request{
		OrganizationID: v.Organization.ID, KeyID: v.Key.ID, Mutation: "recipeApply", Key: in.IdempotencyKey, Input: in,
	}
	ids, replayed, err := s.once.Once(ctx, tx, request, func(ctx context.Context) ([]string, error) {
		scripts, err = s.apply(ctx, tx, v, in)
		written := make([]string, len(scripts))
		for i, script := range scripts {
			written[i] = script.ID
		}
		return written, err
	})
	if err != nil || !replayed {
		return scripts, err
	}
	rows, err := byIDs(ctx, tx.SQL(), v.Organization.ID, ids, true, false)
	if err != nil {
		return nil, err
	}
	kept := keyed(rows, func(s *Script) string { return s.ID })
	scripts = nil
	for _, wanted := range ids {
		if kept[wanted] == nil {
			return nil, fmt.Errorf("script: a remembered answer names %s, which is gone", wanted)
		}
		scripts = append(scripts, kept[wanted])
	}
	return scripts, nil
}

// apply holds the rules that need the agent's scripts, and writes.
func (s *Service) apply(ctx context.Context, tx *database.Tx, v *key.Viewer, in RecipeInput) ([]*Script, error) {
	a, err := s.agents.Lock(ctx, tx, v.Organization.ID, in.Agent)
	if err != nil {
		return nil, err
	}
	if err := s.fits(ctx, tx, a, in.Scripts); err != nil {
		return nil, err
	}
	author := change.AuthorOf(ctx, v.Key.ID)
	scripts, changes := make([]*Script, len(in.Scripts)), make([]change.New, len(in.Scripts))
	for i, c := range in.Scripts {
		done, err := s.write(ctx, tx, a, author, writing{Content: *c, at: inRecipe(i)})
		if err != nil {
			return nil, err
		}
		scripts[i], changes[i] = done.script, done.change(author)
	}
	_, err = s.changes.Append(ctx, tx, a.OrganizationID, changes)
	return scripts, err
}

// fits says whether the agent can have all of the scripts.
func (s *Service) fits(ctx context.Context, tx *database.Tx, a *agent.Agent, scripts []*Content) error {
	live, err := liveScripts(ctx, tx.SQL(), a.OrganizationID, a.ID)
	if err != nil {
		return err
	}
	has := keyed(live, func(s *Script) string { return s.Name })
	var faults []error
	fresh := 0
	for i, c := range scripts {
		if has[c.Name] != nil {
			continue
		}
		if err := checkNewName(inRecipe(i).of("name"), a, c.Name); err != nil {
			faults = append(faults, err)
			continue
		}
		fresh++
	}
	if fresh > 0 && len(live)+fresh > a.MaxScripts {
		faults = append(faults, atCap(recipePath, a))
	}
	return errors.Join(faults...)
}
