package run

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/runner"
)

const (
	// pause is how long a worker waits after a failure before it tries again.
	pause = 250 * time.Millisecond
	// startTime bounds how long a computer may take to be made.
	startTime = time.Minute
	// filesAtOnce is how many bytes of files go along with a call; more are brought before.
	filesAtOnce = 16 << 20
)

// work is the life of a machine: take the run, work while there is work, leave.
func (m *Machine) work() {
	defer close(m.gone)
	defer m.host.left(m)
	defer m.cancel(nil)
	if ok, err := m.take(); err != nil || !ok {
		if err != nil && m.ctx.Err() == nil {
			m.host.log.Warn("a run could not be taken", "run", m.RunID, "error", err)
		}
		return
	}
	for m.ctx.Err() == nil && !m.over() && !m.yields() {
		did, err := m.step()
		switch {
		case errors.Is(err, ErrFenced):
			m.end(StopLost)
		case err != nil && m.ctx.Err() == nil:
			m.host.log.Warn("a run's work is tried again", "run", m.RunID, "error", err)
			m.wait(time.After(pause))
		case !did && !m.rest():
			m.leave()
			return
		}
	}
	m.leave()
}

// take makes this server the run's owner; false where another one is, or the run is finished.
func (m *Machine) take() (bool, error) {
	ctx, cancel := context.WithTimeout(m.ctx, patience)
	defer cancel()
	until := m.host.now().Add(leaseTime)
	t, err := takeLease(ctx, m.host.db, m.RunID, m.host.config.Server, until)
	if err != nil || t == nil {
		return false, err
	}
	m.OrganizationID, m.AgentID, m.Environment, m.generation = t.organizationID, t.agentID, t.environment, t.generation
	m.Direct, m.attachments = t.direct, t.attachments
	m.host.mu.Lock()
	defer m.host.mu.Unlock()
	m.lease, m.until = Lease{m.host.config.Server, t.token}, until
	return true, nil
}

// over says whether nothing more is to be begun.
func (m *Machine) over() bool {
	m.host.mu.Lock()
	defer m.host.mu.Unlock()
	if m.finished || m.host.stopping {
		m.leaving = true
	}
	return m.leaving
}

// todoNow is what a worker has to do.
type todoNow struct {
	starting, dirty bool
	waits           []string
}

func (m *Machine) next() todoNow {
	m.host.mu.Lock()
	defer m.host.mu.Unlock()
	t := todoNow{m.starting, m.dirty, slices.Collect(maps.Keys(m.waits))}
	m.starting, m.dirty = false, false
	return t
}

// step does the next thing; false where there is nothing to do. What fails is to be done again.
func (m *Machine) step() (did bool, err error) {
	now := m.next()
	if m.computer != nil && closed(m.computer.Done()) {
		m.drop()
	}
	if now.starting {
		if err := m.startGenerations(m.ctx); err != nil {
			m.again(now)
			return false, err
		}
		return true, nil
	}
	if now.dirty {
		if err := m.syncHome(m.ctx); err != nil {
			m.again(now)
			return false, err
		}
	}
	if len(now.waits) == 0 {
		return now.dirty, nil
	}
	ran, err := m.runNext()
	if err == nil && !ran {
		m.noneWaits(now.waits)
	}
	return true, err
}

// again notes what could not be done.
func (m *Machine) again(t todoNow) {
	m.host.mu.Lock()
	defer m.host.mu.Unlock()
	m.starting, m.dirty = m.starting || t.starting, m.dirty || t.dirty
}

// runNext runs the next call that waits, on a new computer where there is none.
func (m *Machine) runNext() (ran bool, err error) {
	if m.computer == nil {
		waiting, err := m.host.calls.Waiting(m.ctx, m)
		if err != nil || !waiting {
			return false, err
		}
		if err := m.prepare(m.ctx); err != nil {
			if m.ctx.Err() != nil || errors.Is(err, ErrFenced) || !isRunners(err) {
				return false, err
			}
			return m.refuseNext(err)
		}
	}
	return m.host.calls.RunNext(m.ctx, m)
}

