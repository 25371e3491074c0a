package runner_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
)

// refused fails unless there are no computers with the configuration, by Check and by Start; it answers what Check says.
func refused(t *testing.T, change func(*runner.Config)) string {
	t.Helper()
	p, state := newProcess(t, change)
	if c, err := p.Start(t.Context(), runner.Spec{ID: "early"}); !errors.Is(err, runner.ErrNotConfigured) && !errors.Is(err, runner.ErrUnavailable) {
		t.Errorf("a computer before the check: %v, %v", c, err)
	}
	report, err := p.Check(t.Context())
	if !errors.Is(err, runner.ErrNotConfigured) {
		t.Fatalf("the check answers %+v, %v", report, err)
	}
	if c, err := p.Start(t.Context(), runner.Spec{ID: "late"}); err == nil {
		t.Errorf("a computer after the check: %v", c)
	}
	if strings.Count(err.Error(), runner.ErrNotConfigured.Error()) != 1 {
		t.Errorf("it says it twice: %v", err)
	}
	bundles, _ := filepath.Glob(filepath.Join(state, "s*", "bundles", "*"))
	if len(bundles) > 0 {
		t.Errorf("left behind: %q", bundles)
	}
	return err.Error()
}

func TestIsolationIsRefusedOnTheFallback(t *testing.T) {
	t.Parallel()
	for _, level := range []runner.IsolationLevel{runner.IsolationImage, runner.IsolationFull} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			said := refused(t, func(c *runner.Config) { c.Image, c.Isolation = "", level })
			if !strings.Contains(said, `isolation "`+string(level)+`" is asked for, and missing here: image (`) {
				t.Errorf("it says %q", said)
			}
		})
	}
}

// What the report says is missing is what decides: an isolation is had where nothing of it is.
func TestIsolationIsWhatTheReportSays(t *testing.T) {
	t.Parallel()
	any, _ := newProcess(t)
	found, err := any.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if found.Fallback != (image() == "") || found.Rootless != (os.Geteuid() != 0) {
		t.Errorf("%+v", found)
	}
	if !found.Confinement.Seccomp || !found.Confinement.NoNewPrivileges {
		t.Errorf("the sandbox's own process: %+v", found.Confinement)
	}
	for _, level := range runner.IsolationLevels() {
		p, _ := newProcess(t, func(c *runner.Config) { c.Isolation = level })
		report, err := p.Check(t.Context())
		if missing := level.Missing(found.Lacks); (err != nil) != (len(missing) > 0) {
			t.Errorf("%s: %v, though %v is missing", level, err, missing)
		} else if err != nil {
			continue
		}
		if report.Digest != found.Digest {
			t.Errorf("%s: digest %s, then %s", level, found.Digest, report.Digest)
		}
		c, err := p.Start(t.Context(), runner.Spec{ID: "one"})
		if err != nil {
			t.Fatalf("%s: %v", level, err)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := runner.New(runner.Config{Runsc: runsc(t), State: t.TempDir(), Isolation: "most"}); !errors.Is(err, runner.ErrNotConfigured) {
		t.Errorf("an isolation that there is not: %v", err)
	}
}

// An image that is named and is none is never replaced by something else.
func TestImageThatIsNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := map[string][]byte{"empty": nil, "garbage": []byte(strings.Repeat("no image ", 10_000))}
	words := map[string]string{"missing": "no such file", "folder": "no file", "fifo": "no file", "empty": "not an EROFS image", "garbage": "not an EROFS image"}
	if image() != "" {
		whole, err := os.ReadFile(image())
		if err != nil {
			t.Fatal(err)
		}
		files["truncated"], words["truncated"] = whole[:1<<20], "no computer starts on the image"
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "folder"), 0o755), syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644)); err != nil {
		t.Fatal(err)
	}
	for name, word := range words {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			if said := refused(t, func(c *runner.Config) { c.Image = filepath.Join(dir, name) }); !strings.Contains(said, word) {
				t.Errorf("it says %q", said)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// The report names what programs find.
func TestReportNamesLibraries(t *testing.T) {
	t.Parallel()
	p, _ := newProcess(t)
	report, err := p.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSorted(report.Libraries) || len(report.Libraries) == 0 || len(report.Libraries) > 1000 {
		t.Errorf("libraries: %q", report.Libraries)
	}
	for _, l := range report.Libraries {
		if f := strings.Split(l, " "); len(f) != 3 || f[0] != "pypi" && f[0] != "npm" {
			t.Errorf("a library: %q", l)
		}
	}
	if image() == "" {
		return
	}
	if !report.WholeWrites || len(report.Mounts) < 8 || report.Mounts[0] != (runner.Mount{Path: "/", Type: "erofs", ReadOnly: true}) {
		t.Errorf("%+v", report)
	}
	if !slices.ContainsFunc(report.Libraries, func(l string) bool { return strings.HasPrefix(l, "pypi openpyxl ") }) {
		t.Errorf("no openpyxl: %q", report.Libraries)
	}
}
