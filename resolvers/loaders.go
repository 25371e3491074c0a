package resolvers

import (
	"context"

	"github.com/vikstrous/dataloadgen"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/call"
	"github.com/scriptorium-dev/scriptorium/internal/change"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/organization"
	"github.com/scriptorium-dev/scriptorium/internal/page"
	"github.com/scriptorium-dev/scriptorium/internal/run"
	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/internal/tool"
)

type (
	byID[T any]   = *dataloadgen.Loader[string, T]
	listOf[T any] = *dataloadgen.Loader[listKey, *page.Connection[T]]
)

// loaders collect the look-ups of one operation, all of them bound to the viewer's organization. What does not exist for it is nil.
type loaders struct {
	organizations byID[*organization.Organization]
	keys          byID[*key.Key]
	agents        byID[*agent.Agent]
	scripts       byID[*script.Script]
	keptAgents    byID[*agent.Agent]   // deleted ones, too
	keptScripts   byID[*script.Script] // deleted ones, too
	versions      byID[*script.Version]
	changes       byID[*change.Change]
	runs          byID[*run.Run]
	snapshots     byID[*run.Snapshot]
	runSnapshots  byID[*run.Snapshot]        // by the run's id
	entries       byID[[]*run.SnapshotEntry] // by the snapshot's id
	tools         byID[[]*tool.Tool]         // by the run's id
	calls         byID[*call.Call]

	scriptsByName    *dataloadgen.Loader[nameKey, *script.Script]
	versionsByNumber *dataloadgen.Loader[numberKey, *script.Version]

	agentScripts   listOf[*script.Script]
	agentHistory   listOf[*change.Change]
	agentRuns      listOf[*run.Run]
	scriptVersions listOf[*script.Version]
	runCalls       listOf[*call.Call]
}

// nameKey is a script of an agent by name.
type nameKey struct{ agentID, name string }

// numberKey is a version of a script by number.
type numberKey struct {
	scriptID string
	number   int
}

// newLoaders makes the loaders of one operation.
func (r *Resolver) newLoaders(organizationID string) *loaders {
	return &loaders{
		organizations: newLoader(r.Organizations.ByIDs),
		keys:          owned(organizationID, r.Keys.ByIDs),
		agents:        owned(organizationID, r.Agents.ByIDs),
		keptAgents:    owned(organizationID, r.Agents.KeptByIDs),
		scripts:       owned(organizationID, r.Scripts.ByIDs),
		keptScripts:   owned(organizationID, r.Scripts.KeptByIDs),
		versions:      owned(organizationID, r.Scripts.VersionsByIDs),
		changes:       owned(organizationID, r.Changes.ByIDs),
		runs:          owned(organizationID, r.Runs.ByIDs),
		snapshots:     owned(organizationID, r.Runs.SnapshotsByIDs),
		runSnapshots:  owned(organizationID, r.Runs.Snapshots),
		entries:       owned(organizationID, r.Runs.SnapshotEntries),
		tools:         owned(organizationID, r.Runs.Tools),
		calls:         owned(organizationID, r.Calls.ByIDs),

		scriptsByName: newLoader(grouped(func(k nameKey) (string, string) { return k.agentID, k.name },
			func(ctx context.Context, agentIDs []string, name string) (map[string]*script.Script, error) {
				return r.Scripts.ByName(ctx, organizationID, agentIDs, name)
			})),
		versionsByNumber: newLoader(grouped(func(k numberKey) (string, int) { return k.scriptID, k.number },
			func(ctx context.Context, scriptIDs []string, number int) (map[string]*script.Version, error) {
				return r.Scripts.VersionByNumber(ctx, organizationID, scriptIDs, number)
			})),

		agentScripts:   lists(organizationID, r.Scripts.PageOfAgents),
		agentRuns:      lists(organizationID, r.Runs.PagesOfAgents),
		scriptVersions: lists(organizationID, r.Scripts.VersionPage),
		runCalls:       lists(organizationID, r.Calls.PagesOfRuns),
		agentHistory: newListLoader(func(ctx context.Context, agentIDs []string, args listArgs) (map[string]*page.Connection[*change.Change], error) {
			return r.Changes.History(ctx, organizationID, agentIDs, args.filterArg(), args.pageArgs())
		}),
	}
}

// owned is a loader by id of an organization's rows.
func owned[V any](organizationID string, fetch func(context.Context, string, []string) (map[string]V, error)) byID[V] {
	return newLoader(func(ctx context.Context, ids []string) (map[string]V, error) { return fetch(ctx, organizationID, ids) })
}

// lists is a loader of lists without a filter, of an organization's rows.
func lists[T any](organizationID string, fetch func(context.Context, string, []string, page.Args) (map[string]*page.Connection[T], error)) listOf[T] {
	return newListLoader(func(ctx context.Context, parents []string, args listArgs) (map[string]*page.Connection[T], error) {
		return fetch(ctx, organizationID, parents, args.pageArgs())
	})
}

type loadersKey struct{}

// load answers the operation's loaders. Every root field but introspection is behind a key, so they are there.
func load(ctx context.Context) *loaders { return ctx.Value(loadersKey{}).(*loaders) }

// loadIf loads by an id that may be nil.
func loadIf[T any](ctx context.Context, from byID[*T], id *string) (*T, error) {
	if id == nil {
		return nil, nil
	}
	return from.Load(ctx, *id)
}
