package call_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/call"
	"github.com/scriptorium-dev/scriptorium/internal/call/calltest"
	"github.com/scriptorium-dev/scriptorium/internal/change"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/page"
	"github.com/scriptorium-dev/scriptorium/internal/run"
)

// object is arguments as JSON.
func object(t *testing.T, members map[string]any) string {
	t.Helper()
	raw, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestS1FiveTexts holds what the model reads of the tools that need no computer to golden files, in the order of a run's life.
func TestS1FiveTexts(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		limit := 4
		if p, err := w.Agents.Update(w.ctx, agent.UpdateInput{Agent: w.agent, MaxScripts: &limit}); err != nil || p.Agent == nil {
			t.Fatal(p, err)
		}
		empty := w.Run(w.ctx, w.Agent(w.ctx))
		r := w.Run(w.ctx, w.agent)
		script := func(name, source string, parameters any) map[string]any {
			return map[string]any{"name": name, "description": "Does\n  " + name + ".", "source": source, "parameters": parameters}
		}
		long := strings.Repeat("# ä\n", 10_000)
		schema := map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}}
		for _, c := range []struct {
			golden, run, tool string
			arguments         map[string]any
			status            call.Status
		}{
			{"list_empty", empty, "script_list", nil, call.Succeeded},
			{"create", r, "script_create", script("fresh", "print(1)\n", nil), call.Succeeded},
			{"create_with_parameters", r, "script_create", script("sum", "print(2)", schema), call.Succeeded},
			{"create_past_cap", r, "script_create", script("more", "print(3)", nil), call.Failed},
			{"replace_fresh", r, "script_create", script("fresh", long, schema), call.Succeeded},
			{"replace_in_snapshot", r, "script_create", script("plain", "#fake: out plain 2\n", nil), call.Succeeded},
			{"list", r, "script_list", map[string]any{}, call.Succeeded},
			{"read", r, "script_read", map[string]any{"name": "sum"}, call.Succeeded},
			{"read_in_snapshot", r, "script_read", map[string]any{"name": "plain"}, call.Succeeded},
			{"read_long", r, "script_read", map[string]any{"name": "fresh", "offset": json.Number("2.0")}, call.Succeeded},
			{"read_rest", r, "script_read", map[string]any{"name": "fresh", "offset": 49_991}, call.Succeeded},
			{"read_behind", r, "script_read", map[string]any{"name": "fresh", "offset": 50_000}, call.Failed},
			{"read_none", r, "script_read", map[string]any{"name": "nope"}, call.Failed},
			{"create_bad", r, "script_create", map[string]any{"name": "deck\n", "description": " ", "source": "\t", "parameters": map[string]any{"type": "array"}}, call.Failed},
			{"create_reserved", r, "script_create", script("script_run", "print()", nil), call.Failed},
			{"create_manifest", r, "script_create", script("manifest", "print()", nil), call.Failed},
			{"delete", r, "script_delete", map[string]any{"name": "plain"}, call.Succeeded},
			{"delete_none", r, "script_delete", map[string]any{"name": "plain"}, call.Failed},
			{"delete_odd", r, "script_delete", map[string]any{"name": "../x\x00"}, call.Failed},
		} {
			arguments := ""
			if c.arguments != nil {
				arguments = object(t, c.arguments)
			}
			got := w.Call(w.ctx, c.run, c.tool, arguments)
			if got.Status != c.status || got.ErrorCode != nil || got.FinishedAt == nil || got.StartedAt != nil || got.ExitCode != nil || got.Stdout()+got.Stderr() != "" {
				t.Errorf("%s: %+v", c.golden, got)
			}
			w.golden(t, "native_"+c.golden+".txt", got.Text)
			again, err := w.Calls.ByIDs(w.ctx, w.v.Organization.ID, []string{got.ID})
			if err != nil || again[got.ID].Text != got.Text || again[got.ID].Status != got.Status {
				t.Errorf("%s, read again: %+v %v", c.golden, again[got.ID], err)
			}
		}
		if n := len(w.Fake.Started()); n != 0 {
			t.Errorf("%d computers were made", n)
		}
		if got := w.output(t, r, "sum"); got != "" {
			t.Errorf("what was created prints %q", got)
		}
	})
}

func (w *world) golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if flag.Lookup("update").Value.String() == "true" { // of answer_test.go
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, []byte(got)) {
		t.Errorf("%s: got\n%.2000s\nwant\n%.2000s", name, got, want)
	}
}

