package call

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/output"
	"github.com/scriptorium-dev/scriptorium/internal/run"
	"github.com/scriptorium-dev/scriptorium/runner"
)

var update = flag.Bool("update", false, "write the golden files anew")

func total(s string) output.Total {
	return output.Total{Bytes: int64(len(s)), Written: int64(len(s)), Head: []byte(s[:min(len(s), output.MaxHead)])}
}

// TestS2CutAnswers holds the texts of ended calls, as the model reads them, to golden files.
func TestS2CutAnswers(t *testing.T) {
	t.Parallel()
	exit := func(code int) runner.Result { return runner.Result{Reason: runner.ReasonExit, ExitCode: code} }
	big := func(n int) string { return strings.Repeat("0123456789abcde\n", n/16) }
	why := func(r runner.Reason) runner.Result { return runner.Result{Reason: r, ExitCode: 137, Signal: "SIGKILL"} }
	for name, c := range map[string]struct {
		result         runner.Result
		err, cause     error
		stdout, stderr string
	}{
		"success":            {exit(0), nil, nil, "5 slides written\n", ""},
		"nothing_printed":    {exit(0), nil, nil, "", ""},
		"no_final_newline":   {exit(0), nil, nil, "a\nb", "c"},
		"only_newlines":      {exit(0), nil, nil, "\n", "\n\n"},
		"failure":            {exit(1), nil, nil, "", "Traceback (most recent call last):\n"},
		"exit_137":           {exit(137), nil, nil, "killed myself, or so it seems\n", ""},
		"sigkill":            {runner.Result{Reason: runner.ReasonSignal, ExitCode: 137, Signal: "SIGKILL"}, nil, nil, "x\n", ""},
		"sigsegv":            {runner.Result{Reason: runner.ReasonSignal, ExitCode: 139, Signal: "SIGSEGV"}, nil, nil, "", ""},
		"not_utf8":           {exit(0), nil, nil, "a\xff\xfeb\x00c\n", "\xe2\x82"},
		"timeout":            {why(runner.ReasonTimeout), nil, nil, "half", ""},
		"out_of_memory":      {why(runner.ReasonMemory), nil, nil, "half\n", "MemoryError\n"},
		"cancelled":          {why(runner.ReasonCancelled), nil, run.StopCancelled, "half\n", ""},
		"script_deleted":     {why(runner.ReasonCancelled), nil, run.StopDeleted, "", ""},
		"lost":               {runner.Result{}, runner.ErrLost, nil, "half\n", ""},
		"stdout_cut":         {exit(0), nil, nil, big(64 << 10), ""},
		"stderr_cut":         {exit(1), nil, nil, "", big(64 << 10)},
		"both_cut":           {exit(1), nil, nil, big(64 << 10), big(64 << 10)},
		"stderr_takes_rest":  {exit(1), nil, nil, big(16 << 10), big(32 << 10)},
		"stdout_takes_rest":  {exit(1), nil, nil, big(64 << 10), big(4 << 10)},
		"exactly_all":        {exit(0), nil, nil, big(16 << 10), big(16 << 10)},
		"cut_in_a_character": {exit(0), nil, nil, "a" + strings.Repeat("é", 20<<10), ""},
		"cut_and_stopped":    {why(runner.ReasonTimeout), nil, nil, big(64 << 10), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := conclude(c.result, c.err, c.cause, 60)
			e := o.end(&Call{ID: "call_1"}, output.Summary{Stdout: total(c.stdout), Stderr: total(c.stderr)}, database.Now())
			if stopped := o.code != ""; (e.ExitCode == nil) != stopped || stopped && e.Signal != nil {
				t.Errorf("%s has the exit code %v and the signal %v", o.code, e.ExitCode, e.Signal)
			}
			got := fmt.Sprintf("%s %s\n%s", e.Status, o.code, e.Text)
			file := filepath.Join("testdata", "answer_"+name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("another text than in %s:\n%s", file, got)
			}
		})
	}
}

func TestS2CutRoom(t *testing.T) {
	t.Parallel()
	const kib = 1 << 10
	for _, c := range []struct{ stdout, stderr, out, errs int }{
		{32 * kib, 0, 32 * kib, 0},
		{32*kib + 1, 0, 32 * kib, 0},
		{0, 33 * kib, 0, 32 * kib},
		{24 * kib, 8 * kib, 24 * kib, 8 * kib},
		{24*kib + 1, 8 * kib, 24 * kib, 8 * kib},
		{24 * kib, 8*kib + 1, 24 * kib, 8 * kib},
		{20 * kib, 20 * kib, 20 * kib, 12 * kib},
		{40 * kib, 1, 32*kib - 1, 1},
		{40 * kib, 40 * kib, 24 * kib, 8 * kib},
	} {
		out, errs := cut(total(strings.Repeat("o", c.stdout)), total(strings.Repeat("e", c.stderr)))
		if len(out.kept) != c.out || len(errs.kept) != c.errs || out.leftOut != int64(c.stdout-c.out) || errs.leftOut != int64(c.stderr-c.errs) {
			t.Errorf("%+v: %d and %d kept, %d and %d left out", c, len(out.kept), len(errs.kept), out.leftOut, errs.leftOut)
		}
	}
}

