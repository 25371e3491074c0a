package call

import (
	"context"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/internal/tool"
)

// directTarget is what a call without a run is made in: nothing but the organization's script of the tool's name, in the version that is pinned, else in the
// latest (S2-direct). A draft can be pinned by a key with MANAGEMENT, to try it: it is as good as not there for others. A version that does not exist
// is a user error; a tool that does not is the call's affair. The call of a draft is a trial, which nobody else sees either (S2-draft).
func (s *Service) directTarget(ctx context.Context, v *key.Viewer, in ToolCallInput) (*target, error) {
	t := &target{status: "OPEN", direct: true}
	name, isPackage := tool.PackageOf(in.Name)
	if !isPackage || !v.PermitsTool(in.Name) {
		return t, nil
	}
	e, err := s.directVersion(ctx, v, name, in.Version)
	if err != nil || e == nil {
		return t, err
	}
	t.scriptID, t.versionID, t.number, t.timeout = &e.Script.ID, &e.Version.ID, &e.Version.Number, &e.Version.TimeoutSeconds
	t.parameters, t.trial = e.Version.Parameters, e.Version.PublishedAt == nil
	return t, nil
}

// directVersion finds the version that a call without a run asks for; nil where there is no such script.
func (s *Service) directVersion(ctx context.Context, v *key.Viewer, name string, number *int) (*script.Entry, error) {
	drafts := number != nil && v.Has(key.Management)
	found, err := s.scripts.Packages(ctx, s.db.SQL(), v.Organization.ID, []string{name}, drafts)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	if number == nil || found[0].Version.Number == *number {
		return &found[0], nil
	}
	pinned, err := s.scripts.PackageVersion(ctx, s.db.SQL(), v.Organization.ID, name, *number, drafts)
	if err == nil && pinned == nil {
		err = fault.Plain(fault.NotFound, "input.version", "input.version: %s has no version %d", agent.ScriptPrefix+name, *number)
	}
	return pinned, err
}
