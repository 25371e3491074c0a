package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Config says how a Process makes computers.
type Config struct {
	// Runsc is the path of the runsc binary that belongs to this build: gVisor's with the runner process in it (cmd/runsc). It is never
	// looked up in PATH.
	Runsc string
	// Image is the path of the computers' image; empty is the fallback, this machine's own /usr, read-only. It is opened at the first need, and held: a
	// Process stays with the image that it described, also where another file takes its name. Where the file itself is written to, Start answers
	// ErrNotConfigured.
	Image string
	// State is a folder for the runner's own state, made where it is missing: <data>/runner.
	State string
	// MaxComputers bounds the computers that are up at once; 0 is DefaultMaxComputers.
	MaxComputers int
	// Spares is how many computers of the default Spec wait, booted, to be taken by Start: one costs some 30 MiB and no
	// processor time. 0 is none: each computer is booted when it is asked for. The first is made after the first Start.
	Spares int
	// Isolation is how much of isolation there must be; where there is less, Check and Start answer ErrNotConfigured. Empty is IsolationAny.
	Isolation IsolationLevel
	// Log gets the runner process's messages; nil is slog's default.
	Log *slog.Logger
}

// DefaultMaxComputers is Config.MaxComputers' default.
const DefaultMaxComputers = 64

const (
	checkTime = 30 * time.Second // for Check
	firstTime = 10 * time.Second // of it, for the runner process's first answer
)

// Process is the real Runner: the client of one runner process, which is started at the first need, and again at the
// next need after it was lost.
type Process struct {
	cfg Config

	mu     sync.Mutex
	link   *link
	image  *image // nil until it is opened, and where there is none
	closed bool
	report *Report
}

var _ Runner = (*Process)(nil)

// New makes a Process; nothing is started yet.
func New(cfg Config) (*Process, error) {
	var err error
	if cfg.Runsc, err = filepath.Abs(cfg.Runsc); err != nil {
		return nil, err
	}
	if cfg.State == "" {
		return nil, fmt.Errorf("%w: no state folder", ErrInvalid)
	}
	if cfg.State, err = filepath.Abs(cfg.State); err != nil {
		return nil, err
	}
	if cfg.Image != "" {
		if cfg.Image, err = filepath.Abs(cfg.Image); err != nil {
			return nil, err
		}
	}
	if cfg.MaxComputers == 0 {
		cfg.MaxComputers = DefaultMaxComputers
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if err := cfg.Isolation.Check(nil); err != nil {
		return nil, err
	}
	return &Process{cfg: cfg}, nil
}

// Check implements Runner. Before anything else it removes what earlier starts left behind.
func (p *Process) Check(ctx context.Context) (*Report, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	l, err := p.connect()
	if err != nil {
		return nil, err
	}
	first, stop := context.WithTimeout(ctx, firstTime)
	defer stop()
	resp, err := l.ask(first, request{Op: opCheck})
	if err == nil {
		err = resp.err()
	}
	switch {
	case errors.Is(err, ErrLost), errors.Is(err, context.DeadlineExceeded):
		l.closing.Store(true)
		_ = l.cmd.Process.Kill()
		return nil, fmt.Errorf("%w: %s does not answer as Scriptorium's runsc does", ErrNotConfigured, p.cfg.Runsc)
	case err != nil:
		return nil, notConfigured(err)
	case resp.Build != Build():
		return nil, fmt.Errorf("%w: %s belongs to another build of Scriptorium: build both again", ErrNotConfigured, p.cfg.Runsc)
	}
	r := *resp.Report
	err = p.probe(ctx, &r)
	if err != nil && p.cfg.Image != "" && errors.Is(err, ErrUnavailable) {
		err = fmt.Errorf("no computer starts on the image %s: %w", p.cfg.Image, err)
	}
	if err != nil {
		return nil, notConfigured(err)
	}
	if err := p.cfg.Isolation.Check(r.Lacks); err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.report = &r
	p.mu.Unlock()
	return &r, nil
}

func notConfigured(err error) error {
	if errors.Is(err, ErrNotConfigured) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrNotConfigured, err)
}

