package run

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/blob"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/event"
	"github.com/scriptorium-dev/scriptorium/internal/file"
	"github.com/scriptorium-dev/scriptorium/runner"
)

// Times of leases and looks.
const (
	leaseTime  = 15 * time.Second
	renewEvery = 5 * time.Second
	lookEvery  = time.Second
	// patience bounds one look, renewal or sweep.
	patience = 10 * time.Second
)

// Config of a Host; zero values are the defaults.
type Config struct {
	// Server names this server in leases; no other may have the name at the same time. A server that keeps its name over a
	// restart clears the leases that it left at once. At most 64 bytes.
	Server string
	// MaxComputers is how many computers there are at once (32).
	MaxComputers int
	// MaxQueued is how many calls of one organization wait for a computer here (100), and ten times as many of all together; further ones
	// get COMPUTER_UNAVAILABLE. Calls that wait behind others of their run, which has a computer, do not count.
	MaxQueued int
	// Turn is how long a run with more to do keeps its computer while others wait for one (1 minute).
	Turn time.Duration
	// Idle is how long a computer is kept without a call (10 minutes).
	Idle time.Duration
	// Drain is how long Stop lets running calls go on (20 s).
	Drain time.Duration
	// Files is where the bytes of packages and attachments are.
	Files *file.Service
	// Blobs is where kept homes are.
	Blobs *blob.Store
	// Spec is what each computer is like; its ID is the run's.
	Spec runner.Spec
	Log  *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.MaxComputers == 0 {
		c.MaxComputers = 32
	}
	if c.MaxQueued == 0 {
		c.MaxQueued = 100
	}
	if c.Turn == 0 {
		c.Turn = time.Minute
	}
	if c.Idle == 0 {
		c.Idle = 10 * time.Minute
	}
	if c.Drain == 0 {
		c.Drain = 20 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

// Host is one server's part in running runs: the computers of the runs that it owns. Its methods may be called from any goroutine.
type Host struct {
	db     *database.DB
	bus    event.Bus
	runner runner.Runner
	config Config
	log    *slog.Logger
	calls  Calls
	now    func() time.Time

	ctx    context.Context // ends when the host has stopped
	cancel context.CancelFunc
	work   sync.WaitGroup
	looks  chan struct{} // asks for a look at once

	looking sync.Mutex    // one looks for work at a time
	looked  atomic.Uint64 // looks for work begun

	checked  chan struct{} // closed when the runner was checked
	report   *runner.Report
	checkErr error

	packing, unpacking homeTurns // of kept homes

	mu       sync.Mutex
	machines map[string]*Machine    // by run: waiting for a place, being taken, owned, being left
	waiting  []*Machine             // those that wait for a place, in the order in which they began to
	turns    turns                  // which of them is next
	reserved map[string]reservation // what was admitted and is being written, by its id
	ticks    uint64                 // counts what was told of directly, so that a look that began before does not undo it
	stopping bool
	draining chan struct{} // closed when it is
}

// NewHost makes a host. Join it with the calls, then Start it.
func NewHost(db *database.DB, bus event.Bus, r runner.Runner, config Config) *Host {
	config = config.withDefaults()
	ctx, cancel := context.WithCancel(context.Background())
	return &Host{
		db: db, bus: bus, runner: r, config: config, log: config.Log, now: database.Now, ctx: ctx, cancel: cancel,
		draining: make(chan struct{}), looks: make(chan struct{}, 1), checked: make(chan struct{}), machines: map[string]*Machine{},
		reserved: map[string]reservation{}, packing: newHomeTurns(), unpacking: newHomeTurns(),
	}
}

// Join gives the host the calls; call it once, before Start.
func (h *Host) Join(calls Calls) { h.calls = calls }

// Server is this server's name in leases.
func (h *Host) Server() string { return h.config.Server }

// Done is closed when the host has stopped.
func (h *Host) Done() <-chan struct{} { return h.ctx.Done() }

// Ours says whether a run of this owner is this server's to work on: it owns it, or nobody does.
func (h *Host) Ours(owner string) bool { return owner == "" || owner == h.config.Server }

// Start ends what an earlier process of this server left, then looks for work until Stop. The check of the runner goes on in the
// background; calls wait for it.
func (h *Host) Start(ctx context.Context) error {
	if err := h.sweepLeft(ctx); err != nil {
		return err
	}
	watches := make([]*event.Watch, 0, 2)
	for _, topic := range []event.Topic{serverTopic(h.config.Server), everyServer} {
		w, err := h.bus.Watch(topic)
		if err != nil {
			return err
		}
		watches = append(watches, w)
	}
	h.work.Go(h.check)
	h.work.Go(func() { h.lookLoop(watches) })
	h.work.Go(h.leaseLoop)
	return nil
}

// check finds out whether there can be computers here.
func (h *Host) check() {
	defer close(h.checked)
	h.report, h.checkErr = h.runner.Check(h.ctx)
	if h.checkErr != nil && h.ctx.Err() == nil {
		h.log.Warn("there are no computers: calls are refused", "error", h.checkErr)
	}
}

// Report answers what the computers are made of, or an error that wraps runner.ErrNotConfigured where there are none. It waits for the
// check to end.
func (h *Host) Report(ctx context.Context) (*runner.Report, error) {
	select {
	case <-h.checked:
	default:
		select {
		case <-h.checked:
		case <-h.ctx.Done():
			return nil, runner.ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return h.report, h.checkErr
}

// configured says whether there can be computers here. Where the check is still going on, it waits for it if it is to, else answers that there can.
func (h *Host) configured(ctx context.Context, wait bool) (bool, error) {
	if !wait && !closed(h.checked) {
		return true, nil
	}
	_, err := h.Report(ctx)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return !errors.Is(err, runner.ErrNotConfigured), nil
}

// Stop takes no more work, lets running calls end within the time for that, then stops them (they are lost), and removes the computers.
// It returns when all of that is done, or some seconds after ctx has ended.
func (h *Host) Stop(ctx context.Context) error {
	machines := h.drain()
	drain, cancel := context.WithTimeout(ctx, h.config.Drain)
	defer cancel()
	for _, m := range machines {
		select {
		case <-m.gone:
		case <-drain.Done():
			m.end(StopLost)
		}
	}
	late := time.NewTimer(2 * patience) // a worker's last steps are bounded; this bounds them together
	defer late.Stop()
	var err error
	for _, m := range machines {
		select {
		case <-m.gone:
		case <-late.C:
			err = errors.New("run: a computer could not be removed in time")
		}
	}
	h.cancel()
	h.work.Wait()
	return err
}

// Drain takes no more work: calls that wait stay QUEUED for other servers or the next start. Stop begins with it; called before, those
// who wait for such calls learn it at once.
func (h *Host) Drain() { h.drain() }

// Running is how many calls run at this server now, or are being claimed.
func (h *Host) Running() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.machines {
		select {
		case m.claiming <- struct{}{}:
			if m.current != nil {
				n++
			}
			<-m.claiming
		default:
			n++
		}
	}
	return n
}

// Draining is closed when the host takes no more work.
func (h *Host) Draining() <-chan struct{} { return h.draining }

// drain forgets the runs that wait for a place, and answers the machines that are to leave.
func (h *Host) drain() []*Machine {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.stopping {
		close(h.draining)
	}
	h.stopping = true
	for _, m := range h.waiting {
		delete(h.machines, m.RunID)
		m.cancel(nil)
	}
	h.waiting = nil
	machines := make([]*Machine, 0, len(h.machines))
	for _, m := range h.machines {
		machines = append(machines, m)
		m.signal()
	}
	return machines
}

// tell publishes on topics that are there for their signal.
func (h *Host) tell(ctx context.Context, topics ...event.Topic) {
	for _, t := range topics {
		if err := h.bus.Publish(ctx, t, event.Event{Offset: 1}); err != nil && !errors.Is(err, event.ErrClosed) {
			h.log.WarnContext(ctx, "a server could not be told: it looks a moment later", "topic", t, "error", err)
		}
	}
}

// TellOwner has a run's owner look at the database: its name, empty for none.
func (h *Host) TellOwner(ctx context.Context, owner string) {
	switch owner {
	case "":
	case h.config.Server:
		h.lookSoon()
	default:
		h.tell(ctx, serverTopic(owner))
	}
}

// TellAll has every server look at the database.
func (h *Host) TellAll(ctx context.Context) { h.tell(ctx, everyServer) }

func (h *Host) lookSoon() {
	select {
	case h.looks <- struct{}{}:
	default:
	}
}

// Await waits until done says so: it asks at once, at each signal on the topic, and each second besides.
func (h *Host) Await(ctx context.Context, topic event.Topic, done func(context.Context) (bool, error)) error {
	watch, err := h.bus.Watch(topic)
	if err != nil {
		return err
	}
	defer watch.Close()
	for {
		signal := watch.Signal() // before asking, so that nothing falls between
		if ok, err := done(ctx); ok || err != nil {
			return err
		}
		timer := time.NewTimer(lookEvery)
		select {
		case <-signal:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		timer.Stop()
	}
}
