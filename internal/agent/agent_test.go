package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/agent/agenttest"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/idempotency"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/key/keytest"
	"github.com/scriptorium-dev/scriptorium/internal/page"
)

func ptr[T any](v T) *T { return &v }

// above stands for scripts and runs.
type above struct {
	mu    sync.Mutex
	names []string
	inTx  []string
	told  []string
	fail  error
}

func (a *above) NamesInUse(_ context.Context, _ *database.Tx, _, _ string, names []string) (map[string]bool, error) {
	used := map[string]bool{}
	for _, n := range names {
		used[n] = slices.Contains(a.names, n)
	}
	return used, nil
}

func (a *above) InTx(_ context.Context, _ *database.Tx, _, agentID string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inTx = append(a.inTx, agentID)
	return a.fail
}

func (a *above) AfterCommit(ctx context.Context, _, agentID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ctx.Err() == nil {
		a.told = append(a.told, agentID)
	}
}

type world struct {
	db     *database.DB
	agents *agent.Service
	above  *above
	viewer *key.Viewer
	ctx    context.Context
}

func each(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		v := keytest.Viewer(t, d)
		w := &world{d, agent.NewService(d, idempotency.NewService(d)), &above{}, v, key.WithViewer(t.Context(), v)}
		w.agents.Join(w.above, w.above)
		f(t, w)
	})
}

// refused answers the code and path of the one refusal.
func refused(faults []fault.UserError) string {
	var all []string
	for _, f := range faults {
		switch e := f.(type) {
		case *fault.PlainUserError:
			all = append(all, string(e.Code)+" "+strings.Join(e.Path, "."))
		case *fault.NameTaken:
			all = append(all, string(e.Code)+" "+strings.Join(e.Path, "."))
		}
	}
	return strings.Join(all, ", ")
}

func TestCreate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		plain := agenttest.New(w.ctx, t, w.agents)
		if !plain.Scripting || plain.MaxScripts != 10 || plain.ConnectedTools == nil || !id.Is(id.Agent, plain.ID) {
			t.Errorf("defaults: %+v", plain)
		}
		full := agenttest.New(w.ctx, t, w.agents, agenttest.Scripting(false), agenttest.MaxScripts(3), agenttest.ConnectedTools("a", "B c"))
		found, err := w.agents.ByIDs(w.ctx, w.viewer.Organization.ID, []string{plain.ID, full.ID, full.ID})
		if err != nil || fmt.Sprint(*found[full.ID]) != fmt.Sprint(*full) || fmt.Sprint(*found[plain.ID]) != fmt.Sprint(*plain) {
			t.Errorf("%v: %+v is not %+v", err, found[full.ID], full)
		}
	})
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		many := make([]string, 501)
		for i := range many {
			many[i] = fmt.Sprintf("t%d", i)
		}
		cases := []struct {
			in   agent.CreateInput
			want string
		}{
			{agent.CreateInput{Name: ""}, "INVALID input.name"},
			{agent.CreateInput{Name: " \t"}, "INVALID input.name"},
			{agent.CreateInput{Name: "a\x00b"}, "INVALID input.name"},
			{agent.CreateInput{Name: "a\xffb"}, "INVALID input.name"},
			{agent.CreateInput{Name: "a\nb"}, "INVALID input.name"},
			{agent.CreateInput{Name: strings.Repeat("ä", 201)}, "INVALID input.name"},
			{agent.CreateInput{Name: "a", MaxScripts: ptr(0)}, "INVALID input.maxScripts"},
			{agent.CreateInput{Name: "a", MaxScripts: ptr(-1)}, "INVALID input.maxScripts"},
			{agent.CreateInput{Name: "a", MaxScripts: ptr(1001)}, "INVALID input.maxScripts"},
			{agent.CreateInput{Name: "a", ConnectedTools: many}, "INVALID input.connectedTools"},
			{agent.CreateInput{Name: "a", ConnectedTools: []string{"x", ""}}, "INVALID input.connectedTools.1"},
			{agent.CreateInput{Name: "a", ConnectedTools: []string{"x", "x"}}, "INVALID input.connectedTools.1"},
			{agent.CreateInput{Name: "a", ConnectedTools: []string{strings.Repeat("x", 129)}}, "INVALID input.connectedTools.0"},
			{agent.CreateInput{Name: "a", ConnectedTools: []string{"script_run"}}, "NAME_TAKEN input.connectedTools.0"},
			{agent.CreateInput{Name: "a", ConnectedTools: []string{"script__x"}}, "NAME_RESERVED input.connectedTools.0"},
			{agent.CreateInput{Name: "a", IdempotencyKey: ptr(strings.Repeat("k", 256))}, "INVALID input.idempotencyKey"},
			{agent.CreateInput{Name: "", MaxScripts: ptr(0)}, "INVALID input.name, INVALID input.maxScripts"},
		}
		for _, c := range cases {
			made, err := w.agents.Create(w.ctx, c.in)
			if err != nil || refused(made.UserErrors) != c.want || made.Agent != nil {
				t.Errorf("%.80s: %v %s", fmt.Sprintf("%+v", c.in), err, refused(made.UserErrors))
			}
		}
		all, err := w.agents.Page(w.ctx, w.viewer.Organization.ID, page.Args{})
		if err != nil || len(all.Edges) != 0 {
			t.Errorf("refused agents were written: %v", err)
		}
		fine := agent.CreateInput{Name: strings.Repeat("ä", 200), MaxScripts: ptr(1000), ConnectedTools: many[:500]}
		if made, err := w.agents.Create(w.ctx, fine); err != nil || len(made.UserErrors) > 0 {
			t.Errorf("at the limits: %v %v", err, made)
		}
	})
}

func TestCreateOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		in := agent.CreateInput{Name: "a", IdempotencyKey: ptr("k")}
		var mu sync.Mutex
		ids := map[string]bool{}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				made, err := w.agents.Create(w.ctx, in)
				if err != nil || len(made.UserErrors) > 0 {
					t.Errorf("%v %v", err, made)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				ids[made.Agent.ID] = true
			})
		}
		all.Wait()
		agents, err := w.agents.Page(w.ctx, w.viewer.Organization.ID, page.Args{})
		if err != nil || len(ids) != 1 || len(agents.Edges) != 1 {
			t.Errorf("%d answers, %d rows, %v", len(ids), len(agents.Edges), err)
		}
		in.MaxScripts = ptr(11)
		if made, err := w.agents.Create(w.ctx, in); err != nil || refused(made.UserErrors) != "IDEMPOTENCY_MISMATCH input.idempotencyKey" {
			t.Errorf("another input: %v %v", err, made)
		}
	})
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		a := agenttest.New(w.ctx, t, w.agents, agenttest.ConnectedTools("old"))
		kept, err := w.agents.Update(w.ctx, agent.UpdateInput{Agent: a.ID})
		if err != nil || kept.Agent.Name != a.Name || !slices.Equal(kept.Agent.ConnectedTools, []string{"old"}) {
			t.Fatalf("%v %+v", err, kept)
		}
		w.above.names = []string{"deck", "old"}
		taken, err := w.agents.Update(w.ctx, agent.UpdateInput{Agent: a.ID, Scripting: ptr(false), ConnectedTools: []string{"new", "deck"}})
		if err != nil || refused(taken.UserErrors) != "NAME_TAKEN input.connectedTools.1" || taken.UserErrors[0].(*fault.NameTaken).TakenBy != "the script deck" {
			t.Fatalf("%v %+v", err, taken)
		}
		changed, err := w.agents.Update(w.ctx, agent.UpdateInput{
			Agent: a.ID, Name: ptr("b"), Scripting: ptr(false), MaxScripts: ptr(1), ConnectedTools: []string{"old", "new"},
		})
		if err != nil || len(changed.UserErrors) > 0 {
			t.Fatalf("%v %+v", err, changed)
		}
		found, err := w.agents.ByIDs(w.ctx, w.viewer.Organization.ID, []string{a.ID})
		if got := found[a.ID]; err != nil || got.Name != "b" || got.Scripting || got.MaxScripts != 1 || len(got.ConnectedTools) != 2 || !got.CreatedAt.Equal(a.CreatedAt) {
			t.Errorf("%v %+v", err, got)
		}
		none, err := w.agents.Update(w.ctx, agent.UpdateInput{Agent: a.ID, ConnectedTools: []string{}})
		if err != nil || len(none.Agent.ConnectedTools) != 0 {
			t.Errorf("%v %+v", err, none)
		}
	})
}

func TestDelete(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		org := w.viewer.Organization.ID
		a := agenttest.New(w.ctx, t, w.agents)
		w.above.fail = errors.New("runs do not end")
		if _, err := w.agents.Delete(w.ctx, agent.DeleteInput{Agent: a.ID}); !errors.Is(err, w.above.fail) {
			t.Fatalf("Delete = %v", err)
		}
		if found, err := w.agents.ByIDs(w.ctx, org, []string{a.ID}); err != nil || len(found) != 1 || len(w.above.told) != 0 {
			t.Fatalf("half deleted: %v", err)
		}
		w.above.fail = nil
		if gone, err := w.agents.Delete(w.ctx, agent.DeleteInput{Agent: a.ID}); err != nil || *gone.DeletedID != a.ID || !slices.Equal(w.above.told, []string{a.ID}) {
			t.Fatalf("%v %+v, told %v", err, gone, w.above.told)
		}
		found, err1 := w.agents.ByIDs(w.ctx, org, []string{a.ID})
		kept, err2 := w.agents.KeptByIDs(w.ctx, org, []string{a.ID})
		if errors.Join(err1, err2) != nil || len(found) != 0 || len(kept) != 1 {
			t.Errorf("%v %v: %v %v", err1, err2, found, kept)
		}
		if again, err := w.agents.Delete(w.ctx, agent.DeleteInput{Agent: a.ID}); err != nil || refused(again.UserErrors) != "NOT_FOUND input.agent" {
			t.Errorf("%v %+v", err, again)
		}
		if late, err := w.agents.Update(w.ctx, agent.UpdateInput{Agent: a.ID, Name: ptr("x")}); err != nil || refused(late.UserErrors) != "NOT_FOUND input.agent" {
			t.Errorf("%v %+v", err, late)
		}
	})
}

