package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSample(t *testing.T) {
	t.Parallel()
	var s sample
	for i := range 100 {
		s = append(s, time.Duration(100-i)*time.Millisecond)
	}
	for p, want := range map[float64]float64{.5: 50, .99: 99, 1: 100, 0: 1} {
		if got := s.ms(p); got != want {
			t.Errorf("%v of 1 to 100 is %v, want %v", p, got, want)
		}
	}
	if r := (sample{2, 30, 8}).over(sample{2, 10, 4}); r != 2 {
		t.Errorf("the pairs' ratio is %v", r)
	}
	now := time.Unix(10, 0)
	var since sample
	since.since(now, "9000000000\nnot a time\n9999000000\n")
	if len(since) != 2 || since[0] != time.Second || since[1] != time.Millisecond {
		t.Errorf("%v", since)
	}
}

func TestBars(t *testing.T) {
	t.Parallel()
	rows := table{ratio("at its bar", 5, 4, 1.25, "ms"), more("at its bar", 51, 1, 50), ratio("shown only", 9, 1, 0, "ms"), alone("small", 40, 40, "MiB"),
		faster("five times", rates{10, 1, 50}, rates{2, 1, 10}, 5, "/s"), faster("shown only", rates{1}, rates{9}, 0, "/s"), words("said", "not there")}
	if err := rows.pastBars(); err != nil {
		t.Error(err)
	}
	rows = append(rows, ratio("too slow", 5.1, 4, 1.25, "ms"), more("too late", 51.5, 1, 50), alone("too large", 41, 40, "MiB"),
		faster("too few", rates{9, 9, 20}, rates{2, 2, 2}, 5, "/s"))
	err := rows.pastBars()
	if err == nil || strings.Count(err.Error(), "\n") != 4 || !strings.Contains(err.Error(), "too few: 4.50, bar ≥ 5.00") ||
		!strings.Contains(err.Error(), "too large: 41.00 MiB, bar 40 MiB") || !strings.Contains(err.Error(), "too slow: 1.27, bar 1.25") || !strings.Contains(err.Error(), "too late: +50.5 ms, bar +50 ms") {
		t.Errorf("%v", err)
	}
	var out strings.Builder
	if err := rows.print(&out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "PAST THE BAR"); n != 4 {
		t.Errorf("%d rows are marked:\n%s", n, &out)
	}
}

func TestDisplaced(t *testing.T) {
	t.Parallel()
	for want, ended := range map[string][]int{"0, 0 places": {0, 1, 2, 3, 4}, "1, 4 places": {1, 2, 3, 4, 0}} {
		if got := displaced(ended); got != want {
			t.Errorf("%v: %s, want %s", ended, got, want)
		}
	}
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	shell := exec.Command("/bin/sh", "-c", "sleep 60 & echo up; wait", "x")
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := shell.StdoutPipe()
	if err == nil {
		err = shell.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL)
		_ = shell.Wait()
	}()
	if _, err := out.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	if p := parentOf(shell.Process.Pid); p != os.Getpid() {
		t.Errorf("its parent is %d", p)
	}
	if a := firstArgument(shell.Process.Pid); a != "-c" {
		t.Errorf("its first argument is %q", a)
	}
	pids, err := descendants(shell.Process.Pid)
	if err != nil || len(pids) != 1 || parentOf(pids[0]) != shell.Process.Pid {
		t.Fatalf("%v %v", pids, err)
	}
	if pss, err := pssOf(pids); err != nil || pss <= 0 {
		t.Errorf("%d %v", pss, err)
	}
	if cpu := cpuOf([]int{os.Getpid()}); cpu <= 0 {
		t.Errorf("this process has used %s", cpu)
	}
}
