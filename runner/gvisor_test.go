package runner_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// 50 MiB through a sink that takes its time: the program waits, nothing is lost, nothing is kept.
func TestFloodThroughASlowSink(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{})
	const size = 50 << 20
	total, calls := 0, 0
	res, err := c.Call(t.Context(), runnertest.Python(`import os
b = b"x" * 65536
for i in range(800):
    at = 0
    while at < len(b): at += os.write(1, b[at:])
`), runner.SinkFunc(func(_ runner.Stream, p []byte) error {
		total += len(p)
		if calls++; calls%100 == 0 {
			time.Sleep(5 * time.Millisecond)
		}
		return nil
	}))
	if err != nil || res.ExitCode != 0 || total != size {
		t.Errorf("%+v %v: %d bytes of %d", res, err, total, size)
	}
}

// Random bytes on both streams at once come out byte for byte.
func TestBytesAreExact(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{})
	res, out := runnertest.Run(t, c, runnertest.Python(`import os, hashlib, threading
sums = {}
def write(fd):
    h = hashlib.sha256()
    for i in range(5 * 32):
        b = os.urandom(32768)
        h.update(b)
        at = 0
        while at < len(b): at += os.write(fd, b[at:])
    sums[fd] = h.hexdigest()
ts = [threading.Thread(target=write, args=(fd,)) for fd in (1, 2)]
for t in ts: t.start()
for t in ts: t.join()
open("/workspace/sums", "w").write(sums[1] + " " + sums[2])
`))
	if res.ExitCode != 0 || out.Stdout.Len() != 5<<20 || out.Stderr.Len() != 5<<20 {
		t.Fatalf("%+v: %d and %d bytes", res, out.Stdout.Len(), out.Stderr.Len())
	}
	_, sums := runnertest.Run(t, c, runnertest.Python("print(open('/workspace/sums').read(), end='')"))
	if got := fmt.Sprintf("%x %x", sha256.Sum256(out.Stdout.Bytes()), sha256.Sum256(out.Stderr.Bytes())); got != sums.Stdout.String() {
		t.Errorf("sent %s, got %s", sums.Stdout.String(), got)
	}
}

func TestLargeStdin(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{})
	in := bytes.Repeat([]byte("0123456789"), 90<<10)
	call := runnertest.Python("print('not read')") // the program ends with its input unread
	call.Stdin = in
	if res, out := runnertest.Run(t, c, call); res.ExitCode != 0 || out.Stdout.String() != "not read\n" {
		t.Errorf("%+v %q", res, out.Stdout.String())
	}
	call = runnertest.Python("import sys, hashlib\nprint(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())")
	call.Stdin = in
	if _, out := runnertest.Run(t, c, call); out.Stdout.String() != fmt.Sprintf("%x\n", sha256.Sum256(in)) {
		t.Errorf("%q", out.Stdout.String())
	}
}

func TestEnvironmentIsExact(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{})
	for _, argv := range [][]string{{"python3", "main.py"}, {"python3", "-s", "main.py"}} { // in the init's child, and in an interpreter of its own
		call := runnertest.Python("import os\nfor k in sorted(os.environ): print(k + '=' + os.environ[k])\nprint(os.getcwd())\n")
		call.Argv = argv
		call.Env = runnertest.Env("A=ü", "EMPTY=")
		_, out := runnertest.Run(t, c, call)
		want := "A=ü\nEMPTY=\nHOME=/workspace\nLANG=C.UTF-8\nPATH=/usr/local/bin:/usr/bin:/bin\nPYTHONDONTWRITEBYTECODE=1\nPYTHONUNBUFFERED=1\nTZ=UTC\n/workspace\n"
		if out.Stdout.String() != want {
			t.Errorf("%v: %q %s", argv, out.Stdout.String(), out.Stderr.String())
		}
	}
}

// A program that cannot be started has the exit codes of a shell.
func TestNoSuchProgram(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{})
	for _, k := range []struct {
		argv string
		code int
		text string
	}{{"nothing-here", 127, "nothing-here: not found\n"}, {"/usr/nothing", 127, "/usr/nothing: not found\n"}, {"/usr", 126, "/usr: Permission denied\n"}} {
		call := runnertest.Python("")
		call.Argv = []string{k.argv}
		if res, out := runnertest.Run(t, c, call); res.ExitCode != k.code || out.Stderr.String() != k.text {
			t.Errorf("%s: %+v %q", k.argv, res, out.Stderr.String())
		}
	}
	call := runnertest.Python("")
	call.Dir = "/workspace/missing"
	if _, err := c.Call(t.Context(), call, runner.Discard); !errors.Is(err, runner.ErrInvalid) || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a working directory that is not there: %v", err)
	}
	if res, _ := runnertest.Run(t, c, runnertest.Python("")); res.ExitCode != 0 {
		t.Errorf("the next call: %+v", res)
	}
}

func TestSignals(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{})
	for _, k := range []struct{ src, signal string }{
		{"import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"},
		{"import os, signal\nos.kill(os.getpid(), signal.SIGTERM)", "SIGTERM"},
		{"import os\nos.abort()", "SIGABRT"},
		{"raise KeyboardInterrupt", "SIGINT"},
	} {
		res, _ := runnertest.Run(t, c, runnertest.Python(k.src))
		if res.Reason != runner.ReasonSignal || res.Signal != k.signal || res.ExitCode != 128+runner.SignalNumber(k.signal) {
			t.Errorf("%q: %+v", k.src, res)
		}
	}
}

