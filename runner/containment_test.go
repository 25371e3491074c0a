package runner_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// The containment tests are lists of attempts: what a script tries, what it sees, and how its call ends. After each one it is checked that the
// host noticed nothing (what is planted there is as it was, and nobody came to its sockets), that a call which runs on a neighbour's computer all the while goes on, and
// that the next call on the same computer works, with nothing left of the last one. A new attempt is one more element of a list:
//
//	{name: "a service of the host's", program: `tries("tcp", socket.create_connection, ("127.0.0.1", HOST["tcp"]), 3)`,
//		says: "tcp ECONNREFUSED\n"},
type attempt struct {
	name string
	// program is Python, after `from attempt import *` (testdata/attempt.py); HOST has what planted tells.
	program string
	// says is all of its standard output; "*" is any.
	says string
	// with changes the call before it is made: limits, input.
	with func(c *runner.Call)
	// timeout is the call's, on top of what a program needs to begin here; zero is none that is met. Where the machine is too
	// busy for the program to say "up", with which says begins, within it, the attempt is made again with a longer one.
	timeout time.Duration
	// ends is how the call ends; zero: exit code 0, and nothing left over.
	ends ending
	// check is for what says and ends cannot say; it comes before the next call.
	check func(t *testing.T, s *scene, e ended)
}

// ending is how a call is to end.
type ending struct {
	reason   runner.Reason
	exitCode int
	signal   string
	leftOver int // -1: any number
	most     time.Duration
}

// ended is what is known of an attempt that was made.
type ended struct {
	result runner.Result
	output *runnertest.Output
	took   time.Duration
	// allowed is what it was given to begin.
	allowed time.Duration
}

//go:embed testdata/attempt.py
var attemptModule string

// scene is where attempts are made: a computer, a neighbour on the same runner with a call that runs, and the host.
type scene struct {
	runner    *runner.Process
	state     string
	spec      runner.Spec
	computer  runner.Computer
	neighbour *neighbour
	host      *planted
	begin     time.Duration // what an attempt took that did nothing, with a margin
}

// contain makes attempts, each on one of some computers, one after another, or on the next where one is lost.
func contain(t *testing.T, computers int, spec runner.Spec, attempts []attempt) {
	t.Helper()
	s := newScene(t, spec)
	next := make(chan attempt, len(attempts))
	for _, a := range attempts {
		next <- a
	}
	close(next)
	var wg sync.WaitGroup
	for i := range computers {
		lane := *s
		if i > 0 {
			lane.computer = runnertest.Start(t, s.runner, spec)
		}
		wg.Go(func() {
			for a := range next {
				t.Run(strings.ReplaceAll(a.name, " ", "_"), func(t *testing.T) { lane.make(t, a) })
			}
		})
	}
	wg.Wait()
	s.neighbour.stop(t)
}

func newScene(t *testing.T, spec runner.Spec) *scene {
	t.Helper()
	p, state := newProcess(t)
	s := &scene{runner: p, state: state, spec: spec, host: plantHost(t)}
	s.host.known["state"] = state
	s.computer = runnertest.Start(t, p, spec)
	s.neighbour = newNeighbour(t, p)
	began := time.Now()
	runnertest.Run(t, s.computer, s.call("")) // the first one: others begin sooner
	s.begin = 2 * time.Since(began)
	t.Cleanup(func() { s.neighbour.cancel() })
	return s
}

// make makes an attempt and checks what is to be the same for all.
func (s *scene) make(t *testing.T, a attempt) {
	s.revive(t)
	before := s.neighbour.ticks.Load()
	call := s.call(a.program)
	if a.with != nil {
		a.with(&call)
	}
	e := ended{allowed: s.begin}
	for range 4 {
		if a.timeout > 0 {
			call.Timeout = e.allowed + a.timeout
		}
		began := time.Now()
		e.result, e.output = runnertest.Run(t, s.computer, call)
		e.took = time.Since(began)
		if a.timeout == 0 || !strings.HasPrefix(a.says, "up\n") || strings.HasPrefix(e.output.Stdout.String(), "up\n") {
			break
		}
		e.allowed = 2*e.allowed + time.Second
	}
	out := e.output
	if a.says != "*" && out.Stdout.String() != a.says {
		t.Errorf("it saw\n%s%s\nand is to see\n%s", out.Stdout.String(), out.Stderr.String(), a.says)
	}
	a.ends.check(t, e)
	if a.check != nil {
		a.check(t, s, e)
	}
	s.host.unchanged(t)
	if e.took > 3*time.Second && s.neighbour.ticks.Load() == before {
		t.Errorf("the neighbour's call stood still for %s", e.took)
	}
	s.neighbour.goesOn(t)
	s.next(t)
}

