package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	bootTime    = 15 * time.Second       // from runsc's start to the init's first word
	requestTime = 60 * time.Second       // for files to arrive and be put in place
	termTime    = time.Second            // from TERM to KILL
	killTime    = 2 * time.Second        // from KILL to the end of the sandbox
	watchTime   = 100 * time.Millisecond // between looks at memory that no cgroup counts, while a request is done
	idleTime    = time.Second            // between looks at it otherwise
)

// hosted is one computer in the runner process.
type hosted struct {
	host    *host
	spec    Spec
	name    string // the server's id for it, empty while it is a spare; host.mu guards it
	sandbox *sandbox
	work    *wire         // to the process that the init keeps waiting
	control *wire         // to the init
	booted  chan struct{} // closed when boot has come to its end, well or not
	closed  chan struct{} // closed when the computer is not wanted any more; mu guards the closing
	ready   chan struct{} // closed when the first one waits
	answers chan string   // what comes from work
	ends    chan string   // what comes from control
	gone    chan struct{} // closed when the sandbox has ended
	turn    sync.Mutex    // one request at a time
	ooms    int           // seen before this call

	mu      sync.Mutex
	cancels map[uint64]chan struct{} // by the call's number; made by whoever comes first
	last    uint64                   // the newest call that has ended
	closing bool
	why     string // it is being ended though nobody closed it; for the log
}

// boot starts the sandbox and waits until its init is ready.
func (c *hosted) boot() (err error) {
	if c.sandbox != nil { // a spare
		return nil
	}
	defer close(c.booted)
	if err := c.host.bootTurn(c); err != nil {
		return err
	}
	defer func() { <-c.host.boots }()
	var theirWork, theirControl *os.File
	if c.work, theirWork, err = packetPair(); err != nil {
		return err
	}
	defer theirWork.Close()
	if c.control, theirControl, err = packetPair(); err != nil {
		return errors.Join(err, c.work.conn.Close())
	}
	defer theirControl.Close()
	if c.sandbox, err = c.host.sandboxes.start(c.spec, theirWork, theirControl); err != nil {
		return errors.Join(err, c.work.conn.Close(), c.control.conn.Close())
	}
	c.host.work.Go(c.readWork)
	c.host.work.Go(c.readControl)
	c.host.work.Go(c.watch)
	t := time.NewTimer(bootTime)
	defer t.Stop()
	select {
	case <-c.ready:
		if err := c.sandbox.join(); err != nil {
			c.setClosing()
			c.sandbox.kill()
			return err
		}
		c.compile()
		return nil
	case <-c.closed:
		c.sandbox.kill()
		return errUnwanted
	case <-c.gone:
		return errors.Join(errors.New("it ended at once"), c.sandbox.err, errors.New(c.sandbox.stderr.String()))
	case <-t.C:
		c.setClosing()
		c.sandbox.kill()
		return fmt.Errorf("it was not ready within %s: %s", bootTime, c.sandbox.stderr)
	}
}

// compile has the start's first computer compile the init for the others, which saves each some milliseconds.
func (c *hosted) compile() {
	s := c.host.sandboxes
	if s.compiled.Load() != nil || c.work.send([]byte("P")) != nil {
		return
	}
	t := time.NewTimer(killTime)
	defer t.Stop()
	select {
	case a := <-c.answers:
		if code, ok := strings.CutPrefix(a, "p"); ok {
			s.keepCompiled(code)
		}
	case <-c.gone:
	case <-t.C:
		c.end(whySilent)
	}
}

// watch waits for the sandbox's end and tells it.
func (c *hosted) watch() {
	c.awaitEnd()
	h := c.host
	h.mu.Lock() // first of all: whoever is told that it is gone may use its name again
	name := c.name
	if h.computers[name] == c {
		delete(h.computers, name)
	}
	h.waiting = slices.DeleteFunc(h.waiting, func(w *hosted) bool { return w == c })
	h.mu.Unlock()
	close(c.gone)
	c.work.conn.Close()
	c.control.conn.Close()
	if text := c.sandbox.stderr.String(); text != "" {
		h.log.Warn("a computer's last words", "computer", name, "sandbox", c.spec.ID, "text", text)
	}
	c.mu.Lock()
	told, why := c.closing, c.why
	c.mu.Unlock()
	if why == "" && c.sandbox.oom {
		why = whyMemory
	}
	switch {
	case told || h.quitting():
	case name == "":
		h.log.Error("a computer that waited has ended", "sandbox", c.spec.ID, "why", why)
	default:
		h.answer(response{Gone: name, Message: why})
	}
}

// Why a computer is ended that nobody closed. One that ends for no such reason is a fault.
const (
	whyMemory  = "it outgrew its memory"
	whySockets = "its last call left sockets that nothing inside can close"
	whySilent  = "its init did not answer in time"
)

// end kills the sandbox for a reason, which the log is told.
func (c *hosted) end(why string) {
	c.mu.Lock()
	if c.why == "" {
		c.why = why
	}
	c.mu.Unlock()
	c.sandbox.kill()
}

