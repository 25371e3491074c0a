package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// fakes is a package whose program does these things: see runnertest.
func fakes(lines ...string) map[string]any {
	text := ""
	for _, l := range lines {
		text += "#fake: " + l + "\n"
	}
	return source(text)
}

const calledFields = `call { id status errorCode text stdout run { id } script { name } version { number } leftOnComputer
	artifacts { id name size sha256 contentType url content } }`

// entries are tools of a run: names, name@version with a version.
func entries(text string) []any {
	all := []any{}
	for _, word := range strings.Fields(text) {
		e := map[string]any{}
		name, version, pinned := strings.Cut(word, "@")
		if e["name"] = name; pinned {
			var n int
			_, _ = fmt.Sscan(version, &n)
			e["version"] = n
		}
		all = append(all, e)
	}
	return all
}

// tries makes a run with tools, and answers the payload, refused or not.
func (s *shelf) tries(tools string, changes map[string]any) payload {
	s.t.Helper()
	return s.do("runCreate", "run { id tools { name version } attachments { filename } }", with(map[string]any{"tools": entries(tools)}, changes))
}

// offers makes a run with tools, and answers its id and what it offers.
func (s *shelf) offers(tools string, changes map[string]any) (run, offered string) {
	s.t.Helper()
	p := s.tries(tools, changes)
	if len(p.errors()) > 0 {
		s.t.Fatalf("%s: %s", tools, p.refusals())
	}
	var all []string
	for _, n := range at[[]any](s.t, p, "run", "tools") {
		if v, ok := n.(map[string]any)["version"].(float64); ok {
			all = append(all, fmt.Sprintf("%s@%v", at[string](s.t, n, "name"), v))
		}
	}
	return at[string](s.t, p, "run", "id"), strings.Join(all, " ")
}

// calls calls a tool, in a run or without one, and answers the call when it has ended.
func (s *shelf) calls(run, name string, changes map[string]any) map[string]any {
	s.t.Helper()
	in := with(map[string]any{"name": name}, changes)
	if run != "" {
		in["run"] = run
	}
	p := s.do("toolCall", calledFields, in)
	made, ok := p["call"].(map[string]any)
	if !ok {
		s.t.Fatalf("%s: %s", name, p.refusals())
	}
	return made
}

func TestS2Caps(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, worker *shelf) {
		manager.creates("deck", fakes("out x"))
		user := manager.key("TOOLING", "COMPUTER")
		if _, got := user.offers("script__deck", nil); got != "script__deck@1" {
			t.Errorf("offered are %s", got)
		}
		run, got := user.offers("script__*", nil)
		if made := user.calls(run, "script__deck", nil); made["status"] != "SUCCEEDED" || got != "script__deck@1" {
			t.Errorf("%v", made)
		}
		if got := worker.tries("script__deck", nil).refusals(); got != "DENIED input.tools.0.name" {
			t.Errorf("without COMPUTER: %s", got)
		}
		if _, got := worker.offers("script__*", nil); got != "" {
			t.Errorf("without COMPUTER: %s", got)
		}
		if made := worker.calls(run, "script__deck", nil); made["text"] != "Denied by policy." || made["errorCode"] != "DENIED" {
			t.Errorf("without COMPUTER: %v", made)
		}
		nobody := manager.key("COMPUTER")
		if a := nobody.send(t, nobody.secret, `mutation { runCreate(input: {tools: [{name: "script__deck"}]}) { run { id } } }`, nil); !strings.Contains(a.body, `"DENIED"`) {
			t.Errorf("without TOOLING: %v", a)
		}
	})
}

func TestS2Noconf(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{database.SQLite, database.Postgres} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			fake := runnertest.NewFake()
			fake.FailCheck(fmt.Errorf("no runsc: %w", runner.ErrNotConfigured))
			s := startFake(t, testConfig(t, dialect), fake)
			manager := &shelf{&catalog{s, t, s.operator, ""}}
			manager.creates("deck", fakes("out x"))
			p := manager.do("runCreate", "run { id }", map[string]any{"tools": entries("script__* script__deck")})
			if got := p.refusals(); got != "NOT_CONFIGURED input.tools.1.name" {
				t.Error(got)
			}
			a := manager.send(t, manager.secret, `mutation { runCreate(input: {tools: [{name: "script__deck"}]}) { userErrors { message ... on NotConfigured { reasonCode } } } }`, nil)
			if !strings.Contains(a.body, `"reasonCode":"computer_not_configured"`) || !strings.Contains(a.body, "This tool is not configured on this deployment.") {
				t.Errorf("%v", a)
			}
			if _, got := manager.offers("script__*", nil); got != "" {
				t.Errorf("a pattern stands for %s", got)
			}
			if made := manager.calls("", "script__deck", nil); made["errorCode"] != "NOT_CONFIGURED" || made["text"] != "This tool is not configured on this deployment." {
				t.Errorf("%v", made)
			}
		})
	}
}

