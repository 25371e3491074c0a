package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestS1Five(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		run := c.newRun()
		if got := c.toolNames(run); got != five {
			t.Fatalf("offered are %s", got)
		}
		d := c.must(t, c.secret, `query($r: ID!) { run(id: $r) { tools { name parameters version openai: definition anthropic: definition(format: ANTHROPIC) mcp: definition(format: MCP) } } }`, map[string]any{"r": run})
		for _, tool := range at[[]any](t, d, "run", "tools") {
			schema := fmt.Sprint(at[map[string]any](t, tool, "parameters"))
			if at[string](t, tool, "openai", "function", "name") != at[string](t, tool, "name") || fmt.Sprint(at[map[string]any](t, tool, "openai", "function", "parameters")) != schema ||
				fmt.Sprint(at[map[string]any](t, tool, "anthropic", "input_schema")) != schema || fmt.Sprint(at[map[string]any](t, tool, "mcp", "inputSchema")) != schema {
				t.Errorf("%v", tool)
			}
		}
		for _, step := range []struct {
			tool      string
			arguments map[string]any
			text      string
		}{
			{"script_list", nil, "There are no scripts yet; at most 10 can be kept. script_create writes one.\n"},
			{"script_create", map[string]any{"name": "deck", "description": "Makes a deck.", "source": "#fake: out made\n"}, "Created the script deck, version 1.\nscript_run runs it from now on.\n"},
			{"script_list", nil, "1 of at most 10 scripts:\n- deck (version 1): Makes a deck.\n"},
			{"script_read", map[string]any{"name": "deck"}, "name: deck\nversion: 1\ndescription:\nMakes a deck.\nparameters:\nnone\nsource, 16 bytes:\n#fake: out made\n"},
			{"script_run", map[string]any{"name": "deck"}, "exit_code: 0\nstdout:\nmade\nstderr:\n\n"},
			{"script_delete", map[string]any{"name": "deck"}, "Deleted the script deck. It can be run no more; where it ran, it was stopped.\n"},
		} {
			if call := c.tool(run, step.tool, step.arguments); call["status"] != "SUCCEEDED" || call["text"] != step.text || call["errorCode"] != nil {
				t.Errorf("%s: %v", step.tool, call)
			}
		}
		if call := c.tool(run, "script_read", map[string]any{"name": "deck"}); call["status"] != "FAILED" || call["text"] != "There is no script named deck." || call["errorCode"] != nil {
			t.Errorf("read what is gone: %v", call)
		}
		if got := c.prints(run, "deck"); got != "UNKNOWN_TOOL" {
			t.Errorf("run what is gone: %s", got)
		}
	})
}

func TestS1Switch(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		c.has("deck", map[string]any{"parameters": map[string]any{"type": "object"}})
		c.update(map[string]any{"scripting": false})
		run := c.newRun()
		if got := c.toolNames(run); got != "" {
			t.Errorf("offered are %s", got)
		}
		check := c.unchanged()
		for _, name := range append(strings.Fields(five), "deck") {
			call := c.tool(run, name, map[string]any{"name": "deck", "description": "x", "source": "x"})
			if call["status"] != "REFUSED" || call["errorCode"] != "UNKNOWN_TOOL" || call["text"] != "There is no tool of this name in this run." {
				t.Errorf("%s: %v", name, call)
			}
		}
		check()
		c.update(map[string]any{"scripting": true})
		if got := c.toolNames(c.newRun()); got != five+" deck" {
			t.Errorf("on again, offered are %s", got)
		}
	})
}

