package runner_test

import (
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
)

// Time: a call that does not end by itself is ended, also where it never comes back to the interpreter.
func TestContainTime(t *testing.T) {
	t.Parallel()
	// The wall time of a call that does not mind TERM is its timeout and a second; the rest is a busy machine's.
	killed := ending{reason: runner.ReasonTimeout, signal: "SIGKILL", leftOver: -1, most: 6 * time.Second}
	ended := ending{reason: runner.ReasonTimeout, signal: "SIGTERM", leftOver: -1, most: 4 * time.Second}
	const short = 300 * time.Millisecond
	deaf := "signal.signal(signal.SIGTERM, lambda *_: print('heard'))\nprint('up')\n" // Python's handler waits for native code to come back
	contain(t, 3, runner.Spec{}, []attempt{
		{name: "sleep", timeout: short, program: "time.sleep(1000)", ends: ended},
		{name: "sleep in native code", timeout: short, program: "ctypes.PyDLL(None).sleep(1000)", ends: ended},
		{name: "sleep in native code that holds every signal", timeout: short, ends: killed, program: `
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
print("up")
ctypes.PyDLL(None).sleep(1000)
`, says: "up\n"},
		{name: "a read that nothing comes to", timeout: short, program: deaf + "r, w = os.pipe()\nos.read(r, 1)", ends: killed, says: "up\nheard\n"},
		{name: "a lock for ever", timeout: short, program: "l = threading.Lock()\nl.acquire()\nl.acquire()", ends: ended},
		{name: "a busy loop", timeout: short, program: "while True: pass", ends: ended},
		{name: "a busy loop in native code", timeout: short, program: deaf + "import collections, itertools\ncollections.deque(itertools.count(), 0)", ends: killed, says: "up\n"},
		{name: "one large sum in native code", timeout: short, program: deaf + "pow(3, 3 ** 20)", ends: killed, says: "up\nheard\n"},
		{name: "a pattern without end", timeout: short, program: deaf + `import re; re.match(r"(a|a)*b", "a" * 60)`, ends: killed, says: "up\nheard\n"},
		{name: "a key derivation in native code", timeout: short, program: deaf + "import hashlib\nhashlib.pbkdf2_hmac('sha256', b'', b'', (1 << 31) - 1)", ends: killed, says: "up\n"},
		{name: "a native sleep in a child, too", timeout: short, ends: killed, program: `
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up")
if os.fork() == 0: os.setsid()
ctypes.PyDLL(None).sleep(1000)
`, says: "up\n"},
		{name: "another interpreter that does not end", timeout: short, with: func(c *runner.Call) {
			c.Argv = []string{"python3", "-s", "main.py"}
		}, program: "ctypes.PyDLL(None).sleep(1000)", ends: ended},
		{name: "a program that is not Python", timeout: short, with: func(c *runner.Call) {
			c.Argv = []string{"sh", "-c", "trap '' TERM; echo up; while :; do :; done"}
		}, ends: killed, says: "up\n"},
		{name: "an exit that does not come to its end", timeout: short, program: deaf + "import atexit\natexit.register(lambda: [time.sleep(1) for _ in iter(int, 1)])", ends: killed, says: "up\nheard\n"},
		{name: "the clock", program: `
tries("set", time.clock_settime, time.CLOCK_REALTIME, 0)
tries("alarm", signal.setitimer, signal.ITIMER_REAL, 1000)
tries("real time", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50)))
`, says: "set EPERM\nalarm (0.0, 0.0)\nreal time EINVAL\n"},
	})
}
