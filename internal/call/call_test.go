package call_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/call"
	"github.com/scriptorium-dev/scriptorium/internal/call/calltest"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/page"
	"github.com/scriptorium-dev/scriptorium/internal/run"
	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/runner"
)

const slides = `{"type":"object","properties":{"title":{"type":"string"},"slides":{"type":"array","items":{"type":"object","properties":{"heading":{"type":"string"}},"required":["heading"]}}},"required":["title"]}`

// world is a server with an agent that has the scripts deck (with parameters) and plain (without).
type world struct {
	*calltest.Server
	ctx   context.Context
	v     *key.Viewer
	agent string
}

func newWorld(t *testing.T, d *database.DB, o calltest.Options) *world {
	t.Helper()
	s := calltest.New(t, d, o)
	ctx, v := calltest.Viewer(t, d)
	w := &world{s, ctx, v, s.Agent(ctx)}
	w.Save(ctx, w.agent, "deck", "#fake: out deck 1\n#fake: stdin\n", slides)
	w.Save(ctx, w.agent, "plain", "#fake: out plain 1\n#fake: err warned\n#fake: exit 3\n", "")
	return w
}

func code(c *call.Call) call.ErrorCode {
	if c.ErrorCode == nil {
		return ""
	}
	return *c.ErrorCode
}

func expect(t *testing.T, c *call.Call, status call.Status, errorCode call.ErrorCode, text string) {
	t.Helper()
	if c.Status != status || code(c) != errorCode || c.Text != text {
		t.Fatalf("got %s %s %q, want %s %s %q", c.Status, code(c), c.Text, status, errorCode, text)
	}
}

func TestS1RunAndOwnTool(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		w.Save(w.ctx, w.agent, "echo", "#fake: stdin\n", "")
		r := w.Run(w.ctx, w.agent)
		own := w.Call(w.ctx, r, "deck", `{"title": "Q3",  "n": 9007199254740993.0}`)
		expect(t, own, call.Succeeded, "", "exit_code: 0\nstdout:\ndeck 1\n{\"title\": \"Q3\",  \"n\": 9007199254740993.0}\nstderr:\n\n")
		if string(own.Arguments) != `{"title": "Q3",  "n": 9007199254740993.0}` || own.ExitCode == nil || *own.ExitCode != 0 || own.StartedAt == nil ||
			own.FinishedAt == nil || own.DurationMs == nil || own.TimeoutSeconds != 120 || own.QueuedAt.IsZero() {
			t.Errorf("got %+v", own)
		}
		plain := w.Script(w.ctx, r, "plain")
		expect(t, plain, call.Failed, "", "exit_code: 3\nstdout:\nplain 1\nstderr:\nwarned\n")
		if plain.Stdout() != "plain 1\n" || plain.Stderr() != "warned\n" || plain.Truncated || plain.Output.StdoutBytes != 8 || plain.Output.StderrSha256 == nil {
			t.Errorf("got %+v", plain)
		}
		both := w.Call(w.ctx, r, "script_run", `{"name":"deck","arguments":"{ \"title\" : \"x\" }"}`)
		expect(t, both, call.Succeeded, "", "exit_code: 0\nstdout:\ndeck 1\n{ \"title\" : \"x\" }\nstderr:\n\n")
		none := w.Call(w.ctx, r, "script_run", `{"name":"echo"}`)
		expect(t, none, call.Succeeded, "", "exit_code: 0\nstdout:\n{}\nstderr:\n\n")

		// What was answered is what is kept.
		found, err := w.Calls.ByIDs(w.ctx, w.v.Organization.ID, []string{own.ID})
		if err != nil {
			t.Fatal(err)
		}
		kept, _ := json.Marshal(found[own.ID])
		if told, _ := json.Marshal(own); string(told) != string(kept) {
			t.Errorf("answered %s\nkept     %s", told, kept)
		}
		if len(w.Fake.Computers()) != 1 {
			t.Errorf("computers: %v", w.Fake.Computers())
		}
	})
}

