package runner_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// hostProcesses are the host's processes with the folder in their arguments, the runner process included.
func hostProcesses(folder string) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if b, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline")); err == nil && strings.Contains(string(b), "="+folder) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// hostCPU is the processor time that they have used.
func hostCPU(t *testing.T, folder string) (sum time.Duration) {
	t.Helper()
	for _, pid := range hostProcesses(folder) {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		for _, f := range tasks {
			if b, err := os.ReadFile(f); err == nil {
				ns, _, _ := strings.Cut(string(b), " ")
				n, _ := strconv.ParseInt(ns, 10, 64)
				sum += time.Duration(n)
			}
		}
	}
	return sum
}

// left says what of a state folder is on the host: processes, mounts, cgroups, starts' folders.
func left(t *testing.T, state string) (what []string) {
	t.Helper()
	for _, pid := range hostProcesses(state) {
		what = append(what, fmt.Sprintf("process %d", pid))
	}
	for _, m := range mountsBelow(t, state) {
		what = append(what, "mount "+m)
	}
	return append(what, starts(state)...)
}

// mountsBelow are the mounts in a folder.
func mountsBelow(t *testing.T, folder string) (list []string) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(mounts)) {
		if strings.Contains(l, " "+folder+"/") {
			list = append(list, strings.Fields(l)[4])
		}
	}
	return list
}

// eventually waits for a condition with a deadline.
func eventually(t *testing.T, within time.Duration, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(within); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}

// cgroupsOf are the cgroups that starts of a state folder made.
func cgroupsOf(state string) (dirs []string) {
	files, _ := filepath.Glob(filepath.Join(state, "s*", "cgroup"))
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil {
			dirs = append(dirs, string(b))
		}
	}
	return dirs
}

func gone(dirs []string) bool {
	for _, d := range dirs {
		if _, err := os.Stat(d); err == nil {
			return false
		}
	}
	return true
}

func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	p, state := newProcess(t)
	a := runnertest.Start(t, p, runner.Spec{})
	runnertest.Start(t, p, runner.Spec{})
	running, ended := make(chan struct{}), make(chan error, 1)
	var once sync.Once
	go func() {
		_, err := a.Call(context.Background(), runnertest.Python("print('up')\nwhile True: pass\n"), runner.SinkFunc(func(runner.Stream, []byte) error { once.Do(func() { close(running) }); return nil }))
		ended <- err
	}()
	<-running
	groups := cgroupsOf(state)
	if l := left(t, state); len(l) < 4 { // else this test sees nothing
		t.Errorf("while two computers are up there is only %v", l)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, runner.ErrLost) {
		t.Errorf("the call: %v", err)
	}
	if l := left(t, state); len(l) > 0 || !gone(groups) {
		t.Errorf("left behind: %v %v", l, groups)
	}
}

