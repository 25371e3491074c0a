package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/id"
)

// TestS2Immut: a new version is the whole package, and leaves the ones before as they are; numbers have no gaps under many writers.
func TestS2Immut(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, worker *shelf) {
		script, first := worker.creates("deck", map[string]any{"parameters": json.RawMessage(`{"type":"object"}`), "timeoutSeconds": 60})
		read := func() string {
			return worker.send(t, worker.secret, `query($v: ID!) { node(id: $v) { ... on ScriptVersion { number description parameters entrypoint timeoutSeconds sourceHash createdAt publishedAt
				files { path sha256 text } } } }`, map[string]any{"v": first}).body
		}
		before := read()
		p := worker.next(script, map[string]any{"description": "Other.", "entrypoint": []any{"node", "x.mjs"}, "files": []any{textFile("x.mjs", "1")}})
		if p.refusals() != "" || !at[bool](t, p, "created") || at[float64](t, p, "version", "number") != 2 || len(at[[]any](t, p, "version", "files")) != 1 {
			t.Fatal(p)
		}
		d := worker.must(t, worker.secret, `{ script(name: "deck") { description parameters latestVersion { timeoutSeconds } } }`, nil)
		if got := fmt.Sprint(d["script"]); got != "map[description:Other. latestVersion:map[timeoutSeconds:120] parameters:<nil>]" {
			t.Errorf("something was taken over from version 1: %s", got)
		}
		if after := read(); after != before {
			t.Errorf("version 1 was %s and is %s", before, after)
		}
		for _, other := range []string{id.New(id.Script), "x", "", script + "\x00"} {
			if got := worker.next(other, nil).refusals(); got != "NOT_FOUND input.script" {
				t.Errorf("%q: %s", other, got)
			}
		}
		agents, _ := worker.save(t, worker.secret, worker.agent2(), "deck", "print()")
		if got := worker.next(agents, nil).refusals(); got != "NOT_FOUND input.script" {
			t.Errorf("an agent's script: %s", got)
		}
		if got := worker.do("agentScriptRestore", "script { id }", map[string]any{"version": first}).refusals(); got != "NOT_FOUND input.version" {
			t.Errorf("restored to an agent: %s", got)
		}

		numbers := make([]int, 20)
		atOnce(20, func(i int) {
			writer := []*shelf{manager, worker}[i%2]
			p := writer.next(script, with(source(fmt.Sprint(i)), map[string]any{"draft": i%4 == 0}))
			if p.refusals() != "" {
				t.Error(p)
				return
			}
			numbers[i] = int(at[float64](t, p, "version", "number"))
		})
		slices.Sort(numbers)
		for i, n := range numbers {
			if n != i+3 {
				t.Fatalf("numbers %v", numbers)
			}
		}
		conflict := worker.next(script, with(source("late"), map[string]any{"expectedVersion": 2}))
		if conflict.refusals() != "VERSION_CONFLICT input.expectedVersion" {
			t.Error(conflict)
		}
		latest := at[float64](t, worker.must(t, worker.secret, `{ script(name: "deck") { latestVersion { number } } }`, nil), "script", "latestVersion", "number")
		if current := at[float64](t, conflict.errors()[0], "current", "number"); current != latest {
			t.Errorf("the conflict is with %v, the latest is %v", current, latest)
		}
		if p := worker.next(script, with(source("in time"), map[string]any{"expectedVersion": latest})); p.refusals() != "" || at[float64](t, p, "version", "number") != 23 {
			t.Error(p)
		}
		if got := worker.next(script, map[string]any{"expectedVersion": -1}).refusals(); got != "INVALID input.expectedVersion" {
			t.Error(got)
		}
	})
}

