package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/scriptorium-dev/scriptorium/internal/testservice"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("os/signal.loop")) }

// The command sees both addresses, its code is ours, and afterwards nothing is left.
func TestRun(t *testing.T) {
	for _, name := range []string{testservice.PostgresEnv, testservice.RedisEnv} {
		t.Setenv(name, "")
	}
	out := filepath.Join(t.TempDir(), "out")
	code, err := run(true, true, []string{"/bin/sh", "-c", "env >" + out + "; exit 3"})
	if err != nil || code != 3 {
		t.Errorf("answered %d, %v", code, err)
	}
	seen, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{testservice.PostgresEnv + "=postgres://", testservice.RedisEnv + "=redis://"} {
		if !strings.Contains(string(seen), want) {
			t.Errorf("the command does not see %s", want)
		}
	}
}

func TestRunCommand(t *testing.T) {
	signals := make(chan os.Signal, 1)
	signals <- syscall.SIGTERM
	code, err := runCommand([]string{"/bin/sh", "-c", "while :; do sleep 1; done"}, signals)
	if err != nil || code != 128+int(syscall.SIGTERM) {
		t.Errorf("answered %d, %v to a command that a signal ended", code, err)
	}
	if _, err := runCommand([]string{"/no/such/program"}, nil); err == nil {
		t.Error("no error for a program that is not there")
	}
	if code, err := runCommand([]string{"/bin/true"}, nil); err != nil || code != 0 {
		t.Errorf("answered %d, %v", code, err)
	}
}
