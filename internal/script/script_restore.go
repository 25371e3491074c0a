package script

import (
	"context"
	"errors"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/idempotency"
	"github.com/scriptorium-dev/scriptorium/internal/key"
)

// restored is the place of content that comes from a version: whatever is wrong with it, the version is at fault.
var restored = place{path: "input.version", whole: true}

// Restore saves again what an earlier version held, as the next version of the script that has its name now (S1-hist). Where there is none,
// since it was deleted, that is a new script, under the rules for one. It needs TOOLING.
func (s *Service) Restore(ctx context.Context, in RestoreInput) (*RestorePayload, error) {
	v, err := key.Permitted(ctx, key.Tooling)
	if err != nil {
		return nil, err
	}
	var done *saved
	if err = errors.Join(checkExpected(in.ExpectedVersion), idempotency.Check(in.IdempotencyKey)); err == nil {
		err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
			request := idempotency.Request{
				OrganizationID: v.Organization.ID, KeyID: v.Key.ID, Mutation: "agentScriptRestore", Key: in.IdempotencyKey, Input: in,
			}
			done, err = s.savedOnce(ctx, tx, request, func(ctx context.Context) (*saved, error) { return s.restore(ctx, tx, v, in) })
			return err
		})
	}
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &RestorePayload{UserErrors: refused}, err
	}
	return (*RestorePayload)(done.payload()), nil
}

func (s *Service) restore(ctx context.Context, tx *database.Tx, v *key.Viewer, in RestoreInput) (*saved, error) {
	version, of, err := s.versionToRestore(ctx, tx, v.Organization.ID, in.Version)
	if err != nil {
		return nil, err
	}
	a, err := s.agents.Lock(ctx, tx, v.Organization.ID, of.AgentID)
	if gone, other := fault.Refusals(err); other != nil {
		return nil, other
	} else if len(gone) > 0 {
		return nil, fault.Plain(fault.NotFound, restored.path, "%s: its agent was deleted", restored.path)
	}
	content := Content{
		Name: of.Name, Description: version.Description, Source: version.Source, Parameters: version.Parameters, FreshInterpreter: &version.FreshInterpreter,
	}
	if err := content.check(restored); err != nil {
		return nil, err
	}
	return s.saveOf(ctx, tx, a, v, writing{content, restored, in.ExpectedVersion})
}

// versionToRestore reads a version and its script, which may be deleted. Neither ever changes in what is used of it.
func (s *Service) versionToRestore(ctx context.Context, tx *database.Tx, organizationID, versionID string) (*Version, *Script, error) {
	versions, err := versionsByIDs(ctx, tx.SQL(), organizationID, id.Only(id.Version, []string{versionID}), false)
	if err != nil {
		return nil, nil, err
	}
	if len(versions) == 0 || versions[0].Package {
		return nil, nil, fault.Plain(fault.NotFound, restored.path, "%s: there is no such version", restored.path)
	}
	scripts, err := byIDs(ctx, tx.SQL(), organizationID, []string{versions[0].ScriptID}, true, false)
	if err != nil {
		return nil, nil, err
	}
	if len(scripts) == 0 {
		return nil, nil, errors.New("script: a version has no script")
	}
	return versions[0], scripts[0], nil
}