// TestS2Dedupe: the same package again writes nothing, in any order of its files; whatever differs is a version.
func TestS2Dedupe(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, worker *shelf) {
		whole := map[string]any{"parameters": json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`), "timeoutSeconds": 60}
		script, version := worker.creates("deck", whole)
		before := manager.all()
		for name, changes := range map[string]map[string]any{
			"the same":         nil,
			"another order":    {"files": []any{textFile("lib/deck.py", "pages = 1\n"), textFile("main.py", "print('deck')\n")}},
			"by an upload":     {"files": []any{map[string]any{"path": "main.py", "fileId": worker.upload("print('deck')\n")}, textFile("lib/deck.py", "pages = 1\n")}},
			"defaults in full": {"background": false, "freshInterpreter": false, "packages": []any{}, "draft": false},
			"white space":      {"parameters": json.RawMessage("{ \"type\":\"object\",\n\"properties\":{\"a\":{\"type\":\"integer\"}}}")},
			"a draft":          {"draft": true},
		} {
			writer := worker
			if changes["draft"] == true {
				writer = manager
			}
			p := writer.next(script, with(whole, changes))
			if p.refusals() != "" || at[bool](t, p, "created") || at[string](t, p, "version", "id") != version {
				t.Errorf("%s: %v", name, p)
			}
		}
		if after := manager.all(); after != before {
			t.Errorf("what is the same changed %s to %s", before, after)
		}
		number := 1.0
		for _, changes := range []map[string]any{
			{"description": "Makes a deck"}, {"entrypoint": []any{"python3", "main.py", ""}}, {"parameters": json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"}}}`)},
			{"parameters": nil}, {"timeoutSeconds": 61}, {"background": true}, {"freshInterpreter": true}, {"files": []any{textFile("main.py", "print('deck')\n")}},
			{"files": []any{textFile("main.py", "print('deck')\n"), textFile("lib/Deck.py", "pages = 1\n")}}, {"files": []any{textFile("main.py", "print('deck')\r\n"), textFile("lib/deck.py", "pages = 1\n")}},
		} {
			number++
			p := worker.next(script, with(whole, changes))
			if p.refusals() != "" || !at[bool](t, p, "created") || at[float64](t, p, "version", "number") != number {
				t.Errorf("%v: %v", changes, p)
			}
		}
		// The first one again is not the latest: it is a version.
		if p := worker.next(script, whole); !at[bool](t, p, "created") || at[float64](t, p, "version", "number") != number+1 {
			t.Errorf("an earlier package again: %v", p)
		}
		// Twenty equal ones at once are one version.
		created := make([]bool, 20)
		atOnce(20, func(i int) { created[i] = at[bool](t, worker.next(script, source("race")), "created") })
		if n := len(slices.DeleteFunc(created, func(c bool) bool { return !c })); n != 1 {
			t.Errorf("%d of twenty were written", n)
		}
		// The answer to an equal request is the first answer, whatever was written since.
		keyed := with(source("keyed"), map[string]any{"idempotencyKey": "k"})
		p := worker.next(script, keyed)
		worker.next(script, source("later"))
		if again := worker.next(script, keyed); at[string](t, again, "version", "id") != at[string](t, p, "version", "id") || !at[bool](t, again, "created") {
			t.Errorf("%v after %v", again, p)
		}
		if got := worker.next(script, with(keyed, source("x"))).refusals(); got != "IDEMPOTENCY_MISMATCH input.idempotencyKey" {
			t.Error(got)
		}
	})
}

// TestS2Labels: labels and metadata in a body replace the script's, also where nothing else is written; left out they are kept.
func TestS2Labels(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, worker *shelf) {
		label := func(name, value string) any { return map[string]any{"name": name, "value": value} }
		script, _ := worker.creates("deck", map[string]any{"labels": []any{label("team", "a")}, "metadata": json.RawMessage(`{"x":1}`)})
		state := func() string {
			t.Helper()
			d := worker.must(t, worker.secret, `query($s: ID!) { node(id: $s) { ... on Script { labels { name value } metadata latestVersion { number } } } }`, map[string]any{"s": script})
			raw, err := json.Marshal(d["node"])
			if err != nil {
				t.Fatal(err)
			}
			return strings.NewReplacer("latestVersion:", "", "labels:", "").Replace(strings.ReplaceAll(string(raw), `"`, ""))
		}
		for _, step := range []struct {
			changes map[string]any
			want    string
		}{
			{nil, "{[{name:team,value:a}],{number:1},metadata:{x:1}}"},
			{map[string]any{"labels": []any{label("b", "2"), label("a", "")}}, "{[{name:b,value:2},{name:a,value:}],{number:1},metadata:{x:1}}"},
			{source("2"), "{[{name:b,value:2},{name:a,value:}],{number:2},metadata:{x:1}}"},
			{with(source("3"), map[string]any{"labels": []any{}, "metadata": json.RawMessage(`{"y":[]}`)}), "{[],{number:3},metadata:{y:[]}}"},
			{with(source("3"), map[string]any{"metadata": json.RawMessage(`{}`), "labels": []any{label("a", "z")}}), "{[{name:a,value:z}],{number:3},metadata:{}}"},
			{with(source("3"), map[string]any{"metadata": json.RawMessage(`null`)}), "{[{name:a,value:z}],{number:3},metadata:{}}"},
		} {
			p := worker.next(script, step.changes)
			if got := state(); p.refusals() != "" || got != step.want {
				t.Errorf("%v: %s, want %s (%v)", step.changes, got, step.want, p["userErrors"])
			}
		}
		before := manager.all()
		many := make([]any, 33)
		for i := range many {
			many[i] = label(fmt.Sprint(i), "")
		}
		for want, changes := range map[string]map[string]any{
			"TOO_LARGE input.labels":                              {"labels": many},
			"INVALID input.labels.1.name":                         {"labels": []any{label("a", ""), label("a", "x")}},
			"INVALID input.labels.0.name":                         {"labels": []any{label(" ", "")}},
			"INVALID input.labels.0.value":                        {"labels": []any{label("a", strings.Repeat("x", 256))}},
			"TOO_LARGE input.metadata":                            {"metadata": json.RawMessage(`{"x":"` + strings.Repeat("x", 65_536) + `"}`)},
			"INVALID input.metadata":                              {"metadata": json.RawMessage(`"{}"`)},
			"INVALID input.timeoutSeconds":                        {"timeoutSeconds": 31_536_001, "labels": []any{label("q", "")}},
			"INVALID input.labels.0.name, INVALID input.metadata": {"labels": []any{label("\n", "")}, "metadata": json.RawMessage(`1`)},
		} {
			if got := worker.next(script, changes).refusals(); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		if after := manager.all(); after != before {
			t.Errorf("what was refused changed %s to %s", before, after)
		}
	})
}

