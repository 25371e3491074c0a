package call_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/call"
	"github.com/scriptorium-dev/scriptorium/internal/call/calltest"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/logtest"
	"github.com/scriptorium-dev/scriptorium/internal/run"
)

const (
	cancelled = "The call was cancelled."
	deleted   = "The script was deleted, and stopped."
)

func (w *world) cancel(t *testing.T, c *call.Call) *call.Call {
	t.Helper()
	p, err := w.Calls.Cancel(w.ctx, call.CancelInput{Call: c.ID})
	if err != nil || p.Call == nil {
		t.Fatal(p, err)
	}
	return p.Call
}

func TestCallCancel(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		w.Save(w.ctx, w.agent, "hang", "#fake: out begun\n#fake: wait go\n#fake: hang\n", "")
		r := w.Run(w.ctx, w.agent)
		runs := w.Begin(w.ctx, r, "script_run", `{"name":"hang"}`)
		if runs.Status != call.Queued || runs.Text != "" || runs.Output.URL != nil {
			t.Errorf("accepted: %+v", runs)
		}
		w.Arrived("go")
		waits := w.Begin(w.ctx, r, "script_run", `{"name":"plain"}`)
		expect(t, w.cancel(t, waits), call.Cancelled, call.ByRequest, cancelled)
		got := w.cancel(t, runs)
		expect(t, got, call.Cancelled, call.ByRequest, cancelled+"\nstdout:\nbegun\nstderr:\n\n")
		if got.ExitCode != nil || got.Signal != nil || got.FinishedAt == nil {
			t.Errorf("got %+v", got)
		}
		// Ended calls are answered unchanged.
		before := w.Script(w.ctx, r, "plain")
		if after := w.cancel(t, before); after.Status != call.Failed || after.Text != before.Text {
			t.Errorf("an ended call became %s", after.Status)
		}
		other, _ := calltest.Viewer(t, d)
		for _, id := range []string{"call_x", runs.ID} {
			if p, err := w.Calls.Cancel(other, call.CancelInput{Call: id}); err != nil || len(p.UserErrors) != 1 || describe(p.UserErrors[0]) != "NOT_FOUND input call" {
				t.Errorf("%s: %+v, %v", id, p, err)
			}
		}
		if len(w.Fake.Started()) != 1 {
			t.Errorf("%d computers", len(w.Fake.Started()))
		}
	})
}

// TestCancelRace: a call ends by itself or is cancelled, once, and everybody hears the same.
func TestCancelRace(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		r := w.Run(w.ctx, w.agent)
		for range 30 {
			c := w.Begin(w.ctx, r, "script_run", `{"name":"plain"}`)
			var wait sync.WaitGroup
			var told [2]*call.Call
			for i := range told {
				wait.Go(func() {
					p, err := w.Calls.Cancel(w.ctx, call.CancelInput{Call: c.ID})
					if err != nil {
						t.Error(err)
						return
					}
					told[i] = p.Call
				})
			}
			wait.Wait()
			end := w.Ended(w.ctx, c)
			if end.Status != call.Failed && end.Status != call.Cancelled {
				t.Fatalf("it ended %s", end.Status)
			}
			for _, c := range told {
				if c == nil || c.Status != end.Status || c.Text != end.Text {
					t.Fatalf("told %+v, ended %+v", c, end)
				}
			}
		}
		// The run goes on.
		if c := w.Script(w.ctx, r, "plain"); c.Status != call.Failed {
			t.Errorf("the next call: %s", c.Status)
		}
	})
}

func TestRunFinish(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		w.Save(w.ctx, w.agent, "hang", "#fake: wait go\n#fake: hang\n", "")
		r := w.Run(w.ctx, w.agent)
		runs := w.Begin(w.ctx, r, "script_run", `{"name":"hang"}`)
		w.Arrived("go")
		waits := w.Begin(w.ctx, r, "script_run", `{"name":"plain"}`)
		p, err := w.Runs.Finish(w.ctx, run.FinishInput{Run: r})
		if err != nil || p.Run == nil || p.Run.Status != run.Finished || p.Run.FinishedAt == nil {
			t.Fatal(p, err)
		}
		if got := w.Fake.Computers(); len(got) != 0 {
			t.Errorf("computers are left: %v", got)
		}
		expect(t, w.Ended(w.ctx, runs), call.Cancelled, call.ByRequest, cancelled+"\nstdout:\n\nstderr:\n\n")
		expect(t, w.Ended(w.ctx, waits), call.Cancelled, call.ByRequest, cancelled)
		again, err := w.Runs.Finish(w.ctx, run.FinishInput{Run: r})
		if err != nil || !again.Run.FinishedAt.Equal(*p.Run.FinishedAt) {
			t.Errorf("finished again: %+v, %v", again, err)
		}
		if p, err := w.Runs.Finish(w.ctx, run.FinishInput{Run: "run_x"}); err != nil || describe(p.UserErrors[0]) != "NOT_FOUND input run" {
			t.Errorf("unknown: %+v, %v", p, err)
		}
	})
}

