package runner_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// callSecret is what another call was given.
const callSecret = "secret-of-another-call"

// search looks for a text, which is given backwards, through the memory of its own process.
const search = `
def search(text):
    n = len(text) // 2
    end, start = text[:n][::-1].encode(), text[n:][::-1].encode()  # never together, or it would find its own copy
    found = 0
    for line in open("/proc/self/maps"):
        span, how = line.split()[:2]
        low, high = (int(n, 16) for n in span.split("-"))
        if how[0] != "r" or "vsyscall" in line: continue
        try: part = memory(os.getpid(), low, high - low)
        except OSError: continue
        at = part.find(start)
        while at >= 0:
            found += part[at + len(start):at + len(text)] == end
            at = part.find(start, at + 1)
    return found
libc.prctl(4, 1, 0, 0, 0)  # its memory may be read
`

// Secrets: nothing of the server's, of the init's or of other calls' can be read.
func TestContainSecrets(t *testing.T) {
	t.Parallel()
	contain(t, 1, runner.Spec{}, []attempt{
		{name: "environment", program: `
print(sorted(os.environ))
for p in "/proc/1/environ", "/proc/%d/environ" % os.getppid(): tries(p, open, p)
libc.prctl(4, 1, 0, 0, 0)
print(sorted(l.split("=")[0] for l in open("/proc/self/environ").read().split("\0") if l))
`, says: "['HOME', 'LANG', 'PATH', 'PYTHONDONTWRITEBYTECODE', 'PYTHONUNBUFFERED', 'TZ']\n/proc/1/environ EACCES\n/proc/1/environ EACCES\n" +
			"['HOME', 'LANG', 'MALLOC_ARENA_MAX', 'PATH', 'PYTHONDONTWRITEBYTECODE', 'PYTHONUNBUFFERED', 'TZ']\n"}, // what the init was given
		{name: "the init", program: `
for p in "environ", "mem", "maps", "fd/3", "fd/4", "fd", "root", "cwd", "exe", "auxv", "task/1/environ", "task/1/mem", "task/1/fd/3", "map_files": tries(p, open, "/proc/1/" + p)
print(HOST["state"] in open("/proc/1/cmdline").read())
`, says: "environ EACCES\nmem EACCES\nmaps EACCES\nfd/3 EACCES\nfd/4 EACCES\nfd EACCES\nroot EACCES\ncwd EACCES\nexe EACCES\nauxv EACCES\n" +
			"task/1/environ EACCES\ntask/1/mem EACCES\ntask/1/fd/3 EACCES\nmap_files ENOENT\nFalse\n"},
		{name: "the init's sockets", program: `
import stat
for fd in range(3, 1024):
    try: print("open", fd, os.fstat(fd))
    except OSError: pass
print([stat.S_ISFIFO(os.fstat(fd).st_mode) for fd in (0, 1, 2)])
for fd in 3, 4: tries(fd, lambda: socket.socket(fileno=fd))
for fd in 3, 4: tries("by the init %d" % fd, os.open, "/proc/1/fd/%d" % fd, os.O_RDWR)
for fd in 3, 4: tries("descriptor %d" % fd, lambda: system("syscall", 438, os.pidfd_open(1), fd, 0))
print(subprocess.check_output(["ls", "/proc/self/fd"]).split())
`, says: "[True, True, True]\n3 EBADF\n4 EBADF\nby the init 3 EACCES\nby the init 4 EACCES\ndescriptor 3 EPERM\ndescriptor 4 EPERM\n[b'0', b'1', b'2', b'3']\n"},
		{name: "what another call had", with: func(c *runner.Call) {
			c.Env, c.Stdin = append(c.Env, "SECRET="+callSecret), []byte(callSecret)
			c.Argv = append(c.Argv, callSecret)
		}, program: "print(len(sys.stdin.read()), os.environ['SECRET'] == sys.argv[1])\n", says: fmt.Sprintln(len(callSecret), "True"), check: func(t *testing.T, s *scene, _ ended) {
			call := s.call(search + fmt.Sprintf("print(search(%q), search(%q) > 0)\n", backwards(callSecret), backwards("KNOWN=to this call")))
			call.Env = append(call.Env, "KNOWN=to this call")
			if _, out := runnertest.Run(t, s.computer, call); out.Stdout.String() != "0 True\n" {
				t.Errorf("the next call found it in its memory: %q %s", out.Stdout.String(), out.Stderr.String())
			}
		}},
		{name: "the server's secrets in memory", program: search + fmt.Sprintf("print(search(%q))\n", backwards(hostSecret)), says: "0\n", check: noSecretsOfTheHost},
		{name: "memory that was another's", program: `
buf = ctypes.create_string_buffer(16 << 20)
print(buf.raw.count(0) == len(buf.raw))
import mmap
print(mmap.mmap(-1, 16 << 20).read().count(0) == 16 << 20)
with open("/tmp/sparse", "wb") as f: f.truncate(8 << 20)
print(open("/tmp/sparse", "rb").read().count(0) == 8 << 20)
os.unlink("/tmp/sparse")
`, says: "True\nTrue\nTrue\n"},
		{name: "the machine", program: `
print(socket.gethostname(), os.uname().nodename, open("/proc/sys/kernel/hostname").read().strip(), len(open("/proc/cmdline").read()) < 100)
for p in "/proc/1/cgroup", "/proc/self/mountinfo", "/proc/mounts", "/proc/self/maps", "/proc/version", "/proc/cmdline":
    text = open(p).read()
    if HOST["state"] in text or HOST["mark"] in text or "/tmp/" in text: print(p, text)
`, says: "computer computer computer True\n"},
	})
}

func backwards(s string) string {
	b := []byte(s)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
}

// noSecretsOfTheHost checks that no process of the sandboxes, nor the runner's, was given the server's environment, and that
// none of them has a descriptor of a file of the server's.
func noSecretsOfTheHost(t *testing.T, s *scene, _ ended) {
	t.Helper()
	if os.Getenv("SECRET_OF_THE_HOST") != hostSecret {
		t.Fatal("this process has no secret")
	}
	pids := hostProcesses(s.state)
	if len(pids) < 3 {
		t.Errorf("there are only the processes %v", pids)
	}
	for _, pid := range pids {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && bytes.Contains(b, []byte(hostSecret)) {
			t.Errorf("process %d has the server's environment", pid)
		}
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, fd := range fds {
			if to, _ := os.Readlink(fd); strings.HasPrefix(to, s.host.folder) {
				t.Errorf("process %d has %s open", pid, to)
			}
		}
	}
}
