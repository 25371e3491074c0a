package runner_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
)

const (
	ownFolder    = runner.Calls + "/call_1"
	outputFolder = ownFolder + "/outputs"
)

// withOutputs gives a call what a server gives: its arguments in a file of root's, and a folder for what it makes, in which the attempt begins.
func withOutputs(c *runner.Call) {
	c.Files = append(c.Files, runner.FileChange{Op: runner.FileWrite, Path: ownFolder + "/arguments.json", Mode: 0o444, Content: []byte(`{"a": 1}`)},
		runner.FileChange{Op: runner.FileMkdir, Path: outputFolder, Mode: 0o755, UID: runner.ScriptUser, GID: runner.ScriptUser})
	c.Dir, c.Argv = outputFolder, []string{"python3", "/workspace/main.py"}
}

// outputs checks what is collected after the call: at most 10 files of at most 25 MiB, in the order of their names, of at most so many entries. A
// line each: type, name, links, size, and what was read. Then the call's folder is removed, as a server does.
func outputs(entries int, truncated bool, want string) func(*testing.T, *scene, ended) {
	return func(t *testing.T, s *scene, _ ended) {
		t.Helper()
		var b strings.Builder
		began := time.Now()
		rep, err := s.computer.Read(t.Context(), runner.Read{Path: outputFolder, MaxEntries: entries, MaxFiles: 10, MaxFileBytes: 25 << 20, MaxBytes: 250 << 20},
			func(e runner.Entry, content io.Reader) error {
				fmt.Fprintf(&b, "%d %.40q", e.Type, e.Path)
				if e.Target != "" {
					fmt.Fprintf(&b, " to %s", strings.ReplaceAll(e.Target, s.host.folder, "HOST"))
				}
				if e.Type == runner.EntryFile {
					fmt.Fprintf(&b, " %d links, %d bytes", e.Links, e.Size)
				}
				if content != nil {
					var c bytes.Buffer
					if _, err := c.ReadFrom(content); err != nil || int64(c.Len()) != e.Size {
						t.Errorf("%q: %d bytes of %d: %v", e.Path, c.Len(), e.Size, err)
					}
					fmt.Fprintf(&b, ": %.10q", c.Bytes())
				}
				b.WriteString("\n")
				return nil
			})
		if err != nil || rep.Truncated != truncated || b.String() != want && want != "*" {
			t.Errorf("%+v %v, it collected\n%sand is to collect\n%s", rep, err, b.String(), want)
		}
		if d := time.Since(began); d > 20*time.Second {
			t.Errorf("it took %s", d)
		}
		if _, err := s.computer.Files(t.Context(), []runner.FileChange{{Op: runner.FileRemove, Path: ownFolder}}); err != nil {
			t.Error(err)
		}
	}
}

// Outputs: whatever a program leaves in its folder, nothing but its own regular files is read, and that is bounded.
func TestContainOutputs(t *testing.T) {
	t.Parallel()
	contain(t, 2, runner.Spec{WorkspaceBytes: 64 << 20}, append(outputKinds(), append(outputNames(), outputSizes()...)...))
}

