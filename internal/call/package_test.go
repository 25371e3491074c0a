package call_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/call"
	"github.com/scriptorium-dev/scriptorium/internal/call/calltest"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/run"
	"github.com/scriptorium-dev/scriptorium/internal/tool"
	"github.com/scriptorium-dev/scriptorium/runner"
)

// fake is a package of one file.
func fake(lines ...string) calltest.Package {
	source := ""
	for _, l := range lines {
		source += "#fake: " + l + "\n"
	}
	return calltest.Package{Files: map[string]string{"main.py": source}}
}

// entries reads "name@version name": versions are optional.
func entries(text string) []*tool.Entry {
	var all []*tool.Entry
	for _, word := range strings.Fields(text) {
		name, version, pinned := strings.Cut(word, "@")
		e := &tool.Entry{Name: name}
		if pinned {
			n := int(version[0] - '0')
			e.Version = &n
		}
		all = append(all, e)
	}
	return all
}

// runWith makes a run, and answers its id, or why it is refused.
func (w *world) runWith(ctx context.Context, t *testing.T, in run.CreateInput) (id, refused string) {
	t.Helper()
	p, err := w.Runs.Create(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, u := range p.UserErrors {
		all = append(all, describe(u))
	}
	if p.Run != nil {
		id = p.Run.ID
	}
	return id, strings.Join(all, ", ")
}

// offered are a run's tools, with their versions, but for the system's own.
func (w *world) offered(t *testing.T, runID string) string {
	t.Helper()
	tools, err := w.Runs.Tools(w.ctx, w.v.Organization.ID, []string{runID})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, offer := range tools[runID] {
		if offer.Version != nil {
			all = append(all, offer.Name+"@"+string(rune('0'+*offer.Version)))
		}
	}
	return strings.Join(all, " ")
}

func TestS2ToolsOfRun(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		for range 3 {
			w.Publish(w.ctx, "deck", fake("out x"))
		}
		w.Publish(w.ctx, "sheet", fake("out x"))
		draft := fake("out x")
		draft.Draft = true
		w.Publish(w.ctx, "sheet", draft)
		w.Publish(w.ctx, "hidden", draft)
		poor, _ := calltest.Another(w.ctx, t, d, w.v, key.Tooling)
		ruled, who := calltest.Another(w.ctx, t, d, w.v, key.Capabilities()...)
		calltest.Deny(w.ctx, t, d, who, "script__d*", "script_delete")
		others, _ := calltest.Viewer(t, d)
		for _, c := range []struct {
			ctx        context.Context
			tools      string
			want, path string
		}{
			{w.ctx, "script__deck", "script__deck@3", ""}, {w.ctx, "script__deck@1 script__sheet", "script__deck@1 script__sheet@1", ""},
			{w.ctx, "script__*", "script__deck@3 script__sheet@1", ""}, {w.ctx, "script__* script__deck@2", "script__deck@2 script__sheet@1", ""},
			{w.ctx, "*e*t x*", "script__sheet@1", ""}, {w.ctx, "nothing*", "", ""}, {w.ctx, "script__deck@2 script__deck@2", "script__deck@2", ""},
			{w.ctx, "script__deck script__nope", "", "NOT_FOUND input tools 1 name"}, {w.ctx, "script__sheet script__deck@4", "", "NOT_FOUND input tools 1 version"},
			{w.ctx, "script__sheet@2", "", "NOT_FOUND input tools 0 version"}, {w.ctx, "script__hidden", "", "NOT_FOUND input tools 0 name"},
			{w.ctx, "script__hidden@1", "", "NOT_FOUND input tools 0 name"}, {w.ctx, "deck", "", "NOT_FOUND input tools 0 name"}, {w.ctx, "script_run", "", "NOT_FOUND input tools 0 name"},
			{w.ctx, "script__*@1", "", "INVALID input tools 0 version"}, {w.ctx, "script__deck@1 script__deck@2", "", "INVALID input tools 1 version"},
			{w.ctx, "script__deck script__deck@3", "", "INVALID input tools 1 version"}, {w.ctx, "a.b", "", "INVALID input tools 0 name"},
			{w.ctx, strings.Repeat("a* ", 101), "", "TOO_LARGE input tools"}, {w.ctx, "script__nope script__nada", "", "NOT_FOUND input tools 0 name, NOT_FOUND input tools 1 name"},
			{poor, "script__deck", "", "DENIED input tools 0 name"}, {poor, "script__*", "", ""},
			{ruled, "script__deck", "", "NOT_FOUND input tools 0 name"}, {ruled, "script__*", "script__sheet@1", ""}, {others, "script__*", "", ""}, {others, "script__deck", "", "NOT_FOUND input tools 0 name"},
		} {
			id, refused := w.runWith(c.ctx, t, run.CreateInput{Tools: entries(c.tools)})
			if refused != c.path {
				t.Errorf("%q: %s, want %s", c.tools, refused, c.path)
			}
			if id != "" && c.ctx != others {
				if got := w.offered(t, id); got != c.want {
					t.Errorf("%q: offered are %s", c.tools, got)
				}
			}
		}
		// An agent's tools are a toolset: what is not there for a key is left out, an entry's pin wins.
		if p, err := w.Agents.Update(w.ctx, agent.UpdateInput{Agent: w.agent, Tools: []string{"script__deck", "script__s*"}}); err != nil || p.Agent == nil {
			t.Fatal(p, err)
		}
		for _, c := range []struct {
			ctx         context.Context
			tools, want string
		}{
			{w.ctx, "", "deck@1 script__deck@3 script__sheet@1"}, {w.ctx, "script__deck@1", "deck@1 script__deck@1 script__sheet@1"}, {poor, "", "deck@1"},
			{ruled, "", "deck@1 script__sheet@1"},
		} {
			id, refused := w.runWith(c.ctx, t, run.CreateInput{Agent: &w.agent, Tools: entries(c.tools)})
			if refused != "" || w.offered(t, id) != c.want {
				t.Errorf("of the agent, %q: %s, offered are %s", c.tools, refused, w.offered(t, id))
			}
		}
		id, _ := w.runWith(ruled, t, run.CreateInput{Agent: &w.agent})
		if c := w.Call(w.ctx, id, "script_delete", `{"name":"deck"}`); code(c) != call.UnknownTool {
			t.Errorf("a tool that was not offered: %v %s", c.Status, c.Text)
		}
	})
}

