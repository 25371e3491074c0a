package runner_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// copyFile makes a copy of a file that all may read and execute.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err == nil {
		_, err = io.Copy(out, in)
	}
	if err = errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
}

// A server stays with the image that it described: also where another file has its name, where nothing has, and in another runner process.
// Where the file itself is written to, no computer is made of it.
func TestImageStays(t *testing.T) {
	t.Parallel()
	if image() == "" {
		t.Log("there is no image here: TestSuite holds for the fallback")
		return
	}
	name, other := filepath.Join(t.TempDir(), "computer.erofs"), filepath.Join(t.TempDir(), "kept")
	copyFile(t, image(), name)
	if err := os.Link(name, other); err != nil {
		t.Fatal(err)
	}
	p, _ := newProcess(t, func(c *runner.Config) { c.Image = name })
	report, err := p.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	goesOn := func(id string) runner.Computer {
		t.Helper()
		c, err := p.Start(t.Context(), runner.Spec{ID: id})
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if res, _ := runnertest.Run(t, c, runnertest.Python("")); res.ExitCode != 0 || res.Isolation.ImageDigest != report.Digest {
			t.Errorf("%s: %+v of %s", id, res.Isolation, report.Digest)
		}
		return c
	}
	goesOn("first")
	if err := errors.Join(os.WriteFile(name+".new", []byte("another image"), 0o644), os.Rename(name+".new", name)); err != nil {
		t.Fatal(err)
	}
	goesOn("renamed")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	lost := goesOn("removed")
	if err := syscall.Kill(runner.PID(p), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-lost.Done()
	goesOn("again")
	if again, err := p.Check(t.Context()); err != nil || again.Digest != report.Digest {
		t.Errorf("the check answers %+v %v", again, err)
	}
	if err := os.Truncate(other, 50<<20); err != nil {
		t.Fatal(err)
	}
	if c, err := p.Start(t.Context(), runner.Spec{ID: "written"}); !errors.Is(err, runner.ErrNotConfigured) || !strings.Contains(err.Error(), "was written to") {
		t.Errorf("a computer of an image that was written to: %v %v", c, err)
	}
}