func TestS2Fixed(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, _ *shelf) {
		for name, program := range map[string]map[string]any{
			"memory": fakes("out half", "memory"), "lost": fakes("lost"), "slow": with(fakes("out half", "hang"), map[string]any{"timeoutSeconds": 1}), "signal": fakes("signal SIGKILL"), "exit": fakes("exit 137"),
		} {
			manager.creates(name, program)
		}
		run, _ := manager.offers("script__*", nil)
		blocks := func(out string) string { return "\nstdout:\n" + out + "\nstderr:\n\n" }
		for _, where := range []string{run, ""} {
			for name, want := range map[string][3]any{
				"memory": {"FAILED", "OUT_OF_MEMORY", "The script was stopped: it used more memory than it may." + blocks("half")},
				"lost":   {"LOST", "COMPUTER_LOST", "The computer was lost before the script finished." + blocks("")},
				"slow":   {"TIMED_OUT", "TIMED_OUT", "The script was stopped after 1 seconds." + blocks("half")},
				"signal": {"FAILED", nil, "exit_code: 137\nsignal: SIGKILL" + blocks("")}, "exit": {"FAILED", nil, "exit_code: 137" + blocks("")},
				"nope": {"REFUSED", "UNKNOWN_TOOL", "There is no tool of this name in this run."},
			} {
				if made := manager.calls(where, "script__"+name, nil); made["status"] != want[0] || made["errorCode"] != want[1] || made["text"] != want[2] {
					t.Errorf("%s: %v", name, made)
				}
			}
		}
		manager.fake.FailStart(fmt.Errorf("broken: %w", runner.ErrUnavailable))
		if made := manager.calls("", "script__exit", nil); made["status"] != "REFUSED" || made["errorCode"] != "COMPUTER_UNAVAILABLE" || made["text"] != "No computer could be made for this call." {
			t.Errorf("%v", made)
		}
	})
}

func TestS2Latest(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, _ *shelf) {
		script, _ := manager.creates("deck", fakes("out one"))
		manager.next(script, fakes("out two"))
		manager.next(script, with(fakes("out draft"), draft))
		run, got := manager.offers("script__deck", nil)
		if made := manager.calls(run, "script__deck", nil); got != "script__deck@2" || made["stdout"] != "two\n" || at[float64](t, made, "version", "number") != 2 {
			t.Errorf("%s: %v", got, made)
		}
	})
}

func TestS2Pin(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, _ *shelf) {
		script, _ := manager.creates("deck", fakes("out one"))
		manager.next(script, fakes("out two"))
		manager.next(script, with(fakes("out draft"), draft))
		manager.creates("hidden", draft)
		run, got := manager.offers("script__deck@1", nil)
		if made := manager.calls(run, "script__deck", nil); got != "script__deck@1" || made["stdout"] != "one\n" {
			t.Errorf("%s: %v", got, made)
		}
		for tools, want := range map[string]string{
			"script__deck script__deck": "", "script__deck@2 script__nope@1": "NOT_FOUND input.tools.1.name", "script__* script__deck@4": "NOT_FOUND input.tools.1.version",
			"script__deck@3": "NOT_FOUND input.tools.0.version", "script__deck@0": "NOT_FOUND input.tools.0.version", "script__hidden": "NOT_FOUND input.tools.0.name",
			"script__hidden@1": "NOT_FOUND input.tools.0.name", "script__*@1": "INVALID input.tools.0.version", "script__deck@1 script__deck@2": "INVALID input.tools.1.version",
			"script__deck@1 script__deck": "INVALID input.tools.1.version", "alias__deck": "NOT_FOUND input.tools.0.name",
		} {
			if got := manager.tries(tools, nil).refusals(); got != want {
				t.Errorf("%s: %s", tools, got)
			}
		}
	})
}

