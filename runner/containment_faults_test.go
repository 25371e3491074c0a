package runner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/logtest"
	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// Kinds of programs that run when their runner is killed.
var endless = []string{
	"print('up')\nwhile True: pass\n",
	"import time\nprint('up')\ntime.sleep(1000)\n",
	"import os\nprint('up')\nwhile True: os.write(1, b'x' * 65536)\n",
	"import sys\nprint('up')\nsys.stdin.read()\nimport time\ntime.sleep(1000)\n",
	`import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True: time.sleep(1)
print('up')
while True: time.sleep(1)
`,
}

// The runner process is killed while 20 calls run: each of them says so, the sandboxes go with it, and the next computer is made
// by a new one, which finds what the old one could not remove. Nothing of it is left within five seconds.
func TestContainRunnerKilled(t *testing.T) {
	t.Parallel()
	p, state := newProcess(t)
	const calls = 20
	up, ends := make(chan struct{}, calls), make(chan error, calls)
	var computers []runner.Computer
	for range calls {
		computers = append(computers, runnertest.Start(t, p, runner.Spec{}))
	}
	for i, c := range computers {
		call := runnertest.Python(endless[i%len(endless)])
		call.Stdin = bytes.Repeat([]byte("x"), 1<<20)
		go func() {
			var once sync.Once
			_, err := c.Call(context.Background(), call, runner.SinkFunc(func(runner.Stream, []byte) error {
				once.Do(func() { up <- struct{}{} })
				return nil
			}))
			<-c.Done()
			ends <- err
		}()
	}
	for range calls {
		<-up
	}
	groups, folders := cgroupsOf(state), starts(state)
	if n := len(hostProcesses(state)); n < 1+calls || len(folders) != 1 {
		t.Errorf("while %d calls run there are %d processes and the starts %v", calls, n, folders)
	}
	killed := time.Now()
	if err := syscall.Kill(runner.PID(p), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for range calls {
		select {
		case err := <-ends:
			if !errors.Is(err, runner.ErrLost) {
				t.Errorf("a call ended with: %v", err)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("a call does not end")
		}
	}
	eventually(t, 5*time.Second, "the sandboxes end", func() bool { return len(hostProcesses(state)) == 0 })
	c := runnertest.Start(t, p, runner.Spec{})
	if m := mountsBelow(t, folders[0]); !gone(folders) || !gone(groups) || len(m) > 0 {
		t.Errorf("of the old start there is %v %v %v", folders, groups, m)
	}
	t.Logf("killed and made anew in %s", time.Since(killed))
	if d := time.Since(killed); d > 5*time.Second {
		t.Errorf("it took %s until nothing was left", d)
	}
	if res, out := runnertest.Run(t, c, runnertest.Python("print('fine')")); res.ExitCode != 0 || out.Stdout.String() != "fine\n" {
		t.Errorf("on the new one: %+v", res)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if l := left(t, state); len(l) > 0 {
		t.Errorf("left behind: %v", l)
	}
}

// starts are the folders of starts.
func starts(state string) []string {
	folders, _ := filepath.Glob(filepath.Join(state, "s*"))
	return folders
}

// alone has a test run in a process of its own, where nothing else opens files or starts goroutines.
func alone(t *testing.T) (here bool) {
	t.Helper()
	const mark = "SCRIPTORIUM_TEST_ALONE"
	if os.Getenv(mark) != "" {
		return true
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), mark+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	return false
}

// 1,000 mixed calls on a few computers, a third of them killed at any moment: each is answered as what it was, and
// afterwards there is no process, mount, cgroup, folder, descriptor or goroutine more than before.
func TestContainThousandCalls(t *testing.T) {
	t.Parallel()
	if !alone(t) {
		return
	}
	const lanes, calls = 4, 1000
	few, many := newCounted(t, lanes), newCounted(t, lanes)
	few.run(t, 10)
	many.run(t, 10)
	before, used, began := many.holds(t), hostCPU(t, many.state), time.Now()
	many.run(t, calls/lanes)
	t.Logf("%d calls took %s, and %s of CPU time", calls, time.Since(began), hostCPU(t, many.state)-used)
	after := many.holds(t)
	for deadline := time.Now().Add(5 * time.Second); after.more(before) && time.Now().Before(deadline); after = many.holds(t) {
		runtime.Gosched()
	}
	if after.more(before) {
		t.Errorf("before it was\n%+v\nand after %d calls\n%+v", before, calls, after)
	}
	// The goroutines of the runner process: what it says of itself as it is ended.
	if f, m := few.goroutines(t), many.goroutines(t); f < 10 || m > f+lanes {
		t.Errorf("%d goroutines after few calls and %d after many", f, m)
	}
	for _, c := range []*counted{few, many} {
		runnertest.Start(t, c.runner, runner.Spec{}) // and with it goes what was left
		if err := c.runner.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if l := left(t, c.state); len(l) > 0 {
			t.Errorf("left behind: %v", l)
		}
	}
}

// Computers that are made and closed, in every way, leave nothing either.
func TestContainManyComputers(t *testing.T) {
	t.Parallel()
	if !alone(t) {
		return
	}
	c := newCounted(t, 1)
	make := func(n int) {
		for i := range n {
			computer := runnertest.Start(t, c.runner, runner.Spec{MemoryBytes: 64 << 20})
			ctx, cancel := context.WithCancel(t.Context())
			var err error
			switch i % 4 {
			case 0: // closed in rest
				_, err = computer.Call(ctx, runnertest.Python("print('fine')"), runner.Discard)
			case 1: // closed under a call
				_, err = computer.Call(ctx, runnertest.Python("print('up')\nwhile True: pass"), runner.SinkFunc(func(runner.Stream, []byte) error { return computer.Close(ctx) }))
				if errors.Is(err, runner.ErrLost) || errors.Is(err, runner.ErrClosed) {
					err = nil
				}
			case 2: // killed for its memory
				_, err = computer.Call(ctx, runnertest.Python("for p in '/workspace/a', '/workspace/b', '/tmp/c':\n    open(p, 'wb').write(bytes(60 << 20))\nwhile True: pass"), runner.Discard)
			case 3: // never used
			}
			cancel()
			if err != nil {
				t.Errorf("computer %d: %v", i, err)
			}
			if err := computer.Close(t.Context()); err != nil {
				t.Errorf("computer %d: %v", i, err)
			}
		}
	}
	make(4)
	before := c.holds(t)
	make(20)
	after := c.holds(t)
	for deadline := time.Now().Add(5 * time.Second); after.more(before) && time.Now().Before(deadline); after = c.holds(t) {
		runtime.Gosched()
	}
	if after.more(before) {
		t.Errorf("before it was\n%+v\nand after 20 computers\n%+v", before, after)
	}
}

// counted is a runner with computers, whose holdings can be counted.
type counted struct {
	runner    *runner.Process
	state     string
	computers []runner.Computer
	log       *logtest.Log
}

func newCounted(t *testing.T, computers int) *counted {
	t.Helper()
	c := &counted{log: &logtest.Log{}}
	c.runner, c.state = newProcess(t, func(cfg *runner.Config) { cfg.Log = c.log.Logger() })
	for range computers {
		c.computers = append(c.computers, runnertest.Start(t, c.runner, runner.Spec{}))
	}
	return c
}

// run makes so many calls on each computer, and then one that takes no TERM.
func (c *counted) run(t *testing.T, each int) {
	t.Helper()
	var wg sync.WaitGroup
	for k, computer := range c.computers {
		wg.Go(func() {
			for i := range each {
				oneOfMany(t, computer, k*7+i)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			call := runnertest.Python("import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up')\nwhile True: time.sleep(1)\n")
			if res, err := computer.Call(ctx, call, runner.SinkFunc(func(runner.Stream, []byte) error { cancel(); return nil })); err != nil || res.Signal != "SIGKILL" {
				t.Errorf("%+v %v", res, err)
			}
			if res, err := computer.Call(t.Context(), runnertest.Python(""), runner.Discard); err != nil || res.ExitCode != 0 {
				t.Errorf("the last call: %+v %v", res, err)
			}
			ps, err := computer.Processes(t.Context())
			if err != nil || slices.ContainsFunc(ps, func(p runner.ProcessInfo) bool { return !p.Init }) {
				t.Errorf("processes: %+v %v", ps, err)
			}
		})
	}
	wg.Wait()
}

// holdings are what the runner, its sandboxes and this process hold.
type holdings struct {
	left, groups, files    []string
	here, runner, routines int // descriptors of both processes, goroutines of this one
}

func (h holdings) more(than holdings) bool {
	return !slices.Equal(h.left, than.left) || !slices.Equal(h.groups, than.groups) || !slices.Equal(h.files, than.files) ||
		h.here > than.here || h.runner > than.runner || h.routines > than.routines
}

func (c *counted) holds(t *testing.T) holdings {
	t.Helper()
	h := holdings{left: left(t, c.state), here: descriptors(t, os.Getpid()), runner: descriptors(t, runner.PID(c.runner)), routines: runtime.NumGoroutine()}
	for _, g := range cgroupsOf(c.state) {
		below, _ := filepath.Glob(filepath.Join(g, "*", "cgroup.procs"))
		h.groups = append(h.groups, below...)
	}
	for _, d := range starts(c.state) {
		below, _ := filepath.Glob(filepath.Join(d, "*", "*"))
		h.files = append(h.files, below...)
	}
	return h
}

// descriptors counts a process's open files, but for handles of processes that have ended: Go closes those with its garbage.
func descriptors(t *testing.T, pid int) (n int) {
	t.Helper()
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fdinfo", pid))
	if err != nil {
		t.Error(err)
	}
	for _, fd := range fds {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, fd.Name()))
		if err == nil && !bytes.Contains(b, []byte("\nPid:\t-1\n")) {
			n++
		}
	}
	return n
}

var goroutine = regexp.MustCompile(`goroutine \d+ [^\n]*\[`)

// goroutines ends the runner process as Go's programs are asked for their goroutines, and counts them.
func (c *counted) goroutines(t *testing.T) int {
	t.Helper()
	if err := syscall.Kill(runner.PID(c.runner), syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	for _, computer := range c.computers {
		<-computer.Done()
	}
	n := 0
	eventually(t, 10*time.Second, "the runner process ends", func() bool {
		said := c.log.String()
		n = len(goroutine.FindAllString(said, -1))
		return len(hostProcesses(c.state)) == 0 && strings.Contains(said, "rflags")
	})
	return n
}

// oneOfMany makes one call of a kind that the number says, and checks its end. A third is killed.
func oneOfMany(t *testing.T, c runner.Computer, i int) {
	python := func(source string) runner.Call { return runnertest.Python(source) }
	run := func(call runner.Call, ok func(res runner.Result, out *runnertest.Output) bool) {
		out := &runnertest.Output{}
		if res, err := c.Call(t.Context(), call, out); err != nil || !ok(res, out) {
			t.Errorf("call %d: %+v %v %q %q", i, res, err, out.Stdout.String(), out.Stderr.String())
		}
	}
	switch i % 6 {
	case 0:
		run(python(fmt.Sprintf("print(%d)\nimport sys\nsys.exit(%d)", i, i%200)), func(res runner.Result, out *runnertest.Output) bool {
			return res.ExitCode == i%200 && out.Stdout.String() == fmt.Sprintf("%d\n", i)
		})
	case 1: // cancelled anywhere between before its start and its running
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.Int64N(int64(15*time.Millisecond))))
		defer cancel()
		if res, err := c.Call(ctx, python("while True: pass"), runner.Discard); (err == nil && res.Reason != runner.ReasonCancelled) || (err != nil && ctx.Err() == nil) {
			t.Errorf("call %d: %+v %v", i, res, err)
		}
	case 2:
		run(python("import os, time\nif os.fork() == 0:\n    if os.fork() == 0: time.sleep(100)\n    while True: pass\nos.write(1, b'x' * 100)"), func(res runner.Result, out *runnertest.Output) bool {
			return res.ExitCode == 0 && res.LeftOver >= 1 && out.Stdout.Len() == 100
		})
	case 3:
		call := python("import time\ntime.sleep(100)")
		call.Timeout = time.Duration(1 + rand.Int64N(int64(15*time.Millisecond)))
		run(call, func(res runner.Result, _ *runnertest.Output) bool { return res.Reason == runner.ReasonTimeout })
	case 4:
		call := python("import sys\nsys.stdout.write(sys.stdin.read())")
		call.Stdin = bytes.Repeat([]byte("0123456789"), i)
		run(call, func(res runner.Result, out *runnertest.Output) bool {
			return res.ExitCode == 0 && bytes.Equal(out.Stdout.Bytes(), call.Stdin)
		})
	case 5:
		call := python("1 / 0")
		if i%48 == 5 { // in an interpreter of its own
			call.Argv = []string{"python3", "-s", "main.py"}
		}
		run(call, func(res runner.Result, out *runnertest.Output) bool {
			return res.ExitCode == 1 && bytes.HasSuffix(out.Stderr.Bytes(), []byte("ZeroDivisionError: division by zero\n"))
		})
	}
}
