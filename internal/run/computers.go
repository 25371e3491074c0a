package run

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/runner"
)

// Machine is a run on the server that owns it: the worker that does one thing of it at a time, and its computer, where there is one.
type Machine struct {
	RunID string
	host  *Host
	gone  chan struct{} // closed when the worker has ended

	// Set by the worker when it has taken the run, before anything else sees them.
	OrganizationID string
	AgentID        *string
	Environment    map[string]string
	Direct         bool  // the run was made for one call, and is finished with it
	attachments    bool  // it has some
	lease          Lease // its Token under Host.mu

	ctx    context.Context // ends when the run is not this server's any more
	cancel context.CancelCauseFunc
	wakes  chan struct{}

	// Under Host.mu.
	ref      Ref
	waits    map[string]bool // calls that may wait, by their ids
	starting bool            // generations wait
	woken    uint64          // Host.ticks when that was last told of directly
	dirty    bool            // the agent's scripts have changed
	finished bool            // the run is
	waiting  bool            // for a place: nothing works on it yet
	since    time.Time       // when it began to wait; then, when its turn began
	worked   bool            // a call was begun in this turn
	evicted  bool            // others need the place
	leaving  bool            // nothing more is begun
	lost     bool            // the run is another server's, or to be swept
	released bool            // the run was given back
	idle     bool            // nothing is to do
	idleFrom time.Time       // since when
	until    time.Time       // when the lease ends, or was given back
	synced   int64           // offset of the change that the home has come to

	claiming chan struct{} // a lock (one token): a call is being claimed, or current is being read
	current  *current

	// The worker's own.
	computer   runner.Computer
	generation int
	files      map[string]string               // what the home holds, by our book: version ids by name
	todo       []runner.FileChange             // to be made with the next call
	packages   map[string][]script.VersionFile // of versions that were called, by their ids
	homeLost   bool                            // the home that was kept could not be brought back
	litter     []string                        // what the last call has in its folder, to be removed with the next call
	folders    []string                        // of the calls on this computer, the running one's last
}

// current is the call that runs.
type current struct {
	callID, scriptID string
	stop             context.CancelCauseFunc
}

// Lease is the machine's right to its run.
func (m *Machine) Lease() Lease { return m.lease }

// Wake has a call of the run looked at, which waits since then. Where this server does not own the run it takes it, when it may.
func (h *Host) Wake(ref Ref, callID string, since time.Time) {
	h.wake(ref, callID, since, func(m *Machine) { m.waits[callID] = true })
}

// wake changes what the machine has to do, making one where there is none. What was admitted under the id counts as the machine's from here.
func (h *Host) wake(ref Ref, id string, since time.Time, what func(*Machine)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	kept := h.reserved[id].place
	delete(h.reserved, id)
	if h.stopping {
		return
	}
	m := h.machines[ref.RunID]
	if m == nil {
		m = h.enter(ref, kept, since)
	}
	h.ticks++
	m.woken = h.ticks
	what(m)
	m.signal()
}

// Stopping says whether the host takes no more work.
func (h *Host) Stopping() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stopping
}

func (h *Host) newMachine(ref Ref) *Machine {
	m := &Machine{
		RunID: ref.RunID, host: h, gone: make(chan struct{}), wakes: make(chan struct{}, 1), claiming: make(chan struct{}, 1), files: map[string]string{}, packages: map[string][]script.VersionFile{},
		ref: ref, waits: map[string]bool{},
	}
	m.ctx, m.cancel = context.WithCancelCause(h.ctx)
	return m
}

func (m *Machine) signal() {
	select {
	case m.wakes <- struct{}{}:
	default:
	}
}

// end stops the worker and what it runs; why is told to the call.
func (m *Machine) end(why Stop) {
	m.cancel(why)
	m.signal()
}

// StopCall stops a call where this server runs it.
func (h *Host) StopCall(runID, callID string, why Stop) {
	h.stopIf(runID, why, func(c *current) bool { return c.callID == callID })
}

func (h *Host) stopIf(runID string, why Stop, match func(*current) bool) {
	h.mu.Lock()
	m := h.machines[runID]
	h.mu.Unlock()
	if m == nil {
		return
	}
	m.claiming <- struct{}{} // a call that is being claimed is there when its claim has ended
	defer func() { <-m.claiming }()
	if c := m.current; c != nil && match(c) {
		c.stop(why)
	}
}