// refuseNext refuses the next call that waits; false where none does.
func (m *Machine) refuseNext(why error) (bool, error) {
	id, err := m.host.calls.Refuse(m.ctx, m, why)
	if err != nil || id == "" {
		return false, err
	}
	m.noneWaits([]string{id})
	return true, nil
}

// isRunners says whether the computer is to blame, and not the database.
func isRunners(err error) bool {
	_, file := errors.AsType[*runner.FileError](err)
	for _, e := range []error{runner.ErrNotConfigured, runner.ErrUnavailable, runner.ErrLost, runner.ErrClosed, runner.ErrTooLarge, runner.ErrInvalid, context.DeadlineExceeded} {
		file = file || errors.Is(err, e)
	}
	return file
}

// prepare makes the computer and has the home ready for the next call.
func (m *Machine) prepare(ctx context.Context) error {
	planned := make(chan plannedHome, 1)
	go func() { planned <- m.planAhead(ctx) }() // while the computer boots
	err := m.makeComputer(ctx)
	plan := <-planned
	if err != nil {
		return err
	}
	if m.isDirty() { // what was planned is not what is to be there any more
		plan = m.planAhead(ctx)
	}
	if err = plan.err; err == nil {
		err = m.restoreHome(ctx, plan.kept)
	}
	if err == nil {
		m.todo, err = m.bring(ctx, plan.changes)
	}
	if err != nil {
		m.drop()
	}
	return err
}

// FirstGeneration starts a run's first generation where a call does so by itself, in the transaction that claims the call.
func (m *Machine) FirstGeneration(ctx context.Context, tx *database.Tx) error {
	if m.generation != 0 {
		return nil
	}
	number, err := countUp(ctx, tx, m.RunID, m.lease)
	if err == nil {
		tx.AfterCommit(func() { m.generation = number })
	}
	return err
}

// plannedHome is what planHome answered, and the archive with which the home begins.
type plannedHome struct {
	changes []runner.FileChange
	kept    string
	err     error
}

// planAhead plans the whole home of a new computer.
func (m *Machine) planAhead(ctx context.Context) (p plannedHome) {
	p.changes, p.err = m.planHome(ctx, true)
	if m.AgentID != nil && p.err == nil {
		p.kept, p.err = readHomeBlob(ctx, m.host.db, m.OrganizationID, *m.AgentID)
	}
	return p
}

// isDirty says whether scripts were saved or deleted since the last look at what the home should hold.
func (m *Machine) isDirty() bool {
	m.host.mu.Lock()
	defer m.host.mu.Unlock()
	return m.dirty
}

func (m *Machine) makeComputer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	spec := m.host.config.Spec
	spec.ID = m.RunID
	computer, err := m.host.runner.Start(ctx, spec)
	if err != nil {
		return err
	}
	m.computer = computer
	if err := m.bringAttachments(ctx); err != nil {
		m.drop()
		return err
	}
	return nil
}

// planHome answers the changes that bring the home to what it should hold; with fresh, all of it is written, whatever it holds by our
// book. The book is changed at once: who cannot make the changes must drop the computer.
func (m *Machine) planHome(ctx context.Context, fresh bool) ([]runner.FileChange, error) {
	if m.AgentID == nil {
		return nil, nil
	}
	should, changes, err := homeFiles(ctx, m.host.db, m.OrganizationID, *m.AgentID, m.RunID)
	if err != nil {
		return nil, err
	}
	holds := m.files
	if fresh {
		holds = nil
	}
	p := planHome(holds, should)
	versions := make([]string, len(p.write))
	for i, f := range p.write {
		versions[i] = f.VersionID
	}
	sources := map[string]string{}
	if len(versions) > 0 {
		if sources, err = readSources(ctx, m.host.db, m.OrganizationID, versions); err != nil {
			return nil, err
		}
	}
	clear(m.files)
	for _, f := range should {
		m.files[f.Name] = f.VersionID
	}
	m.host.mu.Lock()
	m.synced = changes
	m.host.mu.Unlock()
	return p.changes(m.Dir(), sources), nil
}

