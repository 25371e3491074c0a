package call_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/call"
	"github.com/scriptorium-dev/scriptorium/internal/call/calltest"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/run"
	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

const unavailable = "No computer could be made for this call."

// queue is a server whose programs start and end as the test says.
type queue struct {
	*calltest.Server
	started chan string // calls
	goOn    chan struct{}
}

func newQueue(t *testing.T, d *database.DB, c run.Config) *queue {
	t.Helper()
	q := &queue{nil, make(chan string), make(chan struct{})}
	q.Server = calltest.New(t, d, calltest.Options{Run: c, Programs: []runnertest.Program{{Run: q.run}}})
	return q
}

// run tells of a program's start, and ends when it is let.
func (q *queue) run(ctx context.Context, p *runnertest.Proc) runnertest.Exit {
	id, _ := p.Env("SCRIPTORIUM_CALL_ID")
	select {
	case q.started <- id:
	case <-ctx.Done():
		return runnertest.Exit{Signal: "SIGKILL"}
	}
	select {
	case <-q.goOn:
		return runnertest.Exit{}
	case <-ctx.Done():
		return runnertest.Exit{Signal: "SIGKILL"}
	}
}

// starts waits for the start of the next program, which must be this call's.
func (q *queue) starts(t *testing.T, c *call.Call) {
	t.Helper()
	if id := q.next(t); id != c.ID {
		t.Fatalf("the call %s has started, not %s", id, c.ID)
	}
}

// next waits for the start of the next program and answers its call.
func (q *queue) next(t *testing.T) string {
	t.Helper()
	select {
	case id := <-q.started:
		return id
	case <-time.After(calltest.Patience):
		t.Fatal("no call has started")
		return ""
	}
}

// end lets one program that has started end.
func (q *queue) end(t *testing.T) {
	t.Helper()
	select {
	case q.goOn <- struct{}{}:
	case <-time.After(calltest.Patience):
		t.Fatal("no program runs")
	}
}

// user is an organization with an agent that has the script work.
type user struct {
	*queue
	ctx   context.Context
	id    string
	agent string
}

func (q *queue) user(t *testing.T, d *database.DB) *user {
	t.Helper()
	ctx, v := calltest.Viewer(t, d)
	u := &user{q, ctx, v.Organization.ID, ""}
	u.agent = u.newAgent()
	return u
}

func (u *user) newAgent() string {
	id := u.Agent(u.ctx)
	u.Save(u.ctx, id, "work", "print()", "")
	return id
}

// begin calls work in a run without waiting.
func (u *user) begin(runID string) *call.Call {
	return u.Begin(u.ctx, runID, "script_run", `{"name":"work"}`)
}

// beginNew calls work in a run of its own.
func (u *user) beginNew() *call.Call { return u.begin(u.Run(u.ctx, u.agent)) }

// places are the positions of calls, "-" where one has none.
func (u *user) places(t *testing.T, calls ...*call.Call) string {
	t.Helper()
	var out []string
	ids := make([]string, len(calls))
	for i, c := range calls {
		ids[i] = c.ID
	}
	found, err := u.Calls.ByIDs(u.ctx, u.id, ids)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		runID := found[c.ID].QueuedRun()
		positions, err := u.Calls.QueuePositions(u.ctx, u.id, []string{runID})
		if err != nil {
			t.Fatal(err)
		}
		if p := positions[runID]; p != nil {
			out = append(out, fmt.Sprint(*p))
		} else {
			out = append(out, "-")
		}
	}
	return strings.Join(out, " ")
}

func (u *user) expectPlaces(t *testing.T, want string, calls ...*call.Call) {
	t.Helper()
	if got := u.places(t, calls...); got != want {
		t.Errorf("the places are %s, not %s", got, want)
	}
}

// TestQueueIsFair: an organization with many runs that wait does not keep another one waiting for more than one computer, nor an agent
// another one of its organization; and places say so.
func TestQueueIsFair(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		q := newQueue(t, d, run.Config{MaxComputers: 1})
		many, few := q.user(t, d), q.user(t, d)
		first := many.beginNew()
		q.starts(t, first)
		var flood []*call.Call
		for range 8 {
			flood = append(flood, many.beginNew())
		}
		many.expectPlaces(t, "- 1 2 3 4 5 6 7 8", append([]*call.Call{first}, flood...)...)
		b1, b2 := few.beginNew(), few.beginNew()
		other := many.begin(many.Run(many.ctx, many.newAgent()))
		// few's first, many's other agent, few's second, then many's first agent alone.
		few.expectPlaces(t, "1 3", b1, b2)
		many.expectPlaces(t, "4 5 6 7 8 9 10 11 2", append(slices.Clone(flood), other)...)
		for i, c := range append([]*call.Call{b1, other, b2}, flood...) {
			q.end(t)
			q.starts(t, c)
			if i == 1 {
				few.expectPlaces(t, "- 1", b1, b2)
			}
		}
		q.end(t)
		for _, c := range append(flood, first, other) {
			if c := many.Ended(many.ctx, c); c.Status != call.Succeeded {
				t.Errorf("%s %s", c.Status, c.Text)
			}
		}
	})
}

