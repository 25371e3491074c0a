package runner_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// Resources: what a program uses up is its own computer's, and bounded.
func TestContainResources(t *testing.T) {
	t.Parallel()
	contain(t, 1, runner.Spec{MemoryBytes: 128 << 20, WorkspaceBytes: 16 << 20, HomeBytes: 8 << 20, TmpBytes: 4 << 20}, []attempt{
		{name: "disk full in tmp", program: `
print(fill("/tmp/full"), fill("/tmp/more"))
`, says: "4 MiB ENOSPC 0 MiB ENOSPC\n"},
		{name: "disk full in shm", program: `
print(fill("/dev/shm/full"), fill("/dev/shm/more"))
`, says: "4 MiB ENOSPC 0 MiB ENOSPC\n"},
		{name: "disk full in a home", with: func(c *runner.Call) {
			c.Files = append(c.Files, runner.FileChange{Op: runner.FileMkdir, Path: "/home/agent", Mode: 0o1777})
			c.Dir, c.Argv = "/home/agent", []string{"python3", "/workspace/main.py"}
		}, program: `
print(fill("full"), fill("more"))
`, says: "8 MiB ENOSPC 0 MiB ENOSPC\n"},
		{name: "disk full in the workspace", program: `
print(fill("/workspace/full").split()[2], fill("/workspace/more"))
`, says: "ENOSPC 0 MiB ENOSPC\n", check: fullWorkspace},
		{name: "a file that is larger than any may be", program: `
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
tries("far", lambda: os.pwrite(os.open("/tmp/far", os.O_CREAT | os.O_WRONLY), b"x", 1 << 30))
tries("truncate", lambda: open("/tmp/far", "wb").truncate(1 << 40))
`, says: "far EFBIG\ntruncate EFBIG\n"},
		{name: "open files", program: `
fds = []
try:
    while True: fds.append(os.open("/dev/null", os.O_RDONLY))
except OSError as e: print(fds[-1] + 1, errno.errorcode[e.errno])
tries("pipe", os.pipe)
tries("socket", socket.socket)
for fd in fds: os.close(fd)
tries("more", resource.setrlimit, resource.RLIMIT_NOFILE, (4096, 4096))
`, says: "1024 EMFILE\npipe EMFILE\nsocket EMFILE\nmore ValueError: not allowed to raise maximum limit\n"},
		{name: "open files in every process", ends: ending{leftOver: -1}, program: `
r, w = os.pipe()
for i in range(15):
    if os.fork() == 0:
        try:
            while True: os.open("/dev/null", os.O_RDONLY)
        except OSError: pass
        os.write(w, b"x")
        time.sleep(1000)
n = 0
while n < 15: n += len(os.read(r, 40))
print("all")
`, says: "all\n"},
		{name: "a CPU spin in eight threads", timeout: 1500 * time.Millisecond, program: `
def spin():
    while True: pass
for i in range(8): threading.Thread(target=spin).start()
`, ends: ending{reason: runner.ReasonTimeout, signal: "SIGTERM", most: 6 * time.Second}},
		{name: "a CPU spin in eight processes", timeout: 1500 * time.Millisecond, program: `
for i in range(8):
    if os.fork() == 0:
        while True: pass
while True: pass
`, ends: ending{reason: runner.ReasonTimeout, signal: "SIGTERM", leftOver: -1, most: 6 * time.Second}, check: usedBoth},
		{name: "output at full speed", program: `
b = b"x" * 65536
for i in range(1600):
    at = 0
    while at < len(b): at += os.write(1 + i % 2, b[at:])
`, says: "*", ends: ending{most: 20 * time.Second}, check: func(t *testing.T, _ *scene, e ended) {
			if out, err := e.output.Stdout.Len(), e.output.Stderr.Len(); out != 50<<20 || err != 50<<20 {
				t.Errorf("%d and %d bytes of 50 MiB each", out, err)
			}
		}},
		{name: "output without end", timeout: time.Second, program: `
while True: os.write(1, b"x" * 65536)
`, says: "*", ends: ending{reason: runner.ReasonTimeout, signal: "SIGTERM", most: 6 * time.Second}},
		{name: "input that is never read", with: func(c *runner.Call) { c.Stdin = bytes.Repeat([]byte("0123456789"), 1<<20) }, program: `
print("not read")
`, says: "not read\n", ends: ending{most: 5 * time.Second}},
		{name: "input that a child never reads", timeout: time.Second, with: func(c *runner.Call) { c.Stdin = bytes.Repeat([]byte("0123456789"), 1<<20) }, program: `
if os.fork() == 0: os.setsid()
print("up")
time.sleep(1000)
`, says: "up\nup\n", ends: ending{reason: runner.ReasonTimeout, signal: "SIGTERM", leftOver: 1, most: 6 * time.Second}},
		{name: "memory of one process", program: `
try: x = bytearray(1 << 30)
except MemoryError: print("no memory")
n = []
try:
    while True: n.append(b"x" * (1 << 20))
except MemoryError: print("no memory", len(n) < 128)
n = None
`, says: "no memory\nno memory True\n"},
		{name: "memory of one process, uncaught", program: `x = bytearray(1 << 40)`, ends: ending{exitCode: 1}},
		{name: "memory past a limit that was raised", program: `
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
x = bytearray(1 << 30)
for i in range(0, len(x), 4096): x[i] = 1
`, ends: ending{reason: runner.ReasonMemory, signal: "SIGKILL", most: 15 * time.Second}, check: isGone},
		{name: "memory of many processes", program: `
for i in range(6):
    if os.fork() == 0:
        x = bytearray(60 << 20)
        for i in range(0, len(x), 4096): x[i] = 1
        time.sleep(100)
time.sleep(100)
`, ends: ending{reason: runner.ReasonMemory, signal: "SIGKILL", most: 15 * time.Second}, check: isGone},
		{name: "memory of children, waited for", program: `
for i in range(6):
    if os.fork() == 0:
        x = b"x" * (60 << 20)
        os._exit(0)
    print(os.wait()[1])
`, says: "0\n0\n0\n0\n0\n0\n"},
		{name: "memory in a tmpfs of its own", program: `
as_root_of_its_own('''
mount(b"x", b"/tmp", b"tmpfs", 0, b"size=10g")
for i in range(100): fill("/tmp/%d" % i, 10 << 20)
''')
`, ends: ending{reason: runner.ReasonMemory, signal: "SIGKILL", most: 15 * time.Second}, check: isGone},
		{name: "memory of descriptors", program: `
for i in range(100):
    fd = os.memfd_create("x")
    for j in range(8): os.write(fd, b"x" * (1 << 20))
`, ends: ending{reason: runner.ReasonMemory, signal: "SIGKILL", most: 15 * time.Second}, check: isGone},
	})
}

