package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestS1Agent(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		first := c.has("deck", nil)
		other := &catalog{c.testServer, t, c.secret, c.testServer.agent(t, c.secret, "other", 10)}
		second := other.has("deck", map[string]any{"source": "print(2)"})
		if a, b := at[string](t, first, "script", "id"), at[string](t, second, "script", "id"); a == b {
			t.Errorf("two agents have the one script %s", a)
		}
		c.remove("deck")
		if c.live() != " (2 changes)" || other.live() != "deck@1 (1 changes)" {
			t.Errorf("%s; %s", c.live(), other.live())
		}
		owner := c.must(t, c.secret, `query($s: ID!) { node(id: $s) { ... on Script { owner { ... on Agent { id } } } } }`, map[string]any{"s": at[string](t, second, "script", "id")})
		if at[string](t, owner, "node", "owner", "id") != other.agent {
			t.Errorf("it belongs to %v", owner)
		}
	})
}

func TestS1Name(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		for _, name := range []string{"a", "deck", "a-b_c9", strings.Repeat("n", 63)} {
			if got := at[string](t, c.has(name, nil), "script", "name"); got != name {
				t.Errorf("%q became %q", name, got)
			}
		}
		check := c.unchanged()
		for _, name := range []string{
			"", " ", "deck\n", "\ndeck", "deck\r", "Deck", "DECK", "9deck", "_deck", "-deck", "de ck", "deck.py", "../deck", "deck\x00", "déck",
			"dеck" /* Cyrillic */, "ԁeck", "ｄeck", "deck\u200b", strings.Repeat("n", 64), strings.Repeat("n", 10_000),
		} {
			p := c.try(name, map[string]any{"description": "x", "source": "x"})
			if p.refusals() != "INVALID input.name" || p["script"] != nil || p["version"] != nil || p["created"] != nil || p["takesEffect"] != nil {
				t.Errorf("%.70q: %s", name, p.refusals())
			}
			if !strings.HasPrefix(p.errors()[0]["message"].(string), "input.name ") {
				t.Errorf("%.70q: %v", name, p.errors())
			}
			found := c.must(t, c.secret, `query($a: ID!, $n: String!) { agent(id: $a) { script(name: $n) { id } } }`, map[string]any{"a": c.agent, "n": name})
			if at[map[string]any](t, found, "agent")["script"] != nil {
				t.Errorf("%.70q is found", name)
			}
			if p := c.remove(name); p.refusals() != "NOT_FOUND input.name" {
				t.Errorf("%.70q is deleted: %s", name, p.refusals())
			}
		}
		check()
	})
}

func TestS1Reserved(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		c.update(map[string]any{"connectedTools": []string{"search", "Web Fetch"}})
		check := c.unchanged()
		want := map[string]string{"manifest": "NAME_RESERVED", "script__x": "NAME_RESERVED", "alias__x": "NAME_RESERVED", "search": "NAME_TAKEN"}
		for _, own := range strings.Fields(five) {
			want[own] = "NAME_TAKEN"
		}
		for name, code := range want {
			p := c.try(name, nil)
			if p.refusals() != code+" input.name" {
				t.Errorf("%s: %s", name, p.refusals())
				continue
			}
			by := map[string]any{"search": "a connected tool"}[name]
			if by == nil && code == "NAME_TAKEN" {
				by = "the tool " + name
			}
			if got := p.errors()[0]["takenBy"]; got != by {
				t.Errorf("%s is taken by %v, not by %v", name, got, by)
			}
		}
		check()
		for _, name := range []string{"script_runner", "manifests", "script_", "alias_"} {
			c.has(name, nil)
		}
	})
}

