package runner_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// BenchmarkPackage: what it costs to compare a package before a call, where nothing differs.
func BenchmarkPackage(b *testing.B) {
	few := map[string]string{"main.py": "import lib.a\n" + benchSource, "lib/a.py": "A = 1\n", "template.xlsx": strings.Repeat("x", 20_000)}
	many := map[string]string{"main.py": benchSource}
	for i := range 199 {
		many[fmt.Sprintf("folder %d/file %d", i%20, i)] = strings.Repeat("y", 2_000)
	}
	large := map[string]string{"main.py": benchSource}
	for i := range 19 {
		large[fmt.Sprint("file ", i)] = strings.Repeat("z", 1<<20)
	}
	for name, files := range map[string]map[string]string{"3 files": few, "200 files": many, "19 MiB": large} {
		b.Run(name, func(b *testing.B) {
			c := newComputer(b, runner.Spec{})
			p, open, _ := runnertest.PackageOf("bench", 1, files)
			began := time.Now()
			ensure(b, c, p, open, len(files))
			b.ReportMetric(float64(time.Since(began))/1e6, "ms-first")
			call := runnertest.PackageCall(p, "python3", "main.py")
			runnertest.Run(b, c, call)
			var alone, all []time.Duration
			for b.Loop() {
				time.Sleep(20 * time.Millisecond) // a caller takes a breath
				t := time.Now()
				runnertest.Run(b, c, call)
				alone = append(alone, time.Since(t))
				time.Sleep(20 * time.Millisecond)
				t = time.Now()
				ensure(b, c, p, open, 0)
				runnertest.Run(b, c, call)
				all = append(all, time.Since(t))
			}
			b.ReportMetric(float64(quartile(alone))/1e6, "ms-alone")
			b.ReportMetric(float64(quartile(all))/1e6, "ms")
			b.ReportMetric(float64(quartile(all)-quartile(alone))/1e6, "ms-more")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// ensure makes a package whole, of which so many files are to be written.
func ensure(t testing.TB, c runner.Computer, p runner.Package, open func(int) (io.ReadCloser, error), written int) {
	t.Helper()
	if rep, err := c.Package(t.Context(), p, open); err != nil || rep.Written != written {
		t.Fatalf("%d are to be written: %+v %v", written, rep, err)
	}
}

// Packages of programs that do what they can to have other code run in their place.
func TestContainPackages(t *testing.T) {
	t.Parallel()
	p, open, _ := runnertest.PackageOf("deck", 1, map[string]string{"main.py": "from lib import a\nprint(a.A)\n", "lib/a.py": "A = 'version 1'\n", "data": "x"})
	whole := func(written, removed int) func(*testing.T, *scene, ended) {
		return func(t *testing.T, s *scene, _ ended) {
			t.Helper()
			began := time.Now()
			if rep, err := s.computer.Package(t.Context(), p, open); err != nil || rep.Written != written || rep.Removed != removed {
				t.Errorf("%+v %v", rep, err)
			}
			if d := time.Since(began); d > 30*time.Second {
				t.Errorf("it took %s", d)
			}
			if rep, err := s.computer.Package(t.Context(), p, open); err != nil || rep != (runner.PackageReport{}) {
				t.Errorf("and again: %+v %v", rep, err)
			}
			if _, out := runnertest.Run(t, s.computer, runnertest.PackageCall(p, "python3", "main.py")); out.Stdout.String() != "version 1\n" {
				t.Errorf("%q %s", out.Stdout.String(), out.Stderr.String())
			}
		}
	}
	// As if somebody had got that far: all of the package is the programs' own.
	mine := func(c *runner.Call) {
		change := func(op runner.FileOp, name, content string, mode uint32) {
			c.Files = append(c.Files, runner.FileChange{Op: op, Path: p.Path + name, Mode: mode, UID: runner.ScriptUser, GID: runner.ScriptUser, Content: []byte(content)})
		}
		change(runner.FileMkdir, "", "", 0o777)
		change(runner.FileMkdir, "/lib", "", 0o777)
		change(runner.FileWrite, "/lib/a.py", "A = 'version 1'\n", 0o444)
		change(runner.FileWrite, "/data", "x", 0o444)
		c.Dir, c.Argv = p.Path, []string{"python3", "/workspace/main.py"}
	}
	contain(t, 1, runner.Spec{}, []attempt{
		{name: "the first time", says: "0o555 0\n", program: "print(oct(os.stat('/scripts').st_mode & 0o7777), os.stat('/scripts').st_uid)", check: whole(3, 0)},
		{name: "writing it", program: `
at = "/scripts/deck/1"
open("/tmp/mine", "w").write("A = 'mine'")
for p in at + "/main.py", at + "/lib/a.py", at + "/new", at + "/lib/new", at + "/lib/__pycache__/a.pyc", "/scripts/new", "/scripts/deck/new":
    for f in lambda: open(p, "r+"), lambda: open(p, "w"), lambda: os.unlink(p), lambda: os.rename("/tmp/mine", p), lambda: os.rename(p, p + "2"), lambda: os.chmod(p, 0o666), \
            lambda: os.chown(p, 1000, 1000), lambda: os.truncate(p, 0), lambda: os.symlink("/tmp/mine", p), lambda: os.mkfifo(p), lambda: os.mkdir(p), \
            lambda: os.link(p, "/tmp/link"), lambda: os.link(p, os.path.dirname(p) + "/link"), lambda: os.utime(p, (0, 0)), lambda: os.setxattr(p, "user.x", b"x"):
        try: f(); print("could", p)
        except OSError as e: pass
for p in at, at + "/lib", "/scripts/deck", "/scripts":
    for f in lambda: os.chmod(p, 0o777), lambda: os.chown(p, 1000, 1000), lambda: os.rename(p, "/workspace/x"), lambda: os.rename(p, p + "2"), lambda: os.rmdir(p), \
            lambda: os.mkdir(p + "/new"), lambda: os.utime(p), lambda: socket.socket(socket.AF_UNIX).bind(p + "/s"):
        try: f(); print("could", p)
        except OSError: pass
try: print(as_root_of_its_own("for p in '/scripts/deck/1/main.py', '/scripts/deck/1/new': tries('root', open, p, 'w')\nmount(b'x', b'/scripts', b'tmpfs')\nprint(os.listdir('/scripts'))"))
except OSError as e: print(e)
os.unlink("/tmp/mine")
`, says: "root EACCES\nroot EACCES\n[]\n0\n", check: whole(0, 0)},
		{name: "links and FIFOs and sockets in it", with: mine, program: `
os.unlink("data"); os.mkfifo("data")
os.link("lib/a.py", "lib/b.py")
socket.socket(socket.AF_UNIX).bind("lib/socket")
os.unlink("main.py"); socket.socket(socket.AF_UNIX).bind("main.py")
os.mkfifo("fifo"); os.symlink("/etc/passwd", "passwd"); os.symlink("nowhere", "lib/__pycache__")
for n in "new\nline", b"\xff\xfe", "-rf", "x" * 255: open(n, "w").close()
`, check: whole(3, 9)},
		{name: "another mode, and holes", with: mine, program: `
os.chmod("lib/a.py", 0o4555)
os.chmod("data", 0)
os.rename("main.py", "lib/main.py")
os.truncate(os.open("main.py", os.O_CREAT | os.O_WRONLY), 36)
os.chmod("lib", 0); os.chmod(".", 0)
`, check: whole(3, 1)},
		{name: "the wrong way round", with: mine, program: `
os.mkdir("main2.py"); os.unlink("main.py"); os.mkdir("main.py"); os.mkdir("main.py/in"); open("main.py/in/file", "w").close(); os.chmod("main.py/in", 0); os.chmod("main.py", 0)
os.rename("lib", "lib2"); open("lib", "w").write("x")
os.rename("data", "data2"); os.symlink("data2", "data")
`, check: whole(3, 3)},
		{name: "a deep tree in it", with: mine, program: `
fd = os.open(".", os.O_RDONLY)
for i in range(2000):
    os.mkdir("tree", dir_fd=fd)
    down = os.open("tree", os.O_RDONLY, dir_fd=fd)
    os.close(fd)
    fd = down
`, check: whole(2, 1)},
		{name: "a large tree in it", with: mine, program: `
for d in range(100):
    os.mkdir("lib/%d" % d)
    for n in range(100): os.close(os.open("lib/%d/%d" % (d, n), os.O_CREAT | os.O_WRONLY))
`, check: whole(2, 100)},
	})
}

// The packages' folder does not fill up: those that were written first go. A program that fills the other folders does not keep one from being written.
func TestPackagesMakeRoom(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{ScriptsBytes: 4 << 20, WorkspaceBytes: 2 << 20, TmpBytes: 1 << 20, HomeBytes: 1 << 20})
	of := func(name string, bytes int) (runner.Package, func(int) (io.ReadCloser, error)) {
		p, open, _ := runnertest.PackageOf(name, 1, map[string]string{"main.py": "print('" + name + "')", "data": strings.Repeat("x", bytes)})
		return p, open
	}
	full := runnertest.Python("for p in '/workspace/full', '/tmp/full', '/dev/shm/full':\n    try:\n        with open(p, 'wb') as f:\n            while True: f.write(bytes(65536))\n    except OSError as e: print(e.errno)")
	if _, out := runnertest.Run(t, c, full); out.Stdout.String() != "28\n28\n28\n" {
		t.Errorf("%q %s", out.Stdout.String(), out.Stderr.String())
	}
	for _, k := range []struct {
		name  string
		bytes int
		want  string
	}{
		{"a", 1500 << 10, "a"}, {"b", 1500 << 10, "a b"}, {"a", 1500 << 10, "a b"}, {"c", 1500 << 10, "b c"}, {"d", 3900 << 10, "d"}, {"e", 1, "d e"}, {"f", 1 << 20, "e f"},
	} {
		p, open := of(k.name, k.bytes)
		if _, err := c.Package(t.Context(), p, open); err != nil {
			t.Errorf("%s: %v", k.name, err)
		}
		var there []string
		if _, err := c.Read(t.Context(), runner.Read{Path: runner.Scripts, Recursive: true, MaxEntries: 100}, func(e runner.Entry, _ io.Reader) error {
			if name, isData := strings.CutSuffix(e.Path, "/1/data"); isData {
				there = append(there, name)
			}
			return nil
		}); err != nil || !slices.Equal(there, strings.Fields(k.want)) {
			t.Errorf("with %s: %v %v", k.name, there, err)
		}
		if _, out := runnertest.Run(t, c, runnertest.PackageCall(p, "python3", "main.py")); out.Stdout.String() != k.name+"\n" {
			t.Errorf("%s: %q %s", k.name, out.Stdout.String(), out.Stderr.String())
		}
	}
	large, open := of("large", 5<<20)
	var fe *runner.FileError
	if _, err := c.Package(t.Context(), large, open); !errors.As(err, &fe) || !fe.Full || fe.Path != large.Path+"/data" {
		t.Errorf("a package that is too large: %v", err)
	}
	small, open := of("small", 1)
	ensure(t, c, small, open, 2)
}

// The largest version that there may be: 200 files, 20 MiB, paths of 255 characters of four bytes each.
func TestLargestPackage(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{})
	files := map[string]string{"main.py": "import os\nn = size = longest = 0\nfor d, _, files in os.walk('.'):\n    for f in files:\n        p = d[2:] + '/' + f if d != '.' else f\n" +
		"        n, size, longest = n + 1, size + os.stat(p).st_size, max(longest, len(p))\nprint(n, size, longest)\n"}
	size := len(files["main.py"])
	for i := range 199 {
		name := fmt.Sprintf("%03d", i) + strings.Repeat(strings.Repeat("😀", 62)+"/", 3) + strings.Repeat("😀", 62) + "f"
		content := strings.Repeat("x", 105_000)
		if i == 198 {
			content = strings.Repeat("y", 20<<20-size)
		}
		size += len(content)
		files[name] = content
	}
	p, open, _ := runnertest.PackageOf("largest", 1, files)
	began := time.Now()
	ensure(t, c, p, open, 200)
	wrote := time.Since(began)
	ensure(t, c, p, open, 0)
	t.Logf("written in %s, compared in %s", wrote, time.Since(began)-wrote)
	if _, out := runnertest.Run(t, c, runnertest.PackageCall(p, "python3", "main.py")); out.Stdout.String() != "200 20971520 255\n" {
		t.Errorf("%q %s", out.Stdout.String(), out.Stderr.String())
	}
}
