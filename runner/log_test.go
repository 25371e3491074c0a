package runner_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/logtest"
	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// What goes away without having been closed leaves one line in the log, with its id; what is closed leaves none.
func TestLostComputersAreLogged(t *testing.T) {
	t.Parallel()
	log := &logtest.Log{}
	p, state := newProcess(t, func(c *runner.Config) { c.Log, c.Spares = log.Logger(), 1 })
	start := func(id string) runner.Computer {
		t.Helper()
		return runnertest.Start(t, p, runner.Spec{ID: id, MemoryBytes: 64 << 20})
	}
	once := func(words ...string) {
		t.Helper()
		said := log.Take()
		var found int
		for l := range strings.Lines(said) {
			all := true
			for _, w := range words {
				all = all && strings.Contains(l, w)
			}
			if all {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%q is in %d lines of %s", words, found, said)
		}
	}
	killed := start("killed")
	for _, pid := range hostProcesses(state) {
		if exe, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline")); !strings.Contains(string(exe), runner.MainArg) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	<-killed.Done()
	once("level=ERROR", "a computer is lost: its sandbox has ended by itself", "computer=killed")
	large := start("large")
	if res, _ := runnertest.Run(t, large, runnertest.Python("import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))\nx = b'x' * (256 << 20)\n")); res.Reason != runner.ReasonMemory {
		t.Errorf("%+v", res)
	}
	<-large.Done()
	once("level=WARN", "a computer was ended", "computer=large", "it outgrew its memory")
	closed := start("closed")
	if err := closed.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	one, other := start("one"), start("other")
	if said := log.Take(); strings.Contains(said, "closed") {
		t.Errorf("of one that was closed it says %s", said)
	}
	if err := syscall.Kill(runner.PID(p), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-one.Done()
	<-other.Done()
	once("level=ERROR", "the runner process has ended", "computers=\"[one other]\"")
	start("next")
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if said := log.Take(); strings.Contains(said, "next") || strings.Contains(said, "has ended") {
		t.Errorf("of a runner that was closed it says %s", said)
	}
}