func TestS2Resolved(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, _ *shelf) {
		script, _ := manager.creates("deck", fakes("out one"))
		run, _ := manager.offers("script__deck", nil)
		manager.next(script, fakes("out two"))
		for range 2 {
			if made := manager.calls(run, "script__deck", map[string]any{"version": 1}); made["stdout"] != "one\n" {
				t.Errorf("%v", made)
			}
		}
		if got := manager.do("toolCall", "call { id }", map[string]any{"run": run, "name": "script__deck", "version": 2}).refusals(); got != "NOT_FOUND input.version" {
			t.Errorf("%s", got)
		}
		d := manager.must(t, manager.secret, `query($r: ID!) { run(id: $r) { tools { name version parameters labels { name } } } }`, map[string]any{"r": run})
		if tools := at[[]any](t, d, "run", "tools"); len(tools) != 1 || at[float64](t, tools[0], "version") != 1 {
			t.Errorf("%v", tools)
		}
	})
}

func TestS2Toolset(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, worker *shelf) {
		deck, _ := manager.creates("deck", fakes("out one"))
		sheet, _ := manager.creates("sheet", nil)
		manager.creates("hidden", draft)
		p := manager.do("agentCreate", "agent { id tools }", map[string]any{"name": "a", "tools": []any{"script__deck", "script__s*", "script__h*"}})
		agent := at[string](t, p, "agent", "id")
		if got := manager.do("agentCreate", "agent { id }", map[string]any{"name": "b", "tools": []any{"script__deck", "script__hidden"}}).refusals(); got != "NOT_FOUND input.tools.1" {
			t.Error(got)
		}
		_, before := manager.offers("", map[string]any{"agent": agent})
		manager.next(deck, fakes("out two"))
		_, after := manager.offers("", map[string]any{"agent": agent})
		_, pinned := manager.offers("script__deck@1", map[string]any{"agent": agent})
		_, poor := worker.offers("", map[string]any{"agent": agent})
		if before+"; "+after+"; "+pinned+"; "+poor != "script__deck@1 script__sheet@1; script__deck@2 script__sheet@1; script__deck@1 script__sheet@1; " {
			t.Errorf("%s; %s; %s; %s", before, after, pinned, poor)
		}
		// A name keeps its script (S2-del), a pattern does not.
		if got := manager.do("scriptDelete", "deletedId", map[string]any{"script": deck}).refusals(); got != "IN_USE input.script" {
			t.Error(got)
		}
		if got := manager.do("scriptDelete", "deletedId", map[string]any{"script": sheet}).refusals(); got != "" {
			t.Error(got)
		}
		if _, got := manager.offers("", map[string]any{"agent": agent}); got != "script__deck@2" {
			t.Error(got)
		}
	})
}

func TestS2Policy(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, _ *shelf) {
		manager.creates("deck", fakes("out x"))
		manager.creates("sheet", fakes("out x"))
		p := manager.do("keyCreate", "key { toolRules { effect pattern } } secret", map[string]any{
			"name": "ruled", "capabilities": []any{"TOOLING", "COMPUTER", "MANAGEMENT"},
			"toolRules": []any{map[string]any{"effect": "PERMIT", "pattern": "script__sheet"}, map[string]any{"effect": "DENY", "pattern": "script__*"}},
		})
		ruled := &shelf{&catalog{manager.testServer, t, at[string](t, p, "secret"), ""}}
		if rules := at[[]any](t, p, "key", "toolRules"); len(rules) != 2 || at[string](t, rules[1], "pattern") != "script__*" {
			t.Errorf("%v", rules)
		}
		if got := ruled.tries("script__deck", nil).refusals(); got != "NOT_FOUND input.tools.0.name" {
			t.Error(got)
		}
		if _, got := ruled.offers("script__*", nil); got != "script__sheet@1" {
			t.Error(got)
		}
		d := ruled.must(t, ruled.secret, `{ deck: tool(name: "script__deck") { name } sheet: tool(name: "script__sheet") { name } tools { name } }`, nil)
		if tools := at[[]any](t, d, "tools"); d["deck"] != nil || d["sheet"] == nil || len(tools) != 1 {
			t.Errorf("%v", d)
		}
		run, _ := manager.offers("script__*", nil)
		for _, where := range []string{run, ""} {
			if made := ruled.calls(where, "script__deck", nil); made["errorCode"] != "DENIED" || made["text"] != "Denied by policy." || made["status"] != "REFUSED" {
				t.Errorf("%v", made)
			}
			if made := ruled.calls(where, "script__sheet", nil); made["status"] != "SUCCEEDED" {
				t.Errorf("%v", made)
			}
		}
		for rules, want := range map[string]string{
			`[]`: "DENIED input.toolRules", `[{effect: PERMIT, pattern: "*"}]`: "DENIED input.toolRules.0",
			`[{effect: DENY, pattern: "x"}, {effect: PERMIT, pattern: "script__sheet"}, {effect: DENY, pattern: "script__*"}]`: "", `null`: "",
		} {
			a := ruled.send(t, ruled.secret, `mutation { keyCreate(input: {name: "k", capabilities: [], toolRules: `+rules+`}) { key { id } userErrors { code path } } }`, nil)
			if refused := strings.Contains(a.body, `"code":"DENIED"`); refused != (want != "") {
				t.Errorf("%s: %v", rules, a)
			}
		}
	})
}