func TestS1Owntool(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
		before := c.newRun()
		c.has("sum", map[string]any{"parameters": schema, "source": "#fake: stdin\n"})
		c.has("plain", nil)
		run := c.newRun()
		if got := c.toolNames(before) + ", " + c.toolNames(run); got != five+", "+five+" sum" {
			t.Errorf("offered are %s", got)
		}
		if call := c.tool(run, "sum", map[string]any{"n": 1}); call["stdout"] != `{"n":1}` {
			t.Errorf("%v", call)
		}
		if call := c.tool(run, "sum", map[string]any{"n": "x"}); call["text"] != "Tool arguments were not valid.\n/n: type" || call["status"] != "REFUSED" {
			t.Errorf("bad arguments: %v", call)
		}
		for _, name := range []string{"plain", "nope"} {
			if call := c.tool(run, name, nil); call["errorCode"] != "UNKNOWN_TOOL" {
				t.Errorf("%s: %v", name, call)
			}
		}
		if call := c.tool(before, "sum", map[string]any{"n": 1}); call["errorCode"] != "UNKNOWN_TOOL" {
			t.Errorf("in a run from before: %v", call)
		}
	})
}

// snapshot is what a run took, and how the live catalog differs from it.
func (c *catalog) snapshot(run string) (entries, differences string) {
	c.t.Helper()
	d := c.must(c.t, c.secret, `query($r: ID!) { run(id: $r) { snapshot { entries { scriptId version name description parameters source sourceHash }
		differences { kind name taken { number } live { number } } } } }`, map[string]any{"r": run})
	number := func(v any) string {
		if m, ok := v.(map[string]any); ok {
			return fmt.Sprint(m["number"])
		}
		return "-"
	}
	var took, differ []string
	for _, e := range at[[]any](c.t, d, "run", "snapshot", "entries") {
		if at[string](c.t, e, "scriptId") == "" || len(at[string](c.t, e, "sourceHash")) != 64 || at[string](c.t, e, "description") == "" {
			c.t.Errorf("an entry has not all: %v", e)
		}
		took = append(took, fmt.Sprintf("%s@%v %s", at[string](c.t, e, "name"), at[float64](c.t, e, "version"), strings.TrimSpace(at[string](c.t, e, "source"))))
	}
	for _, e := range at[[]any](c.t, d, "run", "snapshot", "differences") {
		m := e.(map[string]any)
		differ = append(differ, fmt.Sprint(m["kind"], " ", m["name"], " ", number(m["taken"]), ">", number(m["live"])))
	}
	return strings.Join(took, ", "), strings.Join(differ, ", ")
}

func TestS1Snap(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		c.has("a", map[string]any{"source": "1", "parameters": map[string]any{"type": "object"}})
		c.has("b", map[string]any{"source": "1"})
		c.has("c", map[string]any{"source": "1"})
		run := c.newRun()
		expect := func(entries, differences string) {
			t.Helper()
			if e, d := c.snapshot(run); e != entries || d != differences {
				t.Errorf("%s; %s\nwant %s; %s", e, d, entries, differences)
			}
		}
		expect("a@1 1, b@1 1, c@1 1", "")
		c.has("b", map[string]any{"source": "2"})
		c.has("d", map[string]any{"source": "1"})
		expect("a@1 1, b@1 1, c@1 1", "CHANGED b 1>2, ADDED d ->1")
		c.remove("c")
		expect("a@1 1, b@1 1", "CHANGED b 1>2, ADDED d ->1")
		c.has("c", map[string]any{"source": "3"})
		expect("a@1 1, b@1 1", "CHANGED b 1>2, ADDED c ->1, ADDED d ->1")
		c.do("runFinish", "run { status }", map[string]any{"run": run})
		c.remove("a")
		expect("a@1 1, b@1 1", "REMOVED a 1>-, CHANGED b 1>2, ADDED c ->1, ADDED d ->1")
		if got := c.toolNames(run); got != five+" a" { // S1-schemakeep
			t.Errorf("the run's tools became %s", got)
		}
	})
}