// TestS1ReservedLater: the other tool comes after the script, and is refused there.
func TestS1ReservedLater(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		c.has("deck", nil)
		c.has("gone", nil)
		c.remove("gone")
		connect := func(names ...string) payload {
			return c.do("agentUpdate", "agent { connectedTools }", map[string]any{"agent": c.agent, "name": "renamed", "connectedTools": names})
		}
		p := connect("search", "deck")
		if p.refusals() != "NAME_TAKEN input.connectedTools.1" || p.errors()[0]["takenBy"] != "the script deck" ||
			p.errors()[0]["message"] != "input.connectedTools.1: deck is the name of the script deck" {
			t.Fatalf("%v", p)
		}
		if got := ask[string](c, "agent(id: $a) { name connectedTools }", "agent", "name"); got != "agent" {
			t.Error("a refused update was written")
		}
		for name, want := range map[string]string{"script_run": "NAME_TAKEN input.connectedTools.0", "script__x": "NAME_RESERVED input.connectedTools.0", "alias__x": "NAME_RESERVED input.connectedTools.0"} {
			if p := connect(name); p.refusals() != want {
				t.Errorf("%s: %s", name, p.refusals())
			}
		}
		if p := connect("search", "gone"); len(p.errors()) > 0 {
			t.Fatal(p)
		}
		if p := c.try("gone", nil); p.refusals() != "NAME_TAKEN input.name" {
			t.Errorf("the name of a connected tool: %s", p.refusals())
		}
		// Both at once: one of the two has the name, never both.
		for i := range 10 {
			name := fmt.Sprint("both", i)
			var saved, connected bool
			atOnce(2, func(side int) {
				if side == 0 {
					saved = len(c.try(name, nil).errors()) == 0
				} else {
					connected = len(connect("search", name).errors()) == 0
				}
			})
			if saved == connected {
				t.Errorf("%s: saved %v, connected %v", name, saved, connected)
			}
			c.remove(name)
		}
	})
}

func TestS1Desc(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		for _, fine := range []string{strings.Repeat("ä", 400), "two\nlines", " x "} {
			if got := at[string](t, c.has("deck", map[string]any{"description": fine}), "version", "description"); got != fine {
				t.Errorf("%.20q became %.20q", fine, got)
			}
		}
		check := c.unchanged()
		for bad, message := range map[string]string{
			"": "input.description is blank", " \t\n\u3000": "input.description is blank", strings.Repeat("x", 401): "input.description is longer than 400 characters",
			"a\x00": "input.description holds U+0000, which cannot be stored",
		} {
			if p := c.try("deck", map[string]any{"description": bad}); p.refusals() != "INVALID input.description" || p.errors()[0]["message"] != message {
				t.Errorf("%.20q: %v", bad, p["userErrors"])
			}
		}
		check()
	})
}

func TestS1Src(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		for _, fine := range []string{"x", "print('ü')\r\n\n", strings.Repeat("#", 900_000)} {
			p := c.has("deck", map[string]any{"source": fine})
			sum := sha256.Sum256([]byte(fine))
			if at[string](t, p, "version", "source") != fine || at[string](t, p, "version", "sourceHash") != hex.EncodeToString(sum[:]) {
				t.Errorf("%.20q is not what was kept", fine)
			}
		}
		check := c.unchanged()
		for bad, want := range map[string]string{
			"": "INVALID", " \n\t\u00a0": "INVALID", "print()\x00": "INVALID", strings.Repeat("#", 1_000_001): "TOO_LARGE",
		} {
			if p := c.try("deck", map[string]any{"source": bad}); p.refusals() != want+" input.source" {
				t.Errorf("%.20q: %s", bad, p.refusals())
			}
		}
		check()
	})
}

func TestS1Lang(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		c.has("deck", nil)
		got := ask[[]any](c, `agent(id: $a) { script(name: "deck") { latestVersion { entrypoint } } }`, "agent", "script", "latestVersion", "entrypoint")
		if fmt.Sprint(got) != "[python3 scripts/deck.py]" {
			t.Errorf("it runs as %v", got)
		}
	})
}