func TestS2NoConfTools(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		broken := newFake()
		broken.FailCheck(runner.ErrNotConfigured)
		w := newWorld(t, d, calltest.Options{Runner: broken})
		w.Publish(w.ctx, "deck", fake("out x"))
		if _, refused := w.runWith(w.ctx, t, run.CreateInput{Tools: entries("script__* script__deck")}); refused != "NOT_CONFIGURED input tools 1 name computer_not_configured" {
			t.Error(refused)
		}
		if _, refused := w.runWith(w.ctx, t, run.CreateInput{Tools: entries("script__nope")}); refused != "NOT_FOUND input tools 0 name" {
			t.Error(refused)
		}
		if id, refused := w.runWith(w.ctx, t, run.CreateInput{Tools: entries("script__*")}); refused != "" || w.offered(t, id) != "" {
			t.Error(refused)
		}
		c := w.direct(w.ctx, t, call.ToolCallInput{Name: "script__deck"})
		expect(t, c, call.Refused, call.NotConfigured, "This tool is not configured on this deployment.")
	})
}

// TestS2Call: what a package's program gets.
func TestS2Call(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		p := fake("stdin", "argv", "cat lib/words.txt", "env HOME", "env COLOUR")
		p.Files["lib/words.txt"] = "words\n"
		p.Parameters = slides
		w.Publish(w.ctx, "deck", p)
		w.Publish(w.ctx, "writes", fake("write /workspace/shared.txt from writes", "write main.py changed"))
		w.Publish(w.ctx, "reads", fake("cat /workspace/shared.txt"))
		for _, agentID := range []*string{nil, &w.agent} {
			id, refused := w.runWith(w.ctx, t, run.CreateInput{Agent: agentID, Tools: entries("script__*"), Environment: []byte(`{"COLOUR":"red"}`)})
			if refused != "" {
				t.Fatal(refused)
			}
			c := w.Call(w.ctx, id, "script__deck", `{"title": 1.0e0, "slides": []}`)
			expect(t, c, call.Refused, call.InvalidArguments, "Tool arguments were not valid.\n/title: type")
			c = w.Call(w.ctx, id, "script__deck", `{"slides":[{"heading":"a"},{}],"title":"x"}`)
			expect(t, c, call.Refused, call.InvalidArguments, "Tool arguments were not valid.\n/slides/1/heading: required")
			c = w.Call(w.ctx, id, "script__deck", `{ "title" : "Q3" }`)
			expect(t, c, call.Succeeded, "", "exit_code: 0\nstdout:\n{ \"title\" : \"Q3\" }python3\nmain.py\nwords\n"+runner.Calls+"/"+c.ID+"/home\nred\nstderr:\n\n")
			all := w.Fake.Calls()
			ran := all[len(all)-1].Call
			if ran.Dir != runner.Scripts+"/deck/1" {
				t.Errorf("it ran in %s", ran.Dir)
			}
			if !slices.ContainsFunc(ran.Files, func(f runner.FileChange) bool {
				return f.Op == runner.FileMkdir && f.Path == runner.Calls+"/"+c.ID+"/home" && f.UID == runner.ScriptUser
			}) {
				t.Errorf("its HOME is not made: %v", ran.Files)
			}
			if v, _ := env(ran, "ARTIFIC_OUTPUTS"); v != runner.Calls+"/"+c.ID+"/outputs" {
				t.Errorf("outputs go to %s", v)
			}
			// S2-computer, S2-verify: one computer, and a package is whole whatever programs do there.
			c = w.Call(w.ctx, id, "script__writes", "")
			again := w.Call(w.ctx, id, "script__writes", "")
			if c.Status != again.Status || c.Text != again.Text {
				t.Errorf("%s %q, then %s %q", c.Status, c.Text, again.Status, again.Text)
			}
			expect(t, w.Call(w.ctx, id, "script__reads", ""), call.Succeeded, "", "exit_code: 0\nstdout:\nfrom writes\nstderr:\n\n")
			if c := w.Call(w.ctx, id, "script__nope", ""); code(c) != call.UnknownTool {
				t.Errorf("%s %s", c.Status, c.Text)
			}
		}
		if n := len(w.Fake.Started()); n != 2 {
			t.Errorf("%d computers for two runs", n)
		}
	})
}