// TestS1AuthorStep: what a tool writes has the run's step as its author, and the call names what it wrote (S1-chip).
func TestS1AuthorStep(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		r, org := w.Run(w.ctx, w.agent), w.v.Organization.ID
		made := w.Call(w.ctx, r, "script_create", `{"name":"x","description":"x","source":"x"}`)
		listed := w.Call(w.ctx, r, "script_list", ``)
		read := w.Call(w.ctx, r, "script_read", `{"name":"x"}`)
		gone := w.Call(w.ctx, r, "script_delete", `{"name":"x"}`)
		if made.ScriptID == nil || made.VersionID == nil || read.VersionID == nil || *read.VersionID != *made.VersionID || listed.ScriptID != nil || gone.ScriptID != nil {
			t.Fatalf("%+v %+v", made, read)
		}
		versions, err := w.Scripts.VersionsByIDs(w.ctx, org, []string{*made.VersionID})
		if err != nil || versions[*made.VersionID].Author != (change.Author{CallID: made.ID}) {
			t.Errorf("the version: %v %+v", err, versions[*made.VersionID])
		}
		history, err := change.NewService(d, w.Bus).History(w.ctx, org, []string{w.agent}, nil, page.Args{})
		if err != nil {
			t.Fatal(err)
		}
		changes := history[w.agent].Nodes()
		if len(changes) != 4 || changes[0].Action != change.Delete || changes[0].Author != (change.Author{CallID: gone.ID}) ||
			changes[1].Action != change.Create || changes[1].Author != (change.Author{CallID: made.ID}) || *changes[1].VersionID != *made.VersionID {
			t.Errorf("changes: %+v", changes)
		}
	})
}

// TestS1FiveRefusals: what is refused before a tool does anything.
func TestS1FiveRefusals(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		r := w.Run(w.ctx, w.agent)
		invalid := "Tool arguments were not valid.\n"
		for _, c := range []struct{ tool, arguments, text string }{
			{"script_create", ``, invalid + "/name: required"},
			{"script_create", `{"name":"x","description":"x","source":7}`, invalid + "/source: type"},
			{"script_create", `{"name":"x","description":"x","source":"x","more":1}`, invalid + "/more: additionalProperties"},
			{"script_create", `{"name":"x","description":"x","source":"x","parameters":"{}"}`, invalid + "/parameters: type"},
			{"script_create", `{"name":"x","Name":"y","description":"x","source":"x"}`, invalid + "/Name: additionalProperties"},
			{"script_list", `{"name":"x"}`, invalid + "/name: additionalProperties"},
			{"script_list", `[]`, "arguments must be a JSON object"},
			{"script_read", `{"name":"plain","offset":-1}`, invalid + "/offset: minimum"},
			{"script_read", `{"name":"plain","offset":1.5}`, invalid + "/offset: type"},
			{"script_read", `{"name":"plain","offset":1e9}`, invalid + "/offset: maximum"},
			{"script_read", `{"name":null}`, invalid + "/name: type"},
			{"script_delete", `"no"`, "arguments must be a JSON object"},
		} {
			expect(t, w.Call(w.ctx, r, c.tool, c.arguments), call.Refused, call.InvalidArguments, c.text)
		}
		one := 1
		for _, name := range []string{"script_create", "script_list", "script_read", "script_delete"} {
			p, err := w.Calls.ToolCall(w.ctx, call.ToolCallInput{Run: &r, Name: name, Version: &one})
			if err != nil || len(p.UserErrors) != 1 || describe(p.UserErrors[0]) != "NOT_FOUND input version" {
				t.Errorf("a version of %s: %+v %v", name, p, err)
			}
		}
		// A string that holds the object is the object; a key without COMPUTER will do.
		v, k := *w.v, *w.v.Key
		k.Capabilities, v.Key = []key.Capability{key.Tooling}, &k
		if c := w.Call(key.WithViewer(w.ctx, &v), r, "script_create", `"{\"name\":\"x\",\"description\":\"x\",\"source\":\"x\",\"parameters\":null}"`); c.Status != call.Succeeded {
			t.Errorf("%s %s", c.Status, c.Text)
		}
		if _, err := w.Runs.Finish(w.ctx, run.FinishInput{Run: r}); err != nil {
			t.Fatal(err)
		}
		p, err := w.Calls.ToolCall(w.ctx, call.ToolCallInput{Run: &r, Name: "script_list"})
		if err != nil || len(p.UserErrors) != 1 || describe(p.UserErrors[0]) != "BAD_STATE input run" {
			t.Errorf("in a finished run: %+v %v", p, err)
		}
	})
}

// TestS1CapTools: the cap holds for the tools as for the mutation, whatever meets; equal requests write once; a run that ends meanwhile leaves
// neither half of a write.
func TestS1CapTools(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		limit := 3
		if p, err := w.Agents.Update(w.ctx, agent.UpdateInput{Agent: w.agent, MaxScripts: &limit}); err != nil || p.Agent == nil {
			t.Fatal(p, err)
		}
		r := w.Run(w.ctx, w.agent)
		var mu sync.Mutex
		texts := map[string]int{}
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				c := w.Call(w.ctx, r, "script_create", fmt.Sprintf(`{"name":"n%d","description":"x","source":"x"}`, i))
				mu.Lock()
				defer mu.Unlock()
				texts[string(c.Status)+" "+strings.Replace(c.Text, fmt.Sprint("n", i), "nX", 1)]++
			})
		}
		all.Wait()
		if texts["FAILED this agent is limited to 3 scripts"] != 9 || texts["SUCCEEDED Created the script nX, version 1.\nscript_run runs it from now on.\n"] != 1 {
			t.Errorf("%v", texts)
		}
		k := "once"
		ids := map[string]bool{}
		for range 10 {
			all.Go(func() {
				p, err := w.Calls.ToolCall(w.ctx, call.ToolCallInput{
					Run: &r, Name: "script_create", Arguments: []byte(`{"name":"plain","description":"x","source":"x"}`), IdempotencyKey: &k,
				})
				if err != nil || p.Call == nil || p.Call.Status != call.Succeeded {
					t.Errorf("%+v %v", p, err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				ids[p.Call.ID] = true
			})
		}
		all.Wait()
		e, err := w.Scripts.LiveByName(w.ctx, nil, w.v.Organization.ID, w.agent, "plain")
		if err != nil || len(ids) != 1 || e.Version.Number != 2 {
			t.Errorf("%d calls, %+v, %v", len(ids), e.Version, err)
		}
		w.finishMeanwhile(t, r)
	})
}

