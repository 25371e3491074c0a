package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/text"
)

const (
	// MaxTools is how many names and patterns of tools an agent has at most.
	MaxTools = 100
	// ScriptPrefix begins the names of the tools that are an organization's scripts.
	ScriptPrefix = "script__"
)

// checkTools checks names and patterns of tools by themselves. What they name is a matter of the transaction.
func checkTools(names []string) error {
	const path = "input.tools"
	if len(names) > MaxTools {
		return fault.Plain(fault.TooLarge, path, "%s has %d names; %d are allowed", path, len(names), MaxTools)
	}
	for i, name := range names {
		at := fmt.Sprintf("%s.%d", path, i)
		switch {
		case !text.ValidPattern(name):
			return fault.Plain(fault.Invalid, at, "%s must be 1 to %d letters, digits, _, - and *", at, text.MaxPattern)
		case slices.Index(names, name) != i:
			return fault.Plain(fault.Invalid, at, "%s repeats %s", at, name)
		}
	}
	return nil
}

// checkNamed refuses names of scripts that the organization does not have, or that the viewer's key may not use, but for those that the agent had
// before. A pattern may fit nothing. The scripts are locked until the transaction ends, so that none is deleted meanwhile (S2-del).
func checkNamed(ctx context.Context, tx *database.Tx, v *key.Viewer, names, before []string) error {
	var scripts []string
	for _, name := range names {
		if s, ok := strings.CutPrefix(name, ScriptPrefix); ok && !text.IsPattern(name) {
			scripts = append(scripts, s)
		}
	}
	found := map[string]bool{}
	if len(scripts) > 0 {
		var err error
		if found, err = lockPackages(ctx, tx, v.Organization.ID, scripts); err != nil {
			return err
		}
	}
	var faults []error
	for i, name := range names {
		script, prefixed := strings.CutPrefix(name, ScriptPrefix)
		if text.IsPattern(name) || (prefixed && found[script] && (v.PermitsTool(name) || slices.Contains(before, name))) {
			continue
		}
		at := fmt.Sprintf("input.tools.%d", i)
		faults = append(faults, fault.Plain(fault.NotFound, at, "%s: there is no tool %s", at, name))
		if len(faults) == 10 {
			break // enough is said
		}
	}
	return errors.Join(faults...)
}

// Naming answers, by the tool's name, the agents that name it in their tools, oldest first. A pattern names nothing.
func (s *Service) Naming(ctx context.Context, q *database.Querier, organizationID string, toolNames []string) (map[string][]*Agent, error) {
	return naming(ctx, q, organizationID, toolNames)
}
