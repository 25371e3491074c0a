package call

import (
	"context"

	"github.com/scriptorium-dev/scriptorium/internal/batch"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/page"
	"github.com/scriptorium-dev/scriptorium/internal/text"
)

// The lists of calls, as their cursors name them: all, newest first, and a run's, in the order in which they were accepted.
const (
	orderAll   = "calls"
	orderOfRun = "calls of run"
)

// ByIDs answers the organization's calls with these ids, in one statement.
func (s *Service) ByIDs(ctx context.Context, organizationID string, ids []string) (map[string]*Call, error) {
	calls, err := byIDs(ctx, s.db.SQL(), organizationID, id.Only(id.Call, ids))
	if err != nil {
		return nil, err
	}
	s.progress(ctx, calls)
	found := make(map[string]*Call, len(calls))
	for _, c := range calls {
		found[c.ID] = c
	}
	return found, nil
}

// Page answers a page of the organization's calls that meet the filter, newest first.
func (s *Service) Page(ctx context.Context, organizationID string, filter *Filter, args page.Args) (*Connection, error) {
	w, err := args.Window(orderAll, id.Call)
	if err != nil {
		return nil, err
	}
	if filter == nil {
		filter = &Filter{}
	}
	if !filter.canMatch() {
		filter = &Filter{Status: []Status{}}
	}
	rows, err := list(ctx, s.db, organizationID, *filter, w)
	if err != nil {
		return nil, err
	}
	s.progress(ctx, rows)
	return page.New(w, rows, func(c *Call) string { return page.Encode(orderAll, c.ID) }, func(ctx context.Context) (int, error) {
		return count(ctx, s.db, organizationID, *filter)
	}), nil
}

// canMatch says whether there can be calls that meet the filter: what it looks for has the shape of an id or a name, which a database takes.
func (f *Filter) canMatch() bool {
	for kind, wanted := range map[id.Kind]*string{id.Run: f.Run, id.Agent: f.Agent, id.Script: f.Script} {
		if wanted != nil && !id.Is(kind, *wanted) {
			return false
		}
	}
	return f.Tool == nil || text.Storable("tool", *f.Tool) == nil
}

// PagesOfRuns answers a page of each run's calls, in the order in which they were accepted, in one statement.
func (s *Service) PagesOfRuns(ctx context.Context, organizationID string, runIDs []string, args page.Args) (map[string]*Connection, error) {
	w, err := args.Window(orderOfRun, id.Call)
	if err != nil {
		return nil, err
	}
	rows, err := listOfRuns(ctx, s.db, organizationID, runIDs, w)
	if err != nil {
		return nil, err
	}
	s.progress(ctx, rows)
	counts := batch.Counts(func(ctx context.Context) (map[string]int, error) {
		return countOfRuns(ctx, s.db, organizationID, runIDs)
	})
	return batch.Pages(w, runIDs, rows, func(c *Call) string { return *c.RunID }, func(c *Call) string { return page.Encode(orderOfRun, c.ID) }, counts), nil
}

// progress tells of calls that run how much of their output is kept by now, as far as that can be had.
func (s *Service) progress(ctx context.Context, calls []*Call) {
	for _, c := range calls {
		if c.Status != Running {
			continue
		}
		stdout, stderr, err := s.output.Progress(ctx, c.ID)
		if err != nil {
			s.log.DebugContext(ctx, "how much a call has printed cannot be had now", "call", c.ID, "error", err)
			continue
		}
		c.Output.StdoutBytes, c.Output.StderrBytes = stdout, stderr
	}
}