func TestS2Toolget(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, worker *shelf) {
		parameters := map[string]any{"type": "object", "properties": map[string]any{"title": map[string]any{"type": "string"}}}
		script, _ := manager.creates("deck", map[string]any{"description": "One.", "labels": []any{map[string]any{"name": "team", "value": "marketing"}}})
		manager.next(script, map[string]any{"description": "Two.", "parameters": parameters})
		manager.next(script, with(map[string]any{"description": "Three."}, draft))
		manager.creates("hidden", draft)
		manager.creates("sheet", nil)
		for _, who := range []*shelf{manager, worker} {
			d := who.must(t, who.secret, `{ tool(name: "script__deck") { name description parameters version labels { name value } definition }
				hidden: tool(name: "script__hidden") { name } none: tool(name: "script__*") { name } odd: tool(name: "a\u0000b") { name }
				all: tools { name } some: tools(names: ["script__s*", "script__hidden", "script__deck", "deck", "\u0000"]) { name parameters } no: tools(names: []) { name } }`, nil)
			if at[string](t, d, "tool", "description") != "Two." || at[float64](t, d, "tool", "version") != 2 || at[string](t, d, "tool", "labels", 0, "value") != "marketing" ||
				fmt.Sprint(at[map[string]any](t, d, "tool", "parameters")) != fmt.Sprint(parameters) || at[string](t, d, "tool", "definition", "function", "name") != "script__deck" {
				t.Errorf("%v", d["tool"])
			}
			if d["hidden"] != nil || d["none"] != nil || d["odd"] != nil || len(at[[]any](t, d, "no")) != 0 {
				t.Errorf("%v", d)
			}
			for _, list := range []string{"all", "some"} {
				if tools := at[[]any](t, d, list); len(tools) != 2 || at[string](t, tools[0], "name") != "script__deck" || at[string](t, tools[1], "name") != "script__sheet" {
					t.Errorf("%s: %v", list, tools)
				}
			}
			if at[string](t, d, "some", 1, "parameters", "type") != "object" {
				t.Errorf("%v", d["some"])
			}
			if a := who.send(t, who.secret, `query($n: [String!]) { tools(names: $n) { name } }`, map[string]any{"n": make([]string, 101)}); !strings.Contains(a.body, "LIMIT_EXCEEDED") {
				t.Errorf("%v", a)
			}
		}
	})
}

// TestS2Hidden: nothing that the model is told of a script holds its code.
func TestS2Hidden(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, _ *shelf) {
		manager.creates("deck", source("the code that nobody is told of\n"))
		run, _ := manager.offers("script__deck", nil)
		const fields = `{ name description parameters labels { name } version openai: definition anthropic: definition(format: ANTHROPIC) mcp: definition(format: MCP) }`
		a := manager.send(t, manager.secret, `query($r: ID!) { tool(name: "script__deck") `+fields+` tools `+fields+` run(id: $r) { tools `+fields+` } }`, map[string]any{"r": run})
		if a.status != http.StatusOK || strings.Contains(a.body, "the code") || strings.Contains(a.body, "main.py") || !strings.Contains(a.body, "script__deck") {
			t.Errorf("%v", a)
		}
	})
}

