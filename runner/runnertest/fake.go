package runnertest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
)

// Fake is a runner.Runner in memory. The zero value is not ready: see NewFake.
type Fake struct {
	mu        sync.Mutex
	programs  []Program
	computers map[string]*fakeComputer
	specs     []runner.Spec
	calls     []FakeCall
	gates     map[string]chan struct{}
	arrived   map[string]chan struct{}
	checkErr  error
	startErr  error
	report    runner.Report
	closed    bool
}

var _ runner.Runner = (*Fake)(nil)

// FakeCall is one call that a Fake ran, with what it was given.
type FakeCall struct {
	Computer string
	Call     runner.Call
	Result   runner.Result
	Err      error
}

// NewFake makes a Fake. For each call the first program whose Match says yes is run; where none does, the lines
// of the script's own source are (see the package's text).
func NewFake(programs ...Program) *Fake {
	return &Fake{
		programs:  programs,
		computers: map[string]*fakeComputer{},
		gates:     map[string]chan struct{}{},
		arrived:   map[string]chan struct{}{},
		report: runner.Report{Gvisor: "fake", Platform: "fake", Digest: "sha256:" + fmt.Sprintf("%064d", 0), Fallback: true,
			Runtimes: []string{"python3 0.0.0", "node 0.0.0"}, MemoryLimit: "none: this is a fake"},
	}
}

// Add puts a program before those that are there.
func (f *Fake) Add(p Program) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.programs = append([]Program{p}, f.programs...)
}

// FailCheck makes Check and Start fail with err (nil: no longer). Wrap runner.ErrNotConfigured as the real one does.
func (f *Fake) FailCheck(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.checkErr = err
}

// FailStart makes Start fail with err (nil: no longer). Wrap runner.ErrUnavailable as the real one does.
func (f *Fake) FailStart(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.startErr = err
}

// SetReport replaces what Check answers.
func (f *Fake) SetReport(r runner.Report) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.report = r
}

// Lose makes a computer go as if its sandbox had died; false where there is none of that id.
func (f *Fake) Lose(id string) bool {
	f.mu.Lock()
	c := f.computers[id]
	f.mu.Unlock()
	if c == nil {
		return false
	}
	c.end(runner.ErrLost)
	return true
}

// Release lets programs that wait for name go on, now and later.
func (f *Fake) Release(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.gate(f.gates, name)
	select {
	case <-g:
	default:
		close(g)
	}
}

// Arrived is closed once a program has come to `wait name`.
func (f *Fake) Arrived(name string) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.gate(f.arrived, name)
}

func (f *Fake) gate(m map[string]chan struct{}, name string) chan struct{} {
	if m[name] == nil {
		m[name] = make(chan struct{})
	}
	return m[name]
}

// wait is the program's side of Release and Arrived.
func (f *Fake) wait(ctx context.Context, name string) {
	f.mu.Lock()
	g, a := f.gate(f.gates, name), f.gate(f.arrived, name)
	select {
	case <-a:
	default:
		close(a)
	}
	f.mu.Unlock()
	select {
	case <-g:
	case <-ctx.Done():
	}
}

// Computers are the ids of those that are up, sorted.
func (f *Fake) Computers() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var ids []string
	for id := range f.computers {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Started are the specs of all computers made so far, in order.
func (f *Fake) Started() []runner.Spec {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.specs)
}

// Calls are the calls that ended so far, in order of their ends.
func (f *Fake) Calls() []FakeCall {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// File is a file of a computer that is up: its content, its permission bits, its user id, and whether it is there.
func (f *Fake) File(computer, path string) (content []byte, mode uint32, uid int, ok bool) {
	f.mu.Lock()
	c := f.computers[computer]
	f.mu.Unlock()
	if c == nil {
		return nil, 0, 0, false
	}
	c.files.mu.Lock()
	defer c.files.mu.Unlock()
	e := c.files.entries[path]
	if e == nil || e.dir {
		return nil, 0, 0, false
	}
	return bytes.Clone(e.content), e.mode, e.uid, true
}

// Files are the paths of a computer's files (not its folders), sorted.
func (f *Fake) Files(computer string) []string {
	f.mu.Lock()
	c := f.computers[computer]
	f.mu.Unlock()
	if c == nil {
		return nil
	}
	return c.files.list()
}

// Check implements runner.Runner.
func (f *Fake) Check(ctx context.Context) (*runner.Report, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.checkErr != nil {
		return nil, f.checkErr
	}
	r := f.report
	return &r, ctx.Err()
}

// Start implements runner.Runner.
func (f *Fake) Start(ctx context.Context, spec runner.Spec) (runner.Computer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case f.closed:
		return nil, runner.ErrClosed
	case f.checkErr != nil:
		return nil, f.checkErr
	case f.startErr != nil:
		return nil, f.startErr
	}
	if err := runner.CheckSpec(spec); err != nil {
		return nil, err
	}
	if f.computers[spec.ID] != nil {
		return nil, fmt.Errorf("%w: a computer %s is there already", runner.ErrInvalid, spec.ID)
	}
	c := &fakeComputer{fake: f, spec: spec, files: newFakeFiles(), done: make(chan struct{}), turn: make(chan struct{}, 1)}
	f.computers[spec.ID] = c
	f.specs = append(f.specs, spec)
	return c, nil
}

