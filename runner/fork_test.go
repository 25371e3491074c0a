package runner_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// forkCases are programs that are known to mind whether their process was forked from another interpreter: what they print,
// and how they end, is the same in an interpreter of their own.
var forkCases = map[string]string{
	"threads at import":       "import workers\nprint(workers.result(), workers.thread.is_alive())\nworkers.stop()\nprint(workers.thread.is_alive())\n",
	"threads and fork":        "import threading, os, time\nstop = threading.Event()\nts = [threading.Thread(target=stop.wait) for _ in range(4)]\n[t.start() for t in ts]\npid = os.fork()\nif pid == 0:\n    print('child', threading.active_count(), threading.main_thread() is threading.current_thread(), flush=True)\n    os._exit(3)\nprint('parent', threading.active_count(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\nstop.set()\n",
	"thread names":            "import threading, _thread\nm = threading.main_thread()\nprint(m.name, m.ident == threading.get_ident(), m.native_id == threading.get_native_id(), m is threading.current_thread(), threading.active_count(), _thread._count(), threading.get_native_id() == __import__('os').getpid())\n",
	"daemon thread":           "import threading, time\ndef f():\n    while True: time.sleep(.01)\nthreading.Thread(target=f, daemon=True).start()\nprint('end')\n",
	"thread local":            "import threading\nl = threading.local()\nl.x = 1\nr = []\nt = threading.Thread(target=lambda: r.append(hasattr(l, 'x')))\nt.start(); t.join()\nprint(l.x, r)\n",
	"fork hooks":              "import os\nran = []\nos.register_at_fork(before=lambda: ran.append('before'), after_in_parent=lambda: ran.append('parent'), after_in_child=lambda: ran.append('child'))\nif os.fork() == 0:\n    print(ran, flush=True)\n    os._exit(0)\nos.wait()\nprint(ran)\n",
	"sqlite":                  "import sqlite3, threading\nd = sqlite3.connect('/tmp/x.db')\nd.execute('create table if not exists t(x)')\nd.execute('delete from t')\nd.executemany('insert into t values (?)', [(i,) for i in range(100)])\nd.commit()\nprint(d.execute('select sum(x), count(*) from t').fetchall(), sqlite3.sqlite_version, sqlite3.threadsafety)\n",
	"ctypes":                  "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nlibc.getpid.restype = ctypes.c_int\nimport os\nprint(libc.getpid() == os.getpid(), libc.open(b'/missing', 0), ctypes.get_errno())\nC = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))\na = (ctypes.c_int * 4)(4, 2, 3, 1)\nlibc.qsort(a, 4, 4, C(lambda x, y: x[0] - y[0]))\nprint(list(a), ctypes.pythonapi.Py_IsInitialized())\n",
	"compression":             "import zlib, lzma, bz2, gzip, zipfile, io\nd = bytes(range(256)) * 500\nfor m in zlib, lzma, bz2, gzip: print(m.__name__, m.decompress(m.compress(d)) == d, len(m.compress(d)) < len(d))\nb = io.BytesIO()\nwith zipfile.ZipFile(b, 'w', zipfile.ZIP_DEFLATED) as z: z.writestr('a', d)\nprint(zipfile.ZipFile(b).read('a') == d)\n",
	"decimal":                 "import decimal, fractions, statistics, threading\ndecimal.getcontext().prec = 50\nprint(decimal.Decimal(2).sqrt(), decimal.DefaultContext.prec)\nt = threading.Thread(target=lambda: print(decimal.getcontext().prec))\nt.start(); t.join()\nprint(statistics.stdev([1, 2, 4]), fractions.Fraction(1, 3))\n",
	"more extensions":         "import ssl, hashlib, hmac, zoneinfo, xml.etree.ElementTree as E, unicodedata, array, struct, mmap, readline, curses, _elementtree, pyexpat, audioop, select, termios, fcntl, grp, pwd, syslog, resource, cProfile, tracemalloc, faulthandler\nprint(hashlib.sha3_256(b'x').hexdigest(), hmac.digest(b'k', b'm', 'sha256').hex(), E.fromstring('<a><b/></a>')[0].tag, ssl.OPENSSL_VERSION)\nm = mmap.mmap(-1, 4096)\nm[:2] = b'hi'\nprint(m[:2], tracemalloc.is_tracing(), faulthandler.is_enabled())\n",
	"extensions that are not": "import importlib.util\nprint([(m, importlib.util.find_spec(m) is not None) for m in ('numpy', 'yaml', '_yaml', '_cffi_backend', 'cryptography')])\nimport numpy\nprint(numpy.arange(3).sum())\n",
	"pools":                   poolCase,
	"shared memory":           "from multiprocessing import shared_memory, Process, get_context, Queue, Lock, Value, Array, Manager\ndef f(name, v, q):\n    s = shared_memory.SharedMemory(name)\n    s.buf[0] = 7\n    s.close()\n    with v.get_lock(): v.value += 1\n    q.put(('a', 1))\nif __name__ == '__main__':\n    for k in 'fork', 'spawn', 'forkserver':\n        c = get_context(k)\n        s = shared_memory.SharedMemory(create=True, size=16)\n        v, q = c.Value('i', 4), c.Queue()\n        p = c.Process(target=f, args=(s.name, v, q)); p.start(); print(k, q.get()); p.join()\n        print(p.exitcode, s.buf[0], v.value)\n        s.close(); s.unlink()\n    with Manager() as m:\n        d = m.dict(a=1); print(d.copy())\n",
	"executors":               "import concurrent.futures as c, multiprocessing as m\ndef f(x): return x * x\ndef g(): raise ValueError('no')\nif __name__ == '__main__':\n    with c.ThreadPoolExecutor(3) as e: print(list(e.map(f, range(5))))\n    for k in 'fork', 'spawn', 'forkserver':\n        with c.ProcessPoolExecutor(2, mp_context=m.get_context(k)) as e:\n            print(k, list(e.map(f, range(5))), repr(e.submit(g).exception()))\n",
	"asyncio":                 "import asyncio, sys, signal\nasync def main():\n    p = await asyncio.create_subprocess_exec(sys.executable, '-c', 'print(input()); raise SystemExit(3)', stdin=-1, stdout=-1)\n    print(await p.communicate(b'x\\n'), p.returncode)\n    p = await asyncio.create_subprocess_shell('sleep 0.01; echo y', stdout=-1)\n    print(await p.communicate(), p.returncode)\n    loop = asyncio.get_running_loop()\n    got = loop.create_future()\n    loop.add_signal_handler(signal.SIGUSR1, got.set_result, 'usr1')\n    signal.raise_signal(signal.SIGUSR1)\n    print(await got, await asyncio.to_thread(lambda: 5), await asyncio.gather(*(asyncio.sleep(.001 * i, i) for i in range(3))))\n    r, w = await asyncio.open_connection(*(await serve()))\n    print(await r.read()); w.close()\nasync def serve():\n    async def hello(r, w): w.write(b'hello'); w.close()\n    s = await asyncio.start_server(hello, '127.0.0.1', 0)\n    return s.sockets[0].getsockname()\nasyncio.run(main())\n",
	"pickling of main":        "import pickle, copy, multiprocessing, __main__\nclass A:\n    def __init__(self, x): self.x = x\n    def __eq__(self, o): return self.x == o.x\ndef f(): return 1\nprint(A.__module__, pickle.loads(pickle.dumps(A(3))) == A(3), pickle.loads(pickle.dumps(f)) is f, copy.deepcopy(A(4)).x, __main__.f is f, b'__main__' in pickle.dumps(f))\n",
	"source":                  "import inspect, linecache, traceback, sys\nclass A:\n    def m(self):\n        return 'a method'\ndef f():\n    'a text'\n    return inspect.currentframe()\nprint(inspect.getsource(A), inspect.getsourcelines(f), inspect.getsourcefile(f), inspect.getfile(A), inspect.getmodule(f().f_code) , inspect.getdoc(f), linecache.getline(__file__, 1))\ntry: A.n\nexcept AttributeError: traceback.print_exc()\nprint([s.function for s in inspect.stack() if s.filename == __file__], sys.modules['__main__'].__spec__)\n",
	"runpy":                   "import runpy, sys, importlib\nprint(runpy.run_path('/workspace/scripts/helper.py')['X'], runpy.run_module('helper', run_name='x')['__name__'])\nimport helper\nprint(importlib.reload(helper) is helper, helper.__spec__.origin)\n",
	"warnings":                "import warnings, sys\nprint(warnings.filters, sys.warnoptions)\nwarnings.warn('a', DeprecationWarning)\nwarnings.warn('b', ResourceWarning)\ndef f(): warnings.warn('c', stacklevel=2)\nf(); f()\nassert (1, 'always true')\nprint('\\d')\n",
	"start-up":                "import sys, sysconfig, platform, os\nprint(sys.flags, sys.implementation.cache_tag, sys.version, sys.argv, sys.orig_argv, sys.platlibdir, sys.base_prefix, sys.exec_prefix, sys.pycache_prefix, sys.path_importer_cache.keys() - {p for p in sys.path_importer_cache if 'scripts' in p} != 0, sys.meta_path, sys.path_hooks[0].__name__, sys.getallocatedblocks() > 0, sys.get_asyncgen_hooks(), sys.gettrace(), sys.getprofile(), sys.displayhook is sys.__displayhook__, sys.excepthook is sys.__excepthook__, sys.unraisablehook is sys.__unraisablehook__, sys.breakpointhook is sys.__breakpointhook__, sys.int_info.default_max_str_digits, sys.get_int_max_str_digits(), sys.getfilesystemencodeerrors())\nprint(platform.python_implementation(), sysconfig.get_path('stdlib'), os.getcwd(), sys.stdin.encoding, hasattr(sys, 'ps1'), hasattr(sys, 'last_type'))\n",
	"collector":               "import gc\nprint(gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.callbacks)\nclass A:\n    def __del__(self): print('collected')\na = A(); a.a = a; del a\nprint(gc.collect() > 0)\n",
	"end of the interpreter":  "import atexit, threading, weakref, sys\natexit.register(print, 'first registered')\natexit.register(lambda: print('last registered', threading.main_thread().is_alive()))\nclass A:\n    def __del__(self): print('deleted', sys.is_finalizing())\na = A()\nweakref.finalize(a, print, 'finalized')\nt = threading.Thread(target=lambda: print('thread'))\nt.start()\ndef g():\n    try: yield 1\n    finally: print('generator')\nx = g(); next(x)\n",
	"exit in a handler":       "import atexit, sys\ndef f(): raise SystemExit(9)\natexit.register(f)\natexit.register(print, 'printed')\nprint(1)\n",
	"error at the end":        "import atexit\natexit.register(lambda: 1/0)\nprint(1)\n",
	"unraisable":              "class A:\n    def __del__(self): 1/0\nA()\nprint('on')\n",
	"signal handlers":         "import signal, os, time\nsignal.signal(signal.SIGCHLD, lambda *a: print('child', a[0]))\nif os.fork() == 0: os._exit(0)\nsignal.pause() if False else time.sleep(.05)\nos.wait()\nsignal.signal(signal.SIGALRM, lambda *a: print('alarm'))\nsignal.setitimer(signal.ITIMER_REAL, .01)\ntime.sleep(.1)\nprint(signal.getsignal(signal.SIGINT) is signal.default_int_handler, signal.getsignal(signal.SIGTERM), signal.set_wakeup_fd(-1))\ntry: signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt: print('interrupted')\nsignal.raise_signal(signal.SIGTERM)\n",
	"deep recursion":          "import sys\nsys.setrecursionlimit(20000)\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)\nprint(f(15000), sys.getrecursionlimit())\nimport threading\nthreading.stack_size(64 << 20)\ndef g(n): return sorted([n], key=lambda x: 0 if n == 0 else g(n - 1)) and n\nt = threading.Thread(target=lambda: print(g(3000)))\nt.start(); t.join()\nimport re, json\ntry: json.loads('[' * 100000)\nexcept RecursionError as e: print('too deep')\n",
	"overflow of the stack":   "import sys\nsys.setrecursionlimit(10**8)\ndef f(): return sorted([1], key=lambda x: f())\nprint('begins', flush=True)\nf()\n",
	"repr of repeats":         "import random, uuid, secrets, tempfile, os\nprint(len({random.random() for _ in range(100)}), uuid.uuid4().version, uuid.uuid1().version, len(secrets.token_hex(8)), os.path.dirname(tempfile.mktemp()))\nrandom.seed(1)\nprint(random.random(), random.Random(5).sample(range(100), 5), random.choices('abc', k=5))\n",
	"subinterpreters":         "import _xxsubinterpreters as s\ni = s.create()\ns.run_string(i, 'print(1, flush=True)')\ns.destroy(i)\n",
	"interactive":             "import code\nc = code.InteractiveConsole()\nc.push('x = 1'); c.push('x + 1')\nimport doctest\ndef f():\n    '''\n    >>> f()\n    2\n    '''\n    return 2\nprint(doctest.testmod())\nimport unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(f(), 2)\nprint(unittest.main(exit=False, argv=['x'], verbosity=0).result.wasSuccessful())\n",
	"exec of another":         "import os, sys\nsys.stdout.flush()\nos.execv(sys.executable, [sys.executable, '-c', 'import sys, signal, os; print(sys.argv, signal.getsignal(signal.SIGPIPE), len(os.listdir(\"/proc/self/fd\")))', 'x'])\n",
	"descriptors":             "import os, sys\nprint(sorted(int(f) for f in os.listdir('/proc/self/fd'))[:3], os.dup(0), os.open('/tmp', 0), [os.get_inheritable(f) for f in (0, 1, 2)], [os.get_blocking(f) for f in (0, 1, 2)], [os.fstat(f).st_mode >> 12 for f in (0, 1, 2)])\n",
	"own process":             "import os\nstatus = dict(l.split(':', 1) for l in open('/proc/self/status'))\nprint({k: status[k].split() for k in ('Uid', 'Gid', 'Groups', 'Threads', 'CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'NoNewPrivs', 'Seccomp') if k in status})\nprint(os.getpgid(0) == os.getpid(), os.getsid(0) == os.getpid(), os.getppid(), os.times().user < 5, os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0) == set(range(os.cpu_count())))\ntry: os.setpgid(0, 0)\nexcept OSError as e: print(e)\ntry: os.setsid()\nexcept OSError as e: print(e)\n",
}

