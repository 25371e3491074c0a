package runner_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// A program forks twice, leaves its session, and ignores TERM; all of it is gone after the timeout.
func TestTimeoutTakesEverything(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{})
	call := runnertest.Python(`import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        print("grandchild")
    while True: time.sleep(1)
while True: time.sleep(1)
`)
	call.Timeout = 700 * time.Millisecond
	out := &runnertest.Output{}
	began := time.Now()
	res, err := c.Call(t.Context(), call, out)
	if err != nil || res.Reason != runner.ReasonTimeout || res.Signal != "SIGKILL" {
		t.Errorf("%+v %v", res, err)
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("it took %s", d)
	}
	if out.Stdout.String() != "grandchild\n" {
		t.Errorf("%q", out.Stdout.String())
	}
	initOnly(t, c)
	if res, _ := runnertest.Run(t, c, runnertest.Python("")); res.ExitCode != 0 {
		t.Errorf("the next call: %+v", res)
	}
}

// A child that holds standard output open does not keep the call from ending.
func TestChildHoldsStdout(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{})
	began := time.Now()
	res, out := runnertest.Run(t, c, runnertest.Python(`import os, time
if os.fork() == 0:
    os.setsid()
    time.sleep(1000)
print("parent")
`))
	if res.ExitCode != 0 || res.LeftOver != 1 || out.Stdout.String() != "parent\n" {
		t.Errorf("%+v %q", res, out.Stdout.String())
	}
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("it took %s", d)
	}
	initOnly(t, c)
}

func TestForkBomb(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{Processes: 32})
	for range 2 {
		call := runnertest.Python("import os\nprint('up')\nwhile True:\n    try: os.fork()\n    except OSError: pass\n")
		call.Timeout = time.Second
		res, _ := runnertest.Run(t, c, call)
		if res.Reason != runner.ReasonTimeout {
			t.Errorf("%+v", res)
		}
		initOnly(t, c)
	}
	if res, out := runnertest.Run(t, c, runnertest.Python("print('fine')")); res.ExitCode != 0 || out.Stdout.String() != "fine\n" {
		t.Errorf("the next call: %+v %q", res, out.Stdout.String())
	}
}

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

// The network: nothing but a loopback of its own, so not even a service of the host's loopback can be reached.
func TestNoNetwork(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := newComputer(t, runner.Spec{})
	call := runnertest.Python(`import socket, sys
print([n for _, n in socket.if_nameindex() if n != "lo"])
for a in (("127.0.0.1", int(sys.argv[1])), ("1.1.1.1", 53), ("169.254.169.254", 80)):
    s = socket.socket()
    s.settimeout(3)
    try:
        s.connect(a)
        print("connected", a)
    except OSError as e: print("no")
`)
	call.Argv = append(call.Argv, fmt.Sprint(l.Addr().(*net.TCPAddr).Port))
	if _, out := runnertest.Run(t, c, call); out.Stdout.String() != "[]\nno\nno\nno\n" {
		t.Errorf("%s%s", out.Stdout.String(), out.Stderr.String())
	}
}