// One print of more than a pipe holds arrives whole, also from an interpreter that a program starts.
func TestLargePrints(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{})
	src := "import sys\nprint('é' * 300000)\nsys.stdout.buffer.write(b'x' * 300000)\nsys.stderr.write('y' * 300000)\n"
	want, werr := strings.Repeat("é", 300000)+"\n"+strings.Repeat("x", 300000), strings.Repeat("y", 300000)
	child := "import subprocess, sys\nsubprocess.run([sys.executable, '-c', " + fmt.Sprintf("%q", src) + "])\n"
	for _, s := range []string{src, child} {
		_, out := runnertest.Run(t, c, runnertest.Python(s))
		if out.Stdout.String() != want || out.Stderr.String() != werr {
			t.Errorf("%d and %d bytes of %d and %d", out.Stdout.Len(), out.Stderr.Len(), len(want), len(werr))
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{})
	res, _ := runnertest.Run(t, c, runnertest.Python("import time\nx = bytearray(b'x' * (64 << 20))\nt = time.process_time()\nwhile time.process_time() - t < .3: pass\n"))
	if res.CPU < 250*time.Millisecond || res.CPU > 10*time.Second || res.PeakMemoryBytes < 64<<20 || res.PeakMemoryBytes > 256<<20 || res.Wall < res.CPU/2 {
		t.Errorf("%+v", res)
	}
}

// A program cannot keep from the evidence how much memory its children had, and of one that was killed for its memory it is told, too.
func TestUsageThatIsHidden(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{})
	const child = `import os, signal, time
r, w = os.pipe()
%s
if os.fork() == 0:
    x = bytearray(b"x" * (200 << 20))
    time.sleep(.5)
    os._exit(0)
os.close(w)
os.read(r, 1)
time.sleep(.1)
`
	for name, hides := range map[string]string{"hidden": "signal.signal(signal.SIGCHLD, signal.SIG_IGN)", "not hidden": ""} {
		if res, _ := runnertest.Run(t, c, runnertest.Python(fmt.Sprintf(child, hides))); res.ExitCode != 0 || res.PeakMemoryBytes < 200<<20 || res.PeakMemoryBytes > 450<<20 {
			t.Errorf("%s: %+v", name, res)
		}
	}
	// What calls before had is not this one's.
	for range 2 {
		if res, _ := runnertest.Run(t, c, runnertest.Python("open('/workspace/x', 'wb').write(b'x' * (40 << 20))")); res.PeakMemoryBytes < 40<<20 || res.PeakMemoryBytes > 150<<20 {
			t.Errorf("a file: %+v", res)
		}
	}
	if res, _ := runnertest.Run(t, c, runnertest.Python("")); res.PeakMemoryBytes == 0 || res.PeakMemoryBytes > 64<<20 {
		t.Errorf("a small one: %+v", res)
	}
	res, _ := runnertest.Run(t, c, runnertest.Python("import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))\nx = [b'x' * (10 << 20) for i in range(100)]\n"))
	if res.Reason != runner.ReasonMemory || res.PeakMemoryBytes < 300<<20 || res.PeakMemoryBytes > 1<<30 {
		t.Errorf("one that was killed: %+v", res)
	}
}

// An idle computer costs nothing.
func TestIdle(t *testing.T) {
	p, state := newProcess(t) // not parallel: it measures
	c := runnertest.Start(t, p, runner.Spec{})
	runnertest.Run(t, c, runnertest.Python(""))
	// The process for the next call is being made still.
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	before := hostCPU(t, state)
	for range 25 {
		<-tick.C
		now := hostCPU(t, state)
		settled := now-before < time.Millisecond
		if before = now; settled {
			break
		}
	}
	wait := time.NewTimer(2 * time.Second)
	<-wait.C
	used := hostCPU(t, state) - before
	t.Logf("an idle computer with its runner process: %s in 2 s", used)
	if used > 20*time.Millisecond {
		t.Errorf("an idle computer used %s in 2 s", used)
	}
}

// A program that fills /workspace does not keep the next call, whose arguments come as a file, from starting and making room.
func TestFullWorkspace(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{WorkspaceBytes: 8 << 20})
	fill := runnertest.Python("import sys\ntry:\n  with open('/workspace/full', 'wb') as f:\n    while True: f.write(b'x' * 65536)\nexcept OSError as e: print(e.errno)\n")
	fill.Files[0].Path, fill.Argv[1] = "/tmp/main.py", "/tmp/main.py"
	if res, out := runnertest.Run(t, c, fill); res.ExitCode != 0 || out.Stdout.String() != "28\n" {
		t.Fatalf("%+v %s%s", res, out.Stdout.String(), out.Stderr.String())
	}
	room := runnertest.Python("import os\nprint(len(open('/workspace/.calls/call_1/arguments.json').read()))\nos.remove('/workspace/full')\n")
	room.Files[0].Path, room.Argv[1] = "/tmp/room.py", "/tmp/room.py"
	room.Files = append(room.Files, runner.FileChange{Op: runner.FileWrite, Path: runner.Calls + "/call_1/arguments.json", Mode: 0o444, Content: make([]byte, 1<<20)})
	if res, out := runnertest.Run(t, c, room); res.ExitCode != 0 || out.Stdout.String() != "1048576\n" {
		t.Errorf("%+v %s%s", res, out.Stdout.String(), out.Stderr.String())
	}
	if res, _ := runnertest.Run(t, c, runnertest.Python("open('/workspace/new', 'w').write('x')")); res.ExitCode != 0 {
		t.Errorf("there is no room again: %+v", res)
	}
}
