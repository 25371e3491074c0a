package call_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/blob"
	"github.com/scriptorium-dev/scriptorium/internal/call"
	"github.com/scriptorium-dev/scriptorium/internal/call/calltest"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/event/eventtest"
	"github.com/scriptorium-dev/scriptorium/internal/logtest"
	"github.com/scriptorium-dev/scriptorium/internal/output"
	"github.com/scriptorium-dev/scriptorium/internal/run"
)

// two are two servers on one database, Redis and blob store.
func two(t *testing.T) (here *world, there *calltest.Server) {
	t.Helper()
	config := databasetest.Config(t, database.Postgres)
	url, prefix := eventtest.Redis(t)
	blobs := calltest.Blobs(t)
	server := func() (*calltest.Server, *database.DB) {
		d := databasetest.Open(t, config)
		return calltest.New(t, d, calltest.Options{Bus: eventtest.NewRedis(t, url, prefix), Blobs: blobs}), d
	}
	s, d := server()
	ctx, v := calltest.Viewer(t, d)
	here = &world{s, ctx, v, s.Agent(ctx)}
	here.Save(ctx, here.agent, "deck", "#fake: out deck 1\n#fake: stdin\n", slides)
	here.Save(ctx, here.agent, "plain", "#fake: out plain 1\n#fake: err warned\n#fake: exit 3\n", "")
	there, _ = server()
	return here, there
}

func TestTwoServers(t *testing.T) {
	t.Parallel()
	here, there := two(t)
	ctx := here.ctx
	here.Save(ctx, here.agent, "hang", "#fake: out begun\n#fake: wait go\n#fake: hang\n", "")
	r := here.Run(ctx, here.agent)
	if c := here.Script(ctx, r, "plain"); c.Status != call.Failed {
		t.Fatalf("here: %s", c.Status)
	}
	// Calls, generations, cancels and ends that come there are done here, where the run's computer is.
	if c := there.Script(ctx, r, "plain"); c.Status != call.Failed || c.Stdout() != "plain 1\n" {
		t.Errorf("there: %s %q", c.Status, c.Text)
	}
	p, err := there.Runs.GenerationStart(ctx, run.GenerationStartInput{Run: r})
	if err != nil || p.Run == nil || p.Run.Generation != 2 || len(p.Materialised) != 3 {
		t.Fatalf("a generation: %+v, %v", p, err)
	}
	c := there.Begin(ctx, r, "script_run", `{"name":"hang"}`)
	here.Arrived("go")
	got := make(chan *seen, 1)
	go func() {
		s, err := follow(ctx, there, here.v.Organization.ID, c.ID, nil, nil)
		if err != nil {
			t.Error(err)
		}
		got <- s
	}()
	there.Until(ctx, c, func(c *call.Call) bool { return c.Output.StdoutBytes == 6 })
	cancelledThere, err := there.Calls.Cancel(ctx, call.CancelInput{Call: c.ID})
	if err != nil || cancelledThere.Call == nil {
		t.Fatal(cancelledThere, err)
	}
	expect(t, cancelledThere.Call, call.Cancelled, call.ByRequest, cancelled+"\nstdout:\nbegun\nstderr:\n\n")
	if s := <-got; s == nil || s.proves() != nil || string(s.out[call.Stdout]) != "begun\n" {
		t.Errorf("the stream there: %+v", s)
	}
	// A script deleted there leaves the home here; a run finished there loses its computer here.
	there.Delete(ctx, here.agent, "hang")
	calltest.Eventually(t, "its file goes", func() bool { return here.home(r) == "deck.py plain.py" })
	if _, err := there.Runs.Finish(ctx, run.FinishInput{Run: r}); err != nil {
		t.Fatal(err)
	}
	if n := len(here.Fake.Computers()); n != 0 {
		t.Errorf("%d computers", n)
	}
	if n := len(there.Fake.Started()); n != 0 {
		t.Errorf("%d computers were made there", n)
	}
}

