package script

import (
	"context"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/change"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/key"
)

// ToolPrefix begins the names under which an organization's scripts are offered.
const ToolPrefix = "script__"

// DeletePackage deletes a script of the organization with its versions and files, and stops it where it runs (S2-del). It needs TOOLING.
//
// In order: the organization's lock; the script, whose row is locked, so that no agent begins to name it; the agents that name it; the rows; the
// change, unless there were drafts alone. The script's row stays as long as anything does that remembers its id.
func (s *Service) DeletePackage(ctx context.Context, in PackageDeleteInput) (*PackageDeletePayload, error) {
	v, err := key.Permitted(ctx, key.Tooling)
	if err != nil {
		return nil, err
	}
	err = s.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error { return s.deletePackage(ctx, tx, v, in.Script) })
	refused, err := fault.Refusals(err)
	if err != nil || len(refused) > 0 {
		return &PackageDeletePayload{UserErrors: refused}, err
	}
	return &PackageDeletePayload{DeletedID: &in.Script, UserErrors: refused}, nil
}

func (s *Service) deletePackage(ctx context.Context, tx *database.Tx, v *key.Viewer, scriptID string) error {
	if _, err := lockOrganization(ctx, tx, v.Organization.ID); err != nil {
		return err
	}
	e, err := packageByID(ctx, tx, v.Organization.ID, scriptID, v.Has(key.Management))
	if err != nil {
		return err
	}
	if err := lockScript(ctx, tx, e.Script); err != nil {
		return err
	}
	if err := s.checkUnused(ctx, tx, e.Script); err != nil {
		return err
	}
	if err := s.remove(ctx, tx, v.Organization.ID, []*Script{e.Script}); err != nil {
		return err
	}
	if err := deletePackageRows(ctx, tx, e.Script); err != nil || !e.Script.Published {
		return err
	}
	return s.tell(ctx, tx, change.Delete, e.Script, "", change.AuthorOf(ctx, v.Key.ID))
}

// checkUnused refuses a script that agents name. Drafts alone are named by nobody.
func (s *Service) checkUnused(ctx context.Context, tx *database.Tx, script *Script) error {
	if !script.Published {
		return nil
	}
	tool := ToolPrefix + script.Name
	naming, err := s.agents.Naming(ctx, tx.SQL(), script.OrganizationID, []string{tool})
	if err != nil || len(naming[tool]) == 0 {
		return err
	}
	const at = "input.script"
	return &InUse{Detail: fault.NewDetail(fault.InUse, at, "%s: agents name %s in their tools (%d)", at, tool, len(naming[tool])), Agents: naming[tool]}
}

// UsedBy answers, by the script's id, the agents that name each of the scripts, which are seen already, in two statements.
func (s *Service) UsedBy(ctx context.Context, organizationID string, scriptIDs []string) (map[string][]*agent.Agent, error) {
	scripts, err := s.ByIDs(ctx, organizationID, scriptIDs)
	if err != nil {
		return nil, err
	}
	var tools []string
	for _, script := range scripts {
		if script.IsPackage() && script.Published {
			tools = append(tools, ToolPrefix+script.Name)
		}
	}
	if len(tools) == 0 {
		return nil, nil
	}
	naming, err := s.agents.Naming(ctx, s.db.SQL(), organizationID, tools)
	used := make(map[string][]*agent.Agent, len(tools))
	for scriptID, script := range scripts {
		if script.IsPackage() && script.Published {
			used[scriptID] = naming[ToolPrefix+script.Name]
		}
	}
	return used, err
}
