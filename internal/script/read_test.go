package script_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/agent/agenttest"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/event"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/key/keytest"
	"github.com/scriptorium-dev/scriptorium/internal/page"
	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/internal/script/scripttest"
)

// filled makes agents with n scripts each, and answers their ids.
func filled(t *testing.T, w *world, agents, n int) []string {
	t.Helper()
	ids := make([]string, agents)
	for i := range agents {
		ids[i] = agenttest.New(w.ctx, t, w.Agents, agenttest.MaxScripts(200)).ID
		for j := range n {
			w.Save(w.ctx, t, ids[i], fmt.Sprintf("s%03d", j))
		}
	}
	return ids
}

func names(c *page.Connection[*script.Script]) (all []string) {
	for _, s := range c.Nodes() {
		all = append(all, s.Name)
	}
	return all
}

func TestS1Listlive(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		org := w.viewer.Organization.ID
		ids := filled(t, w, 3, 5)
		for _, name := range []string{"s-", "s_", "sz"} { // bytes, not a language's order
			w.Save(w.ctx, t, ids[1], name)
		}
		pages, err := w.Scripts.PageOfAgents(w.ctx, org, append(ids, w.agent.ID), page.Args{First: ptr(3)})
		if err != nil || len(pages) != 4 {
			t.Fatalf("%v %v", err, pages)
		}
		if got := names(pages[ids[1]]); !slices.Equal(got, []string{"s-", "s000", "s001"}) || !pages[ids[1]].PageInfo.HasNextPage {
			t.Errorf("first page %v", got)
		}
		if len(pages[w.agent.ID].Edges) != 0 || pages[w.agent.ID].PageInfo.EndCursor != nil {
			t.Errorf("an agent without scripts has %v", names(pages[w.agent.ID]))
		}
		for agentID, want := range map[string]int{ids[0]: 5, ids[1]: 8, w.agent.ID: 0} {
			if n, err := pages[agentID].TotalCount(w.ctx); err != nil || n != want {
				t.Errorf("totalCount %d of %d: %v", n, want, err)
			}
		}
		var walked []string
		args := page.Args{First: ptr(3)}
		for {
			p, err := w.Scripts.PageOfAgents(w.ctx, org, ids[1:2], args)
			if err != nil {
				t.Fatal(err)
			}
			walked = append(walked, names(p[ids[1]])...)
			if !p[ids[1]].PageInfo.HasNextPage {
				break
			}
			args.After = p[ids[1]].PageInfo.EndCursor
		}
		if want := []string{"s-", "s000", "s001", "s002", "s003", "s004", "s_", "sz"}; !slices.Equal(walked, want) {
			t.Errorf("walked %v", walked)
		}
		back, err := w.Scripts.PageOfAgents(w.ctx, org, ids, page.Args{Last: ptr(2), Before: args.After})
		if err != nil || !slices.Equal(names(back[ids[1]]), []string{"s002", "s003"}) || !slices.Equal(names(back[ids[0]]), []string{"s002", "s003"}) {
			t.Errorf("backward %v %v", err, names(back[ids[1]]))
		}
		for _, bad := range []string{"", "x", page.Encode("versions", "1"), page.Encode("scripts", "Deck"), page.Encode("scripts", "a\x00")} {
			_, err := w.Scripts.PageOfAgents(w.ctx, org, ids, page.Args{After: &bad})
			var problem *fault.Problem
			if !errors.As(err, &problem) || problem.Code != fault.BadCursor {
				t.Errorf("cursor %q: %v", bad, err)
			}
		}
	})
}

func TestVersionPage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		org := w.viewer.Organization.ID
		var ids []string
		for i := range 3 {
			var s *script.Script
			for range 4 + i {
				s = w.Save(w.ctx, t, w.agent.ID, fmt.Sprintf("s%d", i)).Script
			}
			ids = append(ids, s.ID)
		}
		numbers := func(c *page.Connection[*script.Version]) (all []int) {
			for _, v := range c.Nodes() {
				all = append(all, v.Number)
			}
			return all
		}
		first, err := w.Scripts.VersionPage(w.ctx, org, ids, page.Args{First: ptr(2)})
		if err != nil || !slices.Equal(numbers(first[ids[2]]), []int{6, 5}) || !slices.Equal(numbers(first[ids[0]]), []int{4, 3}) {
			t.Fatalf("%v %v", err, first)
		}
		if n, err := first[ids[1]].TotalCount(w.ctx); n != 5 || err != nil {
			t.Errorf("totalCount %d: %v", n, err)
		}
		next, err := w.Scripts.VersionPage(w.ctx, org, ids[2:], page.Args{First: ptr(10), After: first[ids[2]].PageInfo.EndCursor})
		if err != nil || !slices.Equal(numbers(next[ids[2]]), []int{4, 3, 2, 1}) || next[ids[2]].PageInfo.HasNextPage || !next[ids[2]].PageInfo.HasPreviousPage {
			t.Errorf("%v %v", err, numbers(next[ids[2]]))
		}
		last, err := w.Scripts.VersionPage(w.ctx, org, ids, page.Args{Last: ptr(2)})
		if err != nil || !slices.Equal(numbers(last[ids[2]]), []int{2, 1}) || !last[ids[2]].PageInfo.HasPreviousPage {
			t.Errorf("%v %v", err, numbers(last[ids[2]]))
		}
		for _, bad := range []string{"0", "-1", "+1", "01", "1e3", "99999999999"} {
			cursor := page.Encode("versions", bad)
			_, err := w.Scripts.VersionPage(w.ctx, org, ids, page.Args{Before: &cursor})
			var problem *fault.Problem
			if !errors.As(err, &problem) || problem.Code != fault.BadCursor {
				t.Errorf("cursor of %s: %v", bad, err)
			}
		}
	})
}