// TestS2Resolved: a run goes on with the version that it was offered.
func TestS2Resolved(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		w.Publish(w.ctx, "deck", fake("out one"))
		w.Publish(w.ctx, "deck", fake("out two"))
		latest, _ := w.runWith(w.ctx, t, run.CreateInput{Tools: entries("script__deck")})
		pinned, _ := w.runWith(w.ctx, t, run.CreateInput{Tools: entries("script__deck@1")})
		w.Publish(w.ctx, "deck", fake("out three"))
		for id, want := range map[string]string{latest: "two\n", pinned: "one\n"} {
			if c := w.Call(w.ctx, id, "script__deck", ""); c.Stdout() != want {
				t.Errorf("printed %q", c.Stdout())
			}
		}
		three := 3
		p, err := w.Calls.ToolCall(w.ctx, call.ToolCallInput{Run: &latest, Name: "script__deck", Version: &three})
		if err != nil || len(p.UserErrors) != 1 || describe(p.UserErrors[0]) != "NOT_FOUND input version" {
			t.Errorf("%v %v", p, err)
		}
		after, _ := w.runWith(w.ctx, t, run.CreateInput{Tools: entries("script__*")})
		if c := w.Call(w.ctx, after, "script__deck", ""); c.Stdout() != "three\n" || c.ScriptID == nil || c.VersionID == nil {
			t.Errorf("%+v", c)
		}
	})
}

// TestS2PolicyCalled: a key's rules hold when a tool is called, too.
func TestS2PolicyCalled(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		w.Publish(w.ctx, "deck", fake("out x"))
		id, _ := w.runWith(w.ctx, t, run.CreateInput{Agent: &w.agent, Tools: entries("script__deck")})
		ruled, who := calltest.Another(w.ctx, t, d, w.v, key.Capabilities()...)
		who.Key.ToolRules = []*key.ToolRule{{Effect: key.Permit, Pattern: "script_list"}, {Effect: key.Deny, Pattern: "*"}}
		for _, name := range []string{"script__deck", "deck", "script_run", "script__nope"} {
			expect(t, w.Call(ruled, id, name, ""), call.Refused, call.Denied, "Denied by policy.")
		}
		if c := w.Call(ruled, id, "script_list", ""); c.Status != call.Succeeded {
			t.Errorf("%s %s", c.Status, c.Text)
		}
		expect(t, w.direct(ruled, t, call.ToolCallInput{Name: "script__deck"}), call.Refused, call.Denied, "Denied by policy.")
		poor, _ := calltest.Another(w.ctx, t, d, w.v, key.Tooling)
		expect(t, w.Call(poor, id, "script__deck", ""), call.Refused, call.Denied, "Denied by policy.")
		if n := len(w.Fake.Started()); n != 0 {
			t.Errorf("%d computers", n)
		}
	})
}

