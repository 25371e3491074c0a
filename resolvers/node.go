package resolvers

import (
	"context"

	"github.com/scriptorium-dev/scriptorium/internal/call"
	"github.com/scriptorium-dev/scriptorium/internal/change"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/organization"
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

// organizationsByIDs answers organizations for what names them; it is the caller that may see them.
func (r *Resolver) organizationsByIDs(ctx context.Context, _ string, ids []string) (map[string]*organization.Organization, error) {
	return r.Organizations.ByIDs(ctx, ids)
}

// ownOrganization answers the viewer's organization where it is asked for by id.
func (r *Resolver) ownOrganization(ctx context.Context, organizationID string, ids []string) (map[string]*organization.Organization, error) {
	for _, wanted := range ids {
		if wanted == organizationID {
			return r.Organizations.ByIDs(ctx, []string{organizationID})
		}
	}
	return nil, nil
}

// findNode looks a global id up by its kind.
func (r *Resolver) findNode(ctx context.Context, nodeID string) (id.Node, error) {
	found, err := r.findNodes(ctx, []string{nodeID})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// findNodes looks ids of all kinds up, with one statement a kind.
func (r *Resolver) findNodes(ctx context.Context, ids []string) ([]id.Node, error) {
	if len(ids) > maxNodes {
		return nil, fault.NewProblem(fault.BadRequest, "ids has more than %d ids", maxNodes)
	}
	byKind := map[id.Kind][]string{}
	for _, nodeID := range ids {
		kind := id.KindOf(nodeID)
		byKind[kind] = append(byKind[kind], nodeID)
	}
	found := make(map[string]id.Node, len(ids))
	for kind, ofKind := range byKind {
		fetch := r.nodesOf(kind)
		if fetch == nil {
			continue
		}
		if err := fetch(ctx, organizationOf(ctx), ofKind, found); err != nil {
			return nil, err
		}
	}
	nodes := make([]id.Node, len(ids))
	for i, nodeID := range ids {
		nodes[i] = found[nodeID]
	}
	return nodes, nil
}

// nodesOf answers how nodes of a kind are found, or nil where there is no such kind.
func (r *Resolver) nodesOf(kind id.Kind) func(ctx context.Context, organizationID string, ids []string, into map[string]id.Node) error {
	switch kind {
	case id.Organization:
		return nodes(r.ownOrganization)
	case id.Key:
		return nodes(r.Keys.ByIDs)
	case id.Agent:
		return nodes(r.Agents.ByIDs)
	case id.Script:
		return nodes(r.Scripts.ByIDs)
	case id.Version:
		return nodes(r.Scripts.VersionsByIDs)
	case id.Approval:
		return nodes(r.Approvals.ByIDs)
	case id.Change:
		return nodes(r.Changes.ByIDs)
	case id.Run:
		return nodes(r.Runs.ByIDs)
	case id.Snapshot:
		return nodes(r.Runs.SnapshotsByIDs)
	case id.File:
		return nodes(r.Files.ByIDs)
	case id.Artifact:
		return nodes(r.Artifacts.ByIDs)
	case id.Call:
		return nodes(r.Calls.ByIDs)
	}
	return nil
}

// nodes makes nodes of what fetch finds.
func nodes[V any](fetch func(context.Context, string, []string) (map[string]V, error)) func(context.Context, string, []string, map[string]id.Node) error {
	return func(ctx context.Context, organizationID string, ids []string, into map[string]id.Node) error {
		found, err := fetch(ctx, organizationID, ids)
		for nodeID, v := range found {
			into[nodeID] = v
		}
		return err
	}
}

// loadAuthor answers who wrote something: a key, or a step of a run.
func loadAuthor[P comparable](ctx context.Context, r *Resolver, obj P, of func(P) change.Author) (call.Author, error) {
	if of(obj).CallID == "" {
		k, err := load(ctx, obj, loadKey{field: "author"}, func(p P) string { return of(p).KeyID }, r.Keys.ByIDs)
		if k == nil {
			return nil, err
		}
		return k, err
	}
	c, err := load(ctx, obj, loadKey{field: "author's call"}, func(p P) string { return of(p).CallID }, r.Calls.ByIDs)
	if c == nil || c.RunID == nil {
		return nil, err
	}
	return &call.Step{RunID: *c.RunID, CallID: c.ID}, nil
}