// crashed leaves a run as a server leaves it that was killed while it ran a call.
func crashed(t *testing.T, w *world, r string, owner, until string, spool string, blobs *blob.Store) (running, waiting *call.Call) {
	t.Helper()
	w.Save(w.ctx, w.agent, "hang", "#fake: wait go\n#fake: hang\n", "")
	if err := w.Host.Stop(w.ctx); err != nil { // so that nobody works
		t.Fatal(err)
	}
	var ids []string
	for range 2 {
		c := w.queued(t, r)
		ids = append(ids, c)
	}
	w.exec(t, "UPDATE runs SET owner = $1, owner_token = owner_token + 1, owner_until = "+until+" WHERE id = $2", owner, r)
	w.exec(t, "UPDATE calls SET status = 'RUNNING', started_at = created_at WHERE id = $1", ids[0])
	log, err := output.Open(output.Options{Dir: spool, Bus: w.Bus, Blobs: blobs})
	if err != nil {
		t.Fatal(err)
	}
	writer, err := log.Begin(ids[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Write(output.Stdout, []byte("printed before the crash\n")); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := w.Calls.ByIDs(w.ctx, w.v.Organization.ID, ids)
	if err != nil {
		t.Fatal(err)
	}
	return found[ids[0]], found[ids[1]]
}

// queued makes the row of a call that waits.
func (w *world) queued(t *testing.T, r string) string {
	t.Helper()
	no := false
	k := "k" + filepath.Base(t.TempDir())
	p, err := w.Calls.ToolCall(w.ctx, call.ToolCallInput{Run: &r, Name: "script_run", Arguments: []byte(`{"name":"plain"}`), Wait: &no, IdempotencyKey: &k})
	if err != nil || p.Call == nil {
		t.Fatal(p, err)
	}
	// The host has stopped, so the call was refused; it is made one that waits.
	w.exec(t, "UPDATE calls SET status = 'QUEUED', error_code = NULL, text = $2, finished_at = NULL, input = arguments WHERE id = $1", p.Call.ID, []byte{})
	return p.Call.ID
}

func (w *world) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	err := w.DB.InTx(w.ctx, func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.SQL().ExecContext(ctx, statement, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

const lost = "The computer was lost before the script finished."

// TestKilledServer: after the next start its call is LOST, with what it had printed.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		spool, blobs := t.TempDir(), calltest.Blobs(t)
		w := newWorld(t, d, calltest.Options{Blobs: blobs})
		r := w.Run(w.ctx, w.agent)
		running, waiting := crashed(t, w, r, "server-a", "'2999-01-01 00:00:00+00:00'", spool, blobs)
		log := &logtest.Log{}
		next := calltest.New(t, d, calltest.Options{Blobs: blobs, Spool: spool, Recover: true, Run: run.Config{Server: "server-a"}, Log: log.Logger()})
		c := next.Ended(w.ctx, running)
		sayLost(t, log, running, waiting)
		expect(t, c, call.Lost, call.ComputerLost, lost+"\nstdout:\nprinted before the crash\nstderr:\n\n")
		expect(t, next.Ended(w.ctx, waiting), call.Lost, call.ComputerLost, lost)
		got, err := follow(w.ctx, next, w.v.Organization.ID, c.ID, nil, nil)
		if err != nil || got.proves() != nil {
			t.Errorf("its output: %+v, %v", got, err)
		}
		if left, _ := os.ReadDir(spool); len(left) != 0 {
			t.Errorf("left in the spool: %v", left)
		}
		if c := next.Script(w.ctx, r, "plain"); c.Status != call.Failed {
			t.Errorf("the next call: %s %s", c.Status, code(c))
		}
	})
}

// TestExpiredLease: any server ends what the owner left when its lease ran out; until then nobody touches it.
func TestExpiredLease(t *testing.T) {
	t.Parallel()
	d := databasetest.New(t, database.Postgres)
	blobs := calltest.Blobs(t)
	w := newWorld(t, d, calltest.Options{Blobs: blobs})
	r := w.Run(w.ctx, w.agent)
	running, waiting := crashed(t, w, r, "server-a", "'2999-01-01 00:00:00+00:00'", t.TempDir(), blobs)
	log := &logtest.Log{}
	other := calltest.New(t, d, calltest.Options{Blobs: blobs, Log: log.Logger()})
	third := other.Begin(w.ctx, r, "script_run", `{"name":"plain"}`)
	if c := third; c.Status != call.Queued {
		t.Errorf("a call for the owner: %s", c.Status)
	}
	found, err := other.Calls.ByIDs(w.ctx, w.v.Organization.ID, []string{running.ID})
	if err != nil || found[running.ID].Status != call.Running {
		t.Errorf("before the lease ran out: %v, %v", found[running.ID], err)
	}
	w.exec(t, "UPDATE runs SET owner_until = '2001-01-01 00:00:00+00:00' WHERE id = $1", r)
	expect(t, other.Ended(w.ctx, running), call.Lost, call.ComputerLost, lost+"\nstdout:\n\nstderr:\n\n")
	expect(t, other.Ended(w.ctx, waiting), call.Lost, call.ComputerLost, lost)
	sayLost(t, log, running, waiting, third)
	if c := other.Script(w.ctx, r, "plain"); c.Status != call.Failed {
		t.Errorf("the next call: %s %s", c.Status, code(c))
	}
}

// TestFencing: a server whose run was taken writes nothing of it any more, and stops what it ran.
func TestFencing(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		w.Save(w.ctx, w.agent, "hang", "#fake: wait go\n", "")
		r := w.Run(w.ctx, w.agent)
		c := w.Begin(w.ctx, r, "script_run", `{"name":"hang"}`)
		w.Arrived("go")
		w.exec(t, "UPDATE runs SET owner = 'another', owner_token = owner_token + 1 WHERE id = $1", r)
		calltest.Eventually(t, "the computer goes", func() bool { return len(w.Fake.Computers()) == 0 })
		found, err := w.Calls.ByIDs(w.ctx, w.v.Organization.ID, []string{c.ID})
		if err != nil || found[c.ID].Status != call.Running {
			t.Errorf("the new owner's row was written: %+v, %v", found[c.ID], err)
		}
		w.exec(t, "UPDATE runs SET owner = '' WHERE id = $1", r)
	})
}