// finishMeanwhile writes by a tool and finishes the run at once: a version is there exactly where its call is.
func (w *world) finishMeanwhile(t *testing.T, r string) {
	t.Helper()
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			p, err := w.Calls.ToolCall(w.ctx, call.ToolCallInput{Run: &r, Name: "script_create", Arguments: []byte(`{"name":"plain","description":"late","source":"x"}`)})
			if err != nil || p.Call == nil && describe(p.UserErrors[0]) != "BAD_STATE input run" {
				t.Errorf("%+v %v", p, err)
			}
		})
	}
	all.Go(func() {
		if _, err := w.Runs.Finish(w.ctx, run.FinishInput{Run: r}); err != nil {
			t.Error(err)
		}
	})
	all.Wait()
	tool := "script_create"
	calls, err := w.Calls.Page(w.ctx, w.v.Organization.ID, &call.Filter{Run: &r, Tool: &tool, Status: []call.Status{call.Succeeded}}, first(100))
	if err != nil {
		t.Fatal(err)
	}
	e, err := w.Scripts.LiveByName(w.ctx, nil, w.v.Organization.ID, w.agent, "plain")
	if err != nil {
		t.Fatal(err)
	}
	wrote := 0
	for _, c := range calls.Nodes() {
		if *c.ScriptID == e.Script.ID {
			wrote++
		}
	}
	if wrote != e.Version.Number-1 { // the first version is the mutation's
		t.Errorf("%d calls wrote it, and it has version %d", wrote, e.Version.Number)
	}
}

// TestS1SnapDifferences: how the live catalog differs from what a run took.
func TestS1SnapDifferences(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		w := newWorld(t, d, calltest.Options{})
		org := w.v.Organization.ID
		w.Save(w.ctx, w.agent, "stays", "1", "")
		open, finished := w.Run(w.ctx, w.agent), w.Run(w.ctx, w.agent)
		none, err := w.Runs.Create(w.ctx, run.CreateInput{})
		if err != nil {
			t.Fatal(err)
		}
		snapshots, err := w.Runs.Snapshots(w.ctx, org, []string{open, finished, none.Run.ID})
		if err != nil {
			t.Fatal(err)
		}
		ids := []string{snapshots[open].ID, snapshots[finished].ID, snapshots[none.Run.ID].ID}
		differences := func() [3]string {
			t.Helper()
			found, err := w.Runs.SnapshotDifferences(w.ctx, org, ids)
			if err != nil {
				t.Fatal(err)
			}
			var all [3]string
			for i, id := range ids {
				var names []string
				for _, d := range found[id] {
					names = append(names, string(d.Kind())+" "+d.Name)
				}
				all[i] = strings.Join(names, ", ")
			}
			return all
		}
		if got := differences(); got != [3]string{} {
			t.Errorf("at first: %q", got)
		}
		if _, err := w.Runs.Finish(w.ctx, run.FinishInput{Run: finished}); err != nil {
			t.Fatal(err)
		}
		w.Save(w.ctx, w.agent, "deck", "2", "")
		w.Save(w.ctx, w.agent, "added", "1", "")
		w.Delete(w.ctx, w.agent, "plain")
		if got := differences(); got != [3]string{"ADDED added, CHANGED deck", "ADDED added, CHANGED deck, REMOVED plain"} {
			t.Errorf("then: %q", got)
		}
		w.Save(w.ctx, w.agent, "plain", "2", "") // another script of the name
		if got := differences(); got != [3]string{"ADDED added, CHANGED deck, ADDED plain", "ADDED added, CHANGED deck, CHANGED plain"} {
			t.Errorf("created again: %q", got)
		}
		if got, err := w.Runs.SnapshotDifferences(w.ctx, "org_other", ids); err != nil || len(got) != 0 {
			t.Errorf("another organization's: %v %v", got, err)
		}
		if _, err := w.Agents.Delete(w.ctx, agent.DeleteInput{Agent: w.agent}); err != nil {
			t.Fatal(err)
		}
		if got := differences(); got[1] != "REMOVED deck, REMOVED plain, REMOVED stays" {
			t.Errorf("without the agent: %q", got)
		}
	})
}