func TestS1Snaprun(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		c.has("deck", map[string]any{"source": "#fake: out 1\n", "parameters": map[string]any{"type": "object"}})
		run := c.newRun()
		for _, edit := range []string{"#fake: out 2\n", "#fake: out 3\n"} {
			c.has("deck", map[string]any{"source": edit})
			if got := c.prints(run, "deck"); got != "1\n" {
				t.Errorf("script_run runs %q", got)
			}
			if call := c.tool(run, "deck", nil); call["stdout"] != "1\n" || at[float64](t, call, "version", "number") != 1 {
				t.Errorf("its own tool runs %v", call)
			}
		}
		if got := c.prints(c.newRun(), "deck"); got != "3\n" {
			t.Errorf("the next run runs %q", got)
		}
	})
}

func TestS1Editnext(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		c.has("deck", nil)
		run := c.newRun()
		if p := c.has("deck", nil); p["takesEffect"] != "NEXT_RUN" {
			t.Errorf("%v", p)
		}
		call := c.tool(run, "script_create", map[string]any{"name": "deck", "description": "x", "source": "#fake: out 3\n"})
		if call["text"] != "Replaced the script deck: it is version 3 now.\nThis run goes on with version 1, which it began with; version 3 takes effect from the next run.\n" {
			t.Errorf("%v", call)
		}
		list := c.tool(run, "script_list", nil)["text"].(string)
		if !strings.Contains(list, "- deck (version 3; this run goes on with version 1): x\n") {
			t.Errorf("%s", list)
		}
		if got := c.prints(run, "deck"); got != "deck\n" {
			t.Errorf("it runs %q", got)
		}
		c.do("runFinish", "run { status }", map[string]any{"run": run})
		if p := c.has("deck", nil); p["takesEffect"] != "NOW" {
			t.Errorf("when the run is finished: %v", p)
		}
	})
}

func TestS1Newlive(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		run := c.newRun()
		create := func(source string) string {
			return c.tool(run, "script_create", map[string]any{"name": "fresh", "description": "x", "source": source, "parameters": map[string]any{"type": "object"}})["text"].(string)
		}
		const own = "script_run runs it from now on.\nFrom the next run on it is also a tool of its own, under the name fresh.\n"
		if got := create("#fake: out 1\n"); got != "Created the script fresh, version 1.\n"+own {
			t.Errorf("%s", got)
		}
		if got := c.prints(run, "fresh"); got != "1\n" {
			t.Errorf("it runs %q", got)
		}
		if got := create("#fake: out 2\n"); got != "Replaced the script fresh: it is version 2 now.\n"+own {
			t.Errorf("%s", got)
		}
		if p := c.has("fresh", map[string]any{"source": "#fake: out 3\n", "parameters": map[string]any{"type": "object"}}); p["takesEffect"] != "NOW" {
			t.Errorf("%v", p)
		}
		if got := c.prints(run, "fresh"); got != "3\n" {
			t.Errorf("it runs %q", got)
		}
		if call := c.tool(run, "fresh", nil); call["errorCode"] != "UNKNOWN_TOOL" {
			t.Errorf("its own tool: %v", call)
		}
		next := c.newRun()
		if call := c.tool(next, "fresh", nil); call["stdout"] != "3\n" {
			t.Errorf("in the next run: %v", call)
		}
	})
}