func TestGracefulStop(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{Run: run.Config{Drain: 200e6}})
		w.Save(w.ctx, w.agent, "hang", "#fake: out begun\n#fake: wait go\n#fake: hang\n", "")
		w.Save(w.ctx, w.agent, "ends", "#fake: wait ends\n", "")
		r, other := w.Run(w.ctx, w.agent), w.Run(w.ctx, w.agent)
		hangs := w.Begin(w.ctx, r, "script_run", `{"name":"hang"}`)
		w.Arrived("go")
		ends := make(chan *call.Call)
		go func() { ends <- w.Script(w.ctx, other, "ends") }()
		w.Arrived("ends")
		waits := w.Begin(w.ctx, r, "script_run", `{"name":"plain"}`)
		w.Host.Drain()
		w.Fake.Release("ends")
		if c := <-ends; c.Status != call.Succeeded {
			t.Errorf("a call that ends in time: %s", c.Status)
		}
		if err := w.Host.Stop(w.ctx); err != nil {
			t.Fatal(err)
		}
		expect(t, w.Ended(w.ctx, hangs), call.Lost, call.ComputerLost, lost+"\nstdout:\nbegun\nstderr:\n\n")
		if n := w.Fake.Computers(); len(n) != 0 {
			t.Errorf("computers are left: %v", n)
		}
		// What waited is done by the next server.
		next := calltest.New(t, d, calltest.Options{})
		if c := next.Ended(w.ctx, waits); c.Status != call.Failed {
			t.Errorf("the call that waited: %s %s", c.Status, code(c))
		}
	})
}

func TestIdle(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{Run: run.Config{Idle: 50e6}})
		r := w.Run(w.ctx, w.agent)
		for i := range 3 {
			if c := w.Script(w.ctx, r, "plain"); c.Status != call.Failed {
				t.Fatalf("call %d: %s %s", i, c.Status, code(c))
			}
			calltest.Eventually(t, "the computer goes", func() bool { return len(w.Fake.Computers()) == 0 })
		}
		if n := len(w.Fake.Started()); n != 3 {
			t.Errorf("%d computers", n)
		}
		found, err := w.Runs.ByIDs(w.ctx, w.v.Organization.ID, []string{r})
		if err != nil || found[r].Generation != 1 || found[r].Status != run.Open {
			t.Errorf("the run: %+v, %v", found[r], err)
		}
	})
}
