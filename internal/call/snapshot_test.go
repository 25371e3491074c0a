package call_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/call"
	"github.com/scriptorium-dev/scriptorium/internal/call/calltest"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/run"
	"github.com/scriptorium-dev/scriptorium/internal/script"
)

// home are the scripts in a run's home.
func (w *world) home(runID string) string {
	var names []string
	for _, path := range w.Fake.Files(runID) {
		if name, ok := strings.CutPrefix(path, "/home/"+w.agent+"/scripts/"); ok {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

func (w *world) output(t *testing.T, runID, name string) string {
	t.Helper()
	c := w.Script(w.ctx, runID, name)
	if c.Status.Ended() && c.Text == "" {
		t.Errorf("%s: no text", name)
	}
	return c.Stdout()
}

func TestS1SnapRun(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		r := w.Run(w.ctx, w.agent)

		// S1-editnext: the run executes its snapshot though someone edits; before its computer is there, and after.
		edited := w.Save(w.ctx, w.agent, "plain", "#fake: out plain 2\n", "")
		if *edited.TakesEffect != script.NextRun {
			t.Errorf("takes effect %s", *edited.TakesEffect)
		}
		if got := w.output(t, r, "plain"); got != "plain 1\n" {
			t.Errorf("the snapshot's script printed %q", got)
		}
		w.Save(w.ctx, w.agent, "plain", "#fake: out plain 3\n", "")
		if got := w.output(t, r, "plain"); got != "plain 1\n" {
			t.Errorf("the snapshot's script printed %q", got)
		}

		// S1-newlive: created during the run: by script_run, from live source, no tool of its own.
		created := w.Save(w.ctx, w.agent, "fresh", "#fake: out fresh 1\n", `{"type":"object"}`)
		if *created.TakesEffect != script.Now {
			t.Errorf("takes effect %s", *created.TakesEffect)
		}
		if got := w.output(t, r, "fresh"); got != "fresh 1\n" {
			t.Errorf("the new script printed %q", got)
		}
		if c := w.Call(w.ctx, r, "fresh", ""); code(c) != call.UnknownTool {
			t.Errorf("the new script's own tool: %s", c.Status)
		}
		w.Save(w.ctx, w.agent, "fresh", "#fake: out fresh 2\n", `{"type":"object"}`)
		if got := w.output(t, r, "fresh"); got != "fresh 2\n" {
			t.Errorf("the new script, edited, printed %q", got)
		}

		// S1-wthru: written to the running machine without a call.
		w.Save(w.ctx, w.agent, "written", "#fake: out written\n", "")
		calltest.Eventually(t, "write-through", func() bool { return w.home(r) == "deck.py fresh.py plain.py written.py" })

		// S1-delnow: out of snapshot and home. Created again, it is a live script.
		w.Delete(w.ctx, w.agent, "plain")
		calltest.Eventually(t, "the file leaves the home", func() bool { return w.home(r) == "deck.py fresh.py written.py" })
		if c := w.Script(w.ctx, r, "plain"); code(c) != call.UnknownTool {
			t.Errorf("a deleted script: %s %s", c.Status, code(c))
		}
		again := w.Save(w.ctx, w.agent, "plain", "#fake: out plain again\n", "")
		if *again.TakesEffect != script.Now || again.Version.Number != 1 {
			t.Errorf("created again: %+v", again)
		}
		if got := w.output(t, r, "plain"); got != "plain again\n" {
			t.Errorf("the script that was created again printed %q", got)
		}
		w.Delete(w.ctx, w.agent, "deck")
		if c := w.Call(w.ctx, r, "deck", `{"title":""}`); code(c) != call.UnknownTool {
			t.Errorf("a deleted script's own tool: %s", code(c))
		}

		// S1-schemakeep: the tools stay as they were.
		tools, err := w.Runs.Tools(w.ctx, w.v.Organization.ID, []string{r})
		if err != nil || len(tools[r]) != 6 || tools[r][3].Name != "script_run" || tools[r][5].Name != "deck" || *tools[r][5].Version != 1 {
			t.Errorf("tools: %v, %v", tools[r], err)
		}
		// The next run has it all.
		next := w.Run(w.ctx, w.agent)
		if got := w.Call(w.ctx, next, "fresh", "").Stdout(); got != "fresh 2\n" {
			t.Errorf("in the next run: %q", got)
		}
		if got := w.home(next); got != "fresh.py plain.py written.py" {
			t.Errorf("the next run's home: %s", got)
		}
	})
}

func TestS1SnapEntries(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		r := w.Run(w.ctx, w.agent)
		org := w.v.Organization.ID
		entries := func() string {
			snapshots, err := w.Runs.Snapshots(w.ctx, org, []string{r})
			if err != nil || snapshots[r] == nil {
				t.Fatal(snapshots, err)
			}
			found, err := w.Runs.SnapshotEntries(w.ctx, org, []string{snapshots[r].ID})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, e := range found[snapshots[r].ID] {
				names = append(names, e.Name)
				if e.Version != 1 || e.VersionID == "" || len(e.SourceHash) != 64 || e.Description == "" || (e.Parameters != nil) != (e.Name == "deck") {
					t.Errorf("entry %+v", e)
				}
			}
			return strings.Join(names, " ")
		}
		if got := entries(); got != "deck plain" {
			t.Errorf("got %s", got)
		}
		w.Save(w.ctx, w.agent, "plain", "#fake: out 2\n", "")
		w.Delete(w.ctx, w.agent, "deck")
		if got := entries(); got != "plain" {
			t.Errorf("after a deletion: %s", got)
		}
		if _, err := w.Runs.Finish(w.ctx, run.FinishInput{Run: r}); err != nil {
			t.Fatal(err)
		}
		w.Delete(w.ctx, w.agent, "plain")
		if got := entries(); got != "plain" {
			t.Errorf("a finished run's snapshot changed: %s", got)
		}
	})
}