const poolCase = `import multiprocessing as m, os, sys
class Point:
    def __init__(self, x): self.x = x
def init(v): global base; base = v
def f(p): return Point(p.x + base)
def name(_): return __name__, sys.modules["__main__"].__name__, m.current_process().name.split("-")[0], m.parent_process().name
if __name__ == "__main__":
    print(m.get_start_method(), m.get_all_start_methods(), m.current_process().name, m.parent_process())
    for k in m.get_all_start_methods():
        with m.get_context(k).Pool(2, init, (10,)) as p:
            print(k, [q.x for q in p.map(f, [Point(i) for i in range(4)])], p.apply(name, (0,)), sum(p.imap_unordered(len, ["a", "bc"])))
            try: p.apply(int, ("x",))
            except ValueError as e: print(type(e.__cause__).__name__, e)
`

const workersModule = `import threading, queue
jobs, done, ready = queue.Queue(), queue.Queue(), threading.Event()
def work():
    ready.set()
    for job in iter(jobs.get, None): done.put(job * 2)
thread = threading.Thread(target=work, name="at import")
thread.start()
ready.wait()
def result():
    jobs.put(21)
    return done.get()
def stop():
    jobs.put(None)
    thread.join()
`

// both runs a call in the process that was forked ahead, and in an interpreter of its own; where it ends or prints
// otherwise that is an error.
func both(t *testing.T, c runner.Computer, call runner.Call, norm func(string) string) {
	t.Helper()
	call.Fresh = false
	got, gotOut := runnertest.Run(t, c, call)
	call.Fresh = true
	want, wantOut := runnertest.Run(t, c, call)
	if got.ExitCode != want.ExitCode || got.Signal != want.Signal || got.Reason != want.Reason {
		t.Errorf("ended as %d %s %s, want %d %s %s", got.ExitCode, got.Signal, got.Reason, want.ExitCode, want.Signal, want.Reason)
	}
	for _, o := range []struct{ what, got, want string }{
		{"output", gotOut.Stdout.String(), wantOut.Stdout.String()}, {"errors", gotOut.Stderr.String(), wantOut.Stderr.String()},
	} {
		if g, w := norm(o.got), norm(o.want); g != w {
			t.Errorf("%s\n%s\nwant\n%s", o.what, g, w)
		}
	}
	if testing.Verbose() {
		t.Logf("%d %s\n%s%s", want.ExitCode, want.Signal, wantOut.Stdout.String(), wantOut.Stderr.String())
	}
}

