package runner_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// A variable of 131,071 bytes with its name goes through, to a program and to what it starts; one byte more is refused.
func TestLargestVariable(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{})
	call := runnertest.Python("import os, subprocess\nprint(len(os.environ['X']))\nprint(subprocess.check_output(['sh', '-c', 'echo ${#X}']).decode())\n")
	call.Env = append(call.Env, "X="+strings.Repeat("x", 131_071-2))
	if _, out := runnertest.Run(t, c, call); out.Stdout.String() != "131069\n131069\n\n" {
		t.Errorf("%q %q", out.Stdout.String(), out.Stderr.String())
	}
	call.Env[len(call.Env)-1] += "x"
	if _, err := c.Call(t.Context(), call, runner.Discard); !errors.Is(err, runner.ErrTooLarge) {
		t.Errorf("%v", err)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{TmpBytes: 1 << 20})
	call := runnertest.Python(`import resource, os
print([resource.getrlimit(r) for r in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC, resource.RLIMIT_CORE)])
try: resource.setrlimit(resource.RLIMIT_NOFILE, (2000, 2000))
except (ValueError, OSError): print("no more")
try: open("/tmp/x", "wb").write(b"x" * (2 << 20))
except OSError as e: print(e.strerror)
`)
	for _, k := range []struct {
		limits runner.Limits
		want   string
	}{
		{runner.Limits{}, "[(536870912, -1), (268435456, 268435456), (1024, 1024), (64, 64), (0, 0)]"},
		{runner.Limits{AddressSpaceBytes: 1 << 28, FileSizeBytes: 1 << 22, OpenFiles: 100, Processes: 7}, "[(268435456, 268435456), (4194304, 4194304), (100, 100), (7, 7), (0, 0)]"},
		{runner.Limits{AddressSpaceBytes: 1 << 40, OpenFiles: 1 << 20}, "[(536870912, 536870912), (268435456, 268435456), (1024, 1024), (64, 64), (0, 0)]"},
	} {
		call.Limits = k.limits
		_, out := runnertest.Run(t, c, call)
		if want := k.want + "\nno more\nNo space left on device\n"; out.Stdout.String() != want {
			t.Errorf("%+v: %s%s", k.limits, out.Stdout.String(), out.Stderr.String())
		}
		if _, err := c.Files(t.Context(), []runner.FileChange{{Op: runner.FileRemove, Path: "/tmp/x"}}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMostComputers(t *testing.T) {
	t.Parallel()
	p, _ := newProcess(t, func(cfg *runner.Config) { cfg.MaxComputers = 1 })
	c := runnertest.Start(t, p, runner.Spec{})
	if _, err := p.Start(t.Context(), runner.Spec{ID: "more"}); !errors.Is(err, runner.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	runnertest.Start(t, p, runner.Spec{ID: "more"})
}
