package run

import (
	"context"

	"github.com/scriptorium-dev/scriptorium/internal/batch"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/page"
	"github.com/scriptorium-dev/scriptorium/internal/tool"
)

// Connection is a page of runs, Edge one of them with its cursor.
type (
	Connection = page.Connection[*Run]
	Edge       = page.Edge[*Run]
)

// order names the list of runs in its cursors: newest first.
const order = "runs"

func cursor(r *Run) string { return page.Encode(order, r.ID) }

// ByIDs answers the organization's runs with these ids, in one statement.
func (s *Service) ByIDs(ctx context.Context, organizationID string, ids []string) (map[string]*Run, error) {
	return byIDs(ctx, s.db.Read(), organizationID, id.Only(id.Run, ids))
}

// Page answers a page of the organization's runs, newest first, or of one agent's.
func (s *Service) Page(ctx context.Context, organizationID string, agentID *string, args page.Args) (*Connection, error) {
	if agentID != nil && !id.Is(id.Agent, *agentID) {
		agentID = new(string) // nobody's
	}
	if agentID != nil {
		pages, err := s.PagesOfAgents(ctx, organizationID, []string{*agentID}, args)
		return pages[*agentID], err
	}
	w, err := args.Window(order, id.Run)
	if err != nil {
		return nil, err
	}
	rows, err := list(ctx, s.db, organizationID, nil, w)
	if err != nil {
		return nil, err
	}
	return page.New(w, rows, cursor, func(ctx context.Context) (int, error) { return count(ctx, s.db, organizationID) }), nil
}

// PagesOfAgents answers a page of each agent's runs, newest first, in one statement.
func (s *Service) PagesOfAgents(ctx context.Context, organizationID string, agentIDs []string, args page.Args) (map[string]*Connection, error) {
	w, err := args.Window(order, id.Run)
	if err != nil {
		return nil, err
	}
	rows, err := list(ctx, s.db, organizationID, agentIDs, w)
	if err != nil {
		return nil, err
	}
	counts := batch.Counts(func(ctx context.Context) (map[string]int, error) {
		return countOfAgents(ctx, s.db, organizationID, agentIDs)
	})
	return batch.Pages(w, agentIDs, rows, func(r *Run) string { return *r.AgentID }, cursor, counts), nil
}

// Tools answers what runs offer, each by its run's id, in one statement (S1-schemakeep).
func (s *Service) Tools(ctx context.Context, organizationID string, runIDs []string) (map[string][]*tool.Tool, error) {
	kept, err := readTools(ctx, s.db.Read(), organizationID, runIDs)
	if err != nil {
		return nil, err
	}
	found := make(map[string][]*tool.Tool, len(kept))
	for id, raw := range kept {
		if found[id], err = tool.Decode(raw); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Snapshots answers what runs took, each by its run's id, in one statement.
func (s *Service) Snapshots(ctx context.Context, organizationID string, runIDs []string) (map[string]*Snapshot, error) {
	return snapshotsOfRuns(ctx, s.db.Read(), organizationID, runIDs)
}

// SnapshotsByIDs answers the organization's snapshots with these ids, in one statement.
func (s *Service) SnapshotsByIDs(ctx context.Context, organizationID string, ids []string) (map[string]*Snapshot, error) {
	return snapshotsByIDs(ctx, s.db.Read(), organizationID, id.Only(id.Snapshot, ids))
}

// SnapshotEntries answers what is in snapshots, by name, each by its snapshot's id, in one statement (S1-snap).
func (s *Service) SnapshotEntries(ctx context.Context, organizationID string, snapshotIDs []string) (map[string][]*SnapshotEntry, error) {
	return entriesOf(ctx, s.db, organizationID, snapshotIDs)
}