// TestQueueBound: so many calls of an organization wait for a computer, and not one more; others have room of their own. Who leaves the queue
// makes room at once.
func TestQueueBound(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		q := newQueue(t, d, run.Config{MaxComputers: 1, MaxQueued: 2})
		u, other := q.user(t, d), q.user(t, d)
		r := u.Run(u.ctx, u.agent)
		running := u.begin(r)
		q.starts(t, running)
		behind := []*call.Call{u.begin(r), u.begin(r), u.begin(r)} // they wait for no computer
		u.expectPlaces(t, "- - - -", append(behind, running)...)
		a := u.beginNew()
		b := u.begin(*a.RunID) // shares its run's place, and counts
		u.expectPlaces(t, "1 1", a, b)
		full := u.beginNew()
		expect(t, full, call.Refused, call.ComputerUnavailable, unavailable)
		expect(t, u.begin(*a.RunID), call.Refused, call.ComputerUnavailable, unavailable)
		if full.Evidence() != nil {
			t.Errorf("a refused call has evidence: %+v", full.Evidence())
		}
		if _, err := u.Runs.GenerationStart(u.ctx, run.GenerationStartInput{Run: u.Run(u.ctx, u.agent)}); err == nil || !strings.Contains(err.Error(), "no computer could be made") {
			t.Errorf("a generation past the bound: %v", err)
		}
		if c := other.beginNew(); c.Status != call.Queued {
			t.Errorf("another organization's: %s %s", c.Status, c.Text)
		}
		if p, err := u.Calls.Cancel(u.ctx, call.CancelInput{Call: b.ID}); err != nil || p.Call.Status != call.Cancelled {
			t.Fatal(p, err)
		}
		again := u.beginNew()
		if again.Status != call.Queued {
			t.Errorf("after one was cancelled: %s %s", again.Status, again.Text)
		}
		expect(t, u.beginNew(), call.Refused, call.ComputerUnavailable, unavailable)
	})
}

// TestQueueBoundInParallel: of 20 calls at once exactly those wait for which there is room.
func TestQueueBoundInParallel(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		q := newQueue(t, d, run.Config{MaxComputers: 2, MaxQueued: 5})
		u := q.user(t, d)
		var runs []string
		for range 20 {
			runs = append(runs, u.Run(u.ctx, u.agent))
		}
		calls := make([]*call.Call, len(runs))
		var wg sync.WaitGroup
		for i, r := range runs {
			wg.Go(func() { calls[i] = u.begin(r) })
		}
		wg.Wait()
		count := map[call.Status]int{}
		for _, c := range calls {
			count[c.Status]++
		}
		if count[call.Queued] != 7 || count[call.Refused] != 13 {
			t.Errorf("two computers, five places: %v", count)
		}
		for range 7 {
			q.next(t)
			q.end(t)
		}
		for _, c := range calls {
			if c := u.Ended(u.ctx, c); c.Status != call.Succeeded && c.Status != call.Refused {
				t.Errorf("%s %s", c.Status, c.Text)
			}
		}
	})
}

// TestTwentyInParallel: more calls than computers all come to their end, those of a run in their order.
func TestTwentyInParallel(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		s := calltest.New(t, d, calltest.Options{Run: run.Config{MaxComputers: 3}})
		ctx, _ := calltest.Viewer(t, d)
		agent := s.Agent(ctx)
		s.Save(ctx, agent, "work", "#fake: out done\n", "")
		var wg sync.WaitGroup
		for range 20 {
			r := s.Run(ctx, agent)
			wg.Go(func() {
				var calls []*call.Call
				for range 3 {
					calls = append(calls, s.Begin(ctx, r, "script_run", `{"name":"work"}`))
				}
				var before time.Time
				for _, c := range calls {
					c = s.Ended(ctx, c)
					if c.Status != call.Succeeded || c.StartedAt.Before(before) {
						t.Errorf("%s %s, started %s, the one before %s", c.Status, c.Text, c.StartedAt, before)
						return
					}
					before = *c.StartedAt
				}
			})
		}
		wg.Wait()
		if n := len(s.Fake.Computers()); n > 3 {
			t.Errorf("%d computers", n)
		}
	})
}

