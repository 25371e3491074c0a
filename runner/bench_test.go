package runner_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// Bars: the lower quartile (the machine may be busy) beside that of what it is compared with, measured in turns in one
// run. Read the ratios: milliseconds drift.
const (
	barFirstCall       = 1.25 // a computer for it, and its first call / a bare `runsc run` of the same program on the same root
	barFirstCallBooted = 1.50 // the same without a spare
	barWarmCall        = 1.25 // a further call on it / the host's own python3
)

const benchSource = "import sys\nprint('hello', len(sys.stdin.read()))\n"

func quartile(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/4]
}

func report(b *testing.B, what string, ours, theirs []time.Duration, bar float64) {
	o, t := quartile(ours), quartile(theirs)
	ratio := float64(o) / float64(t)
	b.ReportMetric(float64(o)/1e6, "ms")
	b.ReportMetric(float64(t)/1e6, "ms-compared")
	b.ReportMetric(ratio, "ratio")
	b.ReportMetric(0, "ns/op")
	if len(ours) > 5 && ratio > bar {
		b.Errorf("%s: %s beside %s, ratio %.2f, is past the bar of %.2f", what, o, t, ratio, bar)
	}
}

// A run's first call as a server makes it that keeps a spare: the computer is taken, and the next one booted meanwhile.
func BenchmarkFirstCall(b *testing.B) { firstCall(b, 1, barFirstCall) }

// The same where no spare waits: a sandbox is booted, its init started and forked.
func BenchmarkFirstCallBooted(b *testing.B) { firstCall(b, 0, barFirstCallBooted) }

func firstCall(b *testing.B, spares int, bar float64) {
	p, state := newProcess(b, func(cfg *runner.Config) { cfg.Spares = spares })
	if _, err := p.Check(b.Context()); err != nil {
		b.Fatal(err)
	}
	bare, err := runner.NewBare(runsc(b), image(), b.TempDir(), benchSource)
	if err != nil {
		b.Fatal(err)
	}
	defer bare.Close()
	var ours, theirs []time.Duration
	for n := 0; b.Loop(); n++ {
		t := time.Now()
		if out, err := bare.Run(b.Context()); err != nil || string(out) != "hello 0\n" {
			b.Fatalf("%q %v", out, err)
		}
		theirs = append(theirs, time.Since(t))
		t = time.Now()
		c, err := p.Start(b.Context(), runner.Spec{ID: fmt.Sprintf("bench_%d", n)})
		if err != nil {
			b.Fatal(err)
		}
		if res, _ := runnertest.Run(b, c, runnertest.Python(benchSource)); res.ExitCode != 0 {
			b.Fatalf("%+v", res)
		}
		ours = append(ours, time.Since(t))
		if err := c.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if up, _ := filepath.Glob(filepath.Join(state, "s*", "bundles", "*", "pid")); len(up) == spares {
				break
			}
		}
	}
	report(b, "the first call", ours, theirs, bar)
}

func BenchmarkWarmCall(b *testing.B) {
	c := newComputer(b, runner.Spec{})
	runnertest.Run(b, c, runnertest.Python(benchSource))
	var ours, theirs []time.Duration
	for b.Loop() {
		t := time.Now()
		if out, err := exec.Command("/usr/bin/python3", "-c", benchSource).Output(); err != nil {
			b.Fatalf("%q %v", out, err)
		}
		theirs = append(theirs, time.Since(t))
		time.Sleep(20 * time.Millisecond) // a caller takes a breath
		t = time.Now()
		if res, _ := runnertest.Run(b, c, runnertest.Python(benchSource)); res.ExitCode != 0 {
			b.Fatalf("%+v", res)
		}
		ours = append(ours, time.Since(t))
	}
	report(b, "a warm call", ours, theirs, barWarmCall)
}

func BenchmarkStream(b *testing.B) {
	c := newComputer(b, runner.Spec{})
	src := "import os\nb = b'x' * 65536\nfor i in range(1024):\n    at = 0\n    while at < len(b): at += os.write(1, b[at:])\n"
	b.SetBytes(64 << 20)
	for b.Loop() {
		n := 0
		if _, err := c.Call(b.Context(), runnertest.Python(src), runner.SinkFunc(func(_ runner.Stream, p []byte) error { n += len(p); return nil })); err != nil || n != 64<<20 {
			b.Fatalf("%d %v", n, err)
		}
	}
}
