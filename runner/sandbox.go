package runner

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// This file makes and ends a computer's sandbox on the host: its folder, its memory cgroup, its processes.

//go:embed init.py
var initSource string

//go:embed streams.py
var streamsSource string

var errNoPython = errors.New("there is no python3 in /usr/bin or /usr/local/bin for the computers")

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// sandboxes makes sandboxes with one engine and one state folder.
type sandboxes struct {
	engine Engine
	// folder holds everything of this start: root (the engine's own state), rootfs, and a bundle for each computer.
	folder   string
	root     root
	rootless bool
	cgroups  *cgroups
	compiled atomic.Pointer[[]byte] // the init's code, once an interpreter in a computer has compiled it
}

// sandbox is one that was started.
type sandbox struct {
	of      *sandboxes
	id      string
	bundle  string
	group   *cgroup
	stderr  *tail
	exited  chan struct{} // closed when its processes are gone, and with them all that is left of it
	oom     bool          // set before exited is closed
	err     error         // why it could not be made; set before exited is closed
	watched *watched      // its memory, where no cgroup counts it; else nil

	joined chan error // gets one when it is in its cgroup, or cannot be

	mu     sync.Mutex
	booted Booted
	pids   []int // descriptors of its processes
	host   []int // their numbers on the host, the sandbox's own first
	killed bool
}

// newSandboxes makes the folders that sandboxes share.
func newSandboxes(engine func(EngineConfig) (Engine, error), folder string, r root, g *cgroups, rootless bool) (*sandboxes, error) {
	s := &sandboxes{folder: folder, root: r, rootless: rootless, cgroups: g}
	for _, d := range []string{"root", "bundles", "rootfs"} {
		if err := os.MkdirAll(filepath.Join(folder, d), 0o755); err != nil {
			return nil, err
		}
	}
	if err := r.make(filepath.Join(folder, "rootfs")); err != nil {
		return nil, err
	}
	var err error
	s.engine, err = engine(EngineConfig{Root: filepath.Join(folder, "root"), Rootless: s.rootless, Image: r.Image != ""})
	if err == nil && s.engine.Version() == "" {
		err = errors.New("gVisor does not say its version")
	}
	return s, err
}

// code is what the init's interpreter is to run: 'c' and its compiled code, or 's' and both sources.
func (s *sandboxes) code() []byte {
	if c := s.compiled.Load(); c != nil {
		return *c
	}
	return fmt.Appendf(nil, "s%8d%s%s", len(streamsSource), streamsSource, initSource)
}

// keepCompiled keeps the code as an interpreter in a computer compiled it, before any program ran there.
func (s *sandboxes) keepCompiled(code string) {
	b := []byte("c" + code)
	s.compiled.Store(&b)
}

// start begins to make a sandbox whose init has the two sockets; they are the caller's, and have to stay open until the init
// has said its first word or the sandbox has ended.
func (s *sandboxes) start(spec Spec, work, control *os.File) (*sandbox, error) {
	bundle := filepath.Join(s.folder, "bundles", spec.ID)
	if err := os.Mkdir(bundle, 0o755); err != nil {
		return nil, err
	}
	sb := &sandbox{of: s, bundle: bundle, id: spec.ID, stderr: &tail{max: 4000}, exited: make(chan struct{}), joined: make(chan error, 1)}
	oci := ociConfig(spec, s.root, filepath.Join(s.folder, "rootfs"))
	b, err := json.Marshal(oci)
	if err == nil {
		err = os.WriteFile(filepath.Join(bundle, "config.json"), b, 0o600)
	}
	if err == nil {
		sb.group, err = s.cgroups.make(spec.ID, spec.MemoryBytes)
	}
	if sb.group == nil {
		sb.watched = &watched{sandbox: sb, limit: spec.MemoryBytes + sandboxOverhead}
	}
	streams := &initStreams{}
	if err == nil {
		err = streams.open(s.code())
	}
	if err != nil {
		streams.closeAll()
		return nil, errors.Join(err, sb.group.remove(), os.RemoveAll(bundle))
	}
	go sb.live(Boot{ID: spec.ID, Bundle: bundle, Spec: oci, Files: []*os.File{work, control, streams.code},
		Stdin: streams.stdin, Stdout: streams.stderr, Stderr: streams.stderr, Made: sb.made}, streams)
	return sb, nil
}