// The host's files beside the root's, the root itself, and the init are out of reach.
func TestRootIsReadOnly(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{})
	call := runnertest.Python(`import os, sys
print([p for p in (sys.argv[1], "/etc/shadow", "/etc/machine-id", "/root/.profile") if os.path.exists(p)], os.listdir("/home"), os.getuid(), os.getgid(), os.getgroups())
for p in ("/x", "/usr/x", "/etc/x", "/home/x", "/.scriptorium/init.py", "/proc/1/mem"):
    try:
        open(p, "w")
        print("wrote", p)
    except OSError: pass
for f in (lambda: os.setuid(0), lambda: os.kill(1, 9), lambda: open("/proc/1/environ").read(), lambda: os.chroot("/tmp"), lambda: os.mknod("/tmp/d", 0o60666, 1)):
    try:
        f()
        print("could")
    except OSError: pass
print(open("/proc/self/status").read().split("CapEff:")[1].split()[0])
`)
	call.Argv = append(call.Argv, t.TempDir())
	res, out := runnertest.Run(t, c, call)
	if want := "[] [] 1000 1000 []\n0000000000000000\n"; res.ExitCode != 0 || out.Stdout.String() != want {
		t.Errorf("%+v %s%s", res, out.Stdout.String(), out.Stderr.String())
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

// plant makes everything that could stand in a file's way, as a program.
const plant = `import os
os.makedirs("/workspace/d/in/ner"); os.chmod("/workspace/d/in", 0); os.chmod("/workspace/d", 0)
os.symlink("/workspace/outside", "/workspace/link")
os.symlink("/home", "/workspace/linkdir")
os.mkfifo("/workspace/fifo")
os.mkdir("/workspace/outdir", 0o777); os.symlink("/workspace/outdir", "/workspace/parent")
os.mkfifo("/workspace/.scriptorium-new") if not os.path.lexists("/workspace/.scriptorium-new") else None
open("/workspace/outside", "w").write("untouched")
p = "/workspace/deep"
for i in range(600):
    os.mkdir(p); os.chdir(p); p = "d"
`

func TestPlantedFiles(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{})
	res, out := runnertest.Run(t, c, runnertest.Python(plant))
	if res.ExitCode != 0 {
		t.Fatalf("%s", out.Stderr.String())
	}
	var changes []runner.FileChange
	for _, p := range []string{"d", "link", "linkdir", "fifo", "parent/f", "deep"} {
		changes = append(changes, runner.FileChange{Op: runner.FileWrite, Path: "/workspace/" + p, Mode: 0o444, Content: []byte("managed " + p)})
	}
	if _, err := c.Files(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	res, out = runnertest.Run(t, c, runnertest.Python(`import os, stat
for n in ("d", "link", "linkdir", "fifo", "parent/f", "deep", "outside"):
    p = "/workspace/" + n
    st = os.lstat(p)
    print(n, stat.S_ISREG(st.st_mode), st.st_uid, open(p).read())
print(sorted(os.listdir("/workspace")), os.listdir("/workspace/outdir"), os.listdir("/home"))
`))
	want := `d True 0 managed d
link True 0 managed link
linkdir True 0 managed linkdir
fifo True 0 managed fifo
parent/f True 0 managed parent/f
deep True 0 managed deep
outside True 1000 untouched
['d', 'deep', 'fifo', 'link', 'linkdir', 'main.py', 'outdir', 'outside', 'parent'] [] []
`
	if out.Stdout.String() != want {
		t.Errorf("%+v\n%s%s", res, out.Stdout.String(), out.Stderr.String())
	}
}

// A folder of a program's that stands where a managed folder belongs becomes root's.
func TestPlantedFolder(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{})
	runnertest.Run(t, c, runnertest.Python("import os\nos.mkdir('/workspace/.calls')\nopen('/workspace/.calls/x', 'w')\nos.chmod('/workspace/.calls', 0)\n"))
	if _, err := c.Files(t.Context(), []runner.FileChange{{Op: runner.FileMkdir, Path: "/workspace/.calls", Mode: 0o755}}); err != nil {
		t.Fatal(err)
	}
	_, out := runnertest.Run(t, c, runnertest.Python("import os\nst = os.stat('/workspace/.calls')\nprint(st.st_uid, oct(st.st_mode))\ntry: open('/workspace/.calls/y', 'w')\nexcept OSError as e: print(e.strerror)\n"))
	if out.Stdout.String() != "0 0o40755\nPermission denied\n" {
		t.Errorf("%q", out.Stdout.String())
	}
}

func TestFullFolder(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{WorkspaceBytes: 4 << 20})
	runnertest.Run(t, c, runnertest.Python("import os\ntry:\n    with open('/workspace/fill', 'wb') as f:\n        while True: f.write(b'x' * 65536)\nexcept OSError as e: print(e.strerror)\n"))
	var fe *runner.FileError
	_, err := c.Files(t.Context(), []runner.FileChange{
		{Op: runner.FileMkdir, Path: "/home/a", Mode: 0o1777},
		{Op: runner.FileWrite, Path: "/workspace/new", Mode: 0o444, Content: bytes.Repeat([]byte("x"), 1<<20)}})
	if !errors.As(err, &fe) || !fe.Full || fe.Index != 1 || fe.Path != "/workspace/new" {
		t.Fatalf("%v", err)
	}
	if _, err := c.Files(t.Context(), []runner.FileChange{{Op: runner.FileRemove, Path: "/workspace/fill"}}); err != nil {
		t.Fatal(err)
	}
	if res, _ := runnertest.Run(t, c, runnertest.Python("")); res.ExitCode != 0 {
		t.Errorf("%+v", res)
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

// Memory: one process meets its own limit and fails as a program does; a sandbox that outgrows its own is killed.
func TestMemory(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{MemoryBytes: 128 << 20, WorkspaceBytes: 64 << 20})
	res, out := runnertest.Run(t, c, runnertest.Python("x = bytearray(1 << 30)"))
	if res.Reason != runner.ReasonExit || res.ExitCode != 1 || !strings.Contains(out.Stderr.String(), "MemoryError") {
		t.Errorf("%+v %s", res, out.Stderr.String())
	}
	res, err := c.Call(t.Context(), runnertest.Python(`import os, time
for i in range(6):
    if os.fork() == 0:
        x = bytearray(60 << 20)
        for i in range(0, len(x), 4096): x[i] = 1
        time.sleep(100)
time.sleep(100)
`), runner.Discard)
	if err != nil || res.Reason != runner.ReasonMemory {
		t.Fatalf("%+v %v", res, err)
	}
	select {
	case <-c.Done():
	case <-time.After(10 * time.Second):
		t.Error("the computer is still there")
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