func TestS1Params(t *testing.T) {
	t.Parallel()
	levels := func(n int) string {
		return `{"type":"object","properties":{"a":` + strings.Repeat(`{"items":`, n) + "{}" + strings.Repeat("}", n) + "}}"
	}
	onCatalog(t, func(t *testing.T, c *catalog) {
		save := func(schema string) payload {
			return c.try("deck", map[string]any{"parameters": json.RawMessage(schema)})
		}
		for _, fine := range []string{
			`{"type":"object"}`, `{"type":"object","properties":{"child":{"$ref":"#"}}}`, levels(190), "null",
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/n"}]}},"$defs":{"n":{"type":"number","maximum":1.0}}}`,
			`{"type":"object","properties":{"` + strings.Repeat("n", 64) + `":{}}}`,
		} {
			if p := save(fine); len(p.errors()) > 0 {
				t.Errorf("%.60s is refused: %v", fine, p["userErrors"])
			}
		}
		check := c.unchanged()
		const refuse = "model APIs refuse a request whose tool has %s at the top of its schema; put it into a property"
		for _, bad := range []struct{ schema, pointer, keyword, message string }{
			{`{}`, "", "type", `the top of a schema must have "type": "object"`},
			{`true`, "", "type", `a schema is an object with "type": "object"`},
			{`[]`, "", "type", `a schema is an object with "type": "object"`},
			{`"x"`, "", "type", `a schema is an object with "type": "object"`},
			{`{"type":"array"}`, "", "type", `the top of a schema must have "type": "object"`},
			{`{"type":"object","anyOf":[{}]}`, "", "anyOf", fmt.Sprintf(refuse, "anyOf")},
			{`{"type":"object","oneOf":[{}]}`, "", "oneOf", fmt.Sprintf(refuse, "oneOf")},
			{`{"type":"object","allOf":[{}]}`, "", "allOf", fmt.Sprintf(refuse, "allOf")},
			{`{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1:1/x.json"}}}`, "/properties/a/$ref", "$ref", "only references inside of the schema (#…) are followed"},
			{`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`, "/properties/a/$ref", "$ref", "only references inside of the schema (#…) are followed"},
			{`{"type":"object","properties":{"a":{"$ref":"other.json"}}}`, "/properties/a/$ref", "$ref", "only references inside of the schema (#…) are followed"},
			{`{"type":"object","properties":{"my name":{}}}`, "/properties/my name", "properties", "names of properties are 1 to 64 of the characters a to z, A to Z, 0 to 9, _, . and -"},
			{`{"type":"object","properties":{"` + strings.Repeat("n", 65) + `":{}}}`, "/properties/" + strings.Repeat("n", 65), "properties", "names of properties are 1 to 64 of the characters a to z, A to Z, 0 to 9, _, . and -"},
			{`{"type":"object","properties":{"a":{"pattern":"("}}}`, "/properties/a/pattern", "pattern", ""},
		} {
			p := save(bad.schema)
			if p.refusals() != "SCHEMA_INVALID input.parameters" {
				t.Errorf("%.60s: %s", bad.schema, p.refusals())
				continue
			}
			e := p.errors()[0]
			if e["pointer"] != bad.pointer || e["keyword"] != bad.keyword || bad.message != "" && e["message"] != "input.parameters"+bad.pointer+": "+bad.message {
				t.Errorf("%.60s: %v", bad.schema, e)
			}
		}
		deep := c.send(t, c.secret, `mutation($i: AgentScriptSaveInput!) { agentScriptSave(input: $i) { created } }`,
			map[string]any{"i": c.content("deck", map[string]any{"parameters": json.RawMessage(levels(200))})})
		if deep.status != http.StatusBadRequest || !strings.Contains(deep.body, "parameters: nested more than 200 levels deep") {
			t.Errorf("more than 200 levels: %d %s", deep.status, deep.body)
		}
		check()
	})
}

