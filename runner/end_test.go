package runner_test

import (
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// What a program wrote to files that it did not close is there after its end, whatever holds them; and its end is told as an interpreter of
// its own tells it.
func TestWrittenAtTheEnd(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{})
	const read = "import gzip, os\nfor n in sorted(os.listdir('/tmp')):\n    if n.endswith('.out'): print(n, open('/tmp/' + n).read())\n    if n.endswith('.gz'): print(n, gzip.open('/tmp/' + n, 'rt').read())\n"
	for name, src := range map[string]string{
		"a name":            "f = open('/tmp/a.out', 'w')\ndef main(): f.write('row')\nmain()\n",
		"an instance":       "class Log:\n    def __init__(self): self.f = open('/tmp/a.out', 'w')\n    def put(self, x): self.f.write(x)\nl = Log(); l.put('row')\n",
		"a class":           "class C:\n    f = open('/tmp/a.out', 'w')\nC.f.write('row')\n",
		"a cycle":           "class A: pass\na = A(); a.a = a; a.f = open('/tmp/a.out', 'w'); a.f.write('row')\n",
		"a writer":          "import csv\nw = csv.writer(open('/tmp/a.out', 'w'))\ndef main(): w.writerow(['row'])\nmain()\n",
		"a packed one":      "import gzip\ng = gzip.open('/tmp/a.gz', 'wt')\ndef main(): g.write('row')\nmain()\n",
		"a cache":           "import functools\n@functools.lru_cache\ndef f(): return open('/tmp/a.out', 'w')\nf().write('row')\n",
		"an exception":      "def main():\n    f = open('/tmp/a.out', 'w'); f.write('row')\n    raise ValueError\ntry: main()\nexcept ValueError as e: kept = e\n",
		"an uncaught one":   "f = open('/tmp/a.out', 'w')\ndef main():\n    f.write('row')\n    raise ValueError\nmain()\n",
		"another module":    "import os\nos.mine = open('/tmp/a.out', 'w')\ndef main(): os.mine.write('row')\nmain()\n",
		"a builtin":         "import builtins\nf = open('/tmp/a.out', 'w')\nbuiltins.print = lambda x: f.write(x)\nprint('row')\n",
		"a handler":         "import signal\nf = open('/tmp/a.out', 'w')\nsignal.signal(signal.SIGUSR1, lambda *_: f.write('x'))\nf.write('row')\n",
		"a context":         "import contextvars\nv = contextvars.ContextVar('v'); v.set(open('/tmp/a.out', 'w')); v.get().write('row')\n",
		"its own stdout":    "import sys\nf = open('/tmp/a.out', 'w'); f.write('row')\nout = open(sys.stdout.fileno(), 'w', closefd=False)\ndef main(): out.write('printed')\nmain()\n",
		"exit":              "import sys\nf = open('/tmp/a.out', 'w'); f.write('row')\ndef main(): sys.exit(7)\nmain()\n",
		"too large an exit": "import sys\nf = open('/tmp/a.out', 'w'); f.write('row')\nsys.exit(2 ** 70)\n",
		"an exit of -1":     "import sys\nf = open('/tmp/a.out', 'w'); f.write('row')\nsys.exit(-1)\n",
		"a destructor":      "f = open('/tmp/a.out', 'w'); f.write('row')\nclass A:\n    def __del__(self): print('gone')\na = A()\ndef main(): return a\n",
		"at exit":           "import atexit\nf = open('/tmp/a.out', 'w')\natexit.register(lambda: f.write('row'))\natexit.register(lambda: print('first'))\n",
	} {
		var ends [2]string
		for i, fresh := range []bool{true, false} {
			call := runnertest.Python(src)
			call.Fresh = fresh
			res, out := runnertest.Run(t, c, call)
			_, files := runnertest.Run(t, c, runnertest.Python(read))
			if !strings.Contains(files.Stdout.String(), "row") {
				t.Errorf("%s, fresh %t: the files are %q; %s", name, fresh, files.Stdout.String(), out.Stderr.String())
			}
			ends[i] = strings.Join([]string{string(res.Reason), res.Signal, string(rune('0' + res.ExitCode)), out.Stdout.String(), out.Stderr.String(), files.Stdout.String()}, "|")
			if _, err := c.Files(t.Context(), []runner.FileChange{{Op: runner.FileRemove, Path: "/tmp/a.out"}, {Op: runner.FileRemove, Path: "/tmp/a.gz"}}); err != nil {
				t.Fatal(err)
			}
		}
		if ends[0] != ends[1] {
			t.Errorf("%s: fresh %q, ahead %q", name, ends[0], ends[1])
		}
	}
}
