package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/internal/text"
)

const (
	// MaxEntries is how many entries of tools a run names at most.
	MaxEntries = 100
	// MaxTools and maxToolBytes bound the tools of one run, and of one list: their number, and their names, descriptions and schemas together.
	MaxTools     = 1000
	maxToolBytes = 8 << 20
)

// Entry is one of the tools that a new run names (SDL: ToolEntryInput).
type Entry struct {
	Name    string // or a pattern
	Version *int   // nil: the latest
}

// Choice is what a new run asks for of its organization's tools.
type Choice struct {
	Entries []*Entry
	// Toolset are the agent's names and patterns: what they name and is not there for this key is left out.
	Toolset []string
	// Computers says whether there are any here.
	Computers bool
}

// Check holds the rules about entries by themselves: names and patterns, a version that is one, no two that say different things of one tool.
func Check(entries []*Entry) error {
	const path = "input.tools"
	if len(entries) > MaxEntries {
		return fault.Plain(fault.TooLarge, path, "%s has %d entries; %d are allowed", path, len(entries), MaxEntries)
	}
	var faults []error
	seen := map[string]*int{}
	for i, e := range entries {
		at := fmt.Sprintf("%s.%d", path, i)
		before, twice := seen[e.Name]
		switch {
		case !text.ValidPattern(e.Name):
			faults = append(faults, fault.Plain(fault.Invalid, at+".name", "%s.name must be 1 to %d letters, digits, _, - and *", at, text.MaxPattern))
		case text.IsPattern(e.Name) && e.Version != nil:
			faults = append(faults, fault.Plain(fault.Invalid, at+".version", "%s.version: a pattern has no version", at))
		case twice && !same(before, e.Version):
			faults = append(faults, fault.Plain(fault.Invalid, at+".version", "%s.version differs from what an entry before says of %s", at, e.Name))
		}
		seen[e.Name] = e.Version
		if len(faults) == 10 {
			break // enough is said
		}
	}
	return errors.Join(faults...)
}

func same(a, b *int) bool { return a == b || a != nil && b != nil && *a == *b }

// Names says whether entries name a script of the organization, not by a pattern.
func Names(entries []*Entry) bool {
	return slices.ContainsFunc(entries, func(e *Entry) bool { return !text.IsPattern(e.Name) })
}

// Choose answers the organization's tools that a new run is offered, by name, each in one version (S2-resolved): the one that an entry pins (S2-pin), else the
// latest (S2-latest). What an entry names must be there for this key; what only a pattern or the agent's toolset asks for is left out where it is not
// (S2-caps, S2-policy).
func (s *Service) Choose(ctx context.Context, q *database.Querier, v *key.Viewer, c Choice) ([]*Tool, error) {
	if len(c.Entries) == 0 && len(c.Toolset) == 0 {
		return nil, nil
	}
	latest, err := s.latest(ctx, q, v.Organization.ID, c.names())
	if err != nil {
		return nil, err
	}
	chosen := map[string]*script.Entry{}
	var faults []error
	for i, e := range c.Entries {
		if text.IsPattern(e.Name) {
			continue
		}
		found, err := s.named(ctx, q, v, c, i, latest)
		if _, other := fault.Refusals(err); other != nil {
			return nil, other
		}
		if chosen[e.Name] = found; err != nil {
			faults = append(faults, err)
		}
		if len(faults) == 10 {
			break // enough is said
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	if v.Has(key.Computer) && c.Computers {
		c.addFitting(v, latest, chosen)
	}
	return bounded(chosen)
}

// names are the names of the scripts that may be asked for; nil: any.
func (c Choice) names() []string {
	names := []string{}
	all := slices.Clone(c.Toolset)
	for _, e := range c.Entries {
		all = append(all, e.Name)
	}
	for _, name := range all {
		if text.IsPattern(name) {
			return nil
		}
		if s, ok := PackageOf(name); ok {
			names = append(names, s)
		}
	}
	return names
}

// latest reads scripts with their latest versions, by the names of their tools.
func (s *Service) latest(ctx context.Context, q *database.Querier, organizationID string, names []string) (map[string]*script.Entry, error) {
	entries, err := s.scripts.Packages(ctx, q, organizationID, names, false)
	found := make(map[string]*script.Entry, len(entries))
	for i := range entries {
		found[agent.ScriptPrefix+entries[i].Script.Name] = &entries[i]
	}
	return found, err
}

// named answers what the entry names, or why it cannot be had.
func (s *Service) named(ctx context.Context, q *database.Querier, v *key.Viewer, c Choice, i int, latest map[string]*script.Entry) (*script.Entry, error) {
	e, at := c.Entries[i], fmt.Sprintf("input.tools.%d", i)
	found := latest[e.Name]
	_, isPackage := PackageOf(e.Name)
	switch {
	case isPackage && !v.Has(key.Computer):
		return nil, fault.Plain(fault.Forbidden, at+".name", "%s.name: your key does not have %s, which %s needs", at, key.Computer, e.Name)
	case found == nil || !v.PermitsTool(e.Name):
		return nil, fault.Plain(fault.NotFound, at+".name", "%s.name: there is no tool %s for your key", at, e.Name)
	case e.Version != nil && *e.Version != found.Version.Number:
		pinned, err := s.scripts.PackageVersion(ctx, q, v.Organization.ID, found.Script.Name, *e.Version, false)
		if err != nil {
			return nil, err
		}
		if found = pinned; found == nil {
			return nil, fault.Plain(fault.NotFound, at+".version", "%s.version: %s has no version %d", at, e.Name, *e.Version)
		}
	}
	if !c.Computers {
		return nil, &fault.NotConfigured{
			Detail:     fault.NewDetail(fault.Unconfigured, at+".name", "%s.name: This tool is not configured on this deployment.", at),
			ReasonCode: NoComputers,
		}
	}
	return found, nil
}

// NoComputers is the reason code of what is refused since there are no computers.
const NoComputers = "computer_not_configured"

// addFitting adds what patterns and the toolset stand for and no entry names.
func (c Choice) addFitting(v *key.Viewer, latest, chosen map[string]*script.Entry) {
	patterns := slices.Clone(c.Toolset)
	for _, e := range c.Entries {
		if text.IsPattern(e.Name) {
			patterns = append(patterns, e.Name)
		}
	}
	for name, e := range latest {
		fits := func(pattern string) bool { return text.Fits(pattern, name) }
		if chosen[name] == nil && v.PermitsTool(name) && slices.ContainsFunc(patterns, fits) {
			chosen[name] = e
		}
	}
}

// bounded are the tools by name, where they are not too many for a run.
func bounded(chosen map[string]*script.Entry) ([]*Tool, error) {
	tools := make([]*Tool, 0, len(chosen))
	for _, e := range chosen {
		tools = append(tools, OfPackage(e))
	}
	sortByName(tools)
	if tooMany(tools) {
		return nil, fault.Plain(fault.TooLarge, "input.tools", "input.tools stands for more than %d tools, or more than %d bytes of descriptions and schemas", MaxTools, maxToolBytes)
	}
	return tools, nil
}
