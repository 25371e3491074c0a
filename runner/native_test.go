package runner_test

import (
	"regexp"
	"testing"

	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// A program in the init's child cannot tell itself from one in an interpreter that was started for it: each source is
// run both ways, and output, errors and exit code are the same.
func TestLikeAnInterpreterOfItsOwn(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{})
	for name, src := range map[string]string{
		"empty":             "",
		"traceback":         "def f(n):\n    return g(n)\ndef g(n): return 1 / n\n\nf(0)\n",
		"chained":           "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('ü') from e\n",
		"syntax":            "x = 1\ndef f(:\n  pass\n",
		"tabs":              "if 1:\n\tx = 1\n        y = 2\n",
		"encoding":          "# -*- coding: latin-1 -*-\nprint('\xe9'.encode())\n",
		"bom":               "\ufeffprint('bom')\n",
		"exit text":         "import sys\nprint('a')\nsys.exit('sörry')\n",
		"exit big":          "import sys\nsys.exit(256 + 7)\n",
		"exit negative":     "import sys\nsys.exit(-1)\n",
		"exit object":       "import sys\nsys.exit((1, 2))\n",
		"exit in function":  "def f(): raise SystemExit(4)\nf()\n",
		"interrupt":         "import atexit\natexit.register(print, 'at exit')\nraise KeyboardInterrupt\n",
		"excepthook":        "import sys\nsys.excepthook = lambda *a: print('hook', a[0].__name__, a[1], a[2].tb_lineno)\n1/0\n",
		"excepthook broken": "import sys\ndef h(*a): raise RuntimeError('hook')\nsys.excepthook = h\n1/0\n",
		"thread error":      "import threading\nt = threading.Thread(target=lambda: 1/0, name='T')\nt.start(); t.join()\nprint('on')\n",
		"thread at the end": "import threading, time\ndef f():\n    time.sleep(.05)\n    print('late')\nthreading.Thread(target=f).start()\nprint('main')\n",
		"atexit":            "import atexit\natexit.register(print, 'bye')\nraise ValueError\n",
		"del":               "class A:\n    def __del__(self): print('del')\na = A()\n",
		"path":              "import sys, os\nprint(sys.path, sys.argv, sys.orig_argv, __file__, os.getcwd(), sys.executable, sys.prefix)\n",
		"main":              "import sys\nprint(sorted(globals()), __name__, __doc__, __spec__, __package__, __cached__, __annotations__, type(__loader__), __builtins__)\nimport __main__\nprint(__main__.__file__, sys.modules['__main__'] is __main__, vars(__main__) is globals())\n",
		"doc":               "'''A text.'''\nprint(__doc__)\nx: int = 1\nprint(__annotations__)\n",
		"flags":             "import sys, site\nprint(sys.flags, sys.dont_write_bytecode, site.ENABLE_USER_SITE, site.USER_SITE, sys.warnoptions, sys._xoptions, sys.getrecursionlimit(), sys.getswitchinterval())\n",
		"streams":           "import sys\nfor f in sys.stdin, sys.stdout, sys.stderr: print(f.name, f.mode, f.encoding, f.errors, f.line_buffering, f.isatty(), f.seekable(), f.readable(), f.writable(), f.newlines, f.fileno(), type(f).__name__, type(f.buffer).__name__, f is getattr(sys, '__' + f.name[1:-1] + '__'))\nprint(sys.stdout.write_through)\n",
		"stdin":             "import sys\nprint(repr(sys.stdin.readline()), [l for l in sys.stdin], sys.stdin.buffer.read())\n",
		"input":             "print(input('? '))\nprint(input())\n",
		"surrogates":        "import sys\nprint(sys.argv[1:], sys.getfilesystemencoding(), sys.getdefaultencoding())\nprint('\\udcff')\n",
		"not encodable":     "import sys\nprint('\\ud800')\n",
		"signals":           "import signal\nprint([(s.name, signal.getsignal(s)) for s in sorted(signal.valid_signals()) if hasattr(s, 'name') and signal.getsignal(s) not in (signal.SIG_DFL, None)], signal.pthread_sigmask(signal.SIG_BLOCK, []))\n",
		"process":           "import os, resource\nprint(os.getpgrp() == os.getpid(), os.getsid(0) == os.getpid(), oct(os.umask(0)), sorted(map(int, os.listdir('/proc/self/fd')))[:3], len(os.listdir('/proc/self/fd')))\nprint([resource.getrlimit(r) for r in range(10)], os.nice(0), os.getresuid(), os.getresgid(), os.getgroups())\n",
		"locale":            "import locale, time, os\nprint(locale.setlocale(locale.LC_ALL), locale.getlocale(), time.tzname, time.timezone, time.localtime(0).tm_hour)\n",
		"environ":           "import os, ctypes\nprint(sorted(os.environ), os.getenv('A'), os.environb[b'A'])\nlibc = ctypes.CDLL(None)\nlibc.getenv.restype = ctypes.c_char_p\nprint(libc.getenv(b'A'), libc.getenv(b'HOME'))\n",
		"children":          "import subprocess, sys\nprint(subprocess.run(['sh', '-c', 'env | sort; exit 3']).returncode)\nprint(subprocess.check_output([sys.executable, '-c', 'import sys; print(sys.path, sys.flags)']))\nprint(subprocess.run('true | sleep 0', shell=True).returncode)\n",
		"sigpipe":           "import subprocess\nprint(subprocess.run(['sh', '-c', 'yes | head -1']).returncode, subprocess.run(['bash', '-c', 'yes | head -1 > /dev/null; echo ${PIPESTATUS[0]}'], capture_output=True).stdout)\n",
		"multiprocessing":   "import multiprocessing as m\ndef f(x): return x * x\nif __name__ == '__main__':\n    for k in 'fork', 'spawn':\n        with m.get_context(k).Pool(2) as p: print(p.map(f, range(5)))\n",
		"inspect":           "import inspect, sys\ndef f(): return 1\nprint(inspect.getsource(f), inspect.getmodule(f).__name__, sys._getframe().f_code.co_name, sys._getframe().f_code.co_filename)\n",
		"warning":           "import warnings\nwarnings.warn('careful')\nimport logging\nlogging.warning('logged')\n",
		"recursion":         "import sys\ndef f(n): return f(n + 1)\ntry: f(0)\nexcept RecursionError as e: print(e)\n",
		"sibling":           "import helper\nprint(helper.__file__, helper.X)\nhelper.fail()\n",
		"installed":         "import json, csv, sqlite3, decimal, asyncio, ssl, uuid, zoneinfo\nprint(json.dumps({'a': decimal.Decimal(1) > 0}), asyncio.run(asyncio.sleep(0, 'x')))\n",
		"os._exit":          "import os, sys\nsys.stdout.write('x')\nos._exit(9)\n",
		"closed stdout":     "import os\nos.close(1)\nprint('x')\n",
		"pickle":            "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))))\n",
		"dataclass":         "from __future__ import annotations\nimport dataclasses, typing\n@dataclasses.dataclass\nclass P:\n    x: int\nprint(P(1), typing.get_type_hints(P))\n",
		"stack":             "import traceback\ndef f(): traceback.print_stack(limit=-2 if 0 else 1)\nf()\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := c.Files(t.Context(), []runner.FileChange{
				{Op: runner.FileWrite, Path: "/workspace/scripts/helper.py", Mode: 0o444, Content: []byte("X = 1\ndef fail(): raise OSError(2, 'no')\n")},
				{Op: runner.FileMkdir, Path: "/workspace/scripts", Mode: 0o1777}, {Op: runner.FileRemove, Path: "/workspace/scripts/__pycache__"}}); err != nil {
				t.Fatal(err)
			}
			call := runnertest.Python("")
			call.Argv = []string{"python3", "scripts/prog.py", "a", "ü", "\xff"}
			call.Files = []runner.FileChange{{Op: runner.FileWrite, Path: "/workspace/scripts/prog.py", Mode: 0o444, Content: []byte(src)}}
			call.Stdin = []byte("one\ntwö\nthree")
			call.Env = runnertest.Env("A=ü=1", "PYTHONPATH=/workspace/packages:relative:/usr/lib/python3/dist-packages")
			got, gotOut := runnertest.Run(t, c, call)
			call.Fresh = true
			want, wantOut := runnertest.Run(t, c, call)
			norm := func(b []byte) string {
				return regexp.MustCompile(`0x[0-9a-f]+`).ReplaceAllString(string(b), "0x")
			}
			if got.ExitCode != want.ExitCode || got.Signal != want.Signal {
				t.Errorf("ended as %d %s, want %d %s", got.ExitCode, got.Signal, want.ExitCode, want.Signal)
			}
			if g, w := norm(gotOut.Stdout.Bytes()), norm(wantOut.Stdout.Bytes()); g != w {
				t.Errorf("output\n%s\nwant\n%s", g, w)
			}
			if g, w := norm(gotOut.Stderr.Bytes()), norm(wantOut.Stderr.Bytes()); g != w {
				t.Errorf("errors\n%s\nwant\n%s", g, w)
			}
		})
	}
}
