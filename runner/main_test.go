package runner_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == testServer {
		serveForATest(os.Args[2], os.Args[3])
	}
	os.Setenv("SECRET_OF_THE_HOST", hostSecret) // as a server has secrets
	goleak.VerifyTestMain(m)
}

// runsc is the binary under test: SCRIPTORIUM_RUNSC, or bin/runsc of the module.
func runsc(t testing.TB) string {
	t.Helper()
	p := os.Getenv("SCRIPTORIUM_RUNSC")
	if p == "" {
		p = filepath.Join("..", "bin", "runsc")
	}
	p, err := filepath.Abs(p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p); err != nil {
		t.Fatalf("These tests need gVisor: build it with `make bin/runsc`, or name one in SCRIPTORIUM_RUNSC (%s is not there).", p)
	}
	return p
}

// image is the computers' image under test: SCRIPTORIUM_IMAGE, or bin/computer.erofs of the module where it has been built; else
// computers are made of this machine's own /usr.
func image() string {
	if p, set := os.LookupEnv("SCRIPTORIUM_IMAGE"); set {
		return p
	}
	p, err := filepath.Abs(filepath.Join("..", "bin", "computer.erofs"))
	if err != nil {
		return ""
	}
	if _, err := os.Stat(p); err != nil {
		return ""
	}
	return p
}

// newProcess makes a runner with a state folder of its own.
func newProcess(t testing.TB, change ...func(*runner.Config)) (*runner.Process, string) {
	t.Helper()
	state := filepath.Join(t.TempDir(), "runner")
	cfg := runner.Config{Runsc: runsc(t), Image: image(), State: state, Log: slog.New(slog.DiscardHandler)}
	if testing.Verbose() {
		cfg.Log = nil
	}
	for _, f := range change {
		f(&cfg)
	}
	p, err := runner.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := p.Close(ctx); err != nil {
			t.Errorf("closing the runner: %v", err)
		}
	})
	return p, state
}

func newComputer(t testing.TB, spec runner.Spec) runner.Computer {
	t.Helper()
	p, _ := newProcess(t)
	return runnertest.Start(t, p, spec)
}

func TestSuite(t *testing.T) {
	t.Parallel()
	runnertest.Suite(t, func(t *testing.T) runner.Runner {
		p, _ := newProcess(t)
		return p
	})
}

// initOnly fails where anything but the init runs in the computer.
func initOnly(t *testing.T, c runner.Computer) {
	t.Helper()
	ps, err := c.Processes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(ps) < 1 || len(ps) > 3 { // the init, and what waits for the next call: a fork of it and, perhaps, a node
		t.Errorf("processes: %+v", ps)
	}
	for _, p := range ps {
		if !p.Init {
			t.Errorf("a process was left: %+v", p)
		}
	}
}
