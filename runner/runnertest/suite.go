package runnertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
)

// Env is an environment as a server gives it, plus more.
func Env(more ...string) []string {
	return append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/workspace", "LANG=C.UTF-8", "TZ=UTC",
		"PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1"}, more...)
}

// Python is a call of a source, which is put at /workspace/main.py as a managed file.
func Python(source string) runner.Call {
	return runner.Call{
		ID: "test", Argv: []string{"python3", "main.py"}, Env: Env(), Dir: "/workspace", Timeout: time.Minute,
		Files: []runner.FileChange{{Op: runner.FileWrite, Path: "/workspace/main.py", Mode: 0o444, Content: []byte(source)}},
	}
}

// Output is a Sink that keeps everything.
type Output struct {
	Stdout, Stderr bytes.Buffer
	// Each is called with every chunk, where it is set.
	Each func(s runner.Stream, p []byte) error
}

// Write implements runner.Sink.
func (o *Output) Write(s runner.Stream, p []byte) error {
	if s == runner.Stderr {
		o.Stderr.Write(p)
	} else {
		o.Stdout.Write(p)
	}
	if o.Each != nil {
		return o.Each(s, p)
	}
	return nil
}

var ids atomic.Int64

// Start makes a computer that is closed when the test ends.
func Start(t testing.TB, r runner.Runner, spec runner.Spec) runner.Computer {
	t.Helper()
	if spec.ID == "" {
		spec.ID = fmt.Sprintf("test_%d", ids.Add(1))
	}
	c, err := r.Start(t.Context(), spec)
	if err != nil {
		t.Fatalf("no computer: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Errorf("closing the computer: %v", err)
		}
	})
	return c
}

// Run runs a call to its end and keeps its output.
func Run(t testing.TB, c runner.Computer, call runner.Call) (runner.Result, *Output) {
	t.Helper()
	out := &Output{}
	res, err := c.Call(t.Context(), call, out)
	if err != nil {
		t.Fatalf("the call failed: %v\n%s%s", err, out.Stdout.String(), out.Stderr.String())
	}
	return res, out
}

// Suite is what every runner.Runner does alike. newRunner makes one that is closed when the test ends. The programs
// are Python, with `#fake:` lines that mean the same.
func Suite(t *testing.T, newRunner func(t *testing.T) runner.Runner) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(t *testing.T, r runner.Runner)
	}{
		{"check", suiteCheck}, {"output and exit code", suiteOutput}, {"what a program is given", suiteGiven}, {"a fresh interpreter", suiteFresh}, {"node", suiteNode},
		{"exit 137 is no signal", suiteSignal}, {"files", suiteFiles}, {"reading out", suiteRead}, {"whether a call made something", suiteMade}, {"a package", suitePackage}, {"a damaged package", suitePackageDamaged}, {"packages that are none", suitePackageInvalid}, {"prune", suitePrune}, {"managed files hold", suiteManaged},
		{"timeout", suiteTimeout}, {"cancel", suiteCancel}, {"cancelled before", suiteCancelledBefore}, {"a sink that fails", suiteSink},
		{"one at a time", suiteTurns}, {"closed", suiteClosed}, {"invalid requests", suiteInvalid}, {"two computers share nothing", suiteApart},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, newRunner(t))
		})
	}
}

func suiteCheck(t *testing.T, r runner.Runner) {
	rep, err := r.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if rep.Gvisor == "" || rep.Platform == "" || !strings.HasPrefix(rep.Digest, "sha256:") || len(rep.Digest) != 71 || len(rep.Runtimes) == 0 || rep.MemoryLimit == "" {
		t.Errorf("an incomplete report: %+v", rep)
	}
}

