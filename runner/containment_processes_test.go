package runner_test

import (
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
)

// Processes: whatever a program starts ends with its call, and nothing of it touches the init.
func TestContainProcesses(t *testing.T) {
	t.Parallel()
	contain(t, 2, runner.Spec{Processes: 64}, []attempt{
		{name: "a fork bomb", timeout: time.Second, program: `
print("up")
while True:
    try: os.fork()
    except OSError: pass
`, says: "up\n", ends: ending{reason: runner.ReasonTimeout, signal: "SIGTERM or SIGKILL", leftOver: -1, most: 8 * time.Second}},
		{name: "a fork bomb that takes no signal", timeout: time.Second, program: `
for s in signal.SIGTERM, signal.SIGHUP, signal.SIGINT: signal.signal(s, signal.SIG_IGN)
print("up")
while True:
    try:
        if os.fork() == 0: os.setsid()
    except OSError: pass
`, says: "up\n", ends: ending{reason: runner.ReasonTimeout, signal: "SIGKILL", leftOver: -1, most: 8 * time.Second}},
		{name: "a fork bomb in user namespaces", timeout: time.Second, program: `
print("up", flush=True)
as_root_of_its_own('''
while True:
    try: os.fork()
    except OSError: pass
    try: unshare(USER)
    except OSError: pass
''')
`, says: "up\n", ends: ending{reason: runner.ReasonTimeout, signal: "SIGTERM", leftOver: -1, most: 8 * time.Second}},
		// Without the limit of its address space, near which a thread may fail as it begins: then Python waits for it for ever.
		{name: "threads without end", program: `
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
most = 0
try:
    while True:
        threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
        most += 1
except RuntimeError as e: print(e, most <= 64)
os._exit(0)
`, says: "can't start new thread True\n"},
		{name: "a double fork", program: `
if os.fork() == 0:
    if os.fork() == 0: time.sleep(1000)
    os._exit(0)
os.wait()
print("parent")
`, says: "parent\n", ends: ending{leftOver: 1, most: 5 * time.Second}},
		{name: "a daemon with a session of its own", program: `
r, w = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.write(w, b"x")
        os.execvp("sh", ["sh", "-c", "sleep 1000; : " + HOST["mark"]])
    os._exit(0)
os.read(r, 1)
print("parent")
`, says: "parent\n", ends: ending{leftOver: -1, most: 5 * time.Second}},
		{name: "SIGTERM ignored by the program and what it started", timeout: 700 * time.Millisecond, program: `
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        print("up")
    while True: time.sleep(1)
while True: time.sleep(1)
`, says: "up\n", ends: ending{reason: runner.ReasonTimeout, signal: "SIGKILL", leftOver: -1, most: 5 * time.Second}},
		{name: "SIGTERM that is answered", timeout: 500 * time.Millisecond, program: `
def tidy(*_):
    print("tidied")
    sys.exit(7)
signal.signal(signal.SIGTERM, tidy)
print("up")
while True: time.sleep(1)
`, says: "up\ntidied\n", ends: ending{reason: runner.ReasonTimeout, exitCode: 7, most: 5 * time.Second}},
		{name: "a stopped process", timeout: 500 * time.Millisecond, program: `
print("up", flush=True)
if os.fork() == 0: os.kill(os.getpid(), signal.SIGSTOP)
os.kill(os.getpid(), signal.SIGSTOP)
`, says: "up\n", ends: ending{reason: runner.ReasonTimeout, signal: "SIGKILL", leftOver: -1, most: 6 * time.Second}},
		{name: "tracing the init", program: `
for n, r in (("attach", 16), ("seize", 0x4206), ("read", 2), ("write", 5), ("kill", 8)): tries(n, system, "ptrace", r, 1, 0, 0)
tries("its parent", system, "ptrace", 16, os.getppid(), 0, 0)
tries("memory", memory, 1, id(b"x"), 8)
tries("descriptor", lambda: system("syscall", 438, os.pidfd_open(1), 3, 0))
`, says: "attach EPERM\nseize EPERM\nread ESRCH\nwrite ESRCH\nkill ESRCH\nits parent EPERM\nmemory EPERM\ndescriptor EPERM\n"},
		{name: "signals to the init", program: `
for s in signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGCHLD, signal.SIGSEGV, 0: tries(s, os.kill, 1, s)
tries("a group", os.killpg, 1, 9)
tries("by a descriptor", lambda: signal.pidfd_send_signal(os.pidfd_open(1), 9))
tries("queued", lambda: system("sigqueue", 1, 9, None))
tries("its limits", resource.prlimit, 1, resource.RLIMIT_NOFILE, (3, 3))
tries("its priority", os.setpriority, os.PRIO_PROCESS, 1, 19)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
tries("all", os.kill, -1, signal.SIGTERM)
`, says: "9 EPERM\n15 EPERM\n19 EPERM\n17 EPERM\n11 EPERM\n0 EPERM\na group ESRCH\nby a descriptor EPERM\nqueued EPERM\nits limits EPERM\nits priority EPERM\nall ESRCH\n"},
		{name: "processes of the host", program: `
print(HOST["pid"] in [int(p) for p in os.listdir("/proc") if p.isdigit()])
tries("kill", os.kill, HOST["pid"], 9)
`, says: "False\nkill ESRCH\n"},
		{name: "a child that holds stdout", program: `
if os.fork() == 0:
    os.setsid()
    time.sleep(1000)
print("parent")
`, says: "parent\n", ends: ending{leftOver: 1, most: 5 * time.Second}},
		{name: "a child that holds stdout and fills it", program: `
if os.fork() == 0:
    os.setsid()
    os.close(0); os.close(2)
    while True: os.write(1, bytes(1))
print("parent")
os.close(1)
`, ends: ending{leftOver: 1, most: 5 * time.Second}, says: "*"},
		{name: "sockets that nobody can close, which hold the streams", says: "sent\n", ends: ending{most: 3 * time.Second}, check: isGone, program: `
import array
a, b = socket.socketpair()
for s, fds in (a, [b, a]), (b, [a, b]):
    s.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [f.fileno() for f in fds] + [1, 2]))])
print("sent")
`},
		{name: "sockets that nobody can close, which hold a name and memory", says: "sent\n", ends: ending{most: 3 * time.Second}, check: isGone, program: `
import array
a = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); a.bind("\0held")
m = os.memfd_create("held"); os.truncate(m, 1 << 20)
b = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); b.connect("\0held")
b.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [a.fileno(), m]))])
print("sent")
`},
		{name: "sockets as programs have them", says: "{'x'}\n", program: `
import array
pairs = [socket.socketpair() for _ in range(50)]
for i, (a, b) in enumerate(pairs):
    a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [pairs[i - 1][0].fileno() if i else 0]))])
listener = socket.socket(socket.AF_UNIX); listener.bind("/tmp/socket"); listener.listen()
client = socket.socket(socket.AF_UNIX); client.connect("/tmp/socket")
os.unlink("/tmp/socket")
print({b.recv(1).decode() for a, b in pairs})
`},
		{name: "500 zombies", program: `
made = 0
for i in range(500):
    try:
        if os.fork() == 0: os._exit(0)
        made += 1
    except BlockingIOError: pass
print(made <= 64)
`, says: "True\n", ends: ending{leftOver: 0, most: 30 * time.Second}},
		{name: "500 orphans", program: `
print(subprocess.run(["sh", "-c", "i=0; while [ $i -lt 500 ]; do (: &); i=$((i + 1)); done"]).returncode)
`, says: "0\n", ends: ending{leftOver: -1, most: 30 * time.Second}},
	})
}