// A spare is taken by the next computer that fits it, is fresh, has its own name, and goes with the rest.
func TestSpares(t *testing.T) {
	t.Parallel()
	p, state := newProcess(t, func(cfg *runner.Config) { cfg.Spares = 1 })
	sandboxes := func() int {
		n, _ := filepath.Glob(filepath.Join(state, "s*", "bundles", "*", "config.json"))
		return len(n)
	}
	for i := range 3 {
		c := runnertest.Start(t, p, runner.Spec{})
		eventually(t, 20*time.Second, "a spare is up", func() bool { return sandboxes() == i+2 })
		res, out := runnertest.Run(t, c, runnertest.Python("import os\nprint(sorted(os.listdir('/workspace')), os.listdir('/tmp'))"))
		if res.ExitCode != 0 || out.Stdout.String() != "['.calls', 'main.py'] []\n" {
			t.Errorf("%+v %q", res, out.Stdout.String())
		}
	}
	c := runnertest.Start(t, p, runner.Spec{WorkspaceBytes: 1 << 20}) // does not fit: booted
	if sandboxes() != 5 {
		t.Errorf("%d sandboxes", sandboxes())
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	groups := cgroupsOf(state)
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if l := left(t, state); len(l) > 0 || !gone(groups) {
		t.Errorf("left behind: %v %v", l, groups)
	}
}

// More starts at once than are booted at once: those that are given up while they wait for their turn, or in it, leave nothing; the others come.
func TestStartsGivenUp(t *testing.T) {
	t.Parallel()
	p, state := newProcess(t)
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	const starts = 8
	var all sync.WaitGroup
	came := make(chan runner.Computer, starts)
	for i := range starts {
		all.Go(func() {
			with := t.Context()
			if i%2 == 1 {
				with = ctx
			}
			c, err := p.Start(with, runner.Spec{ID: fmt.Sprintf("c%d", i)})
			switch {
			case err == nil:
				came <- c
			case i%2 == 0 || !errors.Is(err, context.Canceled):
				t.Errorf("start %d: %v", i, err)
			}
		})
	}
	first := <-came
	giveUp()
	all.Wait()
	close(came)
	n := 1
	for c := range came {
		n++
		if res, _ := runnertest.Run(t, c, runnertest.Python("print('up')")); res.ExitCode != 0 {
			t.Errorf("%+v", res)
		}
	}
	if res, _ := runnertest.Run(t, first, runnertest.Python("print('up')")); res.ExitCode != 0 || n < starts/2 {
		t.Errorf("%+v, %d computers", res, n)
	}
	eventually(t, 30*time.Second, "only those that came are there", func() bool {
		up, _ := filepath.Glob(filepath.Join(state, "s*", "bundles", "*", "config.json"))
		return len(up) == n
	})
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if l := left(t, state); len(l) > 0 {
		t.Errorf("left behind: %v", l)
	}
}

const testServer = "test-server"

// serveForATest is a server that is killed: it runs a call that does not end.
func serveForATest(runsc, state string) {
	p, err := runner.New(runner.Config{Runsc: runsc, State: state})
	if err != nil {
		panic(err)
	}
	c, err := p.Start(context.Background(), runner.Spec{ID: "a"})
	if err != nil {
		panic(err)
	}
	_, err = c.Call(context.Background(), runnertest.Python("print('up')\nwhile True: pass\n"), runner.SinkFunc(func(_ runner.Stream, b []byte) error {
		_, err := os.Stdout.Write(b)
		return err
	}))
	panic(fmt.Sprint("the call ended: ", err))
}

// kill -9 of the server, alone or with its group: the sandboxes end with it, and the next start leaves nothing of it.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	for _, group := range []bool{false, true} {
		t.Run(fmt.Sprintf("group %v", group), func(t *testing.T) {
			t.Parallel()
			p, state := newProcess(t)
			cmd := exec.Command("/proc/self/exe", testServer, runsc(t), state)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil || line != "up\n" {
				t.Errorf("%q %v", line, err)
			}
			groups := cgroupsOf(state)
			pid := cmd.Process.Pid
			if group {
				pid = -pid
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
			_ = cmd.Wait()
			eventually(t, 5*time.Second, "all of the server's is gone", func() bool { return len(left(t, state)) == 0 && gone(groups) })
			if _, err := p.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			if folders, _ := filepath.Glob(filepath.Join(state, "s*")); len(folders) != 1 || !gone(groups) {
				t.Errorf("beside the new start's folder: %v %v", folders, groups)
			}
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if l := left(t, state); len(l) > 0 {
				t.Errorf("left behind: %v", l)
			}
		})
	}
}

// A start that lives is not swept by another one of the same state folder.
func TestTwoStartsOfOneFolder(t *testing.T) {
	t.Parallel()
	p, state := newProcess(t)
	c := runnertest.Start(t, p, runner.Spec{})
	q, _ := newProcess(t, func(cfg *runner.Config) { cfg.State = state })
	runnertest.Start(t, q, runner.Spec{})
	if res, _ := runnertest.Run(t, c, runnertest.Python("")); res.ExitCode != 0 {
		t.Errorf("%+v", res)
	}
}

func script(t *testing.T, text string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "runsc")
	if err := os.WriteFile(p, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

// Where runsc is none, there are no computers, the answer comes in bounded time, and nothing runs on the host.
func TestBrokenRunsc(t *testing.T) {
	t.Parallel()
	marker := filepath.Join(t.TempDir(), "marker")
	for name, path := range map[string]string{
		"false":          "/bin/false",
		"missing":        filepath.Join(t.TempDir(), "missing"),
		"a folder":       t.TempDir(),
		"silent":         script(t, "#!/bin/sh\n"),
		"hangs":          script(t, "#!/bin/sh\nsleep 1000\n"),
		"hangs later":    script(t, "#!/bin/sh\n[ \"$1\" = --version ] && echo runsc version 1 && exit\nsleep 1000\n"),
		"fails later":    script(t, "#!/bin/sh\n[ \"$1\" = --version ] && echo runsc version 1 && exit\necho no >&2\nexit 1\n"),
		"not executable": "/etc/hostname",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, state := newProcess(t, func(cfg *runner.Config) { cfg.Runsc = path })
			began := time.Now()
			if _, err := p.Check(t.Context()); !errors.Is(err, runner.ErrNotConfigured) {
				t.Errorf("check: %v", err)
			} else if strings.Contains(err.Error(), state) {
				t.Errorf("the message tells too much: %v", err)
			}
			if d := time.Since(began); d > 25*time.Second {
				t.Errorf("it took %s", d)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			c, err := p.Start(ctx, runner.Spec{ID: "a"})
			if err == nil {
				_, err = c.Call(ctx, runnertest.Python(fmt.Sprintf("open(%q, 'w')", marker)), runner.Discard)
				t.Errorf("there is a computer; a call on it: %v", err)
			}
			if _, err := os.Stat(marker); err == nil {
				t.Error("it ran on the host")
			}
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if l := left(t, state); len(l) > 0 {
				t.Errorf("left behind: %v", l)
			}
		})
	}
}