// call is a call of a program that may use the module attempt.
func (s *scene) call(program string) runner.Call {
	known, err := json.Marshal(s.host.known)
	if err != nil {
		panic(err) // strings and numbers
	}
	call := runnertest.Python("from attempt import *\n" + program)
	call.Files = append(call.Files, runner.FileChange{Op: runner.FileWrite, Path: "/workspace/attempt.py", Mode: 0o444,
		Content: []byte("HOST = " + string(known) + "\n" + attemptModule)})
	return call
}

// revive gets another computer where the last one is gone.
func (s *scene) revive(t *testing.T) {
	t.Helper()
	select {
	case <-s.computer.Done():
		c, err := s.runner.Start(t.Context(), runner.Spec{ID: fmt.Sprintf("revived_%d", time.Now().UnixNano()), MemoryBytes: s.spec.MemoryBytes,
			WorkspaceBytes: s.spec.WorkspaceBytes, HomeBytes: s.spec.HomeBytes, TmpBytes: s.spec.TmpBytes, Processes: s.spec.Processes})
		if err != nil {
			t.Fatalf("no other computer: %v", err)
		}
		s.computer = c // the runner's end closes it
	default:
	}
}

// next makes the next call: on the same computer, or, where that is lost, on another.
func (s *scene) next(t *testing.T) {
	t.Helper()
	s.revive(t)
	initOnly(t, s.computer)
	res, out := runnertest.Run(t, s.computer, runnertest.Python("import os\nprint('fine', os.getuid(), os.getcwd())"))
	if res.Reason != runner.ReasonExit || res.ExitCode != 0 || res.LeftOver != 0 || out.Stdout.String() != "fine 1000 /workspace\n" {
		t.Errorf("the next call: %+v %q %s", res, out.Stdout.String(), out.Stderr.String())
	}
}

func (w ending) check(t *testing.T, e ended) {
	t.Helper()
	if w.reason == "" {
		w.reason = runner.ReasonExit
	}
	if r := e.result; r.Reason != w.reason || !strings.Contains(w.signal, r.Signal) || (w.signal != "" && r.Signal == "") || (w.signal == "" && r.ExitCode != w.exitCode) || (w.leftOver >= 0 && r.LeftOver != w.leftOver) {
		t.Errorf("it ended as %+v and is to end as %+v\n%s", r, w, e.output.Stderr.String())
	}
	if w.most == 0 {
		w.most = 20 * time.Second
	}
	if e.took > w.most+e.allowed {
		t.Errorf("it took %s, more than %s", e.took, w.most)
	}
}

// neighbour is a call on another computer of the same runner, which prints a line every few milliseconds until it is asked to end.
type neighbour struct {
	cancel context.CancelFunc
	ticks  atomic.Int64
	out    runnertest.Output
	ended  chan struct{}
	res    runner.Result
	err    error
}

// It has things that nobody else is to find: files, services, a shared segment, and a secret.
const neighbourSource = `import ctypes, os, signal, socket, sys
def end(*_):
    global go
    go = False
signal.signal(signal.SIGTERM, end)
for d in "/workspace", "/tmp", "/dev/shm": open(d + "/neighbour", "w").write("the neighbour's")
services = [socket.create_server(("127.0.0.1", 4242)), socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)]
services[1].bind("\0neighbour")
services[2].bind("/tmp/neighbour.socket")
for s in services[1:]: s.listen()
assert ctypes.CDLL(None).shmget(4242, 4096, 0o1666) >= 0
go, n, sum = True, 0, 0
while go:
    sum = (sum * 31 + n) % 1000003
    print("tick", n, sum)
    n += 1
    signal.sigtimedwait([], 0.02)
for s in services:
    s.setblocking(False)
    try: print("somebody came", s.accept())
    except BlockingIOError: pass
assert [sorted(os.listdir(d)) for d in ("/tmp", "/dev/shm")] == [["neighbour", "neighbour.socket"], ["neighbour"]]
assert [open(d + "/neighbour").read() for d in ("/workspace", "/tmp", "/dev/shm")] == ["the neighbour's"] * 3
print("ended after", n)
`