func suiteOutput(t *testing.T, r runner.Runner) {
	c := Start(t, r, runner.Spec{})
	for i, code := range []int{0, 3, 255} {
		res, out := Run(t, c, Python(fmt.Sprintf("import sys\nprint('héllo')\nprint('oh', file=sys.stderr)\nsys.exit(%d)\n#fake: out héllo\n#fake: err oh\n#fake: exit %[1]d\n", code)))
		if res.ExitCode != code || res.Reason != runner.ReasonExit || res.Signal != "" || res.LeftOver != 0 {
			t.Errorf("call %d: %+v", i, res)
		}
		if out.Stdout.String() != "héllo\n" || out.Stderr.String() != "oh\n" {
			t.Errorf("call %d: %q %q", i, out.Stdout.String(), out.Stderr.String())
		}
	}
}

func suiteGiven(t *testing.T, r runner.Runner) {
	c := Start(t, r, runner.Spec{})
	call := Python("import sys, os\nprint('\\n'.join(['python3'] + sys.argv))\nprint(os.environ['X'])\nprint(os.environ.get('Y', '(unset)'))\nsys.stdout.write(sys.stdin.read())\n" +
		"#fake: argv\n#fake: env X\n#fake: env Y\n#fake: stdin\n")
	call.Argv = append(call.Argv, "one", "--two=ü", "")
	call.Env = append(call.Env, "X=a=b c")
	call.Stdin = []byte(`{"b": 1, "a": "ü"}`)
	_, out := Run(t, c, call)
	if want := "python3\nmain.py\none\n--two=ü\n\na=b c\n(unset)\n{\"b\": 1, \"a\": \"ü\"}"; out.Stdout.String() != want {
		t.Errorf("got %q (%s), want %q", out.Stdout.String(), out.Stderr.String(), want)
	}
}

// A fresh interpreter is given what another one is; what comes before it and after it does not matter.
func suiteFresh(t *testing.T, r runner.Runner) {
	c := Start(t, r, runner.Spec{})
	for i, fresh := range []bool{true, false, true} {
		call := Python("import sys, os\nprint(sys.argv[1], os.environ['X'], sys.stdin.read())\nsys.exit(4)\n#fake: out one a two\n#fake: exit 4\n")
		call.Argv, call.Env, call.Stdin, call.Fresh = append(call.Argv, "one"), append(call.Env, "X=a"), []byte("two"), fresh
		if res, out := Run(t, c, call); res.ExitCode != 4 || out.Stdout.String() != "one a two\n" {
			t.Errorf("call %d: %+v %q %s", i, res, out.Stdout.String(), out.Stderr.String())
		}
	}
}

// Programs of Node's run where the report names it, and are not found elsewhere: the first one, those that follow, and fresh ones.
func suiteNode(t *testing.T, r runner.Runner) {
	rep, err := r.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	there := slices.ContainsFunc(rep.Runtimes, func(s string) bool { return strings.HasPrefix(s, "node ") })
	c := Start(t, r, runner.Spec{})
	for i, fresh := range []bool{false, false, true, false} {
		call := Python("")
		call.Argv, call.Fresh, call.Stdin = []string{"node", "main.js", "one"}, fresh, []byte("in")
		call.Files[0].Path, call.Files[0].Content = "/workspace/main.js", []byte(
			"process.stdout.write(process.argv.slice(2).join() + process.env.HOME + '\\n' + require('fs').readFileSync(0, 'utf8') + '\\n')\n"+
				"console.error('oh')\nprocess.exitCode = 3\n//#fake: out one/workspace\n//#fake: stdin\n//#fake: out\n//#fake: err oh\n//#fake: exit 3\n")
		want, wantErr, code := "one/workspace\nin\n", "oh\n", 3
		if !there {
			want, wantErr, code = "", "node: not found\n", 127
		}
		res, out := Run(t, c, call)
		if res.ExitCode != code || res.Reason != runner.ReasonExit || out.Stdout.String() != want || out.Stderr.String() != wantErr {
			t.Errorf("call %d: %+v %q %q", i, res, out.Stdout.String(), out.Stderr.String())
		}
	}
}