func outputKinds() []attempt {
	return []attempt{
		{name: "links", with: withOutputs, program: `
os.symlink("/etc/passwd", "a")
os.symlink(HOST["file"], "b")
os.symlink("../arguments.json", "c")
os.symlink("d", "d")
os.symlink("/scripts", "e")
open("f", "w").write("own"); os.link("f", "g")
tries("arguments", os.link, "../arguments.json", "h")
tries("passwd", os.link, "/etc/passwd", "i")
tries("root's", os.link, "/workspace/main.py", "j")
`, says: "arguments EPERM\npasswd EXDEV\nroot's EXDEV\n", check: outputs(100, false, `3 "a" to /etc/passwd
3 "b" to HOST/file
3 "c" to ../arguments.json
3 "d" to d
3 "e" to /scripts
1 "f" 2 links, 3 bytes: "own"
1 "g" 2 links, 3 bytes: "own"
`)},
		{name: "what is no file", with: withOutputs, program: `
os.mkfifo("a fifo")
os.makedirs("b/c"); open("b/c/file", "w").write("within"); os.chmod("b", 0)
s = socket.socket(socket.AF_UNIX); s.bind("socket")
tries("device", os.mknod, "null", 0o20666, os.makedev(1, 3))
open("unreadable", "w").write("x"); os.chmod("unreadable", 0)
open("with bits", "w").write("y"); os.chmod("with bits", 0o6777)
`, says: "device EPERM\n", check: outputs(100, false, `4 "a fifo"
2 "b"
4 "socket"
1 "unreadable" 1 links, 1 bytes: "x"
1 "with bits" 1 links, 1 bytes: "y"
`)},
		{name: "the folder itself", with: withOutputs, program: `
OUT = os.getcwd()
os.chdir("/workspace")
for f in lambda: os.rename(OUT, OUT + "2"), lambda: os.rmdir(OUT), lambda: os.symlink("/etc", OUT + "/../x"), lambda: os.rename("/workspace/.calls", "/workspace/x"), lambda: os.mkdir("/workspace/.calls/call_2"):
    try: f(); print("could")
    except OSError: pass
open(OUT + "/a", "w").write("a")
os.chmod(OUT, 0)
`, check: outputs(100, false, "1 \"a\" 1 links, 1 bytes: \"a\"\n")},
		// What outlives the program has ended before anything is collected: nobody can swap a file then.
		{name: "a file that is swapped for a link", with: withOutputs, program: `
r, w = os.pipe()
for i in range(3):
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for n in range(1 << 60):
            os.symlink("/etc/passwd", "link%d" % i)
            os.rename("link%d" % i, "a")
            open("file%d" % i, "w").write("own")
            os.rename("file%d" % i, "a")
            if n == 10: os.write(w, b"x")
n = 0
while n < 3: n += len(os.read(r, 3))
print("swapping")
`, says: "swapping\n", ends: ending{leftOver: -1}, check: func(t *testing.T, s *scene, e ended) {
			initOnly(t, s.computer)
			var first string
			for range 5 {
				var b strings.Builder
				if _, err := s.computer.Read(t.Context(), runner.Read{Path: outputFolder, MaxEntries: 10, MaxFiles: 10, MaxFileBytes: 100, MaxBytes: 100}, func(e runner.Entry, content io.Reader) error {
					fmt.Fprintln(&b, e.Type, e.Path, e.Size)
					if content != nil {
						if c, err := io.ReadAll(content); err != nil || (string(c) != "own" && len(c) > 0) {
							t.Errorf("%q %v", c, err)
						}
					}
					return nil
				}); err != nil {
					t.Error(err)
				}
				if first == "" {
					first = b.String()
				}
				if b.String() != first {
					t.Errorf("it changes: %q and %q", first, b.String())
				}
			}
			outputs(100, false, "*")(t, s, e)
		}},
	}
}

func outputNames() []attempt {
	return []attempt{
		{name: "names", with: withOutputs, program: `
for n in "报告 ñ😀.txt", b"\xff\xfe\x80", "new\nline", "\x01\x7f\u202e", "-rf", "%2e%2e", "a\\b", '"quoted"', " ", "...", "n" * 255: open(n, "w").close()
tries("300", open, "n" * 300, "w")
tries("slash", open, "../outputs2", "w")
`, says: "300 ENAMETOOLONG\nslash EACCES\n", check: outputs(100, false, `1 "\x01\x7f\u202e" 1 links, 0 bytes: ""
1 " " 1 links, 0 bytes: ""
1 "\"quoted\"" 1 links, 0 bytes: ""
1 "%2e%2e" 1 links, 0 bytes: ""
1 "-rf" 1 links, 0 bytes: ""
1 "..." 1 links, 0 bytes: ""
1 "a\\b" 1 links, 0 bytes: ""
1 "new\nline" 1 links, 0 bytes: ""
1 "`+strings.Repeat("n", 40)+`" 1 links, 0 bytes: ""
1 "报告 ñ😀.txt" 1 links, 0 bytes: ""
1 "\xff\xfe\x80" 1 links, 0 bytes
`)},
		{name: "eleven files", with: withOutputs, program: `
for i in range(11): open("%02d" % (10 - i), "w").write(str(10 - i))
os.mkdir("0 folder")
`, check: outputs(100, false, "2 \"0 folder\"\n"+func() (s string) {
			for i := range 10 {
				s += fmt.Sprintf("1 \"%02d\" 1 links, 1 bytes: \"%d\"\n", i, i)
			}
			return s + "1 \"10\" 1 links, 2 bytes\n"
		}())},
	}
}