// Close implements runner.Runner.
func (f *Fake) Close(context.Context) error {
	f.mu.Lock()
	f.closed = true
	var all []*fakeComputer
	for _, c := range f.computers {
		all = append(all, c)
	}
	f.mu.Unlock()
	for _, c := range all {
		c.end(runner.ErrLost)
	}
	return nil
}

type fakeComputer struct {
	fake  *Fake
	spec  runner.Spec
	files *fakeFiles
	turn  chan struct{} // one call or file change at a time
	once  sync.Once
	done  chan struct{}
	why   error // set before done is closed
}

func (c *fakeComputer) end(why error) {
	c.once.Do(func() {
		c.fake.mu.Lock()
		delete(c.fake.computers, c.spec.ID)
		c.fake.mu.Unlock()
		c.why = why
		close(c.done)
	})
}

func (c *fakeComputer) ID() string            { return c.spec.ID }
func (c *fakeComputer) Done() <-chan struct{} { return c.done }
func (c *fakeComputer) Close(context.Context) error {
	c.end(runner.ErrClosed)
	return nil
}

// take waits for the computer's turn.
func (c *fakeComputer) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case c.turn <- struct{}{}:
	case <-c.done:
		return c.why
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-c.done:
		<-c.turn
		return c.why
	default:
		return nil
	}
}

func (c *fakeComputer) Files(ctx context.Context, changes []runner.FileChange) (runner.FileReport, error) {
	if err := runner.CheckFiles(changes); err != nil {
		return runner.FileReport{}, err
	}
	if err := c.take(ctx); err != nil {
		return runner.FileReport{}, err
	}
	defer func() { <-c.turn }()
	return c.files.apply(changes)
}

func (c *fakeComputer) Read(ctx context.Context, r runner.Read, sink runner.EntrySink) (runner.ReadReport, error) {
	if err := runner.CheckRead(r); err != nil {
		return runner.ReadReport{}, err
	}
	if err := c.take(ctx); err != nil {
		return runner.ReadReport{}, err
	}
	defer func() { <-c.turn }()
	return c.files.readOut(r, sink)
}

func (c *fakeComputer) Package(ctx context.Context, p runner.Package, open func(int) (io.ReadCloser, error)) (runner.PackageReport, error) {
	if err := runner.CheckPackage(p); err != nil {
		return runner.PackageReport{}, err
	}
	if err := c.take(ctx); err != nil {
		return runner.PackageReport{}, err
	}
	defer func() { <-c.turn }()
	missing, removed := c.files.compare(p)
	report := runner.PackageReport{Removed: removed}
	for _, i := range missing {
		if err := ctx.Err(); err != nil {
			return report, err
		}
		if err := c.files.putFile(p, i, open); err != nil {
			return report, err
		}
		report.Written++
	}
	return report, nil
}

func (c *fakeComputer) Processes(context.Context) ([]runner.ProcessInfo, error) {
	select {
	case <-c.done:
		return nil, c.why
	default:
	}
	ps := []runner.ProcessInfo{{PID: 1, Command: "init", Init: true}}
	if len(c.turn) > 0 {
		ps = append(ps, runner.ProcessInfo{PID: 2, PPID: 1, UID: runner.ScriptUser, Command: "program"})
	}
	return ps, nil
}

func (c *fakeComputer) Call(ctx context.Context, call runner.Call, sink runner.Sink) (runner.Result, error) {
	if err := runner.CheckCall(call); err != nil {
		return runner.Result{}, err
	}
	if err := c.take(ctx); err != nil {
		return runner.Result{}, err
	}
	defer func() { <-c.turn }()
	res, err := c.run(ctx, call, sink)
	c.fake.mu.Lock()
	c.fake.calls = append(c.fake.calls, FakeCall{Computer: c.spec.ID, Call: call, Result: res, Err: err})
	c.fake.mu.Unlock()
	return res, err
}