// TestFinishRace: calls that come while their run is finished have an end, or were refused.
func TestFinishRace(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		for range 10 {
			r := w.Run(w.ctx, w.agent)
			var wait sync.WaitGroup
			for i := range 6 {
				wait.Go(func() {
					in := call.ToolCallInput{Run: &r, Name: "script_run", Arguments: []byte(`{"name":"plain"}`)}
					p, err := w.Calls.ToolCall(w.ctx, in)
					switch {
					case err != nil:
						t.Error(err)
					case p.Call == nil:
						if describe(p.UserErrors[0]) != "BAD_STATE input run" {
							t.Error(p.UserErrors)
						}
					case p.Call.Status != call.Failed && p.Call.Status != call.Cancelled:
						t.Errorf("call %d: %s", i, p.Call.Status)
					}
				})
			}
			wait.Go(func() {
				if _, err := w.Runs.Finish(w.ctx, run.FinishInput{Run: r}); err != nil {
					t.Error(err)
				}
			})
			wait.Wait()
		}
		calltest.Eventually(t, "all computers go", func() bool { return len(w.Fake.Computers()) == 0 })
		open, err := w.Calls.Page(w.ctx, w.v.Organization.ID, &call.Filter{Status: []call.Status{call.Queued, call.Running}}, first(10))
		if err != nil || len(open.Edges) != 0 {
			t.Errorf("open calls are left: %v, %v", open.Nodes(), err)
		}
	})
}

func TestS1DelNowStops(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		w.Save(w.ctx, w.agent, "hang", "#fake: out begun\n#fake: wait go\n#fake: hang\n", "")
		r := w.Run(w.ctx, w.agent)
		runs := w.Begin(w.ctx, r, "script_run", `{"name":"hang"}`)
		w.Arrived("go")
		same := w.Begin(w.ctx, r, "script_run", `{"name":"hang"}`)
		other := w.Begin(w.ctx, r, "script_run", `{"name":"plain"}`)
		w.Delete(w.ctx, w.agent, "hang")
		expect(t, w.Ended(w.ctx, runs), call.Cancelled, call.ScriptDeleted, deleted+"\nstdout:\nbegun\nstderr:\n\n")
		expect(t, w.Ended(w.ctx, same), call.Cancelled, call.ScriptDeleted, deleted)
		if c := w.Ended(w.ctx, other); c.Status != call.Failed {
			t.Errorf("another script's call: %s", c.Status)
		}
		calltest.Eventually(t, "its file goes", func() bool { return w.home(r) == "deck.py plain.py" })
		// Deleting the agent finishes its runs.
		w.Save(w.ctx, w.agent, "stay", "#fake: wait stay\n#fake: hang\n", "")
		last := w.Begin(w.ctx, r, "script_run", `{"name":"stay"}`)
		w.Arrived("stay")
		if p, err := w.Agents.Delete(w.ctx, agent.DeleteInput{Agent: w.agent}); err != nil || p.DeletedID == nil {
			t.Fatal(p, err)
		}
		if c := w.Ended(w.ctx, last); c.Status != call.Cancelled {
			t.Errorf("the deleted agent's call: %s %s", c.Status, code(c))
		}
		calltest.Eventually(t, "its computer goes", func() bool { return len(w.Fake.Computers()) == 0 })
		found, err := w.Runs.ByIDs(w.ctx, w.v.Organization.ID, []string{r})
		if err != nil || found[r].Status != run.Finished {
			t.Errorf("the run: %+v, %v", found[r], err)
		}
	})
}

// TestS1DelNowRace: whatever meets, a deleted script's call ends as one of four, and a name never runs another's code.
func TestS1DelNowRace(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		r := w.Run(w.ctx, w.agent)
		for i := range 15 {
			w.Save(w.ctx, w.agent, "brief", fmt.Sprintf("#fake: out %d\n", i), "")
			var wait sync.WaitGroup
			for range 3 {
				wait.Go(func() {
					c := w.Script(w.ctx, r, "brief")
					ok := c.Status == call.Succeeded && c.Stdout() == fmt.Sprintf("%d\n", i) || code(c) == call.ScriptDeleted || code(c) == call.UnknownTool
					if !ok {
						t.Errorf("round %d: %s %s %q", i, c.Status, code(c), c.Text)
					}
				})
			}
			wait.Go(func() { w.Delete(w.ctx, w.agent, "brief") })
			wait.Wait()
		}
	})
}