// TestS2Vlist: versions newest first, in pages, and one by its number.
func TestS2Vlist(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, _, worker *shelf) {
		script, _ := worker.creates("deck", nil)
		for i := range 11 {
			worker.next(script, source(fmt.Sprint(i)))
		}
		var all []float64
		var after any
		for more := true; more; {
			d := worker.must(t, worker.secret, `query($s: ID!, $a: Cursor) { node(id: $s) { ... on Script { versions(first: 5, after: $a) { totalCount pageInfo { hasNextPage endCursor } nodes { number } } } } }`,
				map[string]any{"s": script, "a": after})
			if at[float64](t, d, "node", "versions", "totalCount") != 12 {
				t.Error(d)
			}
			for _, n := range at[[]any](t, d, "node", "versions", "nodes") {
				all = append(all, at[float64](t, n, "number"))
			}
			after, more = at[any](t, d, "node", "versions", "pageInfo", "endCursor"), at[bool](t, d, "node", "versions", "pageInfo", "hasNextPage")
		}
		if fmt.Sprint(all) != "[12 11 10 9 8 7 6 5 4 3 2 1]" {
			t.Error(all)
		}
		d := worker.must(t, worker.secret, `{ script(name: "deck") { seven: version(number: 7) { number source } zero: version(number: 0) { id } none: version(number: 13) { id } minus: version(number: -1) { id } } }`, nil)
		if got := fmt.Sprint(d["script"]); got != "map[minus:<nil> none:<nil> seven:map[number:7 source:5] zero:<nil>]" {
			t.Error(got)
		}
	})
}

// TestS2LatestVersion: what says nothing of a version means the published one with the highest number.
func TestS2LatestVersion(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, worker *shelf) {
		script, _ := worker.creates("deck", source("1"))
		worker.next(script, with(source("2"), map[string]any{"description": "Two."}))
		drafted := manager.next(script, with(draft, source("3"), map[string]any{"description": "Three."}))
		for _, key := range []*shelf{manager, worker} {
			d := key.must(t, key.secret, `{ script(name: "deck") { description latestVersion { number source } } tool(name: "script__deck") { description version } }`, nil)
			if got := fmt.Sprint(d["script"], d["tool"]); got != "map[description:Two. latestVersion:map[number:2 source:2]] map[description:Two. version:2]" {
				t.Error(got)
			}
		}
		manager.decide("Publish", at[string](t, drafted, "version", "id"), "")
		d := worker.must(t, worker.secret, `{ script(name: "deck") { description latestVersion { number source } } tool(name: "script__deck") { description version } }`, nil)
		if got := fmt.Sprint(d["script"], d["tool"]); got != "map[description:Three. latestVersion:map[number:3 source:3]] map[description:Three. version:3]" {
			t.Error(got)
		}
	})
}