func TestPage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		org := w.viewer.Organization.ID
		var ids []string
		for range 5 {
			ids = append(ids, agenttest.New(w.ctx, t, w.agents).ID)
		}
		if _, err := w.agents.Delete(w.ctx, agent.DeleteInput{Agent: ids[2]}); err != nil {
			t.Fatal(err)
		}
		ids = slices.Delete(ids, 2, 3)
		counter := databasetest.Count(t, w.db)
		got := func(args page.Args) (all []string) {
			t.Helper()
			p, err := w.agents.Page(w.ctx, org, args)
			if err != nil || counter.Take() != 1 {
				t.Fatalf("%v, or more than one statement", err)
			}
			if n, err := p.TotalCount(w.ctx); n != 4 || err != nil || counter.Take() != 1 {
				t.Errorf("totalCount %d: %v", n, err)
			}
			for _, a := range p.Nodes() {
				all = append(all, a.ID)
			}
			return all
		}
		cursor := page.Encode("agents", ids[1])
		if all := got(page.Args{}); !slices.Equal(all, ids) {
			t.Errorf("all: %v", all)
		}
		if behind := got(page.Args{First: ptr(1), After: &cursor}); !slices.Equal(behind, ids[2:3]) {
			t.Errorf("behind: %v", behind)
		}
		if before := got(page.Args{Last: ptr(5), Before: &cursor}); !slices.Equal(before, ids[:1]) {
			t.Errorf("before: %v", before)
		}
		for _, bad := range []string{"", "x", page.Encode("agents", "agt_\x00"), page.Encode("agents", id.New(id.Run))} {
			_, err := w.agents.Page(w.ctx, org, page.Args{After: &bad})
			var problem *fault.Problem
			if !errors.As(err, &problem) || problem.Code != fault.BadCursor {
				t.Errorf("cursor %q: %v", bad, err)
			}
		}
	})
}

// TestTenancy: another organization's agent is like none.
func TestTenancy(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		a := agenttest.New(w.ctx, t, w.agents)
		other := keytest.Viewer(t, w.db)
		ctx := key.WithViewer(t.Context(), other)
		for _, agentID := range []string{a.ID, id.New(id.Agent), "agt_\x00", "", a.ID + "\n"} {
			if p, err := w.agents.Update(ctx, agent.UpdateInput{Agent: agentID, Name: ptr("x")}); err != nil || refused(p.UserErrors) != "NOT_FOUND input.agent" {
				t.Errorf("update %q: %v %v", agentID, err, p)
			}
			if p, err := w.agents.Delete(ctx, agent.DeleteInput{Agent: agentID}); err != nil || refused(p.UserErrors) != "NOT_FOUND input.agent" {
				t.Errorf("delete %q: %v %v", agentID, err, p)
			}
			if found, err := w.agents.KeptByIDs(ctx, other.Organization.ID, []string{agentID}); err != nil || len(found) > 0 {
				t.Errorf("%q is found: %v", agentID, err)
			}
		}
		if p, err := w.agents.Page(ctx, other.Organization.ID, page.Args{}); err != nil || len(p.Edges) != 0 {
			t.Errorf("%v %v", err, p)
		}
	})
}

func TestDenied(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		a := agenttest.New(w.ctx, t, w.agents)
		reader := key.WithViewer(t.Context(), keytest.Another(t, w.db, w.viewer, key.Computer, key.Management))
		_, err1 := w.agents.Create(reader, agent.CreateInput{Name: "x"})
		_, err2 := w.agents.Update(reader, agent.UpdateInput{Agent: a.ID, Name: ptr("x")})
		_, err3 := w.agents.Delete(reader, agent.DeleteInput{Agent: a.ID})
		for i, err := range []error{err1, err2, err3} {
			var problem *fault.Problem
			if !errors.As(err, &problem) || problem.Code != fault.Denied {
				t.Errorf("%d: %v", i, err)
			}
		}
	})
}