// TestS1Delnow: what is deleted stops at once, leaves the run, and its name runs another's code only when another was saved under it.
func TestS1Delnow(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		c.has("hang", map[string]any{"source": "#fake: out begun\n#fake: wait go\n#fake: hang\n", "parameters": map[string]any{"type": "object"}})
		run := c.newRun()
		begin := func() string {
			p := c.do("toolCall", "call { id }", map[string]any{"run": run, "name": "hang", "wait": false})
			return at[string](t, p, "call", "id")
		}
		running := begin()
		select {
		case <-c.fake.Arrived("go"):
		case <-time.After(30 * time.Second):
			t.Fatal("the program did not come so far")
		}
		waiting := begin() // accepted, not started
		deletion := c.tool(run, "script_delete", map[string]any{"name": "hang"})
		if deletion["status"] != "SUCCEEDED" {
			t.Fatal(deletion)
		}
		for id, text := range map[string]string{running: "The script was deleted, and stopped.\nstdout:\nbegun\nstderr:\n\n", waiting: "The script was deleted, and stopped."} {
			c.until(t, c.secret, id, isStatus("CANCELLED"))
			d := c.must(t, c.secret, `query($c: ID!) { call(id: $c) { errorCode text script { id } version { source } } }`, map[string]any{"c": id})
			if at[string](t, d, "call", "errorCode") != "SCRIPT_DELETED" || at[string](t, d, "call", "text") != text || at[string](t, d, "call", "version", "source") == "" {
				t.Errorf("%v", d)
			}
		}
		if entries, _ := c.snapshot(run); entries != "" {
			t.Errorf("the snapshot has %s", entries)
		}
		for _, name := range []string{"script_run", "hang"} {
			if call := c.tool(run, name, map[string]any{"name": "hang"}); call["errorCode"] != "UNKNOWN_TOOL" {
				t.Errorf("%s: %v", name, call)
			}
		}
		// The same name, created again in the run: live source by script_run, no tool of its own.
		for i := range 3 {
			c.tool(run, "script_create", map[string]any{"name": "hang", "description": "x", "source": fmt.Sprintf("#fake: out %d\n", i), "parameters": map[string]any{"type": "object"}})
			if got := c.prints(run, "hang"); got != fmt.Sprintf("%d\n", i) {
				t.Errorf("created again it runs %q", got)
			}
			if call := c.tool(run, "hang", nil); call["errorCode"] != "UNKNOWN_TOOL" {
				t.Errorf("its own tool: %v", call)
			}
			c.tool(run, "script_delete", map[string]any{"name": "hang"})
		}
	})
}

// TestS1DelnowRace: whatever meets, a call of the name runs whole what was saved under it, or says that there is nothing.
func TestS1DelnowRace(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		run := c.newRun()
		for i := range 8 {
			c.has("brief", map[string]any{"source": fmt.Sprintf("#fake: out %d\n", i)})
			atOnce(5, func(side int) {
				if side == 0 {
					c.tool(run, "script_delete", map[string]any{"name": "brief"})
					return
				}
				call := c.tool(run, "script_run", map[string]any{"name": "brief"})
				if !(call["stdout"] == fmt.Sprintf("%d\n", i) && call["status"] == "SUCCEEDED") && call["errorCode"] != "SCRIPT_DELETED" && call["errorCode"] != "UNKNOWN_TOOL" {
					t.Errorf("round %d: %v", i, call)
				}
			})
		}
	})
}

func TestS1Listlive(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		c.has("deck", nil)
		run := c.newRun()
		c.has("deck", map[string]any{"description": "Newer.", "source": "#fake: out newer\n"})
		c.has("added", nil)
		if got := c.tool(run, "script_list", nil)["text"]; got != "2 of at most 10 scripts:\n- added (version 1): Does added.\n- deck (version 2; this run goes on with version 1): Newer.\n" {
			t.Errorf("%s", got)
		}
		read := c.tool(run, "script_read", map[string]any{"name": "deck"})
		if !strings.Contains(read["text"].(string), "This run goes on with version 1; version 2 takes effect from the next run.\n") ||
			!strings.HasSuffix(read["text"].(string), "#fake: out newer\n") || at[float64](t, read, "version", "number") != 2 {
			t.Errorf("%v", read)
		}
		if got := c.prints(run, "deck"); got != "deck\n" {
			t.Errorf("it runs %q", got)
		}
	})
}