// TestS2Del: a script goes with its versions and files, unless agents name it; its calls and approvals stay; the name begins anew.
func TestS2Del(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, worker *shelf) {
		script, _ := manager.creates("deck", draft)
		first := at[string](t, manager.must(t, manager.secret, `query($s: ID!) { node(id: $s) { ... on Script { latestVersion { id } } } }`, map[string]any{"s": script}), "node", "latestVersion", "id")
		decided := manager.decide("Publish", first, "good")
		worker.next(script, source("2"))
		manager.next(script, with(draft, source("3")))
		call := manager.do("toolCall", "call { id }", map[string]any{"name": "script__deck"})
		agent := func(name string, tools ...string) string {
			d := worker.must(t, worker.secret, `mutation($n: String!, $t: [String!]) { agentCreate(input: {name: $n, tools: $t}) { agent { id } userErrors { message } } }`, map[string]any{"n": name, "t": tools})
			return at[string](t, d, "agentCreate", "agent", "id")
		}
		named := []string{agent("one", "script__deck"), agent("two", "script__*", "script__deck")}
		agent("by a pattern", "script__d*")
		remove := func() payload { return worker.do("scriptDelete", "deletedId", map[string]any{"script": script}) }
		used := worker.must(t, worker.secret, `{ script(name: "deck") { usedBy { name } } }`, nil)
		if got := fmt.Sprint(used["script"]); got != "map[usedBy:[map[name:one] map[name:two]]]" {
			t.Error(got)
		}
		before := manager.all()
		p := remove()
		if p.refusals() != "IN_USE input.script" || fmt.Sprint(p.errors()[0]["agents"]) != "[map[name:one] map[name:two]]" || p["deletedId"] != nil {
			t.Errorf("in use: %v", p)
		}
		if after := manager.all(); after != before {
			t.Errorf("what was refused changed %s to %s", before, after)
		}
		for _, a := range named {
			worker.must(t, worker.secret, `mutation($a: ID!) { agentUpdate(input: {agent: $a, tools: []}) { userErrors { message } } }`, map[string]any{"a": a})
		}
		if p := remove(); p.refusals() != "" || p["deletedId"] != script {
			t.Fatalf("%v", p)
		}
		if p := remove(); p.refusals() != "NOT_FOUND input.script" {
			t.Errorf("again: %v", p)
		}
		d := manager.must(t, manager.secret, `query($ids: [ID!]!) { nodes(ids: $ids) { id } script(name: "deck") { id } scripts { totalCount } tool(name: "script__deck") { name }
			scriptChangeLog { nodes { action name script { id } version { id } } } }`, map[string]any{"ids": []string{script, first}})
		if got := fmt.Sprint(d["nodes"], d["script"], d["tool"], at[float64](t, d, "scripts", "totalCount"), at[[]any](t, d, "scriptChangeLog", "nodes")); got != "[<nil> <nil>] <nil> <nil> 0 "+
			"[map[action:PUBLISH name:deck script:<nil> version:<nil>] map[action:CREATE name:deck script:<nil> version:<nil>] map[action:DELETE name:deck script:<nil> version:<nil>]]" {
			t.Error(got)
		}
		d = manager.must(t, manager.secret, `query($c: ID!, $a: ID!) { call(id: $c) { tool text script { id } version { id } } node(id: $a) { ... on Approval { subject { __typename } decision comment by { name } } } }`,
			map[string]any{"c": at[string](t, call, "call", "id"), "a": at[string](t, decided, "approval", "id")})
		if got := d["call"].(map[string]any); got["tool"] != "script__deck" || got["script"] != nil || got["version"] != nil {
			t.Errorf("its call reads %v", got)
		}
		if got := fmt.Sprint(d["node"]); got != "map[by:map[name:first key] comment:good decision:APPROVED subject:<nil>]" {
			t.Errorf("its approval reads %s", got)
		}
		for _, table := range []string{"versions", "version_files", "script_labels"} {
			var n int
			if err := worker.db.SQL().QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil || n != 0 {
				t.Errorf("%d rows of %s are left (%v)", n, table, err)
			}
		}
		if again, version := worker.creates("deck", nil); again == script || version == first || worker.versions(again) != "1" {
			t.Errorf("the name again: %s %s", again, worker.versions(again))
		}
	})
}

// TestS2DelRace: no agent names a script that is deleted at the same moment.
func TestS2DelRace(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, _, worker *shelf) {
		for i := range 20 {
			name := fmt.Sprint("deck", i)
			script, _ := worker.creates(name, nil)
			var named, deleted payload
			atOnce(2, func(i int) {
				if i == 0 {
					named = worker.do("agentCreate", "agent { id }", map[string]any{"name": "x", "tools": []any{"script__" + name}})
				} else {
					deleted = worker.do("scriptDelete", "deletedId", map[string]any{"script": script})
				}
			})
			if (named.refusals() == "") == (deleted.refusals() == "") {
				t.Fatalf("named: %v, deleted: %v", named, deleted)
			}
		}
	})
}
