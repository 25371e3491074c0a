package runnertest_test

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newFake(t *testing.T) *runnertest.Fake {
	f := runnertest.NewFake()
	t.Cleanup(func() { _ = f.Close(context.Background()) })
	return f
}

func TestFakeSuite(t *testing.T) {
	t.Parallel()
	runnertest.Suite(t, func(t *testing.T) runner.Runner { return newFake(t) })
}

func TestFakeFaults(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.FailStart(runner.ErrUnavailable)
	if _, err := f.Start(t.Context(), runner.Spec{ID: "a"}); !errors.Is(err, runner.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	f.FailStart(nil)
	f.FailCheck(runner.ErrNotConfigured)
	if _, err := f.Check(t.Context()); !errors.Is(err, runner.ErrNotConfigured) {
		t.Errorf("%v", err)
	}
	if _, err := f.Start(t.Context(), runner.Spec{ID: "a"}); !errors.Is(err, runner.ErrNotConfigured) {
		t.Errorf("%v", err)
	}
	f.FailCheck(nil)

	c := runnertest.Start(t, f, runner.Spec{ID: "a"})
	done := make(chan error, 1)
	go func() {
		_, err := c.Call(context.Background(), runnertest.Python("#fake: wait here\n"), runner.Discard)
		done <- err
	}()
	<-f.Arrived("here")
	if !f.Lose("a") {
		t.Error("it was not there to be lost")
	}
	if err := <-done; !errors.Is(err, runner.ErrLost) {
		t.Errorf("%v", err)
	}
	<-c.Done()
	if len(f.Computers()) != 0 || len(f.Started()) != 1 || len(f.Calls()) != 1 {
		t.Errorf("%v %v %v", f.Computers(), f.Started(), f.Calls())
	}
}

func TestFakeProgram(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Add(runnertest.Program{Match: runnertest.Source("print(1)"), Run: func(_ context.Context, p *runnertest.Proc) runnertest.Exit {
		_, _ = p.Stdout.Write([]byte("1\n"))
		return runnertest.Exit{Memory: true}
	}})
	c := runnertest.Start(t, f, runner.Spec{ID: "a"})
	if b, mode, uid, ok := f.File("a", "/workspace/main.py"); ok {
		t.Errorf("a file too early: %s %o %d", b, mode, uid)
	}
	res, out := runnertest.Run(t, c, runnertest.Python("print(1)"))
	if res.Reason != runner.ReasonMemory || out.Stdout.String() != "1\n" {
		t.Errorf("%+v %q", res, out.Stdout.String())
	}
	<-c.Done()
}
