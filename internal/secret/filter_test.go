package secret

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/output"
)

// written collects what a filter passes on, with the time of each.
type written struct {
	mu      sync.Mutex
	begin   time.Time
	streams [3]strings.Builder
	log     []string
	fail    error
}

func (w *written) write(stream output.Stream, p []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.streams[stream].Write(p)
	w.log = append(w.log, fmt.Sprintf("%d %d %q", time.Since(w.begin).Milliseconds(), stream, p))
	return w.fail
}

// filtered runs f with a filter on a clock of its own.
func filtered(t *testing.T, values []string, f func(t *testing.T, filter *Filter, w *written)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &written{begin: time.Now()}
		filter := NewFilter(NewMask(values), 0, w.write)
		f(t, filter, w)
		if err := errors.Join(filter.Close(), filter.Close()); err != nil {
			t.Error(err)
		}
	})
}

func put(t *testing.T, f *Filter, stream output.Stream, text string) {
	t.Helper()
	if err := f.Write(stream, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// pass lets time pass.
func pass(d time.Duration) {
	time.Sleep(d) // of the test's own clock
	synctest.Wait()
}

func TestS1SecretWaits(t *testing.T) {
	t.Parallel()
	filtered(t, []string{"s3cret-value"}, func(t *testing.T, f *Filter, w *written) {
		put(t, f, output.Stdout, "no\ns3cret") // two writes
		pass(19 * time.Millisecond)
		put(t, f, output.Stdout, "-value\n")
		pass(time.Second)
		put(t, f, output.Stdout, "s3c") // a beginning only, on each stream
		pass(5 * time.Millisecond)
		put(t, f, output.Stderr, "s3")
		pass(14 * time.Millisecond)
		put(t, f, output.Stderr, "cre")
		pass(time.Second)
		put(t, f, output.Stdout, "x")
		put(t, f, output.Stderr, "t-value\n") // the rest of one whose beginning is out
		want := []string{
			`0 1 "no\n"`, `19 1 "***\n"`, `1039 1 "s3c"`, `1058 2 "s3cre"`, `2038 1 "x"`, `2038 2 "***\n"`,
		}
		if got := strings.Join(w.log, "\n"); got != strings.Join(want, "\n") {
			t.Errorf("passed on\n%s\nwant\n%s", got, strings.Join(want, "\n"))
		}
	})
}

// Values that come slowly, byte by byte, are masked as long as the bytes come within 20 ms of each other.
func TestS1SecretByteByByte(t *testing.T) {
	t.Parallel()
	filtered(t, []string{"s3cret-value", "value-2\nline"}, func(t *testing.T, f *Filter, w *written) {
		for _, c := range []byte("<s3cret-value-2\nline>") {
			put(t, f, output.Stdout, string(c))
			put(t, f, output.Stderr, string(c))
			pass(15 * time.Millisecond)
		}
		pass(time.Second)
		if out, errs := w.streams[1].String(), w.streams[2].String(); out != "<***>" || errs != "<***>" {
			t.Errorf("passed on %q and %q", out, errs)
		}
	})
}

func TestFilterLetsOutWhatWaitsAtTheEnd(t *testing.T) {
	t.Parallel()
	filtered(t, []string{"s3cret-value"}, func(t *testing.T, f *Filter, w *written) {
		put(t, f, output.Stderr, "s3cret-valu")
		put(t, f, output.Stdout, "s3cret-value s3")
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		pass(time.Second)
		if out, errs := w.streams[1].String(), w.streams[2].String(); out != "*** s3" || errs != "s3cret-valu" || len(w.log) != 3 {
			t.Errorf("passed on %q", w.log)
		}
	})
}

func TestFilterWithoutValues(t *testing.T) {
	t.Parallel()
	filtered(t, []string{"tiny"}, func(t *testing.T, f *Filter, w *written) {
		put(t, f, output.Stdout, "tiny t")
		w.fail = output.ErrFinished
		if err := f.Write(output.Stdout, []byte("x")); !errors.Is(err, output.ErrFinished) {
			t.Errorf("Write = %v", err)
		}
		if w.streams[1].String() != "tiny tx" {
			t.Errorf("passed on %q", w.log)
		}
	})
}

func TestFilterTellsThatTheWriterHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &written{begin: time.Now(), fail: output.ErrFinished}
		f := NewFilter(NewMask([]string{"s3cret-value"}), 0, w.write)
		if err := f.Write(output.Stdout, []byte("s3c")); err != nil {
			t.Errorf("nothing was to be written: %v", err)
		}
		pass(time.Second)
		if err := f.Write(output.Stdout, []byte("x s")); !errors.Is(err, output.ErrFinished) {
			t.Errorf("Write = %v", err)
		}
		if err := f.Close(); !errors.Is(err, output.ErrFinished) {
			t.Errorf("Close = %v", err)
		}
	})
}