// Claim runs claim, which claims a call in the database and answers its id and script. It answers the context that the call is to run
// in, and what is to be called at its end. With an empty id there is no call. A call that is stopped while it is being claimed is stopped
// right after.
func (m *Machine) Claim(claim func(ctx context.Context) (callID, scriptID string, err error)) (ctx context.Context, done func(), callID string, err error) {
	m.claiming <- struct{}{}
	defer func() { <-m.claiming }()
	callID, scriptID, err := claim(m.ctx)
	if err != nil || callID == "" {
		return nil, nil, "", err
	}
	ctx, stop := context.WithCancelCause(m.ctx)
	m.current = &current{callID, scriptID, stop}
	m.begun(callID)
	return ctx, func() {
		m.claiming <- struct{}{}
		m.current = nil
		<-m.claiming
		stop(nil)
	}, callID, nil
}

// begun notes that a call waits no more.
func (m *Machine) begun(callID string) {
	m.host.mu.Lock()
	defer m.host.mu.Unlock()
	delete(m.waits, callID)
	m.worked = true
}

// noneWaits notes that calls that were known of do not wait any more.
func (m *Machine) noneWaits(callIDs []string) {
	m.host.mu.Lock()
	defer m.host.mu.Unlock()
	for _, id := range callIDs {
		delete(m.waits, id)
	}
}

// Dir is where the run's calls start, and their HOME.
func (m *Machine) Dir() string {
	if m.AgentID == nil {
		return Workspace
	}
	return Home(*m.AgentID)
}

// Call runs a program on the computer, after the file changes that were still to be made. A computer that is lost or that could not
// take the files is given up: the next call gets a new one.
func (m *Machine) Call(ctx context.Context, c runner.Call, sink runner.Sink) (runner.Result, error) {
	c.Files = append(m.todo, c.Files...)
	res, err := m.computer.Call(ctx, c, sink)
	if file, ok := errors.AsType[*runner.FileError](err); ok && file.Full && m.makeRoom(ctx) {
		res, err = m.computer.Call(ctx, c, sink)
	}
	if err == nil {
		m.todo = nil
	}
	if (err != nil && ctx.Err() == nil) || res.Reason == runner.ReasonMemory {
		m.drop()
	}
	return res, err
}

// makeRoom removes what earlier calls left in their folders, which share one size; false where there was nothing, or it could not be removed.
func (m *Machine) makeRoom(ctx context.Context) bool {
	if len(m.folders) < 2 {
		return false
	}
	m.host.log.Info("what earlier calls left in their folders is removed: there is no room for the next one", "run", m.RunID)
	own := m.folders[len(m.folders)-1]
	for some := range slices.Chunk(m.folders[:len(m.folders)-1], changesAtOnce) {
		changes := make([]runner.FileChange, len(some))
		for i, folder := range some {
			changes[i] = runner.FileChange{Op: runner.FileRemove, Path: folder}
		}
		if _, err := m.computer.Files(ctx, changes); err != nil {
			return false
		}
	}
	m.folders = []string{own}
	return true
}

// ScriptChanges are the file changes that bring a version of a script into the home, none where it is there by our book. done notes that they
// have been made.
func (m *Machine) ScriptChanges(ctx context.Context, name, versionID string) (changes []runner.FileChange, done func(), err error) {
	if m.files[name] == versionID {
		return nil, func() {}, nil
	}
	sources, err := readSources(ctx, m.host.db, m.OrganizationID, []string{versionID})
	if err != nil {
		return nil, nil, err
	}
	source, ok := sources[versionID]
	if !ok {
		return nil, nil, fmt.Errorf("run: there is no version %s", versionID)
	}
	return []runner.FileChange{ScriptFile(m.Dir(), name, source)}, func() { m.files[name] = versionID }, nil
}

// Litter removes what the call before left in its folder, and notes what this one will: paths in its folder.
func (m *Machine) Litter(paths []string) (changes []runner.FileChange) {
	for _, before := range m.litter {
		changes = append(changes, runner.FileChange{Op: runner.FileRemove, Path: before})
	}
	m.litter, m.folders = paths, append(m.folders, path.Dir(paths[0]))
	return changes
}

// drop gives the computer up.
func (m *Machine) drop() {
	if m.computer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(m.ctx), patience)
	defer cancel()
	if err := m.computer.Close(ctx); err != nil {
		m.host.log.Warn("a computer could not be removed", "run", m.RunID, "error", err)
	}
	m.computer, m.todo, m.litter, m.folders = nil, nil, nil, nil
	clear(m.files)
}

// Read reads what a call made. A computer that is lost is given up.
func (m *Machine) Read(ctx context.Context, r runner.Read, sink runner.EntrySink) (runner.ReadReport, error) {
	if m.computer == nil {
		return runner.ReadReport{}, runner.ErrLost
	}
	return m.computer.Read(ctx, r, sink)
}