func TestS1Schemakeep(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		c.has("deck", map[string]any{"parameters": json.RawMessage(`{"type":"object","required":["one"]}`)})
		c.has("gone", map[string]any{"parameters": map[string]any{"type": "object"}})
		run := c.newRun()
		tools := func() string {
			d := c.must(t, c.secret, `query($r: ID!) { run(id: $r) { tools { name version parameters } } }`, map[string]any{"r": run})
			return fmt.Sprint(at[[]any](t, d, "run", "tools")[5:])
		}
		before := tools()
		c.has("deck", map[string]any{"parameters": json.RawMessage(`{"type":"object","required":["two"]}`)})
		c.has("added", map[string]any{"parameters": map[string]any{"type": "object"}})
		c.remove("gone")
		c.update(map[string]any{"scripting": false, "connectedTools": []string{"elsewhere"}})
		for range 2 {
			if p := c.do("runGenerationStart", "run { generation }", map[string]any{"run": run}); len(p.errors()) > 0 {
				t.Fatal(p)
			}
			if after := tools(); after != before {
				t.Errorf("the tools became %s, from %s", after, before)
			}
		}
		if call := c.tool(run, "deck", map[string]any{"two": 1}); call["text"] != "Tool arguments were not valid.\n/one: required" {
			t.Errorf("checked by another schema: %v", call)
		}
	})
}

func TestS1Wthru(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		c.has("deck", map[string]any{"source": "#fake: out 1\n"})
		run := c.newRun()
		c.prints(run, "deck")
		content := func(name string) string {
			b, _, _, _ := c.fake.File(run, "/home/"+c.agent+"/scripts/"+name+".py")
			return string(b)
		}
		c.has("deck", map[string]any{"source": "#fake: out 2\n"})
		c.tool(run, "script_create", map[string]any{"name": "fresh", "description": "x", "source": "#fake: out fresh\n"})
		deadline := time.Now().Add(30 * time.Second)
		for content("fresh") != "#fake: out fresh\n" {
			if time.Now().After(deadline) {
				t.Fatal("the new script does not come into the home")
			}
			time.Sleep(5 * time.Millisecond)
		}
		if got := content("deck"); got != "#fake: out 1\n" {
			t.Errorf("the snapshot's script became %q in the home", got)
		}
		c.remove("fresh")
		for content("fresh") != "" {
			if time.Now().After(deadline) {
				t.Fatal("the deleted script does not leave the home")
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
}

// TestS1Author: a version and a change say who wrote them: a key, or the run's step.
func TestS1Author(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		c.has("deck", nil)
		run := c.newRun()
		made := c.tool(run, "script_create", map[string]any{"name": "deck", "description": "x", "source": "x"})
		gone := c.tool(run, "script_delete", map[string]any{"name": "deck"})
		const author = `author { __typename ... on ApiKey { name } ... on RunStep { run { id } call { id tool } } }`
		nodes := ask[[]any](c, `agent(id: $a) { history { nodes { action `+author+` version { number `+author+` } } } }`, "agent", "history", "nodes")
		step := func(call map[string]any, tool string) string {
			return fmt.Sprint(map[string]any{"__typename": "RunStep", "run": map[string]any{"id": run}, "call": map[string]any{"id": call["id"], "tool": tool}})
		}
		if got := fmt.Sprint(at[map[string]any](t, nodes, 0, "author")); got != step(gone, "script_delete") {
			t.Errorf("the deletion is by %s", got)
		}
		for _, of := range []any{nodes[1], nodes[1].(map[string]any)["version"]} {
			if got := fmt.Sprint(at[map[string]any](t, of, "author")); got != step(made, "script_create") {
				t.Errorf("version 2 is by %s", got)
			}
		}
		if got := at[string](t, nodes, 2, "version", "author", "__typename"); got != "ApiKey" {
			t.Errorf("version 1 is by %s", got)
		}
	})
}

// TestS1Chip: a script_create call names the script that it wrote.
func TestS1Chip(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		run := c.newRun()
		call := c.tool(run, "script_create", map[string]any{"name": "deck", "description": "x", "source": "x"})
		if at[string](t, call, "script", "name") != "deck" || at[float64](t, call, "version", "number") != 1 {
			t.Errorf("%v", call)
		}
		refused := c.tool(run, "script_create", map[string]any{"name": "manifest", "description": "x", "source": "x"})
		if refused["status"] != "FAILED" || refused["script"] != nil || refused["version"] != nil || refused["text"] != "name: manifest is kept for the system" {
			t.Errorf("%v", refused)
		}
	})
}