// TestStatements: the number of statements does not depend on the number of rows.
func TestStatements(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		org := w.viewer.Organization.ID
		few, many := filled(t, w, 1, 1), filled(t, w, 20, 2)
		many = append(many, filled(t, w, 1, 100)...)
		counter := databasetest.Count(t, w.DB)
		read := func(agents []string) int {
			counter.Take()
			pages, err := w.Scripts.PageOfAgents(w.ctx, org, agents, page.Args{First: ptr(100)})
			if err != nil {
				t.Fatal(err)
			}
			var scripts, versions []string
			for _, a := range agents {
				for _, s := range pages[a].Nodes() {
					scripts, versions = append(scripts, s.ID), append(versions, s.LatestVersionID)
				}
				if _, err := pages[a].TotalCount(w.ctx); err != nil {
					t.Fatal(err)
				}
			}
			found, err := w.Scripts.VersionsByIDs(w.ctx, org, versions)
			if err != nil || len(found) != len(scripts) {
				t.Fatalf("%d versions of %d: %v", len(found), len(scripts), err)
			}
			if found, err := w.Scripts.ByName(w.ctx, org, agents, "s000"); err != nil || len(found) != len(agents) {
				t.Fatalf("%d by name: %v", len(found), err)
			}
			if found, err := w.Scripts.VersionByNumber(w.ctx, org, scripts, 1); err != nil || len(found) != len(scripts) {
				t.Fatalf("%d by number: %v", len(found), err)
			}
			histories, err := w.Changes.History(w.ctx, org, agents, nil, page.Args{})
			if err != nil || len(histories) != len(agents) {
				t.Fatal(err)
			}
			for _, h := range histories {
				if _, err := h.TotalCount(w.ctx); err != nil {
					t.Fatal(err)
				}
			}
			return counter.Take()
		}
		if n := read(few); n != 7 || read(many) != n {
			t.Errorf("%d statements for one script, %d for 140", n, read(many))
		}
		counter.Take()
		entries, err := w.Scripts.Live(w.ctx, nil, org, many[20])
		if err != nil || len(entries) != 100 || counter.Take() != 1 || entries[99].Version.Source != "" || entries[99].Version.SourceHash == "" || entries[99].Version.ScriptName != "s099" {
			t.Errorf("%d entries: %v", len(entries), err)
		}
	})
}

// TestTenancy: another organization's ids are like ids of nothing.
func TestTenancy(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		saved := w.Save(w.ctx, t, w.agent.ID, "deck")
		other := keytest.Viewer(t, w.DB)
		ctx, org := key.WithViewer(t.Context(), other), other.Organization.ID
		agents := []string{w.agent.ID, id.New(id.Agent), "agt_\x00", ""}
		for _, agentID := range agents {
			in := scripttest.Input(agentID, "deck")
			if p, err := w.Scripts.Save(ctx, in); err != nil || code(p.UserErrors) != "NOT_FOUND input.agent" {
				t.Errorf("save %q: %v %v", agentID, err, p)
			}
			if p, err := w.Scripts.Delete(ctx, script.DeleteInput{Agent: agentID, Name: "deck"}); err != nil || code(p.UserErrors) != "NOT_FOUND input.agent" {
				t.Errorf("delete %q: %v %v", agentID, err, p)
			}
			if p, err := w.Scripts.Clear(ctx, script.ClearInput{Agent: agentID}); err != nil || code(p.UserErrors) != "NOT_FOUND input.agent" {
				t.Errorf("clear %q: %v %v", agentID, err, p)
			}
		}
		lengths := func(sizes ...int) {
			t.Helper()
			if slices.Max(sizes) != 0 {
				t.Errorf("found %v", sizes)
			}
		}
		scripts, err1 := w.Scripts.ByIDs(ctx, org, []string{saved.Script.ID, "scr_\xff"})
		kept, err2 := w.Scripts.KeptByIDs(ctx, org, []string{saved.Script.ID})
		versions, err3 := w.Scripts.VersionsByIDs(ctx, org, []string{saved.Version.ID, "\x00"})
		named, err4 := w.Scripts.ByName(ctx, org, []string{w.agent.ID}, "deck")
		numbered, err5 := w.Scripts.VersionByNumber(ctx, org, []string{saved.Script.ID}, 1)
		live, err6 := w.Scripts.Live(ctx, nil, org, w.agent.ID)
		pages, err7 := w.Scripts.PageOfAgents(ctx, org, []string{w.agent.ID}, page.Args{})
		history, err8 := w.Changes.History(ctx, org, []string{w.agent.ID}, nil, page.Args{})
		if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8); err != nil {
			t.Fatal(err)
		}
		lengths(len(scripts), len(kept), len(versions), len(named), len(numbered), len(live), len(pages[w.agent.ID].Edges), len(history[w.agent.ID].Edges))
		if n, err := pages[w.agent.ID].TotalCount(ctx); n != 0 || err != nil {
			t.Errorf("totalCount %d: %v", n, err)
		}
		cursor := string(event.NewCursor(event.ChangesTopic(w.viewer.Organization.ID), event.Position{Epoch: "1", Offset: 0}))
		_, err := w.Changes.Log(ctx, org, nil, page.Args{After: &cursor})
		var problem *fault.Problem
		if !errors.As(err, &problem) || problem.Code != fault.BadCursor {
			t.Errorf("another organization's cursor: %v", err)
		}
		if !slices.Equal(w.live(t), []string{"deck@1"}) {
			t.Errorf("left: %v", w.live(t))
		}
	})
}