func TestS2Check(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, _ *shelf) {
		manager.creates("deck", with(fakes("stdin"), map[string]any{"parameters": map[string]any{
			"type": "object", "required": []any{"title", "slides"},
			"properties": map[string]any{
				"title":  map[string]any{"type": "string", "pattern": "^[A-Z]"},
				"slides": map[string]any{"type": "array", "items": map[string]any{"type": "object", "required": []any{"heading"}}},
				"n":      map[string]any{"type": "integer", "maximum": 9007199254740992},
			},
		}}))
		run, _ := manager.offers("script__deck", nil)
		before := len(manager.fake.Calls())
		for arguments, want := range map[string]string{
			`{}`: "/title: required", `{"title":1,"slides":0}`: "/title: type", `{"slides":0,"title":1}`: "/slides: type", `{"title":"Q","slides":[{"heading":"a"},{}]}`: "/slides/1/heading: required",
			`{"title":"q","slides":[]}`: "/title: pattern", `{"title":"Q","slides":[],"n":9007199254740993}`: "/n: maximum", `{"title":"Q","slides":[],"n":1e99999}`: "/n: maximum",
			`{"title":"Q","slides":[],"n":1.5}`: "/n: type",
		} {
			for _, where := range []string{run, ""} {
				in := `{"query":"mutation($i: ToolCallInput!) { toolCall(input: $i) { call { status errorCode text } } }","variables":{"i":{"name":"script__deck","arguments":` + arguments + `}}}`
				if where != "" {
					in = strings.Replace(in, `"name"`, `"run":"`+where+`","name"`, 1)
				}
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/graphql", strings.NewReader(in))
				r.Header.Set("Content-Type", "application/json")
				if a := manager.serve(r, manager.secret); !strings.Contains(a.body, `"errorCode":"INVALID_ARGUMENTS","text":"Tool arguments were not valid.\n`+want+`"`) {
					t.Errorf("%s: %v", arguments, a)
				}
			}
		}
		if made := manager.calls("", "script__deck", map[string]any{"arguments": "[1]"}); made["text"] != "arguments must be a JSON object" {
			t.Errorf("%v", made)
		}
		if ran := len(manager.fake.Calls()); ran != before || len(manager.fake.Started()) != 0 {
			t.Errorf("%d ran", ran)
		}
	})
}

// TestS2Computer: calls of a run share its computer, one after another, and see each other's files; TestS2Verify's part on the fake: each finds its package whole.
func TestS2Computer(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, _ *shelf) {
		manager.creates("writes", fakes("write /workspace/shared from one"))
		manager.creates("reads", fakes("cat /workspace/shared"))
		run, _ := manager.offers("script__*", nil)
		manager.calls(run, "script__writes", nil)
		if made := manager.calls(run, "script__reads", nil); made["stdout"] != "from one\n" || len(manager.fake.Started()) != 1 {
			t.Errorf("%v", made)
		}
		if made := manager.calls("", "script__reads", nil); made["status"] != "FAILED" || len(manager.fake.Computers()) != 1 {
			t.Errorf("%v on %v", made, manager.fake.Computers())
		}
	})
}