// direct calls without a run.
func (w *world) direct(ctx context.Context, t *testing.T, in call.ToolCallInput) *call.Call {
	t.Helper()
	p, err := w.Calls.ToolCall(ctx, in)
	if err != nil || p.Call == nil {
		t.Fatalf("%v %v", p, err)
	}
	return p.Call
}

// TestS2DirectRules: a call without a run has a computer of its own, and nobody sees a run.
func TestS2DirectRules(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		w.Publish(w.ctx, "deck", fake("out one"))
		w.Publish(w.ctx, "deck", fake("out two"))
		draft := fake("out draft")
		draft.Draft = true
		w.Publish(w.ctx, "deck", draft)
		w.Publish(w.ctx, "new", draft)
		plain, _ := calltest.Another(w.ctx, t, d, w.v, key.Tooling, key.Computer)
		poor, _ := calltest.Another(w.ctx, t, d, w.v, key.Tooling)
		number := func(n int) *int { return &n }
		for _, c := range []struct {
			ctx     context.Context
			name    string
			version *int
			want    string
		}{
			{w.ctx, "script__deck", nil, "two\n"}, {plain, "script__deck", nil, "two\n"}, {plain, "script__deck", number(1), "one\n"}, {w.ctx, "script__deck", number(3), "draft\n"},
			{w.ctx, "script__new", number(1), "draft\n"}, {w.ctx, "script__new", nil, "UNKNOWN_TOOL"}, {plain, "script__new", number(1), "UNKNOWN_TOOL"},
			{plain, "script__deck", number(3), "NOT_FOUND input version"}, {w.ctx, "script__deck", number(4), "NOT_FOUND input version"}, {w.ctx, "script__new", number(2), "NOT_FOUND input version"},
			{w.ctx, "deck", nil, "UNKNOWN_TOOL"}, {w.ctx, "script_list", nil, "UNKNOWN_TOOL"}, {w.ctx, "script__nope", number(1), "UNKNOWN_TOOL"}, {poor, "script__deck", nil, "DENIED"},
		} {
			p, err := w.Calls.ToolCall(c.ctx, call.ToolCallInput{Name: c.name, Version: c.version})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			switch {
			case p.Call == nil:
				got = describe(p.UserErrors[0])
			case p.Call.ErrorCode != nil:
				got = string(*p.Call.ErrorCode)
			default:
				got = p.Call.Stdout()
			}
			if got != c.want {
				t.Errorf("%s %v: %s, want %s", c.name, c.version, got, c.want)
			}
		}
		if up, n := w.Fake.Computers(), len(w.Fake.Started()); len(up) != 0 || n != 5 {
			t.Errorf("%d computers were made, up are %v", n, up)
		}
		w.hidden(t, w.direct(w.ctx, t, call.ToolCallInput{Name: "script__deck"}))
	})
}

// hidden checks that nothing shows the run of a direct call, and that it is finished.
func (w *world) hidden(t *testing.T, c *call.Call) {
	t.Helper()
	org := w.v.Organization.ID
	runs, err1 := w.Runs.ByIDs(w.ctx, org, []string{*c.RunID})
	page, err2 := w.Runs.Page(w.ctx, org, nil, first(10))
	if err1 != nil || err2 != nil || len(runs) != 0 || len(page.Edges) != 0 {
		t.Errorf("seen are %v, %v; %v %v", runs, page.Edges, err1, err2)
	}
	if n, err := page.TotalCount(w.ctx); n != 0 || err != nil {
		t.Errorf("%d runs, %v", n, err)
	}
	finish, err := w.Runs.Finish(w.ctx, run.FinishInput{Run: *c.RunID})
	if err != nil || len(finish.UserErrors) != 1 {
		t.Errorf("finished: %v %v", finish, err)
	}
	p, err := w.Calls.ToolCall(w.ctx, call.ToolCallInput{Run: c.RunID, Name: "script__deck"})
	if err != nil || len(p.UserErrors) != 1 {
		t.Errorf("called in: %v %v", p, err)
	}
	var open int
	if err := w.DB.SQL().QueryRowContext(w.ctx, "SELECT COUNT(*) FROM runs WHERE direct AND (status <> 'FINISHED' OR owner <> '' OR finished_at IS NULL)").Scan(&open); err != nil || open != 0 {
		t.Errorf("%d of them are open: %v", open, err)
	}
}