// TestLeavingTheQueue: a call that waits is cancelled at once, also by the end of its run and by the deletion of its script, and those behind it
// move up.
func TestLeavingTheQueue(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		q := newQueue(t, d, run.Config{MaxComputers: 1})
		u := q.user(t, d)
		u.Save(u.ctx, u.agent, "other", "print()", "")
		q.starts(t, u.beginNew())
		byCancel, byFinish := u.beginNew(), u.beginNew()
		byDelete := u.Begin(u.ctx, u.Run(u.ctx, u.agent), "script_run", `{"name":"other"}`)
		last := u.beginNew()
		u.expectPlaces(t, "1 2 3 4", byCancel, byFinish, byDelete, last)
		if _, err := u.Calls.Cancel(u.ctx, call.CancelInput{Call: byCancel.ID}); err != nil {
			t.Fatal(err)
		}
		u.expectPlaces(t, "- 1 2 3", byCancel, byFinish, byDelete, last)
		if _, err := u.Runs.Finish(u.ctx, run.FinishInput{Run: *byFinish.RunID}); err != nil {
			t.Fatal(err)
		}
		u.expectPlaces(t, "- - 1 2", byCancel, byFinish, byDelete, last)
		if _, err := u.Scripts.Delete(u.ctx, script.DeleteInput{Agent: u.agent, Name: "other"}); err != nil {
			t.Fatal(err)
		}
		u.expectPlaces(t, "- - - 1", byCancel, byFinish, byDelete, last)
		for c, reason := range map[*call.Call]call.EndReason{byCancel: call.EndCancelled, byFinish: call.EndCancelled, byDelete: call.EndDeleted} {
			ended := u.Ended(u.ctx, c)
			if e := ended.Evidence(); ended.Status != call.Cancelled || e == nil || e.Reason != reason || e.WallMs != nil {
				t.Errorf("%s, evidence %+v, not %s", ended.Status, e, reason)
			} else if i, err := e.Isolation(); i != nil || err != nil {
				t.Errorf("what never ran was isolated: %v, %v", i, err)
			}
		}
		q.end(t)
		q.starts(t, last)
		q.end(t)
		if n := len(q.Fake.Started()); n != 2 {
			t.Errorf("%d computers were made", n)
		}
	})
}

// TestIdleComputersGoFirst: a run that is idle gives its computer to one that waits, the one that has been idle for longest; the others keep theirs.
func TestIdleComputersGoFirst(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		q := newQueue(t, d, run.Config{MaxComputers: 3})
		u := q.user(t, d)
		ran := func(c *call.Call) string {
			q.starts(t, c)
			q.end(t)
			u.Ended(u.ctx, c)
			calltest.Eventually(t, "its run is idle", func() bool { return q.Host.Idle(*c.RunID) })
			return *c.RunID
		}
		first, second, third := ran(u.beginNew()), ran(u.beginNew()), ran(u.beginNew())
		ran(u.begin(first)) // idle for shorter than the others from now on
		for i, oldest := range []string{second, third} {
			before := q.Fake.Computers()
			c := u.beginNew()
			q.starts(t, c)
			want := slices.Sorted(slices.Values(append(slices.DeleteFunc(before, func(id string) bool { return id == oldest }), *c.RunID)))
			if got := q.Fake.Computers(); !slices.Equal(got, want) {
				t.Errorf("taken %d: computers %v, not %v", i, got, want)
			}
		}
		// Who gave his up gets another one, with the home as it was, at his next call.
		c := u.begin(second)
		q.starts(t, c)
		if got := q.Fake.Computers(); slices.Contains(got, first) || !slices.Contains(got, second) {
			t.Errorf("computers %v", got)
		}
		if _, _, _, ok := q.Fake.File(second, run.Home(u.agent)+"/scripts/work.py"); !ok {
			t.Errorf("its home: %v", q.Fake.Files(second))
		}
	})
}

// TestTurnOfARun: a run with more to do gives its computer back when others have waited for a turn; its calls stay in order, and it
// keeps it while the turn lasts, or where nobody waits.
func TestTurnOfARun(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		q := newQueue(t, d, run.Config{MaxComputers: 1, Turn: time.Nanosecond})
		u, other := q.user(t, d), q.user(t, d)
		r := u.Run(u.ctx, u.agent)
		var calls []*call.Call
		for range 4 {
			calls = append(calls, u.begin(r))
		}
		q.starts(t, calls[0])
		q.end(t)
		q.starts(t, calls[1])
		if n := len(q.Fake.Started()); n != 1 {
			t.Errorf("nobody waited, and %d computers were made", n)
		}
		b := other.beginNew()
		other.expectPlaces(t, "1", b)
		q.end(t)
		q.starts(t, b)
		u.expectPlaces(t, "- 1 1", calls[1], calls[2], calls[3])
		q.end(t)
		q.starts(t, calls[2])
		q.end(t)
		q.starts(t, calls[3])
		q.end(t)
		u.Ended(u.ctx, calls[3])
		if n := len(q.Fake.Started()); n != 3 {
			t.Errorf("%d computers were made", n)
		}

		if err := q.Host.Stop(u.ctx); err != nil { // or it takes what waits for the next one
			t.Fatal(err)
		}
		patient := newQueue(t, d, run.Config{MaxComputers: 1})
		u = patient.user(t, d)
		r = u.Run(u.ctx, u.agent)
		c1, c2 := u.begin(r), u.begin(r)
		patient.starts(t, c1)
		c3 := u.beginNew()
		patient.end(t)
		patient.starts(t, c2)
		u.expectPlaces(t, "- - 1", c1, c2, c3)
		patient.end(t)
		patient.starts(t, c3)
		patient.end(t)
	})
}