func suiteSignal(t *testing.T, r runner.Runner) {
	c := Start(t, r, runner.Spec{})
	for _, k := range []struct {
		src, signal string
		reason      runner.Reason
	}{
		{"import os\nos.kill(os.getpid(), 9)\n#fake: signal SIGKILL\n", "SIGKILL", runner.ReasonSignal},
		{"import sys\nsys.exit(137)\n#fake: exit 137\n", "", runner.ReasonExit},
	} {
		res, _ := Run(t, c, Python(k.src))
		if res.ExitCode != 137 || res.Signal != k.signal || res.Reason != k.reason {
			t.Errorf("%q: %+v", k.src, res)
		}
	}
}

// What is read out: entries in order, contents within bounds, links and what is no file untouched.
// suiteMade: a call's end says whether anything is in its folder of outputs.
func suiteMade(t *testing.T, r runner.Runner) {
	c := Start(t, r, runner.Spec{})
	for i, made := range []bool{false, true, false} {
		own := fmt.Sprintf("%s/call_%d", runner.Calls, i)
		source := "#fake: out x\nprint('x')\n"
		if made {
			source = "#fake: write " + own + "/outputs/x x\nopen('" + own + "/outputs/x', 'w').write('x')\n"
		}
		call := runner.Call{
			Argv: []string{"python3", own + "/main.py"}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/workspace", Outputs: own + "/outputs",
			Files: []runner.FileChange{
				{Op: runner.FileWrite, Path: own + "/main.py", Mode: 0o444, Content: []byte(source)},
				{Op: runner.FileMkdir, Path: own + "/outputs", Mode: 0o755, UID: runner.ScriptUser, GID: runner.ScriptUser},
			},
		}
		if res, out := Run(t, c, call); res.Made != made || res.ExitCode != 0 {
			t.Errorf("%+v %s", res, out.Stderr.String())
		}
		call.Outputs = ""
		if res, _ := Run(t, c, call); res.Made {
			t.Errorf("without a folder of outputs: %+v", res)
		}
	}
	if _, err := c.Call(t.Context(), runner.Call{Argv: []string{"python3"}, Dir: "/", Outputs: "/etc"}, runner.Discard); !errors.Is(err, runner.ErrInvalid) {
		t.Errorf("outputs of elsewhere: %v", err)
	}
}