func TestS1Unique(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		var mu sync.Mutex
		var numbers []int
		scripts, created := map[string]bool{}, 0
		atOnce(20, func(int) {
			p := c.try("deck", nil)
			if len(p.errors()) > 0 || p["version"] == nil {
				t.Errorf("refused: %v", p)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			numbers = append(numbers, int(p["version"].(map[string]any)["number"].(float64)))
			scripts[p["script"].(map[string]any)["id"].(string)] = true
			if p["created"] == true {
				created++
			}
		})
		slices.Sort(numbers)
		for i, n := range numbers {
			if n != i+1 {
				t.Fatalf("the versions are %v", numbers)
			}
		}
		if len(numbers) != 20 || len(scripts) != 1 || created != 1 || c.live() != "deck@20 (20 changes)" {
			t.Errorf("%d versions, %d scripts, %d created, %s", len(numbers), len(scripts), created, c.live())
		}
	})
}

func TestS1Replace(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		c.update(map[string]any{"maxScripts": 1})
		first := c.has("deck", nil)
		second := c.has("deck", map[string]any{"source": "print(2)"})
		if first["created"] != true || second["created"] != false || at[string](t, first, "script", "id") != at[string](t, second, "script", "id") ||
			at[float64](t, second, "version", "number") != 2 {
			t.Errorf("%v, then %v", first, second)
		}
		old := ask[string](c, `agent(id: $a) { script(name: "deck") { version(number: 1) { source } } }`, "agent", "script", "version", "source")
		if old != "#fake: out deck\n" {
			t.Errorf("version 1 became %q", old)
		}
	})
}

func TestS1Cap(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		made := c.do("agentCreate", "agent { id maxScripts scripting }", map[string]any{"name": "by default"})
		if at[float64](t, made, "agent", "maxScripts") != 10 {
			t.Errorf("the cap is %v by default", made)
		}
		for i := range 9 {
			c.has(fmt.Sprint("s", i), nil)
		}
		var mu sync.Mutex
		saved := 0
		atOnce(20, func(i int) {
			p := c.try(fmt.Sprint("n", i), nil)
			mu.Lock()
			defer mu.Unlock()
			if len(p.errors()) == 0 {
				saved++
				return
			}
			if e := p.errors()[0]; p.refusals() != "CAP_REACHED input.name" || e["limit"] != 10.0 || e["message"] != "this agent is limited to 10 scripts" {
				t.Errorf("refused otherwise: %v", p["userErrors"])
			}
		})
		if live := c.live(); saved != 1 || !strings.HasSuffix(live, "(10 changes)") {
			t.Errorf("%d saved: %s", saved, live)
		}
		if p := c.has("s0", nil); at[float64](t, p, "version", "number") != 2 {
			t.Errorf("a replacement at the cap: %v", p)
		}
		for _, n := range []int{0, -1, 1001} {
			if p := c.do("agentUpdate", "agent { id }", map[string]any{"agent": c.agent, "maxScripts": n}); p.refusals() != "INVALID input.maxScripts" {
				t.Errorf("a cap of %d: %v", n, p)
			}
		}
	})
}

func TestS1Caplow(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		for _, name := range []string{"one", "two", "three"} {
			c.has(name, nil)
		}
		c.update(map[string]any{"maxScripts": 1})
		refused := func() {
			t.Helper()
			if p := c.try("four", nil); p.refusals() != "CAP_REACHED input.name" || p.errors()[0]["message"] != "this agent is limited to 1 scripts" {
				t.Errorf("a new one: %v", p)
			}
		}
		refused()
		c.has("two", nil)
		c.remove("one")
		c.remove("three")
		refused()
		if c.live() != "two@2 (6 changes)" {
			t.Errorf("%s", c.live())
		}
		c.remove("two")
		c.has("four", nil)
	})
}