// live makes the sandbox and is there until it has ended. The sandbox's processes die with the threads of this process that made them:
// nothing here may end a thread, so no goroutine ends while it is locked to one.
func (sb *sandbox) live(b Boot, streams *initStreams) {
	var said sync.WaitGroup
	said.Go(streams.tell)
	booted, err := sb.of.engine.Boot(b)
	streams.started()
	said.Go(func() { _, _ = io.Copy(sb.stderr, streams.said) })
	if err == nil {
		sb.mu.Lock()
		sb.booted = booted
		if sb.killed { // while it was made
			sb.signal()
		}
		sb.mu.Unlock()
		booted.Wait()
	}
	said.Wait() // its other end went with the sandbox
	streams.closeAll()
	sb.oom, sb.err = sb.group.kills() > 0, err
	sb.group.grown() // while the group is there
	sb.group.end()
	sb.tidy()
	close(sb.exited)
}

// made learns the sandbox's processes before anything of the computer's runs in them.
func (sb *sandbox) made(pids []int) error {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	sb.host = slices.Clone(pids)
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return fmt.Errorf("the sandbox's process: %w", err)
		}
		sb.pids = append(sb.pids, fd)
	}
	if sb.killed {
		return errors.New("it was ended while it was made")
	}
	// Joining the cgroup waits for all processors, some 10 ms; the sandbox's start, which does not, goes on meanwhile. What it takes until then
	// is its own, and no program runs before the cgroup is joined.
	go func() { sb.joined <- sb.group.add(pids) }()
	return nil
}

// join waits until the sandbox is in its cgroup.
func (sb *sandbox) join() error {
	select {
	case err := <-sb.joined:
		return err
	case <-sb.exited:
		return errors.New("it ended at once")
	}
}

// tidy removes what a sandbox that ended may have left.
func (sb *sandbox) tidy() {
	sb.mu.Lock()
	for _, fd := range sb.pids {
		unix.Close(fd)
	}
	sb.pids = nil
	sb.mu.Unlock()
	_ = sb.group.remove()
	left, _ := filepath.Glob(filepath.Join(sb.of.folder, "root", sb.id+"_*"))
	for _, f := range left {
		_ = os.Remove(f)
	}
	_ = os.RemoveAll(sb.bundle)
}

// growth is what measures its memory.
func (sb *sandbox) growth() growth {
	if sb.watched != nil {
		return sb.watched
	}
	return sb.group
}

// hosts are the sandbox's processes on the host, its own first.
func (sb *sandbox) hosts() []int {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	return sb.host
}

// kill ends the sandbox at once; exited is closed soon after.
func (sb *sandbox) kill() {
	sb.mu.Lock()
	sb.killed = true
	sb.signal()
	sb.mu.Unlock()
	<-sb.exited
}

// signal kills the processes that are known; mu is held. The descriptors keep their numbers from meaning other processes.
func (sb *sandbox) signal() {
	for _, fd := range sb.pids {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
	if len(sb.pids) == 0 { // it is being made: what there is of it has its bundle's path among its arguments
		for _, pid := range processesOf(sb.bundle) {
			killIfOurs(pid, sb.bundle)
		}
	}
}

// processes asks the sandbox, not the init: the kernel's own list.
func (sb *sandbox) processes(ctx context.Context) ([]ProcessInfo, error) {
	sb.mu.Lock()
	b := sb.booted
	sb.mu.Unlock()
	if b == nil {
		return nil, errors.New("the sandbox is not there yet")
	}
	return b.Processes(ctx)
}

// initStreams are the init's standard streams and its code, each a pipe, as programs' streams are: its interpreter's own stream objects
// serve them too.
type initStreams struct {
	stdin, stderr, code *os.File // the sandbox's ends
	hold, said, feed    *os.File // ours
	text                []byte   // what is told through code
}

// open makes them.
func (i *initStreams) open(code []byte) error {
	i.text = code
	var err error
	if i.stdin, i.hold, err = os.Pipe(); err != nil {
		return err
	}
	if i.said, i.stderr, err = os.Pipe(); err != nil {
		return err
	}
	if i.code, i.feed, err = os.Pipe(); err == nil {
		grow(i.feed)
	}
	return err
}

// tell writes the code, which may be more than a pipe holds; its other end goes with the sandbox.
func (i *initStreams) tell() {
	_, _ = i.feed.Write(i.text)
	i.feed.Close()
}

// started closes the sandbox's ends here: they are its alone now.
func (i *initStreams) started() { closeSome(i.stdin, i.stderr, i.code) }

func (i *initStreams) closeAll() { closeSome(i.stdin, i.stderr, i.code, i.hold, i.said, i.feed) }

func closeSome(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// close removes what all sandboxes of this start shared.
func (s *sandboxes) close() error {
	return errors.Join(sweepFolder(s.folder), s.cgroups.close())
}

// tail keeps the last bytes written to it, for messages.
type tail struct {
	max int
	mu  sync.Mutex
	b   []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if over := len(t.b) - t.max; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.b), "?"))
}