func suiteRead(t *testing.T, r runner.Runner) {
	c := Start(t, r, runner.Spec{})
	file := func(path, content string) runner.FileChange {
		return runner.FileChange{Op: runner.FileWrite, Path: path, Mode: 0o644, UID: runner.ScriptUser, GID: runner.ScriptUser, Content: []byte(content)}
	}
	big := strings.Repeat("0123456789abcdef", 1<<17) // 2 MiB
	if _, err := c.Files(t.Context(), []runner.FileChange{
		file("/home/a/b.txt", "bee"), file("/home/a/dir/inner", big), file("/home/a/ñ\n😀", ""), file("/home/a/z", "last"),
		{Op: runner.FileLink, Path: "/home/a/link", Target: "/etc/passwd", UID: runner.ScriptUser, GID: runner.ScriptUser},
	}); err != nil {
		t.Fatal(err)
	}
	read := func(q runner.Read) (list []string, rep runner.ReadReport) {
		t.Helper()
		rep, err := c.Read(t.Context(), q, func(e runner.Entry, content io.Reader) error {
			s := fmt.Sprintf("%d %q %s", e.Type, e.Path, e.Target)
			if content != nil {
				b, err := io.ReadAll(content)
				if err != nil || int64(len(b)) != e.Size {
					t.Errorf("%q: %d of %d bytes: %v", e.Path, len(b), e.Size, err)
				}
				s += " " + string(b[:min(len(b), 4)])
			}
			list = append(list, s)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return list, rep
	}
	all := runner.Read{Path: "/home/a", Recursive: true, MaxEntries: 100, MaxFiles: 100, MaxFileBytes: 10 << 20, MaxBytes: 20 << 20}
	want := []string{`1 "b.txt"  bee`, `2 "dir" `, `1 "dir/inner"  0123`, `3 "link" /etc/passwd`, `1 "z"  last`, `1 "ñ\n😀"  `}
	if got, rep := read(all); !slices.Equal(got, want) || rep.Entries != 6 || rep.Truncated {
		t.Errorf("%q %+v", got, rep)
	}
	flat := runner.Read{Path: "/home/a", MaxEntries: 4, MaxFiles: 1, MaxFileBytes: 10, MaxBytes: 10}
	if got, rep := read(flat); !slices.Equal(got, []string{want[0], want[1], want[3], `1 "z" `}) || !rep.Truncated {
		t.Errorf("%q %+v", got, rep)
	}
	if got, rep := read(runner.Read{Path: "/home/nothing", MaxEntries: 1}); len(got) > 0 || rep.Truncated {
		t.Errorf("%q %+v", got, rep)
	}
	stop := errors.New("enough")
	if _, err := c.Read(t.Context(), all, func(runner.Entry, io.Reader) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	if _, err := c.Read(t.Context(), runner.Read{Path: "/etc", MaxEntries: 1}, nil); !errors.Is(err, runner.ErrInvalid) {
		t.Errorf("%v", err)
	}
	if res, _ := Run(t, c, Python("")); res.ExitCode != 0 {
		t.Errorf("the call after: %+v", res)
	}
}

func suiteFiles(t *testing.T, r runner.Runner) {
	c := Start(t, r, runner.Spec{})
	cat := func(path string) string {
		t.Helper()
		res, out := Run(t, c, Python(fmt.Sprintf("import sys\ntry: sys.stdout.write(open(%q).read())\nexcept OSError: sys.exit(1)\n#fake: cat %[1]s\n", path)))
		if res.ExitCode != 0 {
			return "(none)"
		}
		return out.Stdout.String()
	}
	files := func(ch ...runner.FileChange) {
		t.Helper()
		if _, err := c.Files(t.Context(), ch); err != nil {
			t.Fatal(err)
		}
	}
	big := strings.Repeat("0123456789abcdef", 1<<18) // 4 MiB
	files(runner.FileChange{Op: runner.FileMkdir, Path: "/home/a", Mode: 0o1777},
		runner.FileChange{Op: runner.FileWrite, Path: "/home/a/deep/er/f", Mode: 0o444, Content: []byte("one")},
		runner.FileChange{Op: runner.FileWrite, Path: "/workspace/big", Mode: 0o644, UID: runner.ScriptUser, GID: runner.ScriptUser, Content: []byte(big)})
	if got := cat("/home/a/deep/er/f"); got != "one" {
		t.Errorf("got %q", got)
	}
	if got := cat("/workspace/big"); got != big {
		t.Errorf("%d bytes came back", len(got))
	}
	files(runner.FileChange{Op: runner.FileWrite, Path: "/home/a/deep", Mode: 0o444, Content: []byte("a file now")})
	if got := cat("/home/a/deep"); got != "a file now" {
		t.Errorf("got %q", got)
	}
	files(runner.FileChange{Op: runner.FileRemove, Path: "/home/a"}, runner.FileChange{Op: runner.FileRemove, Path: "/home/nothing/there"})
	if got := cat("/home/a/deep"); got != "(none)" {
		t.Errorf("got %q", got)
	}
}

func suitePrune(t *testing.T, r runner.Runner) {
	c := Start(t, r, runner.Spec{})
	write := func(path string, uid int) runner.FileChange {
		return runner.FileChange{Op: runner.FileWrite, Path: path, Mode: 0o444, UID: uid, GID: uid, Content: []byte("x")}
	}
	rep, err := c.Files(t.Context(), []runner.FileChange{
		write("/home/a/scripts/keep.py", 0), write("/home/a/scripts/old.py", 0), write("/home/a/scripts/older.py", 0), write("/home/a/scripts/note.txt", 0),
		write("/home/a/scripts/theirs.py", runner.ScriptUser), {Op: runner.FileMkdir, Path: "/home/a/scripts/folder.py", Mode: 0o755},
		{Op: runner.FilePrune, Path: "/home/a/scripts", Suffix: ".py", Keep: []string{"keep.py"}},
		{Op: runner.FilePrune, Path: "/home/nobody/scripts", Suffix: ".py"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"/home/a/scripts/old.py", "/home/a/scripts/older.py"}; !slices.Equal(rep.Removed, want) {
		t.Errorf("removed %v, want %v", rep.Removed, want)
	}
}

func suiteManaged(t *testing.T, r runner.Runner) {
	c := Start(t, r, runner.Spec{})
	call := Python("open('main.py', 'w').write('other')\n#fake: write main.py other\n")
	if res, _ := Run(t, c, call); res.ExitCode != 1 {
		t.Errorf("a managed file was written: %+v", res)
	}
	res, _ := Run(t, c, Python("open('/workspace/own', 'w').write('mine\\n')\n#fake: write /workspace/own mine\n"))
	if res.ExitCode != 0 {
		t.Errorf("a file of its own was not: %+v", res)
	}
}

const hang = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up')\nwhile True: time.sleep(1)\n#fake: out up\n#fake: hang\n"

func suiteTimeout(t *testing.T, r runner.Runner) {
	c := Start(t, r, runner.Spec{})
	call := Python(hang)
	call.Timeout = 300 * time.Millisecond
	res, out := Run(t, c, call)
	if res.Reason != runner.ReasonTimeout || res.Wall < call.Timeout || res.Wall > 20*time.Second || out.Stdout.String() != "up\n" {
		t.Errorf("%+v %q", res, out.Stdout.String())
	}
	if res, _ := Run(t, c, Python("")); res.ExitCode != 0 {
		t.Errorf("the next call: %+v", res)
	}
}

func suiteCancel(t *testing.T, r runner.Runner) {
	c := Start(t, r, runner.Spec{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	res, err := c.Call(ctx, Python(hang), runner.SinkFunc(func(runner.Stream, []byte) error { cancel(); return nil }))
	if err != nil || res.Reason != runner.ReasonCancelled {
		t.Errorf("%+v %v", res, err)
	}
	if res, _ := Run(t, c, Python("")); res.ExitCode != 0 {
		t.Errorf("the next call: %+v", res)
	}
}

func suiteCancelledBefore(t *testing.T, r runner.Runner) {
	c := Start(t, r, runner.Spec{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Call(ctx, Python(hang), runner.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := r.Start(ctx, runner.Spec{ID: "never"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func suiteSink(t *testing.T, r runner.Runner) {
	c := Start(t, r, runner.Spec{})
	no := errors.New("no room")
	_, err := c.Call(t.Context(), Python(hang), runner.SinkFunc(func(runner.Stream, []byte) error { return no }))
	if !errors.Is(err, runner.ErrSink) || !errors.Is(err, no) {
		t.Errorf("%v", err)
	}
	if res, _ := Run(t, c, Python("")); res.ExitCode != 0 {
		t.Errorf("the next call: %+v", res)
	}
}

func suiteTurns(t *testing.T, r runner.Runner) {
	c := Start(t, r, runner.Spec{})
	var running, most atomic.Int64
	done := make(chan error, 5)
	for range cap(done) {
		go func() {
			first := true
			_, err := c.Call(context.Background(), Python("print('a')\nprint('b')\n#fake: out a\n#fake: out b\n"), runner.SinkFunc(func(_ runner.Stream, p []byte) error {
				if first {
					most.Store(max(most.Load(), running.Add(1)))
					first = false
				}
				if bytes.Contains(p, []byte("b")) {
					running.Add(-1)
				}
				return nil
			}))
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if most.Load() != 1 {
		t.Errorf("%d calls ran at once", most.Load())
	}
}

func suiteClosed(t *testing.T, r runner.Runner) {
	c := Start(t, r, runner.Spec{ID: "closing"})
	if _, err := r.Start(t.Context(), runner.Spec{ID: "closing"}); !errors.Is(err, runner.ErrInvalid) {
		t.Errorf("a second one of the same id: %v", err)
	}
	for range 2 {
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	select {
	case <-c.Done():
	case <-time.After(10 * time.Second):
		t.Error("it is not done")
	}
	if _, err := c.Call(t.Context(), Python(""), runner.Discard); !errors.Is(err, runner.ErrClosed) {
		t.Errorf("a call: %v", err)
	}
	if _, err := c.Files(t.Context(), nil); !errors.Is(err, runner.ErrClosed) {
		t.Errorf("files: %v", err)
	}
	Start(t, r, runner.Spec{ID: "closing"}) // the id is free again
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := r.Start(t.Context(), runner.Spec{ID: "late"}); !errors.Is(err, runner.ErrClosed) {
		t.Errorf("after the runner's end: %v", err)
	}
}

func suiteInvalid(t *testing.T, r runner.Runner) {
	for _, id := range []string{"", "A", "a/b", "..", "a b", "a\n", strings.Repeat("a", 65)} {
		if _, err := r.Start(t.Context(), runner.Spec{ID: id}); !errors.Is(err, runner.ErrInvalid) {
			t.Errorf("id %q: %v", id, err)
		}
	}
	c := Start(t, r, runner.Spec{})
	for _, ch := range []runner.FileChange{
		{Op: runner.FileWrite, Path: "/etc/x"}, {Op: runner.FileWrite, Path: "/workspace/../etc/x"}, {Op: runner.FileWrite, Path: "workspace/x"},
		{Op: runner.FileWrite, Path: "/workspace"}, {Op: runner.FileRemove, Path: "/home"}, {Op: runner.FileWrite, Path: "/workspace/x", Mode: 0o4755},
		{Op: runner.FileWrite, Path: "/workspace/x", UID: 1}, {Op: "link", Path: "/workspace/x"}, {Op: runner.FileWrite, Path: "/workspace/a\x00b"},
	} {
		if _, err := c.Files(t.Context(), []runner.FileChange{ch}); !errors.Is(err, runner.ErrInvalid) {
			t.Errorf("%s %q: %v", ch.Op, ch.Path, err)
		}
	}
	for _, call := range []runner.Call{
		{Dir: "/"}, {Argv: []string{"x"}, Dir: "workspace"}, {Argv: []string{"x\x00"}, Dir: "/"}, {Argv: []string{"x"}, Dir: "/", Env: []string{"=x"}},
	} {
		if _, err := c.Call(t.Context(), call, runner.Discard); !errors.Is(err, runner.ErrInvalid) {
			t.Errorf("%+v: %v", call, err)
		}
	}
	long := Python("")
	long.Env = append(long.Env, "X="+strings.Repeat("x", 128<<10))
	if _, err := c.Call(t.Context(), long, runner.Discard); !errors.Is(err, runner.ErrTooLarge) {
		t.Errorf("a long variable: %v", err)
	}
}

func suiteApart(t *testing.T, r runner.Runner) {
	a, b := Start(t, r, runner.Spec{}), Start(t, r, runner.Spec{})
	Run(t, a, Python("open('/workspace/own', 'w').write('mine\\n')\n#fake: write /workspace/own mine\n"))
	if res, _ := Run(t, a, Python("open('/workspace/own')\n#fake: cat /workspace/own\n")); res.ExitCode != 0 {
		t.Errorf("a call does not see what an earlier one on its computer left: %+v", res)
	}
	if res, _ := Run(t, b, Python("open('/workspace/own')\n#fake: cat /workspace/own\n")); res.ExitCode != 1 {
		t.Errorf("a computer sees another's file: %+v", res)
	}
}