// TestS2Cwd, and what a program finds in its environment (S2-argfile, S2-outdir, S2-mintime).
func TestS2Cwd(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, _ *shelf) {
		manager.creates("deck", map[string]any{
			"files":      []any{textFile("main.mjs", "#fake: argv\n#fake: stdin\n#fake: cat lib/words\n"), textFile("lib/words", "words\n")},
			"entrypoint": []any{"node", "main.mjs", "-v"}, "timeoutSeconds": 30,
		})
		limited := manager.do("keyCreate", "secret", map[string]any{"name": "limited", "capabilities": []any{"TOOLING", "COMPUTER"}, "execTimeoutSeconds": 7})
		other := &shelf{&catalog{manager.testServer, t, at[string](t, limited, "secret"), ""}}
		for who, seconds := range map[*shelf]string{manager: "30s", other: "7s"} {
			run, _ := who.offers("script__deck", map[string]any{"environment": map[string]any{"COLOUR": "red"}})
			made := who.calls(run, "script__deck", map[string]any{"arguments": map[string]any{"a": 1}})
			if made["stdout"] != "node\nmain.mjs\n-v\n{\"a\":1}words\n" {
				t.Errorf("%v", made)
			}
			all := who.fake.Calls()
			ran, own := all[len(all)-1].Call, runner.Calls+"/"+at[string](t, made, "id")
			for _, want := range []string{"HOME=" + own + "/home", "COLOUR=red", "ARTIFIC_ARGUMENTS=" + own + "/arguments.json", "ARTIFIC_OUTPUTS=" + own + "/outputs", "SCRIPTORIUM_RUN_ID=" + run, `GUILDS_SCRIPT_ARGS={"a":1}`} {
				if !strings.Contains("\n"+strings.Join(ran.Env, "\n")+"\n", "\n"+want+"\n") {
					t.Errorf("%s is not among %q", want, ran.Env)
				}
			}
			if ran.Dir != runner.Scripts+"/deck/1" || ran.Timeout.String() != seconds {
				t.Errorf("in %s for %s", ran.Dir, ran.Timeout)
			}
		}
	})
}

// TestS2Deleted: a script that is deleted while a run has it: what runs is stopped, and then there is no such tool; what happened stays readable.
func TestS2Deleted(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, _ *shelf) {
		script, _ := manager.creates("deck", fakes("out before", "wait here"))
		run, _ := manager.offers("script__deck", nil)
		begun := manager.calls(run, "script__deck", map[string]any{"wait": false})
		<-manager.fake.Arrived("here")
		if got := manager.do("scriptDelete", "deletedId", map[string]any{"script": script}).refusals(); got != "" {
			t.Fatal(got)
		}
		id := at[string](t, begun, "id")
		events := manager.follow(`subscription($c: ID!) { callOutput(call: $c) { ... on CallFinished { call { errorCode text script { id } version { id } tool } } } }`, map[string]any{"c": id})
		for {
			e := at[map[string]any](t, next(t, events), "callOutput")
			if ended, ok := e["call"].(map[string]any); ok {
				if ended["errorCode"] != "SCRIPT_DELETED" || ended["text"] != "The script was deleted, and stopped.\nstdout:\nbefore\nstderr:\n\n" || ended["script"] != nil || ended["version"] != nil || ended["tool"] != "script__deck" {
					t.Errorf("%v", ended)
				}
				break
			}
		}
		for _, where := range []string{run, ""} {
			if made := manager.calls(where, "script__deck", nil); made["errorCode"] != "UNKNOWN_TOOL" {
				t.Errorf("%v", made)
			}
		}
	})
}

// outputs has the program "#outputs" write files into its folder of outputs.
func (s *shelf) outputs(files map[string]string) {
	s.fake.Add(runnertest.Program{
		Match: runnertest.Source("#outputs\n"),
		Run: func(_ context.Context, p *runnertest.Proc) runnertest.Exit {
			folder, _ := p.Env("ARTIFIC_OUTPUTS")
			for name, content := range files {
				p.WriteFile(folder+"/"+name, []byte(content))
			}
			fmt.Fprintln(p.Stdout, "5 slides written")
			return runnertest.Exit{}
		},
	})
}

