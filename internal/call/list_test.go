package call_test

import (
	"slices"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/call"
	"github.com/scriptorium-dev/scriptorium/internal/call/calltest"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
)

func idsOf(calls []*call.Call) (ids []string) {
	for _, c := range calls {
		ids = append(ids, c.ID)
	}
	return ids
}

func TestLists(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		org := w.v.Organization.ID
		a, b := w.Run(w.ctx, w.agent), w.Run(w.ctx, w.agent)
		var all, ofA []string
		for range 3 {
			for _, r := range []string{a, b} {
				c := w.Call(w.ctx, r, "deck", `{"title":""}`)
				all = append(all, c.ID)
				if r == a {
					ofA = append(ofA, c.ID)
				}
			}
		}
		refused := w.Call(w.ctx, a, "nope", "")
		all, ofA = append(all, refused.ID), append(ofA, refused.ID)
		newest := slices.Clone(all)
		slices.Reverse(newest)
		page := func(f *call.Filter) []string {
			p, err := w.Calls.Page(w.ctx, org, f, first(100))
			if err != nil {
				t.Fatal(err)
			}
			if n, err := p.TotalCount(w.ctx); err != nil || n != len(p.Edges) {
				t.Errorf("%d counted, %d there: %v", n, len(p.Edges), err)
			}
			return idsOf(p.Nodes())
		}
		deck, other := "deck", "run_other"
		for name, c := range map[string]struct {
			filter *call.Filter
			want   []string
		}{
			"all":        {nil, newest},
			"of a run":   {&call.Filter{Run: &a}, reversed(ofA)},
			"of nothing": {&call.Filter{Run: &other}, nil},
			"agent":      {&call.Filter{Agent: &w.agent}, newest},
			"tool":       {&call.Filter{Tool: &deck}, newest[1:]},
			"script":     {&call.Filter{Script: w.Call(w.ctx, b, "deck", `{"title":""}`).ScriptID, Run: &a}, reversed(ofA[:3])},
			"refused":    {&call.Filter{Status: []call.Status{call.Refused, call.Lost}}, []string{refused.ID}},
			"no status":  {&call.Filter{Status: []call.Status{}}, nil},
		} {
			if name == "all" || name == "agent" || name == "tool" {
				continue // counted below: the script's case made one more
			}
			if got := page(c.filter); !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
		if got := page(nil); len(got) != len(all)+1 || !slices.Equal(got[1:], newest) {
			t.Errorf("all: %v", got)
		}
		if got := page(&call.Filter{Tool: &deck}); len(got) != len(all) {
			t.Errorf("of a tool: %v", got)
		}
		// Page by page, both ways; a run's in the order in which they were accepted; one statement for all runs.
		two := 2
		args := first(2)
		var paged []string
		for {
			p, err := w.Calls.Page(w.ctx, org, &call.Filter{Run: &a}, args)
			if err != nil {
				t.Fatal(err)
			}
			paged = append(paged, idsOf(p.Nodes())...)
			if !p.PageInfo.HasNextPage {
				break
			}
			args.After = p.PageInfo.EndCursor
		}
		if !slices.Equal(paged, reversed(ofA)) {
			t.Errorf("page by page: %v", paged)
		}
		args = first(2)
		args.First, args.Last = nil, &two
		counter := databasetest.Count(t, d)
		ctx := counter.Only(w.ctx)
		pages, err := w.Calls.PagesOfRuns(ctx, org, []string{a, b, "run_other"}, args)
		if err != nil || !slices.Equal(idsOf(pages[a].Nodes()), ofA[2:]) || len(pages[b].Edges) != 2 || len(pages["run_other"].Edges) != 0 {
			t.Errorf("of runs: %v, %v", pages, err)
		}
		if n := counter.Take(); n != 1 {
			t.Errorf("%d statements", n)
		}
		if n, err := pages[a].TotalCount(w.ctx); err != nil || n != 4 {
			t.Errorf("counted %d, %v", n, err)
		}
		runs, err := w.Runs.PagesOfAgents(ctx, org, []string{w.agent, "agt_other"}, first(1))
		if err != nil || len(runs[w.agent].Edges) != 1 || runs[w.agent].Nodes()[0].ID != b || !runs[w.agent].PageInfo.HasNextPage {
			t.Errorf("runs: %v, %v", runs[w.agent], err)
		}
		other2, v := calltest.Viewer(t, d)
		if p, err := w.Calls.Page(other2, v.Organization.ID, nil, first(10)); err != nil || len(p.Edges) != 0 {
			t.Errorf("another organization sees %v, %v", p.Nodes(), err)
		}
		if found, err := w.Calls.ByIDs(other2, v.Organization.ID, all); err != nil || len(found) != 0 {
			t.Errorf("another organization reads %v, %v", found, err)
		}
	})
}

func reversed(ids []string) []string {
	other := slices.Clone(ids)
	slices.Reverse(other)
	return other
}

// BenchmarkToolCall is a warm call without the computer's own time.
func BenchmarkToolCall(b *testing.B) {
	for _, dialect := range databasetest.Dialects {
		b.Run(dialect, func(b *testing.B) {
			config := databasetest.Config(b, dialect)
			config.NoSync = false
			d := databasetest.Open(b, config)
			s := calltest.New(b, d, calltest.Options{Blobs: calltest.Folder(b)})
			ctx, _ := calltest.Viewer(b, d)
			agent := s.Agent(ctx)
			s.Save(ctx, agent, "plain", "#fake: out x\n", "")
			r := s.Run(ctx, agent)
			s.Script(ctx, r, "plain")
			counter := databasetest.Count(b, d)
			for b.Loop() {
				s.Script(ctx, r, "plain")
			}
			b.ReportMetric(float64(counter.Take())/float64(b.N), "statements/op")
		})
	}
}