// bring makes all changes but the last batch, which goes along with the next call.
func (m *Machine) bring(ctx context.Context, changes []runner.FileChange) (rest []runner.FileChange, err error) {
	all := batches(changes, filesAtOnce)
	for _, b := range all[:len(all)-1] {
		if _, err := m.computer.Files(ctx, b); err != nil {
			return nil, err
		}
	}
	return all[len(all)-1], nil
}

// syncHome brings a running computer's home to what it should hold now: scripts that were saved under names absent from the snapshot are
// written through, those that were deleted go (S1-wthru, S1-delnow).
func (m *Machine) syncHome(ctx context.Context) error {
	if m.computer == nil { // a new one begins with what is there then
		m.host.mu.Lock()
		m.synced = math.MaxInt64
		m.host.mu.Unlock()
		return nil
	}
	changes, err := m.planHome(ctx, false)
	if err != nil {
		return err
	}
	for _, b := range batches(append(m.todo, changes...), filesAtOnce) {
		if _, err := m.computer.Files(ctx, b); err != nil {
			m.drop()
			if isRunners(err) {
				m.host.log.Warn("a home could not be changed: its computer is given up", "run", m.RunID, "error", err)
				return nil
			}
			return err
		}
	}
	m.todo = nil
	return nil
}

// wait sleeps until it is woken.
func (m *Machine) wait(timer <-chan time.Time) {
	select {
	case <-m.wakes:
	case <-timer:
	case <-m.ctx.Done():
	}
}

// rest waits for work; false when the machine is to leave: it was idle for long, others need its place, or the run is over.
func (m *Machine) rest() bool {
	if m.mayLeave(false) {
		return false
	}
	timer := time.NewTimer(m.host.config.Idle)
	defer timer.Stop()
	expired := false
	select {
	case <-m.wakes:
	case <-m.lostComputer():
		m.drop()
	case <-timer.C:
		expired = true
	case <-m.ctx.Done():
		return false
	}
	return !m.mayLeave(expired)
}

// mayLeave decides, in one step with those who bring work, whether the machine leaves. It also marks it as idle or busy.
func (m *Machine) mayLeave(expired bool) bool {
	h := m.host
	h.mu.Lock()
	defer h.mu.Unlock()
	busy := len(m.waits) > 0 || m.starting || m.dirty
	if m.finished || h.stopping || (!busy && (expired || m.evicted || h.wanted())) {
		m.leaving, m.idle = true, false
		return true
	}
	if busy {
		m.idle = false
		if m.evicted { // it has work again: another one is asked
			m.evicted = false
			h.evict()
		}
	} else if !m.idle {
		m.idle, m.idleFrom = true, time.Now()
	}
	return false
}

// lostComputer is the computer's Done, or a channel that stays open where there is none.
func (m *Machine) lostComputer() <-chan struct{} {
	if m.computer == nil {
		return nil
	}
	return m.computer.Done()
}

// leave keeps the home where that is wanted, removes the computer and gives the run back, where it is still this server's.
func (m *Machine) leave() {
	m.host.mu.Lock()
	lost := errors.Is(context.Cause(m.ctx), StopLost) && !m.host.stopping
	m.leaving, m.lost = true, lost
	m.host.mu.Unlock()
	if !lost {
		m.keepHome(context.WithoutCancel(m.ctx))
	}
	m.drop()
	if lost {
		return // another server's by now, or to be swept
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(m.ctx), patience)
	defer cancel()
	at := m.host.now()
	if err := releaseLease(ctx, m.host.db, m.RunID, m.lease, at); err != nil {
		m.host.log.Warn("a run could not be given back: its lease runs out", "run", m.RunID, "error", err)
		return
	}
	m.host.mu.Lock()
	m.released, m.until = true, at
	m.host.mu.Unlock()
	m.host.tell(ctx, leftTopic(m.RunID))
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