func TestS1Switch(t *testing.T) {
	t.Parallel()
	d := databasetest.New(t, database.SQLite)
	w := newWorld(t, d, calltest.Options{})
	on := w.Run(w.ctx, w.agent)
	w.setScripting(t, false)
	off := w.Run(w.ctx, w.agent)
	tools, err := w.Runs.Tools(w.ctx, w.v.Organization.ID, []string{on, off})
	if err != nil || len(tools[on]) != 6 || tools[off] == nil || len(tools[off]) != 0 {
		t.Errorf("tools: %v, %v", tools, err)
	}
	if c := w.Script(w.ctx, off, "plain"); code(c) != call.UnknownTool {
		t.Errorf("with scripting off: %s", c.Status)
	}
	for name, arguments := range map[string]string{
		"script_create": `{"name":"x","description":"x","source":"x"}`, "script_list": `{}`, "script_read": `{"name":"plain"}`, "script_delete": `{"name":"plain"}`,
	} {
		if c := w.Call(w.ctx, off, name, arguments); code(c) != call.UnknownTool || c.Status != call.Refused {
			t.Errorf("%s with scripting off: %s %s", name, c.Status, c.Text)
		}
		if c := w.Call(w.ctx, off, name, `[]`); code(c) != call.UnknownTool {
			t.Errorf("%s with scripting off and bad arguments: %s", name, c.Text)
		}
	}
	if got := w.output(t, on, "plain"); got != "plain 1\n" {
		t.Errorf("in a run from before: %q", got)
	}
	// A run without an agent has no tools for now.
	p, err := w.Runs.Create(w.ctx, run.CreateInput{})
	if err != nil || p.Run == nil || p.Run.AgentID != nil {
		t.Fatal(p, err)
	}
	if c := w.Script(w.ctx, p.Run.ID, "plain"); code(c) != call.UnknownTool {
		t.Errorf("without an agent: %s", c.Status)
	}
}

func TestS1MatGenerations(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		r := w.Run(w.ctx, w.agent)
		w.Save(w.ctx, w.agent, "after", "#fake: write scripts/own.py mine\n#fake: wait go\n", "")
		start := func() *run.GenerationStartPayload {
			p, err := w.Runs.GenerationStart(w.ctx, run.GenerationStartInput{Run: r})
			if err != nil || p.Run == nil {
				t.Fatal(p, err)
			}
			return p
		}
		p := start()
		want := []string{"scripts/deck.py", "scripts/plain.py", "scripts/after.py"} // the snapshot's, then the live ones
		if p.Run.Generation != 1 || !slices.Equal(p.Materialised, want) || len(p.Removed) != 0 {
			t.Errorf("got %+v", p)
		}
		// A call that runs is waited for; what the script made itself stays; what was deleted goes.
		busy := w.Begin(w.ctx, r, "script_run", `{"name":"after"}`)
		w.Arrived("go")
		done := make(chan *run.GenerationStartPayload)
		go func() { done <- start() }()
		select {
		case <-done:
			t.Fatal("a generation started while a call ran")
		case <-busyFor():
		}
		w.Fake.Release("go")
		if p = <-done; p.Run.Generation != 2 || !slices.Equal(p.Materialised, want) {
			t.Errorf("got %+v", p)
		}
		if c := w.Ended(w.ctx, busy); c.Status != call.Succeeded {
			t.Errorf("the call: %s", c.Status)
		}
		if got := w.home(r); got != "after.py deck.py own.py plain.py" {
			t.Errorf("home: %s", got)
		}
		if len(w.Fake.Started()) != 1 {
			t.Errorf("%d computers", len(w.Fake.Started()))
		}
		if _, err := w.Runs.Finish(w.ctx, run.FinishInput{Run: r}); err != nil {
			t.Fatal(err)
		}
		if p, err := w.Runs.GenerationStart(w.ctx, run.GenerationStartInput{Run: r}); err != nil || len(p.UserErrors) != 1 || describe(p.UserErrors[0]) != "BAD_STATE input run" {
			t.Errorf("a finished run: %+v, %v", p, err)
		}
		// A call at generation 0 starts the first one by itself.
		other := w.Run(w.ctx, w.agent)
		w.output(t, other, "plain")
		found, err := w.Runs.ByIDs(w.ctx, w.v.Organization.ID, []string{other})
		if err != nil || found[other].Generation != 1 {
			t.Errorf("got %+v, %v", found[other], err)
		}
	})
}