// TestS2Direct: a call without a run answers what the model would read, and what it wrote; S2-direct1: on a computer that is gone then.
func TestS2Direct(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, worker *shelf) {
		script, _ := manager.creates("deck", source("#outputs\n"))
		manager.next(script, with(fakes("out draft"), draft))
		manager.outputs(map[string]string{"presentation.pptx": "PK", "报告 ñ😀.txt": "报告"})
		made := manager.calls("", "script__deck", nil)
		want := "exit_code: 0\nstdout:\n5 slides written\nstderr:\n\nfiles:\npresentation.pptx: kept as an artifact\n报告 ñ😀.txt: kept as an artifact\n"
		if made["status"] != "SUCCEEDED" || made["errorCode"] != nil || made["text"] != want || made["run"] != nil || at[string](t, made, "script", "name") != "deck" {
			t.Errorf("%v", made)
		}
		for i, content := range []string{"PK", "报告"} {
			a := at[map[string]any](t, made, "artifacts", i)
			b, err := base64.StdEncoding.DecodeString(a["content"].(string))
			if err != nil || string(b) != content || a["size"] != float64(len(content)) {
				t.Errorf("%v, %v", a, err)
			}
			get := func(secret string) answer {
				return manager.serve(httptest.NewRequestWithContext(t.Context(), http.MethodGet, a["url"].(string), nil), secret)
			}
			if got := get(manager.secret); got.status != http.StatusOK || got.body != content {
				t.Errorf("%v", got)
			}
			if got := get(worker.secret); got.status != http.StatusForbidden {
				t.Errorf("without ARTIFACTS: %v", got)
			}
			d := worker.send(t, worker.secret, `query($a: ID!) { node(id: $a) { ... on Artifact { name sha256 content } } }`, map[string]any{"a": a["id"]})
			if !strings.Contains(d.body, `"content":null`) || !strings.Contains(d.body, `"DENIED"`) || !strings.Contains(d.body, a["sha256"].(string)) {
				t.Errorf("%v", d)
			}
		}
		if up, made := manager.fake.Computers(), manager.fake.Started(); len(up) != 0 || len(made) != 1 {
			t.Errorf("up are %v of %d", up, len(made))
		}
		if made := manager.calls("", "script__deck", map[string]any{"version": 2}); made["stdout"] != "draft\n" {
			t.Errorf("a manager tries a draft: %v", made)
		}
		trial := manager.calls("", "script__deck", map[string]any{"version": 2})["id"].(string)
		const asked = `query($id: ID!) { call(id: $id) { id } node(id: $id) { id } calls(first: 100) { totalCount nodes { stdout } } }`
		if got := fmt.Sprint(manager.must(t, manager.secret, asked, map[string]any{"id": trial})); !strings.Contains(got, "draft") || strings.Contains(got, "nil") {
			t.Errorf("a trial, for who may see drafts: %s", got)
		}
		if got := fmt.Sprint(worker.must(t, worker.secret, asked, map[string]any{"id": trial})); strings.Contains(got, "draft") || !strings.Contains(got, "call:<nil>") || !strings.Contains(got, "node:<nil>") {
			t.Errorf("a trial, for others: %s", got)
		}
		if p := worker.do("callCancel", "call { id }", map[string]any{"call": trial}); p.refusals() != "NOT_FOUND input.call" {
			t.Errorf("others cancel a trial: %v", p)
		}
		if got := worker.serve(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/calls/"+trial+"/output?stream=STDOUT", nil), worker.secret); got.status != http.StatusNotFound {
			t.Errorf("others read a trial's output: %v", got)
		}
		user := manager.key("TOOLING", "COMPUTER")
		if got := user.do("toolCall", "call { id }", map[string]any{"name": "script__deck", "version": 2}).refusals(); got != "NOT_FOUND input.version" {
			t.Errorf("a draft, for another: %s", got)
		}
		left := user.calls("", "script__deck", map[string]any{"version": 1})
		if !strings.HasSuffix(left["text"].(string), "files:\npresentation.pptx: left on the computer\n报告 ñ😀.txt: left on the computer\n") || fmt.Sprint(left["leftOnComputer"]) != "[presentation.pptx 报告 ñ😀.txt]" {
			t.Errorf("without ARTIFACTS: %v", left)
		}
		d := manager.must(t, manager.secret, `{ runs { totalCount nodes { id } } calls { totalCount nodes { run { id } } } }`, nil)
		if at[float64](t, d, "runs", "totalCount") != 0 || len(at[[]any](t, d, "runs", "nodes")) != 0 || at[float64](t, d, "calls", "totalCount") != 4 {
			t.Errorf("%v", d)
		}
	})
}

// TestS2Direct1: 50 at once, each on a computer of its own.
func TestS2Direct1(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, _ *shelf) {
		manager.creates("deck", fakes("stdin"))
		atOnce(50, func(i int) {
			p := manager.do("toolCall", calledFields, map[string]any{"name": "script__deck", "arguments": map[string]any{"n": i}})
			if got, _ := p["call"].(map[string]any); got == nil || got["stdout"] != fmt.Sprintf(`{"n":%d}`, i) {
				t.Errorf("%v", p)
			}
		})
		if up, made := manager.fake.Computers(), manager.fake.Started(); len(up) != 0 || len(made) != 50 {
			t.Errorf("up are %v of %d", up, len(made))
		}
	})
}