// TestS2DirectEnds: whatever ends a direct call finishes its run.
func TestS2DirectEnds(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{Run: run.Config{MaxComputers: 1}})
		w.Publish(w.ctx, "hangs", fake("wait here"))
		w.Publish(w.ctx, "deck", fake("out x"))
		no, key := false, "once"
		runs := w.direct(w.ctx, t, call.ToolCallInput{Name: "script__hangs", Wait: &no, IdempotencyKey: &key})
		w.Arrived("here")
		if again := w.direct(w.ctx, t, call.ToolCallInput{Name: "script__hangs", Wait: &no, IdempotencyKey: &key}); again.ID != runs.ID {
			t.Errorf("the same request made %s and %s", runs.ID, again.ID)
		}
		waits := w.direct(w.ctx, t, call.ToolCallInput{Name: "script__deck", Wait: &no})
		for _, c := range []*call.Call{waits, runs} {
			p, err := w.Calls.Cancel(w.ctx, call.CancelInput{Call: c.ID})
			if err != nil || p.Call == nil || p.Call.Status != call.Cancelled {
				t.Fatal(p, err)
			}
		}
		deleted := w.direct(w.ctx, t, call.ToolCallInput{Name: "script__hangs", Wait: &no})
		calltest.Eventually(t, "it runs", func() bool { return w.now(deleted).Status == call.Running })
		w.remove(t, *deleted.ScriptID)
		expect(t, w.Ended(w.ctx, deleted), call.Cancelled, call.ScriptDeleted, "The script was deleted, and stopped.\nstdout:\n\nstderr:\n\n")
		if c := w.direct(w.ctx, t, call.ToolCallInput{Name: "script__hangs"}); code(c) != call.UnknownTool {
			t.Errorf("%s %s", c.Status, c.Text)
		}
		calltest.Eventually(t, "the computers have gone", func() bool { return len(w.Fake.Computers()) == 0 })
		w.hidden(t, w.direct(w.ctx, t, call.ToolCallInput{Name: "script__deck"}))
	})
}

// now is the call as it is now.
func (w *world) now(c *call.Call) *call.Call {
	return w.Until(w.ctx, c, func(*call.Call) bool { return true })
}

// remove deletes an organization's script as scriptDelete does, by its removal.
func (w *world) remove(t *testing.T, scriptID string) {
	t.Helper()
	err := w.DB.InTx(w.ctx, func(ctx context.Context, tx *database.Tx) error {
		if _, err := tx.SQL().ExecContext(ctx, "UPDATE scripts SET deleted_at = $2 WHERE id = $1", scriptID, database.Now()); err != nil {
			return err
		}
		return w.Host.Scripts().InTx(ctx, tx, w.v.Organization.ID, []string{scriptID})
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Host.Scripts().AfterCommit(w.ctx, w.v.Organization.ID, nil)
}

// TestS2Direct50: many direct calls at once all succeed, on fewer computers.
func TestS2Direct50(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{Run: run.Config{MaxComputers: 4}})
		w.Publish(w.ctx, "deck", fake("stdin"))
		ended := make(chan *call.Call, 50)
		for range 50 {
			go func() {
				p, err := w.Calls.ToolCall(w.ctx, call.ToolCallInput{Name: "script__deck"})
				if err != nil {
					t.Error(err)
					p = &call.ToolCallPayload{}
				}
				ended <- p.Call
			}()
		}
		for range 50 {
			if c := <-ended; c == nil || c.Status != call.Succeeded || c.Stdout() != "{}" {
				t.Errorf("%+v", c)
			}
		}
		if up := w.Fake.Computers(); len(up) != 0 {
			t.Errorf("up are %v", up)
		}
		var ids []string
		for _, s := range w.Fake.Started() {
			ids = append(ids, s.ID)
		}
		if slices.Sort(ids); len(slices.Compact(ids)) != 50 {
			t.Errorf("%d computers", len(ids))
		}
		w.hidden(t, w.direct(w.ctx, t, call.ToolCallInput{Name: "script__deck"}))
	})
}