var addresses = regexp.MustCompile(`0x[0-9a-f]+|in [0-9.]+s`)

// withoutAddresses is a text without what differs between any two processes: addresses, and how long tests took.
func withoutAddresses(s string) string { return addresses.ReplaceAllString(s, "0x") }

// Programs that break when they are forked from another interpreter do not break here.
func TestForkedLikeAnInterpreterOfItsOwn(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{})
	for name, src := range forkCases {
		t.Run(name, func(t *testing.T) {
			call := runnertest.Python("")
			call.Argv = []string{"python3", "scripts/prog.py", "a"}
			call.Env = runnertest.Env("PYTHONPATH=/workspace/packages")
			write := func(path, content string) runner.FileChange {
				return runner.FileChange{Op: runner.FileWrite, Path: "/workspace/scripts/" + path, Mode: 0o444, Content: []byte(content)}
			}
			call.Files = []runner.FileChange{{Op: runner.FileMkdir, Path: "/workspace/scripts", Mode: 0o1777},
				write("prog.py", src), write("helper.py", "X = 1\n"), write("workers.py", workersModule)}
			both(t, c, call, withoutAddresses)
		})
	}
}

const draws = `import random, uuid, secrets, tempfile, os, threading, hashlib, ssl, numbers
print(random.random(), random.getrandbits(64))
print(random.SystemRandom().random())
print(uuid.uuid4())
print(uuid.uuid1())
print(secrets.token_hex(16))
print(os.urandom(16).hex())
print(next(tempfile._get_candidate_names()))
print(tempfile.mktemp())
print(ssl.RAND_bytes(16).hex())
print(uuid.getnode())
import multiprocessing.connection, email.utils, http.cookiejar
print(multiprocessing.current_process().authkey.hex())
print(email.utils.make_msgid())
import email.generator
print(email.generator._make_boundary())
`