func TestDenied(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		reader := key.WithViewer(t.Context(), keytest.Another(t, w.DB, w.viewer, key.Management))
		for _, c := range []struct {
			ctx  context.Context
			want fault.ProblemCode
		}{{reader, fault.Denied}, {t.Context(), fault.Unauthenticated}} {
			_, err1 := w.Scripts.Save(c.ctx, scripttest.Input(w.agent.ID, "deck"))
			_, err2 := w.Scripts.Delete(c.ctx, script.DeleteInput{Agent: w.agent.ID, Name: "deck"})
			_, err3 := w.Scripts.Clear(c.ctx, script.ClearInput{Agent: w.agent.ID})
			for i, err := range []error{err1, err2, err3} {
				var problem *fault.Problem
				if !errors.As(err, &problem) || problem.Code != c.want {
					t.Errorf("%d: %v, want %s", i, err, c.want)
				}
			}
		}
	})
}

// TestMaxSources: one query cannot have the server hold sources without end.
func TestMaxSources(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		large := scripttest.Source(strings.Repeat("#", script.MaxSource))
		const fit = script.MaxSources / script.MaxSource
		var scriptID string
		for range fit + 1 {
			scriptID = w.Save(w.ctx, t, w.agent.ID, "deck", large).Script.ID
		}
		read := func(n int) error {
			_, err := w.Scripts.VersionPage(w.ctx, w.viewer.Organization.ID, []string{scriptID}, page.Args{First: &n})
			return err
		}
		if err := read(fit - 1); err != nil { // a page reads one row more
			t.Error(err)
		}
		var problem *fault.Problem
		if err := read(fit); !errors.As(err, &problem) || problem.Code != fault.LimitExceeded {
			t.Errorf("%d versions: %v", fit, err)
		}
	})
}

// TestWindows: each window is the part of the list that it says, for one parent and for many.
func TestWindows(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		const n = 5
		var ids []string
		for _, name := range []string{"a", "b"} {
			var s *script.Script
			for range n {
				s = w.Save(w.ctx, t, w.agent.ID, name).Script
			}
			ids = append(ids, s.ID)
		}
		cursor := func(number int) *string {
			if number == 0 {
				return nil
			}
			return ptr(page.Encode("versions", fmt.Sprint(number)))
		}
		for after := range n + 1 {
			for before := range n + 1 {
				for limit := 1; limit <= n+1; limit++ {
					var between []int // newest first
					for number := n; number > 0; number-- {
						if (after == 0 || number < after) && (before == 0 || number > before) {
							between = append(between, number)
						}
					}
					forward := page.Args{First: &limit, After: cursor(after), Before: cursor(before)}
					backward := page.Args{Last: &limit, After: cursor(after), Before: cursor(before)}
					cut := min(limit, len(between))
					for _, parents := range [][]string{ids, ids[:1]} {
						w.wantVersions(t, parents, forward, between[:cut], cut < len(between))
						w.wantVersions(t, parents, backward, between[len(between)-cut:], cut < len(between))
					}
				}
			}
		}
	})
}

// wantVersions compares a page of each script's versions.
func (w *world) wantVersions(t *testing.T, parents []string, args page.Args, want []int, more bool) {
	t.Helper()
	pages, err := w.Scripts.VersionPage(w.ctx, w.viewer.Organization.ID, parents, args)
	if err != nil {
		t.Fatal(err)
	}
	for _, parent := range parents {
		var got []int
		for _, v := range pages[parent].Nodes() {
			got = append(got, v.Number)
		}
		info := pages[parent].PageInfo
		if !slices.Equal(got, want) || args.First != nil && info.HasNextPage != more || args.Last != nil && info.HasPreviousPage != more {
			t.Errorf("%+v: %v and %+v, want %v and more %v", args, got, info, want, more)
		}
	}
}