func TestS2FixedRefusals(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		r := w.Run(w.ctx, w.agent)
		w.Save(w.ctx, w.agent, "late", "#fake: out late\n", slides) // not in the snapshot
		const notObject = "arguments must be a JSON object"
		unknown, invalid := "There is no tool of this name in this run.", "Tool arguments were not valid.\n"
		for _, c := range []struct {
			tool, arguments string
			code            call.ErrorCode
			text            string
		}{
			{"nope", ``, call.UnknownTool, unknown},
			{"Nope!", `[]`, call.UnknownTool, unknown},
			{"plain", ``, call.UnknownTool, unknown}, // without parameters it is no tool of its own
			{"script_run", `{"name":"nope"}`, call.UnknownTool, unknown},
			{"script_run", `{"name":"No\u0000pe"}`, call.UnknownTool, unknown},
			{"script_run", ``, call.InvalidArguments, invalid + "/name: required"},
			{"script_run", `{"name":7}`, call.InvalidArguments, invalid + "/name: type"},
			{"script_run", `{"name":"deck","more":1}`, call.InvalidArguments, invalid + "/more: additionalProperties"},
			{"script_run", `{"name":"deck","arguments":[1]}`, call.InvalidArguments, notObject},
			{"script_run", `{"name":"deck","arguments":"7"}`, call.InvalidArguments, notObject},
			{"script_run", `{"name":"deck","arguments":""}`, call.InvalidArguments, notObject},
			{"script_run", `{"name":"deck","arguments":"{\"title\":\"\\ud800\"}"}`, call.InvalidArguments, notObject},
			{"script_run", `[]`, call.InvalidArguments, notObject},
			{"script_run", `{"name":"deck"}`, call.InvalidArguments, invalid + "/title: required"}, // as under its own name
			{"script_run", `{"name":"deck","arguments":{"title":"x","slides":[{}]}}`, call.InvalidArguments, invalid + "/slides/0/heading: required"},
			{"script_run", `{"name":"deck","arguments":"{\"title\":1}"}`, call.InvalidArguments, invalid + "/title: type"},
			{"script_run", `{"name":"late","arguments":{"title":1}}`, call.InvalidArguments, invalid + "/title: type"},
			{"late", `{}`, call.UnknownTool, unknown},
			{"deck", ``, call.InvalidArguments, invalid + "/title: required"},
			{"deck", `7`, call.InvalidArguments, notObject},
			{"deck", `"{"`, call.InvalidArguments, notObject},
			{"deck", `{"title":"x","slides":[{}]}`, call.InvalidArguments, invalid + "/slides/0/heading: required"},
			{"deck", `"{\"title\":1}"`, call.InvalidArguments, invalid + "/title: type"},
		} {
			got := w.Call(w.ctx, r, c.tool, c.arguments)
			expect(t, got, call.Refused, c.code, c.text)
			if got.FinishedAt == nil || got.StartedAt != nil || got.Output.URL != nil || got.ExitCode != nil {
				t.Errorf("%s %s: %+v", c.tool, c.arguments, got)
			}
			if want := c.arguments; want != "" && string(got.Arguments) != want {
				t.Errorf("kept %s, want %s", got.Arguments, want)
			}
		}
		if n := len(w.Fake.Started()); n != 0 {
			t.Errorf("%d computers were made", n)
		}
		// A key without COMPUTER.
		v := *w.v
		k := *w.v.Key
		k.Capabilities = []key.Capability{key.Tooling}
		v.Key = &k
		expect(t, w.Call(key.WithViewer(w.ctx, &v), r, "deck", `{}`), call.Refused, call.Denied, "Denied by policy.")
		var problem *fault.Problem
		if _, err := w.Runs.GenerationStart(key.WithViewer(w.ctx, &v), run.GenerationStartInput{Run: r}); !errors.As(err, &problem) || problem.Code != fault.Denied {
			t.Errorf("started a generation without COMPUTER: %v", err)
		}
		// Without TOOLING nothing at all.
		k.Capabilities = nil
		if _, err := w.Calls.ToolCall(key.WithViewer(w.ctx, &v), call.ToolCallInput{Run: &r, Name: "deck"}); err == nil {
			t.Error("called without TOOLING")
		}
	})
}