// awaitEnd waits for the sandbox's end. Where no cgroup counts its memory it is looked at meanwhile, also while nothing is asked of it.
func (c *hosted) awaitEnd() {
	var looks <-chan time.Time
	if c.sandbox.watched != nil {
		t := time.NewTicker(idleTime)
		defer t.Stop()
		looks = t.C
	}
	for {
		select {
		case <-c.sandbox.exited:
			return
		case <-c.host.quit:
			c.sandbox.kill()
		case <-looks:
			c.look()
		}
	}
}

// look kills a sandbox that has outgrown its memory, where no cgroup counts it.
func (c *hosted) look() {
	if c.outgrown() {
		c.end(whyMemory)
	}
}

// outgrown says whether more memory was seen than there may be, where no cgroup counts it.
func (c *hosted) outgrown() bool { return c.sandbox.watched != nil && c.sandbox.watched.look() }

// setClosing says that the computer's end is no news.
func (c *hosted) setClosing() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		c.closing = true
		close(c.closed)
	}
}

// readWork reads what waiting processes say. Their coming is kept, the rest is for the request that runs.
func (c *hosted) readWork() {
	b := make([]byte, maxWord)
	first := true
	for {
		n, files, err := c.work.receive(b)
		closeAll(files)
		if err != nil {
			return
		}
		s := string(b[:n])
		if strings.HasPrefix(s, "n") {
			if first {
				first = false
				close(c.ready)
			}
			continue
		}
		select {
		case c.answers <- s:
		case <-c.gone:
			return
		}
	}
}

// readControl reads the ends of processes. One that nobody waits for is of a process that died waiting.
func (c *hosted) readControl() {
	b := make([]byte, 256)
	for {
		n, files, err := c.control.receive(b)
		closeAll(files)
		if err != nil {
			return
		}
		select {
		case c.ends <- string(b[:n]):
		case <-c.gone:
			return
		case <-time.After(requestTime):
		}
	}
}

// cancelOf is the channel that cancels a call; calls and cancels may come in any order.
func (c *hosted) cancelOf(seq uint64) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancels[seq] == nil && seq <= c.last {
		return make(chan struct{})
	}
	if c.cancels[seq] == nil {
		c.cancels[seq] = make(chan struct{})
	}
	return c.cancels[seq]
}

// do passes a request with its pipes to the waiting process, and sees it to its end.
func (c *hosted) do(r request, files []*os.File) response {
	c.turn.Lock()
	defer c.turn.Unlock()
	cancel := c.cancelOf(r.Seq)
	defer func() {
		c.mu.Lock()
		delete(c.cancels, r.Seq)
		c.last = max(c.last, r.Seq)
		c.mu.Unlock()
	}()
	c.ooms = c.sandbox.group.kills()
	if r.Op == opCall {
		g := c.sandbox.growth()
		g.begin()
		defer g.end()
	}
	kind := map[op]string{opFiles: "F", opPackage: "V", opRead: "R", opCall: "C"}[r.Op]
	if err := c.work.send([]byte(kind+itoa(r.Length)), files...); err != nil {
		return failed(faultLost, nil)
	}
	closeAll(files) // the pipes' only other ends are now inside
	e := &execution{c: c, r: r, cancel: cancel, limit: time.NewTimer(requestTime)}
	defer e.limit.Stop()
	if c.sandbox.watched != nil {
		t := time.NewTicker(watchTime)
		defer t.Stop()
		e.watch = t.C
	}
	return e.wait()
}

// execution is one request on its way.
type execution struct {
	c       *hosted
	r       request
	cancel  chan struct{}
	limit   *time.Timer // of the present stage
	removed []string
	pid     string // of the program, once it runs
	end     string // the program's, where it came before the start's word
	began   time.Time
	reason  Reason // why it is being ended
	killed  bool
	watch   <-chan time.Time // nil where a cgroup counts memory
}

// wait sees the request to its end.
func (e *execution) wait() response {
	for {
		select {
		case a := <-e.c.answers:
			if resp, done := e.answer(a); done {
				return resp
			}
		case s := <-e.c.ends:
			if e.ended(s) {
				return e.result(s)
			}
		case <-e.cancel:
			e.cancel = nil
			if e.reason == "" {
				e.stop(ReasonCancelled)
			}
		case <-e.limit.C:
			e.late()
		case <-e.watch:
			e.c.look()
		case <-e.c.gone:
			return e.lost()
		}
	}
}

// answer takes a word of the process that does the request.
func (e *execution) answer(a string) (response, bool) {
	switch a[0] {
	case 'r':
		e.removed = append(e.removed, a[1:])
	case 'm':
		return missing(a), true
	case 'e':
		return fileFault(a), true
	case 'o':
		if e.r.Op != opCall {
			return response{Removed: e.removed}, true
		}
		e.pid, e.began = a[1:], time.Now()
		if e.end != "" && e.ended(e.end) {
			return e.result(e.end), true
		}
		e.limit.Stop()
		if e.reason != "" {
			e.kill()
		} else if e.r.Timeout > 0 {
			e.limit.Reset(e.r.Timeout)
		}
	}
	return response{}, false
}