func newNeighbour(t *testing.T, p runner.Runner) *neighbour {
	t.Helper()
	n := &neighbour{ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	n.out.Each = func(_ runner.Stream, b []byte) error {
		n.ticks.Add(int64(strings.Count(string(b), "\n")))
		return nil
	}
	c := runnertest.Start(t, p, runner.Spec{})
	call := runnertest.Python(neighbourSource)
	call.Env = append(call.Env, "SECRET="+callSecret)
	call.Timeout = 0
	go func() {
		defer close(n.ended)
		n.res, n.err = c.Call(ctx, call, &n.out)
	}()
	t.Cleanup(func() { cancel(); <-n.ended })
	return n
}

// goesOn waits for two more lines.
func (n *neighbour) goesOn(t *testing.T) {
	t.Helper()
	from := n.ticks.Load()
	eventually(t, 10*time.Second, "the neighbour's call goes on", func() bool { return n.ticks.Load() >= from+2 })
}

// stop ends the neighbour's call and checks all that it printed.
func (n *neighbour) stop(t *testing.T) {
	t.Helper()
	n.cancel()
	<-n.ended
	var want strings.Builder
	sum, ticks := 0, max(strings.Count(n.out.Stdout.String(), "\n")-1, 0)
	for i := range ticks {
		sum = (sum*31 + i) % 1000003
		fmt.Fprintf(&want, "tick %d %d\n", i, sum)
	}
	fmt.Fprintf(&want, "ended after %d\n", ticks)
	if n.err != nil || n.res.Reason != runner.ReasonCancelled || n.res.ExitCode != 0 || n.out.Stdout.String() != want.String() || n.out.Stderr.Len() > 0 {
		t.Errorf("the neighbour's call: %+v %v, %d ticks\n%s", n.res, n.err, ticks, n.out.Stderr.String())
	}
}

// planted is what is on the host for scripts to find: files, sockets and a process. Anybody on the host may use them.
type planted struct {
	folder  string
	known   map[string]any // what an attempt is told, as HOST
	sockets []*watched
	process *exec.Cmd
	exited  chan struct{}
	files   string
	mounts  []string
	looking sync.Mutex // one at a time comes to the sockets
}

// watched is a socket of the host's, and how often something came to it.
type watched struct {
	network, address string
	came             atomic.Int64
	own              int64 // of that, what is known
}

// hostSecret is in the environment of this process, as secrets may be in a server's.
const hostSecret = "scriptorium-test-secret-of-the-host"

func plantHost(t *testing.T) *planted {
	t.Helper()
	dir, err := os.MkdirTemp("", "host") // not below t.TempDir, whose parents are closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	h := &planted{folder: dir, exited: make(chan struct{})}
	mark := filepath.Base(dir)
	h.known = map[string]any{"folder": dir, "file": filepath.Join(dir, "file"), "mark": mark, "abstract": mark, "socket": filepath.Join(dir, "socket")}
	for _, err := range []error{os.Chmod(dir, 0o777), os.WriteFile(filepath.Join(dir, "file"), []byte("the host's "+mark), 0o666), os.Chmod(filepath.Join(dir, "file"), 0o666)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	h.known["tcp"] = h.listen(t, "tcp", "127.0.0.1:0")
	h.known["udp"] = h.listen(t, "udp", "127.0.0.1:0")
	h.listen(t, "unix", "@"+mark)
	h.listen(t, "unix", filepath.Join(dir, "socket"))
	h.process = exec.Command("sleep", "3600")
	h.process.Env = []string{"SECRET=" + hostSecret}
	if err := h.process.Start(); err != nil {
		t.Fatal(err)
	}
	h.known["pid"] = h.process.Process.Pid
	go func() { _ = h.process.Wait(); close(h.exited) }()
	t.Cleanup(func() { _ = h.process.Process.Kill(); <-h.exited })
	h.files, h.mounts = h.look(t), hostMounts(t)
	return h
}

// listen makes a socket that counts what comes to it, and answers its port.
func (h *planted) listen(t *testing.T, network, address string) int {
	t.Helper()
	w := &watched{network: network}
	h.sockets = append(h.sockets, w)
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	if network == "udp" {
		c, err := net.ListenPacket(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		w.address = c.LocalAddr().String()
		wg.Go(func() {
			for b := make([]byte, 100); ; {
				_, from, err := c.ReadFrom(b)
				if err != nil {
					return
				}
				w.came.Add(1)
				_, _ = c.WriteTo(b[:1], from)
			}
		})
		return c.LocalAddr().(*net.UDPAddr).Port
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	w.address = l.Addr().String()
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.came.Add(1)
			_, _ = c.Write([]byte("x"))
			c.Close()
		}
	})
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

// others says how often somebody but this test came to the socket: it comes itself, too, after whoever came before.
func (w *watched) others(t *testing.T) int64 {
	t.Helper()
	c, err := net.Dial(w.network, w.address)
	if err != nil {
		t.Fatalf("the host's own socket: %v", err)
	}
	defer c.Close()
	err = c.SetDeadline(time.Now().Add(10 * time.Second))
	if err == nil && w.network == "udp" {
		_, err = c.Write([]byte("x"))
	}
	if err == nil {
		_, err = c.Read(make([]byte, 1)) // counted by then
	}
	if err != nil {
		t.Fatalf("the host's own socket: %v", err)
	}
	w.own++
	n := w.came.Load() - w.own
	w.own += n
	return n
}

// look says what is in the host's folder.
func (h *planted) look(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	entries, err := os.ReadDir(h.folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		st, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, e.Name(), st.Mode(), st.Size(), st.ModTime())
		if st.Mode().IsRegular() {
			content, err := os.ReadFile(filepath.Join(h.folder, e.Name()))
			fmt.Fprintln(&b, string(content), err)
		}
	}
	return b.String()
}

// hostMounts are the host's mounts but those of sandboxes, which come and go.
func hostMounts(t *testing.T) (list []string) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(b)) {
		if f := strings.Fields(l); !strings.HasPrefix(f[4], os.TempDir()+"/") && !strings.HasSuffix(f[4], "/null-netns") {
			list = append(list, f[4])
		}
	}
	return list
}