func TestToolCallUserErrors(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		r, finished, foreign := w.Run(w.ctx, w.agent), w.Run(w.ctx, w.agent), "run_00000000000000000000000000"
		if p, err := w.Runs.Finish(w.ctx, run.FinishInput{Run: finished}); err != nil || p.Run.Status != run.Finished {
			t.Fatal(p, err)
		}
		other, _ := calltest.Viewer(t, d)
		two, one, long := 2, 1, strings.Repeat("k", 256)
		for name, c := range map[string]struct {
			in   call.ToolCallInput
			ctx  context.Context
			want string
		}{
			"unknown run":           {call.ToolCallInput{Run: &foreign, Name: "deck"}, w.ctx, "NOT_FOUND input run"},
			"another's run":         {call.ToolCallInput{Run: &r, Name: "deck"}, other, "NOT_FOUND input run"},
			"finished":              {call.ToolCallInput{Run: &finished, Name: "deck"}, w.ctx, "BAD_STATE input run"},
			"version":               {call.ToolCallInput{Run: &r, Name: "deck", Version: &two}, w.ctx, "NOT_FOUND input version"},
			"version of script_run": {call.ToolCallInput{Run: &r, Name: "script_run", Version: &one}, w.ctx, "NOT_FOUND input version"},
			"blank":                 {call.ToolCallInput{Run: &r, Name: " "}, w.ctx, "INVALID input name"},
			"NUL":                   {call.ToolCallInput{Run: &r, Name: "a\x00"}, w.ctx, "INVALID input name"},
			"key":                   {call.ToolCallInput{Run: &r, Name: "deck", IdempotencyKey: &long}, w.ctx, "INVALID input idempotencyKey"},
		} {
			p, err := w.Calls.ToolCall(c.ctx, c.in)
			if err != nil || p.Call != nil || len(p.UserErrors) != 1 {
				t.Fatalf("%s: %+v, %v", name, p, err)
			}
			if got := describe(p.UserErrors[0]); got != c.want {
				t.Errorf("%s: %s, want %s", name, got, c.want)
			}
		}
		if p, err := w.Calls.Page(w.ctx, w.v.Organization.ID, nil, first(10)); err != nil || len(p.Edges) != 0 {
			t.Errorf("rows were written: %v, %v", p.Edges, err)
		}
		if p, err := w.Calls.ToolCall(w.ctx, call.ToolCallInput{Run: &r, Name: "deck", Version: &one, Arguments: json.RawMessage(`{"title":""}`)}); err != nil || p.Call == nil {
			t.Errorf("the run's own version: %+v, %v", p, err)
		}
	})
}

// TestStrangeIDs: what has not the shape of an id is an unknown one, on every database.
func TestStrangeIDs(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		w.Call(w.ctx, w.Run(w.ctx, w.agent), "deck", `{}`)
		org := w.v.Organization.ID
		for _, bad := range []string{"", "\x00", "run_\x00", "call_\x00", "agt_\x00", strings.Repeat("x", 10_000)} {
			runs, err1 := w.Runs.ByIDs(w.ctx, org, []string{bad})
			snapshots, err2 := w.Runs.SnapshotsByIDs(w.ctx, org, []string{bad})
			calls, err3 := w.Calls.ByIDs(w.ctx, org, []string{bad})
			if errors.Join(err1, err2, err3) != nil || len(runs)+len(snapshots)+len(calls) != 0 {
				t.Errorf("%.10q is found: %v %v %v", bad, err1, err2, err3)
			}
			for _, filter := range []*call.Filter{{Run: &bad}, {Agent: &bad}, {Script: &bad}, {Tool: &bad}} {
				if p, err := w.Calls.Page(w.ctx, org, filter, page.Args{}); err != nil || len(p.Edges) != 0 {
					t.Errorf("%.10q: calls %v", bad, err)
				} else if n, err := p.TotalCount(w.ctx); n != 0 || err != nil {
					t.Errorf("%.10q: %d calls are counted, %v", bad, n, err)
				}
			}
			if p, err := w.Runs.Page(w.ctx, org, &bad, page.Args{}); err != nil || len(p.Edges) != 0 {
				t.Errorf("%.10q: runs %v", bad, err)
			}
			called, err1 := w.Calls.ToolCall(w.ctx, call.ToolCallInput{Run: &bad, Name: "deck"})
			cancelled, err2 := w.Calls.Cancel(w.ctx, call.CancelInput{Call: bad})
			finished, err3 := w.Runs.Finish(w.ctx, run.FinishInput{Run: bad})
			started, err4 := w.Runs.GenerationStart(w.ctx, run.GenerationStartInput{Run: bad})
			created, err5 := w.Runs.Create(w.ctx, run.CreateInput{Agent: &bad})
			if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
				t.Fatalf("%.10q: %v", bad, err)
			}
			for want, got := range map[string][]fault.UserError{
				"NOT_FOUND input run": called.UserErrors, "NOT_FOUND input call": cancelled.UserErrors, "NOT_FOUND input run ": finished.UserErrors,
				"NOT_FOUND input run  ": started.UserErrors, "NOT_FOUND input agent": created.UserErrors,
			} {
				if len(got) != 1 || describe(got[0]) != strings.TrimSpace(want) {
					t.Errorf("%.10q: %v, want %s", bad, got, want)
				}
			}
			var problem *fault.Problem
			if _, err := w.Calls.Watch(w.ctx, org, bad, nil); !errors.As(err, &problem) || problem.Code != fault.Missing {
				t.Errorf("%.10q: watched: %v", bad, err)
			}
			after := page.Encode("calls", "x"+bad)
			if _, err := w.Calls.Page(w.ctx, org, nil, page.Args{After: &after}); !errors.As(err, &problem) || problem.Code != fault.BadCursor {
				t.Errorf("%.10q in a cursor: %v", bad, err)
			}
		}
	})
}