func TestS1Recipe(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		c.update(map[string]any{"maxScripts": 3})
		c.has("b", nil)
		apply := func(scripts ...map[string]any) payload {
			for _, s := range scripts {
				delete(s, "agent")
			}
			return c.do("recipeApply", "scripts { name latestVersion { number parameters } }", map[string]any{"agent": c.agent, "scripts": scripts})
		}
		schema := json.RawMessage(`{ "type":"object", "properties":{"z":{"maximum":1.0},"a":{}} }`)
		p := apply(c.content("c", map[string]any{"parameters": schema}), c.content("b", nil), c.content("a", nil))
		if len(p.errors()) > 0 || at[string](t, p, "scripts", 0, "name") != "c" || at[float64](t, p, "scripts", 1, "latestVersion", "number") != 2 {
			t.Fatalf("%v", p)
		}
		raw := c.send(t, c.secret, `query($a: ID!) { agent(id: $a) { script(name: "c") { parameters } } }`, map[string]any{"a": c.agent})
		if !strings.Contains(raw.body, `"properties":{"z":{"maximum":1.0},"a":{}}`) {
			t.Errorf("the schema became %s", raw.body)
		}
		check := c.unchanged()
		for want, scripts := range map[string][]map[string]any{
			"CAP_REACHED input.scripts":                                           {c.content("a", nil), c.content("d", nil)},
			"INVALID input.scripts":                                               {},
			"INVALID input.scripts.1.name":                                        {c.content("a", nil), c.content("a", nil)},
			"NAME_RESERVED input.scripts.1.name":                                  {c.content("a", nil), c.content("manifest", nil)},
			"NAME_TAKEN input.scripts.0.name":                                     {c.content("script_run", nil), c.content("a", nil)},
			"INVALID input.scripts.0.source, INVALID input.scripts.1.description": {c.content("a", map[string]any{"source": " "}), c.content("b", map[string]any{"description": ""})},
			"SCHEMA_INVALID input.scripts.1.parameters":                           {c.content("a", nil), c.content("b", map[string]any{"parameters": map[string]any{}})},
		} {
			if p := apply(scripts...); p.refusals() != want || p["scripts"] != nil {
				t.Errorf("%s, want %s", p.refusals(), want)
			}
		}
		if p := apply(c.content("d", nil)); p.errors()[0]["message"] != "this agent is limited to 3 scripts" || p.errors()[0]["limit"] != 3.0 {
			t.Errorf("%v", p)
		}
		check()
		if p := apply(c.content("a", nil), c.content("b", nil)); len(p.errors()) > 0 || !strings.HasPrefix(c.live(), "a@2 b@3 c@1 ") {
			t.Errorf("replacing at the cap: %v, %s", p, c.live())
		}
	})
}

func TestS1Http(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		c.has("b", nil)
		c.has("a", nil)
		one := ask[map[string]any](c, `agent(id: $a) { script(name: "b") { name latestVersion { source } } }`, "agent", "script")
		if one["name"] != "b" || at[string](t, one, "latestVersion", "source") != "#fake: out b\n" {
			t.Errorf("one: %v", one)
		}
		if none := ask[map[string]any](c, `agent(id: $a) { script(name: "none") { name } }`, "agent"); none["script"] != nil {
			t.Errorf("none: %v", none)
		}
		if p := c.remove("b"); len(p.errors()) > 0 || p["deletedId"] == nil {
			t.Errorf("deleted: %v", p)
		}
		if p := c.remove("b"); p.refusals() != "NOT_FOUND input.name" || p["deletedId"] != nil {
			t.Errorf("deleted again: %v", p)
		}
		if c.live() != "a@1 (3 changes)" {
			t.Errorf("%s", c.live())
		}
	})
}

func TestS1Display(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		c.has("b", nil)
		c.has("a-1", nil)
		nodes := ask[[]any](c, `agent(id: $a) { scripts { nodes { name displayPath latestVersion { source } } } }`, "agent", "scripts", "nodes")
		want := `[map[displayPath:scripts/a-1.py latestVersion:map[source:#fake: out a-1
] name:a-1] map[displayPath:scripts/b.py latestVersion:map[source:#fake: out b
] name:b]]`
		if fmt.Sprint(nodes) != want {
			t.Errorf("%v", nodes)
		}
	})
}