// TestS1Event: each write is an event with its agent, action and name, whose state is visible on receipt; a refused one is none.
func TestS1Event(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		run := c.newRun()
		start := ask[string](c, "scriptChangeLog { pageInfo { endCursor } } agent(id: $a) { id }", "scriptChangeLog", "pageInfo", "endCursor")
		events := c.follow(`subscription($a: ID, $c: Cursor) { scriptChanges(agent: $a, after: $c) { ... on ScriptChange {
			action name agent { id scripts { nodes { name latestVersion { number } } } } version { number } } } }`, map[string]any{"a": c.agent, "c": start})
		expect := func(want string) {
			t.Helper()
			e := next(t, events)
			change := at[map[string]any](t, e, "scriptChanges")
			got := fmt.Sprint(change["action"], " ", change["name"])
			if change["version"] != nil {
				got += fmt.Sprint(" ", at[float64](t, change, "version", "number"))
			}
			// What the event itself shows, and what a query on its receipt sees.
			for _, n := range at[[]any](t, change, "agent", "scripts", "nodes") {
				got += fmt.Sprint(" ", at[string](t, n, "name"), "@", at[float64](t, n, "latestVersion", "number"))
			}
			if got != want || at[string](t, change, "agent", "id") != c.agent {
				t.Errorf("%s, want %s", got, want)
			}
			seen := ""
			if live, _, _ := strings.Cut(c.live(), " ("); live != "" {
				seen = " " + live
			}
			if !strings.HasSuffix(want, seen) {
				t.Errorf("on receipt of %s there is%s", want, seen)
			}
		}
		c.has("deck", nil)
		expect("CREATE deck 1 deck@1")
		c.try("manifest", nil)
		c.remove("none")
		c.try("deck", map[string]any{"source": ""})
		c.tool(run, "script_create", map[string]any{"name": "manifest", "description": "x", "source": "x"})
		c.tool(run, "script_list", nil)
		c.has("deck", nil)
		expect("CREATE deck 2 deck@2")
		c.tool(run, "script_create", map[string]any{"name": "tool", "description": "x", "source": "x"})
		expect("CREATE tool 1 deck@2 tool@1")
		c.do("recipeApply", "scripts { id }", map[string]any{"agent": c.agent, "scripts": []any{map[string]any{"name": "tool", "description": "x", "source": "x"}}})
		expect("CREATE tool 2 deck@2 tool@2")
		c.remove("deck")
		expect("DELETE deck tool@2")
		c.do("agentScriptClear", "deletedIds", map[string]any{"agent": c.agent})
		expect("CLEAR <nil>")
		c.do("agentScriptClear", "deletedIds", map[string]any{"agent": c.agent}) // nothing to clear: no event
		c.has("last", nil)
		expect("CREATE last 1 last@1")
	})
}

// With scripting off the agent's other work goes on: its runs get a computer with a home, where whatever else it can do there (a coding
// agent's shell) finds the scripts.
func TestS1Shell(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		c.has("deck", nil)
		c.update(map[string]any{"scripting": false})
		run := c.newRun()
		p := c.do("runGenerationStart", "run { generation } materialised", map[string]any{"run": run})
		if len(p.errors()) > 0 || fmt.Sprint(p["run"], p["materialised"]) != "map[generation:1] [scripts/deck.py]" {
			t.Errorf("%v", p)
		}
	})
}

// Where an app shows `This agent has no scripting.` it asks for the switch; the scripts stay, for when it is on again.
func TestS1Offview(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		c.has("deck", nil)
		check := c.unchanged()
		c.update(map[string]any{"scripting": false})
		if ask[bool](c, "agent(id: $a) { scripting }", "agent", "scripting") {
			t.Error("scripting is on")
		}
		check()
		if p := c.remove("deck"); len(p.errors()) > 0 {
			t.Errorf("people cannot keep the scripts in order: %v", p)
		}
	})
}
