package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/doctor"
	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// runsc is the binary under test: SCRIPTORIUM_RUNSC, or bin/runsc of the module.
func runsc(t *testing.T) string {
	t.Helper()
	p := os.Getenv("SCRIPTORIUM_RUNSC")
	if p == "" {
		p = filepath.Join("..", "..", "bin", "runsc")
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

// runDoctor answers what a doctor says as JSON, and the exit code.
func runDoctor(t *testing.T, args ...string) (d struct {
	Severity  string
	Findings  []struct{ Name, Severity, Found, Advice string }
	Computers *struct {
		Gvisor, Digest      string
		Fallback            bool
		Runtimes, Libraries []string
	}
}, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	err := execute(t.Context(), append([]string{"doctor", "--json"}, args...), &out, &errs)
	if json.Unmarshal(out.Bytes(), &d) != nil {
		t.Fatalf("%v: %s%s", err, out.String(), errs.String())
	}
	return d, exitCode(err)
}

// nothingLeft fails where a doctor left something in the folder for temporary files.
func nothingLeft(t *testing.T, temp string) {
	t.Helper()
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, l := range lines {
		if b, _ := os.ReadFile(l); bytes.Contains(b, []byte(temp)) {
			t.Errorf("a process is left behind: %q", b)
		}
	}
}

// Not parallel: the folder for temporary files is the process's.
func TestDoctor(t *testing.T) {
	temp, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	t.Setenv("TMPDIR", temp)
	d, code := runDoctor(t, "--runsc", runsc(t), "--image", "host", "--data", data)
	if code != int(doctor.Warning) || d.Severity != "warning" { // no image, at least
		t.Errorf("exit code %d: %+v", code, d)
	}
	if d.Computers == nil || !d.Computers.Fallback || len(d.Computers.Runtimes) < 2 || !strings.HasPrefix(d.Computers.Digest, "sha256:") {
		t.Errorf("%+v", d.Computers)
	}
	nothingLeft(t, temp)
	if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the data folder was made: %v", err)
	}

	d, code = runDoctor(t, "--runsc", "/nonexistent/runsc", "--image", "host", "--data", data)
	if code != int(doctor.Failure) || d.Severity != "failure" || d.Computers != nil {
		t.Errorf("without runsc: exit code %d: %+v", code, d)
	}
	garbage := filepath.Join(t.TempDir(), "garbage.erofs")
	if err := os.WriteFile(garbage, bytes.Repeat([]byte("no image "), 1000), 0o644); err != nil {
		t.Fatal(err)
	}
	if d, code = runDoctor(t, "--runsc", runsc(t), "--image", garbage, "--data", data); code != int(doctor.Failure) || d.Computers != nil {
		t.Errorf("with an image that is none: exit code %d: %+v", code, d)
	}
	nothingLeft(t, temp)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := execute(ended, []string{"doctor", "--runsc", runsc(t), "--image", "host", "--data", data}, io.Discard, io.Discard); exitCode(err) != 1 {
		t.Errorf("one that was stopped: %v", err)
	}
	nothingLeft(t, temp)
}

// A doctor and a server with the same data folder do not notice each other.
func TestDoctorBesideAServer(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	r, err := runner.New(runner.Config{Runsc: runsc(t), State: filepath.Join(data, "runner"), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	c := runnertest.Start(t, r, runner.Spec{ID: "one"})
	began := make(chan struct{})
	first := sync.OnceFunc(func() { close(began) }) // a line may come in two pieces
	ended := make(chan runner.Result, 1)
	go func() {
		call := runnertest.Python("import sys, time\nprint('begun')\nsys.stdout.flush()\nfor i in range(100):\n    time.sleep(0.02)\n")
		res, err := c.Call(context.Background(), call, runner.SinkFunc(func(runner.Stream, []byte) error { first(); return nil }))
		if err != nil {
			t.Errorf("the server's call: %v", err)
		}
		ended <- res
	}()
	<-began
	if d, code := runDoctor(t, "--runsc", runsc(t), "--image", "host", "--data", data); code != int(doctor.Warning) {
		t.Errorf("exit code %d: %+v", code, d)
	}
	if res := <-ended; res.ExitCode != 0 || res.Reason != runner.ReasonExit {
		t.Errorf("the server's call: %+v", res)
	}
	if res, _ := runnertest.Run(t, c, runnertest.Python("print(1)")); res.ExitCode != 0 {
		t.Errorf("the server's next call: %+v", res)
	}
}

// As another user there is less, and it is said which.
func TestDoctorAsAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		d, code := runDoctor(t, "--runsc", runsc(t), "--image", "host", "--data", filepath.Join(os.TempDir(), "none"))
		words := map[string]string{}
		for _, f := range d.Findings {
			words[f.Name] = f.Severity + ": " + f.Found
		}
		if code == int(doctor.Good) || !strings.HasPrefix(words["user"], "warning: user ") || !strings.HasPrefix(words["memory cgroups"], "warning: ") || words["user namespaces"] == "" {
			t.Errorf("exit code %d: %v", code, words)
		}
		if (d.Computers == nil) != (code == int(doctor.Failure)) {
			t.Errorf("exit code %d: %+v", code, d.Computers)
		}
		return
	}
	dir, err := os.MkdirTemp("", "doctor") // not below t.TempDir, whose parents are closed to others
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for from, to := range map[string]string{"/proc/self/exe": "test", runsc(t): "runsc"} {
		b, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), b, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const nobody = 65534
	temp := filepath.Join(dir, "tmp")
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(temp, 0o700), os.Chown(temp, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "test"), "-test.timeout=90s", "-test.v", "-test.run=^TestDoctorAsAnotherUser$")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + temp, "SCRIPTORIUM_RUNSC=" + filepath.Join(dir, "runsc")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestDoctorAsAnotherUser")) {
		t.Errorf("%v\n%s", err, out)
	}
	nothingLeft(t, temp)
}

func TestDoctorSaysWhatToDo(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := writeDiagnosis(&out, doctor.Diagnosis{Severity: doctor.Failure, Findings: []doctor.Finding{
		{Name: "user", Found: "root"}, {Name: "runsc", Severity: doctor.Failure, Found: "not there", Advice: "Build it.\nThen look again."}}})
	const want = `good     user             root
failure  runsc            not there
                          → Build it.
                            Then look again.

There are no computers here: calls are refused.
`
	if err != nil || out.String() != want {
		t.Errorf("%v\n%s", err, out.String())
	}
	for severity, code := range map[doctor.Severity]int{doctor.Warning: 1, doctor.Failure: 2} {
		if got := exitCode(diagnosed(severity)); got != code {
			t.Errorf("%s: exit code %d", severity, got)
		}
	}
}