func TestS1Clear(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		clear := func() []any {
			p := c.do("agentScriptClear", "deletedIds", map[string]any{"agent": c.agent})
			return at[[]any](t, p, "deletedIds")
		}
		if gone := clear(); len(gone) != 0 || c.live() != " (0 changes)" {
			t.Errorf("nothing to clear: %v, %s", gone, c.live())
		}
		a, b := at[string](t, c.has("a", nil), "script", "id"), at[string](t, c.has("b", nil), "script", "id")
		if gone := clear(); fmt.Sprint(gone) != fmt.Sprint([]any{a, b}) || c.live() != " (3 changes)" {
			t.Errorf("cleared %v, %s", gone, c.live())
		}
		if p := c.has("a", nil); at[string](t, p, "script", "id") == a || at[float64](t, p, "version", "number") != 1 {
			t.Errorf("created again: %v", p)
		}
	})
}

func TestS1Hist(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(t *testing.T, c *catalog) {
		first := c.has("deck", map[string]any{"source": "a = 1\n", "description": "First."})
		c.has("deck", map[string]any{"source": "a = 2\n"})
		c.has("other", nil)
		c.remove("deck")
		c.do("agentScriptClear", "deletedIds", map[string]any{"agent": c.agent})
		history := func() string {
			var all []string
			for _, n := range ask[[]any](c, `agent(id: $a) { history(script: "deck") { nodes { action name at version { number source diff } author { __typename } } } }`, "agent", "history", "nodes") {
				line := fmt.Sprint(at[string](t, n, "action"), " by ", at[string](t, n, "author", "__typename"))
				if n.(map[string]any)["version"] != nil {
					line += fmt.Sprint(" ", at[float64](t, n, "version", "number"), " ", strings.TrimSpace(at[string](t, n, "version", "source")))
				}
				if at[string](t, n, "at") == "" {
					t.Errorf("without a time: %v", n)
				}
				all = append(all, line)
			}
			return strings.Join(all, "; ")
		}
		const past = "CLEAR by ApiKey; DELETE by ApiKey; CREATE by ApiKey 2 a = 2; CREATE by ApiKey 1 a = 1"
		if got := history(); got != past {
			t.Errorf("history: %s", got)
		}
		restored := c.do("agentScriptRestore", savedFields, map[string]any{"version": at[string](t, first, "version", "id"), "expectedVersion": 0})
		if len(restored.errors()) > 0 || restored["created"] != true || restored["takesEffect"] != "NOW" || at[string](t, restored, "version", "source") != "a = 1\n" ||
			at[string](t, restored, "version", "description") != "First." || at[float64](t, restored, "version", "number") != 1 {
			t.Errorf("restored: %v", restored)
		}
		if got := history(); got != "CREATE by ApiKey 1 a = 1; "+past {
			t.Errorf("history: %s", got)
		}
		c.has("deck", map[string]any{"source": "a = 3\nb = 4\n"})
		again := c.do("agentScriptRestore", savedFields, map[string]any{"version": at[string](t, restored, "version", "id")})
		if at[float64](t, again, "version", "number") != 3 || again["created"] != false {
			t.Errorf("restored again: %v", again)
		}
		if p := c.do("agentScriptRestore", savedFields, map[string]any{"version": at[string](t, restored, "version", "id"), "expectedVersion": 2}); p.refusals() != "VERSION_CONFLICT input.expectedVersion" {
			t.Errorf("over another version: %v", p)
		}
		diff := ask[map[string]any](c, `agent(id: $a) { script(name: "deck") { version(number: 2) { before: diff one: diff(from: 1) same: diff(from: 2) none: diff(from: 9) all: diff(from: 0) } } }`, "agent", "script", "version")
		const change = "--- scripts/deck.py\tversion 1\n+++ scripts/deck.py\tversion 2\n@@ -1 +1,2 @@\n-a = 1\n+a = 3\n+b = 4\n"
		if diff["before"] != change || diff["one"] != change || diff["same"] != "" || diff["none"] != nil || !strings.HasPrefix(diff["all"].(string), "--- /dev/null\n") {
			t.Errorf("diff: %q", diff)
		}
	})
}