// TestWaitingForTooLong: a call that has waited for a computer for 15 minutes is refused, and says so; those of a run that gave its
// computer back a moment ago have not waited, however old they are.
func TestWaitingForTooLong(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		q := newQueue(t, d, run.Config{MaxComputers: 1})
		u := q.user(t, d)
		running := u.beginNew()
		q.starts(t, running)
		behind := u.begin(*running.RunID)
		late, back, young := u.beginNew(), u.beginNew(), u.beginNew()
		err := d.InTx(u.ctx, func(ctx context.Context, tx *database.Tx) error {
			ago := database.Now().Add(-call.MaxQueueTime - time.Second)
			for _, c := range []*call.Call{late, back, behind} {
				if _, err := tx.SQL().ExecContext(ctx, "UPDATE calls SET created_at = $1 WHERE id = $2", ago, c.ID); err != nil {
					return err
				}
			}
			_, err := tx.SQL().ExecContext(ctx, "UPDATE runs SET owner_until = $1 WHERE id = $2", database.Now(), *back.RunID)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Calls.Sweep(u.ctx); err != nil {
			t.Fatal(err)
		}
		expect(t, u.Ended(u.ctx, late), call.Refused, call.ComputerUnavailable, unavailable)
		u.expectPlaces(t, "- - 1 2", behind, late, back, young)
		for _, c := range []*call.Call{behind, back, young} {
			q.end(t)
			q.starts(t, c)
		}
		q.end(t)
	})
}

// TestQueueOfTwoServers: what waits for a computer waits at all servers; each tells where it stands there, and the first that has a
// place takes it.
func TestQueueOfTwoServers(t *testing.T) {
	t.Parallel()
	d := databasetest.New(t, database.Postgres)
	here, there := newQueue(t, d, run.Config{MaxComputers: 1}), newQueue(t, d, run.Config{MaxComputers: 1})
	u := here.user(t, d)
	v := &user{there, u.ctx, u.id, u.agent}
	a := u.beginNew()
	here.starts(t, a)
	b := v.beginNew()
	there.starts(t, b)
	c1, c2 := u.beginNew(), v.beginNew()
	u.expectPlaces(t, "- - 1 2", a, b, c1, c2)
	v.expectPlaces(t, "- - 1 2", a, b, c1, c2)
	there.end(t) // the place that becomes free is there
	there.starts(t, c1)
	u.expectPlaces(t, "- - - 1", a, b, c1, c2)
	v.expectPlaces(t, "- - - 1", a, b, c1, c2)
	here.end(t)
	here.starts(t, c2)
	u.expectPlaces(t, "- - - -", a, b, c1, c2)
	here.end(t)
	there.end(t)
}

// TestQueueOutlivesItsServer: a server that goes loses what ran and what waited behind it; what waited for a computer is run by the next one,
// in the order in which it came.
func TestQueueOutlivesItsServer(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		q := newQueue(t, d, run.Config{MaxComputers: 1, Drain: time.Nanosecond, Server: "server-a"})
		u := q.user(t, d)
		running := u.beginNew()
		q.starts(t, running)
		a, b := u.beginNew(), u.beginNew()
		c := u.begin(*a.RunID)
		if err := q.Host.Stop(u.ctx); err != nil {
			t.Fatal(err)
		}
		u.expectPlaces(t, "- - - -", running, a, b, c)
		if e := u.Ended(u.ctx, running).Evidence(); e == nil || e.Reason != call.EndLost {
			t.Errorf("what ran: %+v", e)
		}
		next := newQueue(t, d, run.Config{MaxComputers: 1, Server: "server-a"})
		for _, c := range []*call.Call{a, c, b} { // a run's calls one after another
			next.starts(t, c)
			next.end(t)
		}
		for _, c := range []*call.Call{a, b, c} {
			if c := (&user{next, u.ctx, u.id, u.agent}).Ended(u.ctx, c); c.Status != call.Succeeded {
				t.Errorf("%s %s", c.Status, c.Text)
			}
		}
	})
}