// TestBytesThatAreNoText: each byte that is no UTF-8 reads as one U+FFFD, in all that tells of the output.
func TestBytesThatAreNoText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\x00é": "a\x00é", "\xff\xfe\xfd": "\uFFFD\uFFFD\uFFFD", "a\xe2\x82b": "a\uFFFD\uFFFDb", "\xed\xa0\x80": "\uFFFD\uFFFD\uFFFD", "\uFFFD": "\uFFFD",
		"\xf0\x9f\x98": "\uFFFD\uFFFD\uFFFD", "\xc0\x80": "\uFFFD\uFFFD",
	} {
		o := conclude(runner.Result{Reason: runner.ReasonExit}, nil, nil, 60)
		e := o.end(&Call{ID: "call_1"}, output.Summary{Stdout: total(in), Stderr: total(in + in)}, database.Now())
		if e.Stdout() != want || e.Stderr() != want+want {
			t.Errorf("%q: stdout %q, stderr %q", in, e.Stdout(), e.Stderr())
		}
		if text := "exit_code: 0\nstdout:\n" + want + "\nstderr:\n" + want + want + "\n"; e.Text != text {
			t.Errorf("%q: text %q", in, e.Text)
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add("a\xe2\x82\xac", uint16(3))
	f.Add("\xf0\x9f\x98\x80", uint16(2))
	f.Fuzz(func(t *testing.T, s string, room uint16) {
		b := cutOne(total(s), int64(room))
		if len(b.kept) > int(room) || !strings.HasPrefix(s, string(b.kept)) || b.leftOut != int64(len(s)-len(b.kept)) {
			t.Fatalf("%q cut at %d: %q, %d left out", s, room, b.kept, b.leftOut)
		}
		if utf8.ValidString(s) && !utf8.Valid(b.kept) {
			t.Fatalf("%q cut at %d: inside a character", s, room)
		}
		if int(room) < len(s) && int(room)-len(b.kept) >= utf8.UTFMax {
			t.Fatalf("%q cut at %d: %d bytes kept", s, room, len(b.kept))
		}
	})
}

// TestStates holds the table of states: which status goes with which error code.
func TestStates(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, c := range []struct {
		result     runner.Result
		err, cause error
		status     Status
		code       ErrorCode
		reason     EndReason
	}{
		{runner.Result{Reason: runner.ReasonExit}, nil, nil, Succeeded, "", EndExit},
		{runner.Result{Reason: runner.ReasonExit}, nil, run.StopCancelled, Succeeded, "", EndExit}, // it was faster
		{runner.Result{Reason: runner.ReasonExit, ExitCode: 1}, nil, nil, Failed, "", EndExit},
		{runner.Result{Reason: runner.ReasonSignal, ExitCode: 139, Signal: "SIGSEGV"}, nil, nil, Failed, "", EndSignal},
		{runner.Result{Reason: runner.ReasonMemory, ExitCode: 137}, nil, nil, Failed, OutOfMemory, EndMemory},
		{runner.Result{Reason: runner.ReasonTimeout}, nil, nil, TimedOut, TimeLimit, EndTime},
		{runner.Result{Reason: runner.ReasonTimeout}, nil, run.StopDeleted, TimedOut, TimeLimit, EndTime},
		{runner.Result{Reason: runner.ReasonCancelled}, nil, run.StopCancelled, Cancelled, ByRequest, EndCancelled},
		{runner.Result{Reason: runner.ReasonCancelled}, nil, run.StopDeleted, Cancelled, ScriptDeleted, EndDeleted},
		{runner.Result{Reason: runner.ReasonCancelled}, nil, run.StopLost, Lost, ComputerLost, EndLost},
		{runner.Result{Reason: runner.ReasonCancelled}, nil, nil, Lost, ComputerLost, EndLost},
		{runner.Result{}, runner.ErrLost, nil, Lost, ComputerLost, EndLost},
		{runner.Result{}, runner.ErrClosed, nil, Lost, ComputerLost, EndLost},
		{runner.Result{}, runner.ErrSink, nil, Lost, ComputerLost, EndOutput},
		{runner.Result{}, broken, nil, Lost, ComputerLost, EndLost},
		{runner.Result{}, &runner.FileError{Full: true}, nil, Refused, ComputerUnavailable, ""},
		{runner.Result{}, runner.ErrTooLarge, nil, Refused, ComputerUnavailable, ""},
	} {
		if o := conclude(c.result, c.err, c.cause, 1); o.status != c.status || o.code != c.code || o.reason != c.reason {
			t.Errorf("%+v: %s %s %s", c, o.status, o.code, o.reason)
		}
		if !Running.May(c.status) || !c.status.Ended() {
			t.Errorf("%s is no end of a call that runs", c.status)
		}
	}
	for from, to := range moves {
		if from.Ended() != (len(to) == 0) || from.Ended() == (from == Queued || from == Running) {
			t.Errorf("%s: %v", from, to)
		}
	}
}

func FuzzArguments(f *testing.F) {
	f.Add("script_run", `{"name":"x","arguments":"{}"}`)
	f.Add("deck", `"{\"a\":1}"`)
	f.Fuzz(func(t *testing.T, name, raw string) {
		a := parseArguments(name, []byte(raw))
		if a.fault == nil && (len(a.input) == 0 || !strings.HasPrefix(strings.TrimSpace(string(a.input)), "{")) {
			t.Fatalf("%s %q: %q", name, raw, a.input)
		}
		if a.fault != nil && a.fault.code != InvalidArguments {
			t.Fatalf("%s %q: %v", name, raw, a.fault)
		}
	})
}