// No two calls draw the same numbers, names or keys: not on one computer, not on two, nor do children that a call forks.
func TestNothingIsDrawnTwice(t *testing.T) {
	t.Parallel()
	p, _ := newProcess(t)
	seen := map[string]string{}
	for i := range 2 {
		c := runnertest.Start(t, p, runner.Spec{})
		for j := range 4 {
			call := runnertest.Python(draws)
			call.Fresh = j == 3
			res, out := runnertest.Run(t, c, call)
			if res.ExitCode != 0 {
				t.Fatalf("%s", out.Stderr.String())
			}
			for k, line := range strings.Split(strings.TrimSpace(out.Stdout.String()), "\n") {
				where := fmt.Sprintf("computer %d, call %d, line %d", i, j, k)
				if before, ok := seen[line]; ok {
					t.Errorf("%s: %s was drawn before: %s", where, line, before)
				}
				seen[line] = where
			}
		}
	}
}

// The seed of Python's hashes is a computer's, as it is an interpreter's: calls that run in its fork share it, what asks for
// an interpreter of its own, or runs on another computer, has another one.
func TestHashSeeds(t *testing.T) {
	t.Parallel()
	p, _ := newProcess(t)
	hash := func(c runner.Computer, fresh bool, env ...string) string {
		call := runnertest.Python("print(hash('a'), hash(b'a'))")
		call.Fresh, call.Env = fresh, append(call.Env, env...)
		_, out := runnertest.Run(t, c, call)
		return out.Stdout.String()
	}
	a, b := runnertest.Start(t, p, runner.Spec{}), runnertest.Start(t, p, runner.Spec{})
	forked, again := hash(a, false), hash(a, false)
	if forked != again {
		t.Errorf("two forks of one interpreter: %s and %s", forked, again)
	}
	all := map[string]bool{forked: true}
	for _, h := range []string{hash(a, true), hash(a, true), hash(b, false), hash(b, true)} {
		if all[h] {
			t.Errorf("the seed of %s is used twice", h)
		}
		all[h] = true
	}
	fixed := hash(a, false, "PYTHONHASHSEED=1")
	if fixed != hash(b, false, "PYTHONHASHSEED=1") || all[fixed] {
		t.Errorf("a seed that is asked for: %s", fixed)
	}
}

// TestThreads: a program may have nearly as many threads as processes.
func TestThreads(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{})
	res, out := runnertest.Run(t, c, runnertest.Python("import threading\ne = threading.Event()\nfor i in range(55): threading.Thread(target=e.wait).start()\nprint(threading.active_count())\ne.set()\n"))
	if out.Stdout.String() != "56\n" || res.ExitCode != 0 {
		t.Errorf("%+v %s%s", res, out.Stdout.String(), out.Stderr.String())
	}
}