func outputSizes() []attempt {
	return []attempt{
		{name: "sizes", with: withOutputs, program: `
open("a", "wb").write(b"x" * (25 << 20))
open("b", "wb").write(b"x" * ((25 << 20) + 1))
open("c", "wb").close()
open("d", "wb").truncate(25 << 20)
f = open("e", "wb"); f.truncate(1 << 28)
tries("a TiB", os.ftruncate, f.fileno(), 1 << 40)
`, says: "a TiB EFBIG\n", check: outputs(100, false, `1 "a" 1 links, 26214400 bytes: "xxxxxxxxxx"
1 "b" 1 links, 26214401 bytes
1 "c" 1 links, 0 bytes: ""
1 "d" 1 links, 26214400 bytes: "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
1 "e" 1 links, 268435456 bytes
`)},
		{name: "a full folder", with: withOutputs, program: `
print(fill("full").split()[2], fill("more"))
`, says: "ENOSPC 0 MiB ENOSPC\n", check: outputs(100, false, "1 \"full\" 1 links, 67104768 bytes\n1 \"more\" 1 links, 0 bytes: \"\"\n")},
		{name: "files without end", timeout: 1500 * time.Millisecond, with: withOutputs, program: `
for n in range(1000000):
    os.close(os.open("%07d" % n, os.O_CREAT | os.O_WRONLY))
    if n == 999: print("a thousand")
`, says: "a thousand\n", ends: ending{reason: runner.ReasonTimeout, signal: "SIGTERM", most: 8 * time.Second}, check: outputs(3, true,
			"1 \"0000000\" 1 links, 0 bytes: \"\"\n1 \"0000001\" 1 links, 0 bytes: \"\"\n1 \"0000002\" 1 links, 0 bytes: \"\"\n")},
	}
}

// Streams: a program may open its own by their names, as it has them, and nothing more of them.
func TestContainStreams(t *testing.T) {
	t.Parallel()
	given := func(c *runner.Call) { c.Stdin = []byte("given") }
	contain(t, 1, runner.Spec{}, []attempt{
		{name: "by their names", with: given, says: "given\nout\nagain\nb''\n", program: `
print(open("/dev/stdin").read(), flush=True)
open("/dev/stdout", "w").write("out\n")
open("/proc/self/fd/1", "w").write("again\n")
open("/dev/stderr", "w").write("err\n")
print(open("/proc/self/fd/0", "rb").read())
`, check: func(t *testing.T, _ *scene, e ended) {
			if e.output.Stderr.String() != "err\n" {
				t.Errorf("%q", e.output.Stderr.String())
			}
		}},
		{name: "the wrong way round", with: given, program: `
tries("into its input", lambda: os.write(os.open("/dev/stdin", os.O_WRONLY), b"x"))
tries("out of its output", lambda: os.read(os.open("/dev/stdout", os.O_RDONLY | os.O_NONBLOCK), 1))
for n in range(3):
    tries("mode", os.fchmod, n, 0)
    tries("owner", os.fchown, n, 1000, 1000)
`, says: "into its input EBADF\nout of its output EBADF\n" + strings.Repeat("mode EPERM\nowner EPERM\n", 3)},
		{name: "Node's", with: func(c *runner.Call) {
			given(c)
			call := nodeCall("const fs = require('fs'); fs.writeFileSync('/dev/stdout', fs.readFileSync('/dev/stdin')); fs.writeFileSync('/dev/stderr', 'err')")
			c.Argv, c.Files = call.Argv, call.Files
		}, says: "given", check: func(t *testing.T, _ *scene, e ended) {
			if e.output.Stderr.String() != "err" {
				t.Errorf("%q", e.output.Stderr.String())
			}
		}},
	})
}
