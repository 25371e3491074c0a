package resolvers

import (
	"context"

	"github.com/scriptorium-dev/scriptorium/internal/call"
	"github.com/scriptorium-dev/scriptorium/internal/change"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/key"
)

// maxNodes bounds the ids of one nodes field.
const maxNodes = 100

// organizationOf is the viewer's organization.
func organizationOf(ctx context.Context) string {
	v, err := key.From(ctx)
	if err != nil {
		return "" // no row belongs to it
	}
	return v.Organization.ID
}

// loadNode looks a global id up by its kind.
func loadNode(ctx context.Context, nodeID string) (id.Node, error) {
	l := load(ctx)
	switch id.KindOf(nodeID) {
	case id.Organization:
		if nodeID != organizationOf(ctx) {
			return nil, nil
		}
		return found(l.organizations.Load(ctx, nodeID))
	case id.Key:
		return found(l.keys.Load(ctx, nodeID))
	case id.Agent:
		return found(l.agents.Load(ctx, nodeID))
	case id.Script:
		return found(l.scripts.Load(ctx, nodeID))
	case id.Version:
		return found(l.versions.Load(ctx, nodeID))
	case id.Change:
		return found(l.changes.Load(ctx, nodeID))
	case id.Run:
		return found(l.runs.Load(ctx, nodeID))
	case id.Snapshot:
		return found(l.snapshots.Load(ctx, nodeID))
	case id.Call:
		return found(l.calls.Load(ctx, nodeID))
	}
	return nil, nil
}

// loadNodes looks ids of all kinds up, with one statement a kind.
func loadNodes(ctx context.Context, ids []string) ([]id.Node, error) {
	if len(ids) > maxNodes {
		return nil, fault.NewProblem(fault.BadRequest, "ids has more than %d ids", maxNodes)
	}
	nodes, errs := make([]id.Node, len(ids)), make([]error, len(ids))
	done := make(chan struct{}, len(ids))
	for i, nodeID := range ids {
		go func() {
			nodes[i], errs[i] = loadNode(ctx, nodeID)
			done <- struct{}{}
		}()
	}
	for range ids {
		<-done
	}
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// found makes a missing object a missing node: a nil pointer in an interface is none.
func found[T any](v *T, err error) (id.Node, error) {
	if v == nil {
		return nil, err
	}
	return v, err
}

// loadAuthor answers who wrote something: a key, or a step of a run.
func loadAuthor(ctx context.Context, a change.Author) (call.Author, error) {
	if a.CallID == "" {
		return found(load(ctx).keys.Load(ctx, a.KeyID))
	}
	c, err := load(ctx).calls.Load(ctx, a.CallID)
	if c == nil || c.RunID == nil {
		return nil, err
	}
	return &call.Step{RunID: *c.RunID, CallID: c.ID}, nil
}