func TestS2NoConf(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		fake := newFake()
		fake.FailCheck(runner.ErrNotConfigured)
		w := newWorld(t, d, calltest.Options{Runner: fake})
		r := w.Run(w.ctx, w.agent) // not refused
		expect(t, w.Script(w.ctx, r, "plain"), call.Refused, call.NotConfigured, "This tool is not configured on this deployment.")
		p, err := w.Runs.GenerationStart(w.ctx, run.GenerationStartInput{Run: r})
		if err != nil || p.Run != nil || len(p.UserErrors) != 1 || describe(p.UserErrors[0]) != "NOT_CONFIGURED input run computer_not_configured" {
			t.Errorf("got %+v, %v", p, err)
		}
	})
}

func TestComputerUnavailable(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		fake := newFake()
		w := newWorld(t, d, calltest.Options{Runner: fake, Run: run.Config{MaxComputers: 1, MaxQueued: 1}, Call: call.Config{MaxQueued: 2}})
		r := w.Run(w.ctx, w.agent)
		const sentence = "No computer could be made for this call."
		fake.FailStart(runner.ErrUnavailable)
		expect(t, w.Script(w.ctx, r, "plain"), call.Refused, call.ComputerUnavailable, sentence)
		fake.FailStart(nil)
		if c := w.Script(w.ctx, r, "plain"); c.Status != call.Failed {
			t.Fatalf("the next call: %s", c.Status)
		}
		// One computer, one call that waits for it; the next one is refused at once, and so is the third call that waits behind the run's own.
		w.Save(w.ctx, w.agent, "hang", "#fake: wait go\n", "")
		busy := w.Begin(w.ctx, r, "script_run", `{"name":"hang"}`)
		w.wait(t, fake, "go")
		waits := w.Begin(w.ctx, w.Run(w.ctx, w.agent), "script_run", `{"name":"plain"}`)
		expect(t, w.Script(w.ctx, w.Run(w.ctx, w.agent), "plain"), call.Refused, call.ComputerUnavailable, sentence)
		queued := []*call.Call{w.Begin(w.ctx, r, "script_run", `{"name":"plain"}`), w.Begin(w.ctx, r, "script_run", `{"name":"plain"}`)}
		expect(t, w.Begin(w.ctx, r, "script_run", `{"name":"plain"}`), call.Refused, call.ComputerUnavailable, sentence)
		fake.Release("go")
		for _, c := range append(queued, waits) {
			if c := w.Ended(w.ctx, c); c.Status != call.Failed {
				t.Errorf("what waited: %s %s", c.Status, code(c))
			}
		}
		if c := w.Ended(w.ctx, busy); c.Status != call.Succeeded {
			t.Errorf("what ran: %s", c.Status)
		}
		if got := fake.Computers(); len(got) != 1 {
			t.Errorf("computers: %v", got)
		}
	})
}

// TestGenerationWithoutAgent: a run without an agent has a computer, and nothing to bring into it.
func TestGenerationWithoutAgent(t *testing.T) {
	t.Parallel()
	d := databasetest.New(t, database.SQLite)
	w := newWorld(t, d, calltest.Options{})
	p, err := w.Runs.Create(w.ctx, run.CreateInput{})
	if err != nil || p.Run == nil {
		t.Fatal(p, err)
	}
	g, err := w.Runs.GenerationStart(w.ctx, run.GenerationStartInput{Run: p.Run.ID})
	if err != nil || g.Run == nil || g.Run.Generation != 1 || len(g.Materialised)+len(g.Removed) != 0 || len(w.Fake.Computers()) != 1 {
		t.Errorf("got %+v, %v", g, err)
	}
}