func TestS2MinTime(t *testing.T) {
	t.Parallel()
	d := databasetest.New(t, database.SQLite)
	w := newWorld(t, d, calltest.Options{Call: call.Config{TimeoutLimit: 90e9}})
	w.Save(w.ctx, w.agent, "hang", "#fake: out begun\n#fake: hang\n", "")
	r := w.Run(w.ctx, w.agent)
	if c := w.Script(w.ctx, r, "plain"); c.TimeoutSeconds != 90 {
		t.Errorf("with the deployment's limit: %d s", c.TimeoutSeconds)
	}
	v, k, one := *w.v, *w.v.Key, 1
	k.ExecTimeoutSeconds, v.Key = &one, &k
	c := w.Script(key.WithViewer(w.ctx, &v), r, "hang")
	expect(t, c, call.TimedOut, call.TimeLimit, "The script was stopped after 1 seconds.\nstdout:\nbegun\nstderr:\n\n")
}

func TestOutOfMemoryAndLost(t *testing.T) {
	t.Parallel()
	d := databasetest.New(t, database.SQLite)
	log := &logtest.Log{}
	w := newWorld(t, d, calltest.Options{Log: log.Logger()})
	w.Save(w.ctx, w.agent, "memory", "#fake: out a\n#fake: memory\n", "")
	w.Save(w.ctx, w.agent, "lost", "#fake: out b\n#fake: lost\n", "")
	r := w.Run(w.ctx, w.agent)
	expect(t, w.Script(w.ctx, r, "memory"), call.Failed, call.OutOfMemory, "The script was stopped: it used more memory than it may.\nstdout:\na\nstderr:\n\n")
	gone := w.Script(w.ctx, r, "lost")
	expect(t, gone, call.Lost, call.ComputerLost, "The computer was lost before the script finished.\nstdout:\nb\nstderr:\n\n")
	sayLost(t, log, gone)
	if c := w.Script(w.ctx, r, "plain"); c.Status != call.Failed || len(w.Fake.Started()) != 3 {
		t.Errorf("the next call: %s, %d computers", c.Status, len(w.Fake.Started()))
	}
}

func TestIdempotencyOfCalls(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		r, k := w.Run(w.ctx, w.agent), "once"
		in := call.ToolCallInput{Run: &r, Name: "deck", Arguments: []byte(`{"title":"x"}`), IdempotencyKey: &k}
		var wait sync.WaitGroup
		var ids sync.Map
		for range 20 {
			wait.Go(func() {
				p, err := w.Calls.ToolCall(w.ctx, in)
				if err != nil || p.Call == nil || p.Call.Status != call.Succeeded {
					t.Errorf("%+v, %v", p, err)
					return
				}
				ids.Store(p.Call.ID, true)
			})
		}
		wait.Wait()
		n := 0
		ids.Range(func(any, any) bool { n++; return true })
		if n != 1 || len(w.Fake.Calls()) != 1 {
			t.Errorf("%d calls were answered, %d run", n, len(w.Fake.Calls()))
		}
		other := in
		other.Arguments = []byte(`{"title":"y"}`)
		if p, err := w.Calls.ToolCall(w.ctx, other); err != nil || len(p.UserErrors) != 1 || describe(p.UserErrors[0]) != "IDEMPOTENCY_MISMATCH input idempotencyKey" {
			t.Errorf("%+v, %v", p, err)
		}
		// Also when the run is finished by then.
		if _, err := w.Runs.Finish(w.ctx, run.FinishInput{Run: r}); err != nil {
			t.Fatal(err)
		}
		if p, err := w.Calls.ToolCall(w.ctx, in); err != nil || p.Call == nil || p.Call.Status != call.Succeeded {
			t.Errorf("%+v, %v", p, err)
		}
		runs := map[string]bool{}
		var mu sync.Mutex
		for range 20 {
			wait.Go(func() {
				p, err := w.Runs.Create(w.ctx, run.CreateInput{Agent: &w.agent, IdempotencyKey: &k})
				if err != nil || p.Run == nil {
					t.Error(p, err)
					return
				}
				mu.Lock()
				runs[p.Run.ID] = true
				mu.Unlock()
			})
		}
		wait.Wait()
		if len(runs) != 1 {
			t.Errorf("%d runs", len(runs))
		}
	})
}