// unchanged checks that nothing happened on the host.
func (h *planted) unchanged(t *testing.T) {
	t.Helper()
	for _, what := range h.noticed(t) {
		t.Errorf("the host noticed %s", what)
	}
}

// noticed says what happened on the host.
func (h *planted) noticed(t *testing.T) (what []string) {
	t.Helper()
	h.looking.Lock()
	defer h.looking.Unlock()
	for _, w := range h.sockets {
		if n := w.others(t); n != 0 {
			what = append(what, fmt.Sprintf("%d that came to %s %s", n, w.network, w.address))
		}
	}
	if now := h.look(t); now != h.files {
		what = append(what, "its files, which were\n"+h.files+"and are\n"+now)
	}
	if now := hostMounts(t); !slices.Equal(now, h.mounts) {
		what = append(what, fmt.Sprintf("its mounts, which were %v and are %v", h.mounts, now))
	}
	select {
	case <-h.exited:
		what = append(what, "the end of its process")
	default:
	}
	// A script's programs have the mark in their arguments, where they have it at all.
	mark := h.known["mark"].(string)
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if b, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline")); err == nil && strings.Contains(string(b), mark) {
			what = append(what, fmt.Sprintf("a script's process, %s %q", e.Name(), b))
		}
	}
	return what
}

// What is planted on the host tells whoever comes there; else the other tests would see nothing.
func TestContainmentNotices(t *testing.T) {
	t.Parallel()
	h := plantHost(t)
	if l := h.noticed(t); len(l) != 0 {
		t.Fatalf("before anything happened: %v", l)
	}
	for _, w := range h.sockets {
		c, err := net.Dial(w.network, w.address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write([]byte("x"))
		c.Close()
	}
	if err := os.WriteFile(h.known["file"].(string), []byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	marked := exec.Command("sh", "-c", "sleep 3600; : "+h.known["mark"].(string))
	marked.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := marked.Start(); err != nil {
		t.Fatal(err)
	}
	_ = h.process.Process.Kill()
	<-h.exited
	if l := h.noticed(t); len(l) != len(h.sockets)+3 {
		t.Errorf("it noticed only %q", l)
	}
	_ = syscall.Kill(-marked.Process.Pid, syscall.SIGKILL)
	_ = marked.Wait()
}