// ended says whether an end is this program's. The two sockets keep no order between them: an end may come first.
func (e *execution) ended(s string) bool {
	pid, _, _ := strings.Cut(strings.TrimPrefix(s, "x"), " ")
	if e.pid != "" {
		return pid == e.pid
	}
	e.end = s
	return false
}

// stop begins to end the call. One that has not begun is killed as it does: its request is on the way to a process
// that cannot be told from the next one.
func (e *execution) stop(why Reason) {
	e.reason = why
	if e.pid == "" {
		return
	}
	_ = e.c.control.send([]byte("t"))
	e.limit.Reset(termTime)
}

func (e *execution) kill() {
	e.killed = true
	_ = e.c.control.send([]byte("k"))
	e.limit.Reset(killTime)
}

// late is called when a stage has taken its time.
func (e *execution) late() {
	switch {
	case e.reason == "" && e.pid != "":
		e.stop(ReasonTimeout)
	case e.pid != "" && !e.killed:
		e.kill()
	default: // the init does not answer, or files do not arrive
		e.c.end(whySilent)
	}
}

// lost is the answer when the sandbox has gone under the request.
func (e *execution) lost() response {
	wall := time.Duration(0)
	if !e.began.IsZero() {
		wall = time.Since(e.began)
	}
	r := &Result{ExitCode: 137, Signal: "SIGKILL", Reason: e.reason, Wall: wall, PeakMemoryBytes: e.c.sandbox.growth().grown()}
	switch {
	case e.r.Op == opCall && (e.c.sandbox.oom || e.c.outgrown()) && e.reason == "":
		r.Reason = ReasonMemory
	case e.r.Op != opCall || e.reason == "":
		return failed(faultLost, nil)
	}
	return response{Result: r, Removed: e.removed}
}

// result reads the init's word of the program's end: x<pid> <wait status> <cpu us> <max rss KiB> <left over> <remaining> <made> <held>.
func (e *execution) result(s string) response {
	f := strings.Fields(strings.TrimPrefix(s, "x"))
	if len(f) != 8 {
		return failed(faultLost, errors.New("the init said something else"))
	}
	var v [8]int64
	for i := range f {
		v[i], _ = strconv.ParseInt(f[i], 10, 64)
	}
	r := &Result{Reason: ReasonExit, CPU: time.Duration(v[2]) * time.Microsecond, PeakMemoryBytes: v[3] << 10, LeftOver: int(v[4]), Made: v[6] != 0}
	if !e.began.IsZero() {
		r.Wall = time.Since(e.began)
	}
	if sig := int(v[1] & 0x7f); sig != 0 {
		r.Reason, r.Signal, r.ExitCode = ReasonSignal, signalName(sig), 128+sig
	} else {
		r.ExitCode = int(v[1] >> 8 & 0xff)
	}
	why := ""
	if v[7] > 0 { // what nobody can close would be the next call's
		why = whySockets
	}
	if e.c.sandbox.group.kills() > e.c.ooms || e.c.outgrown() {
		r.Reason, why = ReasonMemory, whyMemory // what was killed was not the sandbox itself, which nobody can trust now
	}
	r.PeakMemoryBytes = max(r.PeakMemoryBytes, e.c.sandbox.growth().grown())
	if why != "" {
		e.c.host.work.Go(func() { e.c.end(why) })
	}
	if e.reason != "" {
		r.Reason = e.reason
	}
	return response{Result: r, Removed: e.removed, Remaining: int(v[5]), Ending: why != ""}
}

// missing reads m<removed> <index> …: what a package's folder lacks.
func missing(a string) (r response) {
	for i, f := range strings.Fields(a[1:]) {
		n, err := strconv.Atoi(f)
		switch {
		case err != nil || n < 0:
			return failed(faultLost, errors.New("the init said something else"))
		case i == 0:
			r.Dropped = n
		default:
			r.Missing = append(r.Missing, n)
		}
	}
	return r
}

// fileFault reads e<index> <full> <message>.
func fileFault(a string) response {
	f := strings.SplitN(a[1:], " ", 3)
	if len(f) != 3 {
		return failed(faultLost, errors.New("the init said something else"))
	}
	i, _ := strconv.Atoi(f[0])
	if i < 0 {
		return failed(faultInvalid, errors.New(f[2]))
	}
	r := failed(faultFile, errors.New(f[2]))
	r.Index, r.Full = i, f[1] == "1"
	return r
}

func (c *hosted) processes() response {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	ps, err := c.sandbox.processes(ctx)
	if err != nil {
		return failed(faultLost, err)
	}
	for i := range ps {
		ps[i].Init = ps[i].UID == 0 // a program cannot become root
	}
	return response{Processes: slices.Clip(ps)}
}

// close ends the computer: the init ends when its socket does, and with it the sandbox; one that does not is killed.
func (c *hosted) close() {
	c.setClosing()
	<-c.booted
	if c.sandbox == nil {
		return
	}
	c.control.conn.Close()
	t := time.NewTimer(termTime)
	defer t.Stop()
	select {
	case <-c.gone:
	case <-t.C:
		c.sandbox.kill()
		<-c.gone
	}
}