// Files and processes together: a tmpfs may be as large as the computer's memory.
func TestContainMemoryInFiles(t *testing.T) {
	t.Parallel()
	contain(t, 1, runner.Spec{MemoryBytes: 64 << 20}, []attempt{
		{name: "memory in files", program: `
for p in "/workspace/a", "/workspace/b", "/tmp/c":
    fill(p, 60 << 20)
time.sleep(100)
`, ends: ending{reason: runner.ReasonMemory, signal: "SIGKILL", most: 15 * time.Second}, check: isGone},
	})
}

// What gVisor keeps for a program in its own heap is the computer's, too.
func TestContainMemoryBesidePages(t *testing.T) {
	t.Parallel()
	contain(t, 1, runner.Spec{MemoryBytes: 64 << 20}, []attempt{
		{name: "memory in extended attributes", program: `
for i in range(10):
    open("/tmp/%d" % i, "w").close()
    for j in range(500): os.setxattr("/tmp/%d" % i, "user.%d" % j, b"x" * 60000)
time.sleep(100)
`, ends: ending{reason: runner.ReasonMemory, signal: "SIGKILL", most: 30 * time.Second}, check: isGone},
	})
}

// usedBoth checks that the CPU time of all processes was counted.
func usedBoth(t *testing.T, _ *scene, e ended) {
	t.Helper()
	if e.result.CPU < 200*time.Millisecond {
		t.Errorf("nine processes that spin used %s in %s", e.result.CPU, e.result.Wall)
	}
}

// isGone waits for the end of the computer.
func isGone(t *testing.T, s *scene, _ ended) {
	t.Helper()
	select {
	case <-s.computer.Done():
	case <-time.After(10 * time.Second):
		t.Error("the computer is still there")
	}
	if _, err := s.computer.Call(t.Context(), runnertest.Python(""), runner.Discard); !errors.Is(err, runner.ErrLost) {
		t.Errorf("a call on it: %v", err)
	}
}

// fullWorkspace: files cannot be put there, which is said; where there is room again they can.
func fullWorkspace(t *testing.T, s *scene, _ ended) {
	t.Helper()
	var fe *runner.FileError
	_, err := s.computer.Files(t.Context(), []runner.FileChange{
		{Op: runner.FileMkdir, Path: "/home/other", Mode: 0o1777},
		{Op: runner.FileWrite, Path: "/workspace/new", Mode: 0o444, Content: bytes.Repeat([]byte("x"), 1<<20)}})
	if !errors.As(err, &fe) || !fe.Full || fe.Index != 1 || fe.Path != "/workspace/new" {
		t.Errorf("a file more: %v", err)
	}
	if _, err := s.computer.Call(t.Context(), runnertest.Python("print('never')"), runner.Discard); !errors.As(err, &fe) || !fe.Full || fe.Index != 0 {
		t.Errorf("a call with a file: %v", err)
	}
	call := runnertest.Python("")
	call.Files, call.Argv = nil, []string{"python3", "-c", "import os\nos.unlink('/workspace/full')\nprint('there is room')"}
	if _, out := runnertest.Run(t, s.computer, call); out.Stdout.String() != "there is room\n" {
		t.Errorf("a call without files: %q", out.Stdout.String())
	}
}
