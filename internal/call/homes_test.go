package call_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/call"
	"github.com/scriptorium-dev/scriptorium/internal/call/calltest"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/logtest"
	"github.com/scriptorium-dev/scriptorium/internal/run"
	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// slowHomes is a runner whose homes are read when the gate is open.
type slowHomes struct {
	*runnertest.Fake
	gate chan struct{}

	mu                 sync.Mutex
	reading, most, all int
}

func (s *slowHomes) Start(ctx context.Context, spec runner.Spec) (runner.Computer, error) {
	c, err := s.Fake.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &slowHome{c, s}, nil
}

// began is how many homes are being read, and how many were.
func (s *slowHomes) began() (now, most, all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reading, s.most, s.all
}

func (s *slowHomes) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reading += n
	s.most = max(s.most, s.reading)
	s.all += max(n, 0)
}

type slowHome struct {
	runner.Computer
	all *slowHomes
}

func (c *slowHome) Read(ctx context.Context, r runner.Read, sink runner.EntrySink) (runner.ReadReport, error) {
	if !strings.HasPrefix(r.Path, "/home/") {
		return c.Computer.Read(ctx, r, sink)
	}
	c.all.count(1)
	defer c.all.count(-1)
	select {
	case <-c.all.gate:
	case <-ctx.Done():
		return runner.ReadReport{}, ctx.Err()
	}
	return c.Computer.Read(ctx, r, sink)
}

// keepers makes agents that keep their homes, with a run of each whose script has written its own words there.
func (w *world) keepers(t *testing.T, n int) (agents, runs []string) {
	t.Helper()
	yes := true
	for i := range n {
		p, err := w.Agents.Create(w.ctx, agent.CreateInput{Name: "keeps", KeepsHome: &yes})
		if err != nil || p.Agent == nil {
			t.Fatal(p, err)
		}
		id := p.Agent.ID
		w.Save(w.ctx, id, "writes", fmt.Sprintf("#fake: write %s/words own %d\n", run.Home(id), i), "")
		w.Save(w.ctx, id, "reads", fmt.Sprintf("#fake: cat %s/words\n", run.Home(id)), "")
		r := w.Run(w.ctx, id)
		if c := w.Script(w.ctx, r, "writes"); c.Status != call.Succeeded {
			t.Fatalf("%s %s", c.Status, c.Text)
		}
		agents, runs = append(agents, id), append(runs, r)
	}
	return agents, runs
}

// finishAll finishes runs at once; their homes may still be kept when it answers.
func (w *world) finishAll(t *testing.T, runs []string) (answered *sync.WaitGroup) {
	t.Helper()
	var all sync.WaitGroup
	for _, r := range runs {
		all.Go(func() {
			if p, err := w.Runs.Finish(w.ctx, run.FinishInput{Run: r}); err != nil || p.Run == nil || p.Run.Status != run.Finished {
				t.Errorf("%+v %v", p, err)
			}
		})
	}
	return &all
}

// TestHomesAtOnce: where more runs finish than there are turns, the homes are kept one after another, all of them: while one waits for longer than a lease
// is, the run stays its server's. They are brought back in turns, too.
func TestHomesAtOnce(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		turns := runtime.GOMAXPROCS(0)
		slow := &slowHomes{Fake: newFake(), gate: make(chan struct{})}
		w := newWorld(t, d, calltest.Options{Runner: slow, Run: run.Config{MaxComputers: 2*turns + 3}})
		agents, runs := w.keepers(t, 2*turns+3)
		answered := w.finishAll(t, runs)
		calltest.Eventually(t, "homes are read", func() bool { n, _, _ := slow.began(); return n == turns })
		// That the leases are renewed shows where they would end much later than a lease does.
		for _, r := range runs {
			w.exec(t, "UPDATE runs SET owner_until = '2999-01-01 00:00:00+00:00' WHERE id = $1", r)
		}
		for _, r := range runs {
			calltest.Eventually(t, "the lease of a run that is being left is renewed", func() bool { return w.leased(t, r) })
		}
		answered.Wait()
		if _, most, all := slow.began(); most != turns || all != turns {
			t.Errorf("%d homes were read at once, and %d in all, in %d turns", most, all, turns)
		}
		close(slow.gate)
		calltest.Eventually(t, "all homes are kept", func() bool {
			kept, err := w.Runs.HomesOfAgents(w.ctx, w.v.Organization.ID, agents)
			if err != nil {
				t.Fatal(err)
			}
			for i, a := range agents {
				if kept[a] == nil || kept[a].RunID != runs[i] || kept[a].Entries != 1 {
					return false
				}
			}
			return true
		})
		var all sync.WaitGroup
		for i, a := range agents {
			r := w.Run(w.ctx, a)
			all.Go(func() {
				if c := w.Script(w.ctx, r, "reads"); c.Status != call.Succeeded || !strings.Contains(c.Text, fmt.Sprintf("own %d\n", i)) {
					t.Errorf("%s %s %q", c.Status, code(c), c.Text)
				}
			})
		}
		all.Wait()
		if _, most, _ := slow.began(); most > turns {
			t.Errorf("%d homes were read at once, in %d turns", most, turns)
		}
	})
}

// leased says whether the run is owned, by a lease that ends before the year 2999.
func (w *world) leased(t *testing.T, runID string) (ok bool) {
	t.Helper()
	err := w.DB.SQL().QueryRowContext(w.ctx, "SELECT owner > '' AND owner_until < '2998-01-01 00:00:00+00:00' FROM runs WHERE id = $1", runID).Scan(&ok)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// TestHomeNotKept: where the run was taken from its server meanwhile, the home of the time before stays, and the log says so.
func TestHomeNotKept(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		slow := &slowHomes{Fake: newFake(), gate: make(chan struct{})}
		log := &logtest.Log{}
		w := newWorld(t, d, calltest.Options{Runner: slow, Log: log.Logger()})
		agents, runs := w.keepers(t, 1)
		answered := w.finishAll(t, runs)
		calltest.Eventually(t, "the home is read", func() bool { n, _, _ := slow.began(); return n == 1 })
		w.exec(t, "UPDATE runs SET owner = 'another', owner_token = owner_token + 1 WHERE id = $1", runs[0])
		close(slow.gate)
		calltest.Eventually(t, "the log says so", func() bool {
			return strings.Contains(log.String(), "an agent's home could not be kept")
		})
		w.exec(t, "UPDATE runs SET owner = '' WHERE id = $1", runs[0])
		answered.Wait()
		kept, err := w.Runs.HomesOfAgents(w.ctx, w.v.Organization.ID, agents)
		if err != nil || len(kept) != 0 {
			t.Errorf("%+v %v", kept, err)
		}
	})
}