func TestS1EnvProcess(t *testing.T) {
	t.Parallel()
	d := databasetest.New(t, database.SQLite)
	w := newWorld(t, d, calltest.Options{})
	p, err := w.Runs.Create(w.ctx, run.CreateInput{Agent: &w.agent, Environment: json.RawMessage(`{"TOKEN":"a=b\n","_X":""}`)})
	if err != nil || p.Run == nil {
		t.Fatal(p, err)
	}
	c := w.Call(w.ctx, p.Run.ID, "deck", `{"title":"x"}`)
	got := w.Fake.Calls()[0].Call
	own := "/workspace/.calls/" + c.ID
	want := []string{
		"ARTIFIC_ARGUMENTS=" + own + "/arguments.json", "ARTIFIC_OUTPUTS=" + own + "/outputs", `GUILDS_SCRIPT_ARGS={"title":"x"}`, "HOME=/home/" + w.agent,
		"LANG=C.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1", "SCRIPTORIUM_CALL_ID=" + c.ID,
		"SCRIPTORIUM_RUN_ID=" + p.Run.ID, "TOKEN=a=b\n", "TZ=UTC", "_X=",
	}
	if !slices.Equal(got.Env, want) {
		t.Errorf("environment:\n%q\nwant\n%q", got.Env, want)
	}
	if strings.Join(got.Argv, " ") != "python3 scripts/deck.py" || got.Dir != "/home/"+w.agent || string(got.Stdin) != `{"title":"x"}` || got.Timeout.Seconds() != 120 {
		t.Errorf("got %v in %s, %s, %s", got.Argv, got.Dir, got.Stdin, got.Timeout)
	}
	if content, mode, uid, ok := w.Fake.File(p.Run.ID, own+"/arguments.json"); !ok || string(content) != `{"title":"x"}` || mode != 0o444 || uid != 0 {
		t.Errorf("the file of the arguments: %q %o %d %v", content, mode, uid, ok)
	}
	if content, mode, uid, ok := w.Fake.File(p.Run.ID, "/home/"+w.agent+"/scripts/deck.py"); !ok || !strings.HasPrefix(string(content), "#fake: out deck 1") || mode != 0o444 || uid != 0 {
		t.Errorf("the script: %q %o %d %v", content, mode, uid, ok)
	}
	// Arguments that no environment string holds are not in the environment; the next call has taken the file of this one away.
	big := `{"title":"` + strings.Repeat("x", 131_072-len(`GUILDS_SCRIPT_ARGS={"title":""}`)-1) + `"}`
	w.Call(w.ctx, p.Run.ID, "deck", big)
	w.Call(w.ctx, p.Run.ID, "deck", `{"title":"x`+big[len(`{"title":"`):])
	calls := w.Fake.Calls()
	if _, ok := env(calls[1].Call, "GUILDS_SCRIPT_ARGS"); !ok {
		t.Error("arguments of 131,072 bytes with name and end mark are not there")
	}
	if _, ok := env(calls[2].Call, "GUILDS_SCRIPT_ARGS"); ok || len(calls[2].Call.Stdin) != len(big)+1 {
		t.Error("arguments of one byte more are there")
	}
	if _, _, _, ok := w.Fake.File(p.Run.ID, own+"/arguments.json"); ok {
		t.Error("the arguments of earlier calls pile up")
	}
}

// A version that asks for an interpreter of its own gets one, however it is called; others do not.
func TestFreshInterpreter(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		fresh := true
		p, err := w.Scripts.Save(w.ctx, script.SaveInput{Agent: w.agent, Name: "own", Description: "Minds.", Source: "#fake: out own\n", FreshInterpreter: &fresh})
		if err != nil || p.Version == nil {
			t.Fatal(p, err)
		}
		runID := w.Run(w.ctx, w.agent)
		for _, name := range []string{"own", "plain", "own"} {
			w.Script(w.ctx, runID, name)
		}
		for i, c := range w.Fake.Calls() {
			if want := i != 1; c.Call.Fresh != want {
				t.Errorf("call %d, %v: fresh is %v", i, c.Call.Argv, c.Call.Fresh)
			}
		}
	})
}