func TestS2Attachments(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, worker *shelf) {
		manager.creates("reads", fakes("cat /workspace/upload.bin"))
		file := manager.upload("figures\n")
		run, _ := manager.offers("script__reads", map[string]any{"attachments": []any{file}})
		manager.forget(file)
		if made := manager.calls(run, "script__reads", nil); made["stdout"] != "figures\n" {
			t.Errorf("%v", made)
		}
		d := manager.must(t, manager.secret, `query($r: ID!) { run(id: $r) { attachments { id filename size sha256 contentType url createdAt } } }`, map[string]any{"r": run})
		if at[string](t, d, "run", "attachments", 0, "filename") != "upload.bin" || at[float64](t, d, "run", "attachments", 0, "size") != 8 {
			t.Errorf("%v", d)
		}
		gone, kept := manager.upload("gone"), manager.upload("kept")
		manager.forget(gone)
		other := &shelf{&catalog{manager.testServer, t, manager.organization(t, "another"), ""}}
		for _, c := range []struct {
			who  *shelf
			want string
		}{
			{manager, "map[file:map[id:F size:8] node:map[id:F size:8] nodes:[map[id:F size:8] <nil> map[id:K size:4] map[id:F size:8]]]"}, // S2-fcopy: a run has it
			{worker, "map[file:map[id:F size:8] node:map[id:F size:8] nodes:[map[id:F size:8] <nil> map[id:K size:4] map[id:F size:8]]]"},
			{other, "map[file:<nil> node:<nil> nodes:[<nil> <nil> <nil> <nil>]]"},
		} {
			d := c.who.must(t, c.who.secret, `query($f: ID!, $g: ID!, $k: ID!) { file(id: $f) { ...of } node(id: $f) { ...of } nodes(ids: [$f, $g, $k, $f]) { ...of } }
				fragment of on File { id size }`, map[string]any{"f": file, "g": gone, "k": kept})
			if got := strings.NewReplacer(file, "F", kept, "K").Replace(fmt.Sprint(d)); got != c.want {
				t.Errorf("a deleted upload that a run has: %s, want %s", got, c.want)
			}
			status := c.who.serve(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/files/"+file, nil), c.who.secret).status
			if (status == http.StatusOK) != (d["file"] != nil) {
				t.Errorf("its path answers %d, file %v", status, d["file"])
			}
		}
		if p := manager.do("fileDelete", "deletedId", map[string]any{"file": file}); p.refusals() != "NOT_FOUND input.file" {
			t.Errorf("deleted again: %v", p)
		}
		if got := manager.tries("", map[string]any{"attachments": []any{manager.upload("x"), file}}).refusals(); got != "NOT_FOUND input.attachments.1" {
			t.Error(got)
		}
		if got := manager.key("TOOLING").tries("", map[string]any{"attachments": []any{manager.upload("x")}}).refusals(); got != "DENIED input.attachments" {
			t.Error(got)
		}
	})
}

// TestS2Mintime: a program may run for the shortest of the version's time, the key's and the deployment's; the model has no say.
func TestS2Mintime(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, _ *shelf) {
		manager.creates("short", with(fakes("out x"), map[string]any{"timeoutSeconds": 5}))
		manager.creates("long", with(fakes("out x"), map[string]any{"timeoutSeconds": 600}))
		p := manager.do("keyCreate", "secret", map[string]any{"name": "limited", "capabilities": []any{"TOOLING", "COMPUTER"}, "execTimeoutSeconds": 7})
		limited := &shelf{&catalog{manager.testServer, t, at[string](t, p, "secret"), ""}}
		for _, c := range []struct {
			who        *shelf
			name, want string
		}{{manager, "short", "5s"}, {manager, "long", "10m0s"}, {limited, "short", "5s"}, {limited, "long", "7s"}} {
			for _, arguments := range []map[string]any{{}, {"timeout": 1, "timeoutSeconds": 1}} {
				c.who.calls("", "script__"+c.name, map[string]any{"arguments": arguments})
				all := manager.fake.Calls()
				if got := all[len(all)-1].Call.Timeout.String(); got != c.want {
					t.Errorf("%s: %s, want %s", c.name, got, c.want)
				}
			}
		}
	})
}