// Start implements Runner.
func (p *Process) Start(ctx context.Context, spec Spec) (Computer, error) {
	if err := CheckSpec(spec); err != nil {
		return nil, err
	}
	c, err := p.start(ctx, spec)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (p *Process) start(ctx context.Context, spec Spec) (*computer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l, err := p.connect()
	if err != nil {
		return nil, err
	}
	if err := l.image.check(); err != nil {
		return nil, notConfigured(err)
	}
	spec = spec.withDefaults()
	c := &computer{link: l, spec: spec, done: make(chan struct{}), turn: make(chan struct{}, 1)}
	if !l.add(c) {
		return nil, fmt.Errorf("%w: a computer %s is there already", ErrInvalid, spec.ID)
	}
	resp, err := l.ask(ctx, request{Op: opStart, Spec: &spec})
	if err == nil {
		err = resp.err()
	}
	if err != nil {
		if ctx.Err() != nil { // it may come up yet
			go func() {
				ctx, cancel := context.WithTimeout(context.Background(), 2*bootTime)
				defer cancel()
				_ = c.Close(ctx)
			}()
			return nil, err
		}
		c.end(ErrLost)
		if errors.Is(err, ErrLost) {
			err = fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return nil, err
	}
	c.isolation, c.confinement = resp.Isolation, resp.Confinement
	p.mu.Lock()
	if p.report != nil && c.isolation != nil && c.isolation.ImageDigest == "" {
		c.isolation.ImageDigest = p.report.Digest // of a fallback, which is found by looking inside
	}
	p.mu.Unlock()
	return c, nil
}

// Close implements Runner.
func (p *Process) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	l := p.link
	defer p.image.close()
	p.mu.Unlock()
	if l == nil {
		return nil
	}
	return l.close(ctx)
}

// connect is the link to a living runner process; it starts one where there is none.
func (p *Process) connect() (*link, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	if p.link != nil {
		select {
		case <-p.link.gone:
		default:
			return p.link, nil
		}
	}
	if err := sweepState(p.cfg.State); err != nil {
		p.cfg.Log.Error("not everything that an earlier start left could be removed", "error", err)
	}
	if st, err := os.Stat(p.cfg.Runsc); err != nil || !st.Mode().IsRegular() || st.Mode()&0o111 == 0 {
		return nil, fmt.Errorf("%w: there is no program runsc at %s", ErrNotConfigured, p.cfg.Runsc)
	}
	if p.image == nil && p.cfg.Image != "" {
		i, err := openImage(p.cfg.Image)
		if err != nil {
			return nil, notConfigured(err)
		}
		p.image = i
	}
	l, err := dial(p.cfg, p.image)
	if err != nil {
		p.cfg.Log.Error("the runner process could not be started", "error", err)
		return nil, fmt.Errorf("%w: the runner process could not be started", ErrNotConfigured)
	}
	p.link = l
	return l, nil
}

// link is a connection to one runner process.
type link struct {
	wire   *wire
	cmd    *exec.Cmd
	image  *image // what its computers are made of; nil: the fallback
	log    *slog.Logger
	gone   chan struct{} // closed when the socket has ended
	exited chan struct{} // closed when the process has

	closing atomic.Bool // its end is no news

	mu        sync.Mutex
	seq       uint64
	pending   map[uint64]chan response
	computers map[string]*computer
}

// dial starts a runner process.
func dial(cfg Config, image *image) (*link, error) {
	w, theirs, err := packetPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	rootless := os.Geteuid() != 0
	cmd := exec.Command(cfg.Runsc, MainArg, fmt.Sprintf("--image=%t", image != nil), "--state="+cfg.State, fmt.Sprintf("--rootless=%t", rootless),
		fmt.Sprintf("--computers=%d", cfg.MaxComputers), fmt.Sprintf("--spares=%d", cfg.Spares), "--isolation="+string(cfg.Isolation))
	cmd.Env = []string{}
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{theirs}
	if image != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, image.file)
	}
	cmd.Stderr = &lineLog{log: cfg.Log}
	cmd.WaitDelay = time.Second
	// A group of its own: what is typed at the server's terminal, or sent to its group, is the server's.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: orphanSignal}
	if rootless { // gVisor needs to be root somewhere: in a user namespace whose only user is this one
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	l := &link{wire: w, cmd: cmd, image: image, log: cfg.Log, gone: make(chan struct{}), exited: make(chan struct{}),
		pending: map[uint64]chan response{}, computers: map[string]*computer{}}
	if err := spawn(cmd, func() { close(l.exited) }); err != nil {
		return nil, errors.Join(err, w.conn.Close())
	}
	go l.read()
	return l, nil
}