func (c *fakeComputer) run(ctx context.Context, call runner.Call, sink runner.Sink) (runner.Result, error) {
	if _, err := c.files.apply(call.Files); err != nil {
		return runner.Result{}, err
	}
	p, out, ended := c.launch(ctx, call)
	defer p.kill()
	res, err := c.follow(ctx, call, sink, out, ended)
	res.Isolation = c.isolation(call)
	if call.Outputs != "" && err == nil {
		res.Made = c.files.holds(call.Outputs)
	}
	return res, err
}

// follow sees a program to its end.
func (c *fakeComputer) follow(ctx context.Context, call runner.Call, sink runner.Sink, out <-chan fakeChunk, ended <-chan Exit) (runner.Result, error) {
	var timeout <-chan time.Time
	if call.Timeout > 0 {
		t := time.NewTimer(call.Timeout)
		defer t.Stop()
		timeout = t.C
	}
	start := time.Now()
	killed := func(r runner.Reason) (runner.Result, error) {
		return runner.Result{ExitCode: 137, Signal: "SIGKILL", Reason: r, Wall: time.Since(start)}, nil
	}
	for {
		select {
		case ch := <-out:
			if err := sink.Write(ch.stream, ch.data); err != nil {
				return runner.Result{ExitCode: 137, Signal: "SIGKILL", Wall: time.Since(start)}, fmt.Errorf("%w: %w", runner.ErrSink, err)
			}
			ch.taken <- struct{}{}
		case <-timeout:
			return killed(runner.ReasonTimeout)
		case <-ctx.Done():
			return killed(runner.ReasonCancelled)
		case <-c.done:
			return runner.Result{}, c.why
		case e := <-ended:
			return c.finish(e, time.Since(start))
		}
	}
}

// finish turns a program's end into the call's.
func (c *fakeComputer) finish(e Exit, wall time.Duration) (runner.Result, error) {
	switch {
	case e.Lost:
		c.end(runner.ErrLost)
		return runner.Result{}, runner.ErrLost
	case e.Memory:
		c.end(runner.ErrLost)
		return runner.Result{ExitCode: 137, Signal: "SIGKILL", Reason: runner.ReasonMemory, Wall: wall}, nil
	case e.Signal != "":
		return runner.Result{ExitCode: 128 + runner.SignalNumber(e.Signal), Signal: e.Signal, Reason: runner.ReasonSignal, Wall: wall}, nil
	}
	return runner.Result{ExitCode: e.Code & 255, Reason: runner.ReasonExit, Wall: wall}, nil
}

// isolation is what a real computer of this spec would say of a call.
func (c *fakeComputer) isolation(call runner.Call) *runner.Isolation {
	c.fake.mu.Lock()
	report := c.fake.report
	c.fake.mu.Unlock()
	or := func(own, others int64) int64 { return cmp.Or(min(own, others), others) }
	s := c.spec
	workspace, home, tmp := cmp.Or(s.WorkspaceBytes, runner.DefaultWorkspaceBytes), cmp.Or(s.HomeBytes, runner.DefaultHomeBytes), cmp.Or(s.TmpBytes, runner.DefaultTmpBytes)
	scripts := cmp.Or(s.ScriptsBytes, runner.DefaultScriptsBytes)
	memory := cmp.Or(s.MemoryBytes, runner.DefaultMemoryBytes)
	return &runner.Isolation{
		Gvisor: report.Gvisor, Platform: report.Platform, Network: runner.NetworkNone, ImageDigest: report.Digest, MemoryLimit: report.MemoryLimit,
		Limits: runner.IsolationLimits{
			MemoryBytes:       memory,
			AddressSpaceBytes: or(call.Limits.AddressSpaceBytes, memory),
			FileSizeBytes:     or(call.Limits.FileSizeBytes, max(workspace, home, tmp, scripts)),
			OpenFiles:         int(or(int64(call.Limits.OpenFiles), runner.DefaultOpenFiles)),
			Processes:         int(or(int64(call.Limits.Processes), int64(cmp.Or(s.Processes, runner.DefaultProcesses)))),
			WorkspaceBytes:    workspace, HomeBytes: home, TmpBytes: tmp, ScriptsBytes: scripts,
			Timeout: call.Timeout,
		},
		Mounts: []runner.Mount{
			{Path: "/", Type: "fake", ReadOnly: true}, {Path: "/workspace", Type: "tmpfs"}, {Path: "/home", Type: "tmpfs"}, {Path: "/tmp", Type: "tmpfs"},
		},
	}
}