// read takes answers to those who wait for them, until the process is gone; then everything on it is lost.
func (l *link) read() {
	b := make([]byte, maxPacket)
	for {
		n, files, err := l.wire.receive(b)
		closeAll(files)
		var r response
		if err == nil {
			err = json.Unmarshal(b[:n], &r)
		}
		if err != nil {
			break
		}
		l.mu.Lock()
		wait, c := l.pending[r.Seq], l.computers[r.Gone]
		delete(l.pending, r.Seq)
		l.mu.Unlock()
		if r.Gone != "" && c != nil {
			l.logGone(r)
			c.end(ErrLost)
		}
		if wait != nil {
			wait <- r // has room for one
		}
	}
	l.mu.Lock()
	all := make([]*computer, 0, len(l.computers))
	ids := make([]string, 0, len(l.computers))
	for id, c := range l.computers {
		all, ids = append(all, c), append(ids, id)
	}
	l.mu.Unlock()
	if !l.closing.Load() {
		slices.Sort(ids)
		l.log.Error("the runner process has ended: its computers are lost", "pid", l.cmd.Process.Pid, "computers", ids)
	}
	close(l.gone)
	l.wire.conn.Close()
	for _, c := range all {
		c.end(ErrLost)
	}
}

// logGone tells the log of a computer that is gone: an error, unless what a program did is the reason.
func (l *link) logGone(r response) {
	if r.Message == "" {
		l.log.Error("a computer is lost: its sandbox has ended by itself", "computer", r.Gone)
		return
	}
	l.log.Warn("a computer was ended", "computer", r.Gone, "why", r.Message)
}

// add enters a computer; false where its id is taken.
func (l *link) add(c *computer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.computers[c.spec.ID] != nil {
		return false
	}
	l.computers[c.spec.ID] = c
	return true
}

func (l *link) drop(c *computer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.computers[c.spec.ID] == c {
		delete(l.computers, c.spec.ID)
	}
}

// post sends a request and gives back where its answer will be.
func (l *link) post(r request, files ...*os.File) (uint64, chan response, error) {
	l.mu.Lock()
	l.seq++
	r.Seq = l.seq
	wait := make(chan response, 1)
	l.pending[r.Seq] = wait
	l.mu.Unlock()
	if err := l.wire.sendJSON(r, files...); err != nil {
		l.forget(r.Seq)
		return 0, nil, fmt.Errorf("%w: the runner process does not listen", ErrLost)
	}
	return r.Seq, wait, nil
}

func (l *link) forget(seq uint64) {
	l.mu.Lock()
	delete(l.pending, seq)
	l.mu.Unlock()
}

// ask sends a request and waits for its answer.
func (l *link) ask(ctx context.Context, r request, files ...*os.File) (response, error) {
	seq, wait, err := l.post(r, files...)
	if err != nil {
		return response{}, err
	}
	select {
	case resp := <-wait:
		return resp, nil
	case <-ctx.Done():
		l.forget(seq)
		return response{}, ctx.Err()
	case <-l.gone:
		select {
		case resp := <-wait:
			return resp, nil
		default:
			return response{}, ErrLost
		}
	}
}

// close ends the process by the socket's end, and waits until it has tidied up; in the end it is killed.
func (l *link) close(ctx context.Context) error {
	l.closing.Store(true)
	l.wire.conn.Close()
	t := time.NewTimer(20 * time.Second)
	defer t.Stop()
	var err error
	select {
	case <-l.exited:
	case <-t.C:
		err = errors.New("the runner process did not end in time")
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		_ = l.cmd.Process.Kill()
		<-l.exited
	}
	<-l.gone
	return err
}

// lineLog logs what the runner process writes, a line at a time.
type lineLog struct {
	log *slog.Logger
	buf []byte
}

func (w *lineLog) Write(p []byte) (int, error) {
	for _, b := range p {
		if b == '\n' || len(w.buf) >= 4096 {
			w.log.Info("runner process", "line", string(w.buf))
			w.buf = w.buf[:0]
			if b == '\n' {
				continue
			}
		}
		w.buf = append(w.buf, b)
	}
	return len(p), nil
}

var _ io.Writer = (*lineLog)(nil)
