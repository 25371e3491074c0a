package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/id"
)

func hexSum(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// TestS2Pkg: what is written of a package is what is read of it.
func TestS2Pkg(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, worker *shelf) {
		parameters := json.RawMessage(`{"type":"object","properties":{"b":{"type":"integer"},"a":{"maximum":1.0}}}`)
		_, version := worker.creates("house_deck", map[string]any{
			"description": "Makes slides.", "entrypoint": []any{"node", "bin/main.mjs", "--fast", ""}, "parameters": parameters,
			"files":          []any{textFile("z.txt", ""), textFile("bin/main.mjs", "console.log('é')\r\n"), textFile("bin/a b+%.txt", "\x00")},
			"timeoutSeconds": 60, "background": true, "freshInterpreter": true,
			"labels": []any{map[string]any{"name": "team", "value": "marketing"}, map[string]any{"name": "a", "value": ""}}, "metadata": json.RawMessage(`{"z":1.0,"a":[9007199254740993]}`),
		})
		d := worker.must(t, worker.secret, `{ script(name: "house_deck") { name description parameters displayPath owner { __typename } labels { name value } metadata usedBy { id }
			latestVersion { id number status description parameters entrypoint source sourceHash diff files { path size sha256 text url } packages { name } timeoutSeconds background
				freshInterpreter approvals { id } author { ... on ApiKey { name } } file(path: "z.txt") { size text } none: file(path: "../z.txt") { size } script { name } } } }`, nil)
		got, err := json.Marshal(d["script"])
		if err != nil {
			t.Fatal(err)
		}
		sums := []string{hexSum("\x00"), hexSum("console.log('é')\r\n"), hexSum("")}
		manifest := fmt.Sprintf("%s  bin/a b+%%.txt\n%s  bin/main.mjs\n%s  z.txt\n", sums[0], sums[1], sums[2])
		url := "/versions/" + version + "/files/"
		want := `{"description":"Makes slides.","displayPath":null,"labels":[{"name":"team","value":"marketing"},{"name":"a","value":""}],"latestVersion":{"approvals":[],` +
			`"author":{"name":"another"},"background":true,"description":"Makes slides.","diff":null,"entrypoint":["node","bin/main.mjs","--fast",""],"file":{"size":0,"text":""},` +
			`"files":[{"path":"bin/a b+%.txt","sha256":"` + sums[0] + `","size":1,"text":"\u0000","url":"` + url + `bin/a%20b+%25.txt"},` +
			`{"path":"bin/main.mjs","sha256":"` + sums[1] + `","size":19,"text":"console.log('é')\r\n","url":"` + url + `bin/main.mjs"},` +
			`{"path":"z.txt","sha256":"` + sums[2] + `","size":0,"text":"","url":"` + url + `z.txt"}],` +
			`"freshInterpreter":true,"id":"` + version + `","none":null,"number":1,"packages":[],"parameters":{"properties":{"a":{"maximum":1},"b":{"type":"integer"}},"type":"object"},` +
			`"script":{"name":"house_deck"},"source":"console.log('é')\r\n","sourceHash":"` + hexSum(manifest) + `","status":"PUBLISHED","timeoutSeconds":60},` +
			`"metadata":{"a":[9007199254740992],"z":1},"name":"house_deck","owner":{"__typename":"Organization"},"parameters":{"properties":{"a":{"maximum":1},"b":{"type":"integer"}},"type":"object"},"usedBy":[]}`
		if string(got) != want {
			t.Errorf("read\n%s, written\n%s", got, want)
		}
		raw := worker.send(t, worker.secret, `{ script(name: "house_deck") { parameters metadata } }`, nil).body
		if !strings.Contains(raw, `"parameters":`+string(parameters)) || !strings.Contains(raw, `"metadata":{"z":1.0,"a":[9007199254740993]}`) {
			t.Errorf("JSON values do not come back as they were sent: %s", raw)
		}
		plain, _ := manager.creates("plain", nil)
		d = worker.must(t, worker.secret, `query($s: ID!) { node(id: $s) { ... on Script { parameters metadata labels { name } latestVersion { parameters timeoutSeconds background freshInterpreter } } } }`, map[string]any{"s": plain})
		if got := fmt.Sprint(d["node"]); got != "map[labels:[] latestVersion:map[background:false freshInterpreter:false parameters:<nil> timeoutSeconds:120] metadata:map[] parameters:<nil>]" {
			t.Errorf("left out: %s", got)
		}
		p := worker.try("nobody", map[string]any{"packages": []any{map[string]any{"ecosystem": "PYPI", "name": "qrcode", "version": "8.2"}, map[string]any{"ecosystem": "NPM", "name": "\x00", "version": ""}}})
		if p.refusals() != "PACKAGE_NOT_APPROVED input.packages.0, INVALID input.packages.1.name, INVALID input.packages.1.version" {
			t.Errorf("a library: %v", p)
		}
	})
}

// TestS2Create: a script and its version 1, under a name that is free, or nothing.
func TestS2Create(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, worker *shelf) {
		p := worker.try("deck", nil)
		if p.refusals() != "" || at[string](t, p, "script", "name") != "deck" || at[float64](t, p, "version", "number") != 1 || at[string](t, p, "version", "status") != "PUBLISHED" {
			t.Fatal(p)
		}
		before := manager.all()
		if p := worker.try("deck", nil); p.refusals() != "NAME_TAKEN input.name" || p["script"] != nil || p["version"] != nil {
			t.Errorf("the name again: %v", p)
		}
		for _, name := range []string{"", "Deck", "deck\n", "9deck", "dé", "de ck", strings.Repeat("n", 57), "deck\x00"} {
			if p := worker.try(name, nil); p.refusals() != "INVALID input.name" {
				t.Errorf("%q: %s", name, p.refusals())
			}
		}
		bad := worker.try("bad", map[string]any{
			"description": " ", "entrypoint": []any{"bash", "x"}, "parameters": json.RawMessage(`{"type":"string"}`), "timeoutSeconds": 0, "metadata": json.RawMessage(`[]`),
			"labels": []any{map[string]any{"name": "a", "value": "\x00"}, map[string]any{"name": "a", "value": ""}}, "files": []any{textFile("main.py", ""), textFile("/x", "")}, "idempotencyKey": "",
		})
		if got := bad.refusals(); got != "INVALID input.description, INVALID input.entrypoint.0, INVALID input.entrypoint.1, SCHEMA_INVALID input.parameters, INVALID input.files.1.path, "+
			"INVALID input.timeoutSeconds, INVALID input.labels.0.value, INVALID input.labels.1.name, INVALID input.metadata, INVALID input.idempotencyKey" {
			t.Errorf("all at five times: %s", got)
		}
		if after := manager.all(); after != before {
			t.Errorf("what was refused changed %s to %s", before, after)
		}
		long, _ := worker.creates(strings.Repeat("n", 56), nil)
		if worker.versions(long) != "1" {
			t.Error("the longest name has no version")
		}
		for _, secret := range []string{manager.key("COMPUTER", "MANAGEMENT").secret} {
			a := worker.send(t, secret, `mutation($i: ScriptCreateInput!) { scriptCreate(input: $i) { script { id } } }`, map[string]any{"i": with(pack(nil), map[string]any{"name": "x"})})
			if !strings.Contains(a.body, "DENIED") {
				t.Errorf("without TOOLING: %s", a.body)
			}
		}
		// The same request again: the same script; another one under its key: none.
		keyed := map[string]any{"idempotencyKey": "once"}
		first, second := worker.try("again", keyed), worker.try("again", keyed)
		if at[string](t, first, "version", "id") != at[string](t, second, "version", "id") {
			t.Errorf("%v and %v", first, second)
		}
		if p := worker.try("again2", keyed); p.refusals() != "IDEMPOTENCY_MISMATCH input.idempotencyKey" {
			t.Error(p)
		}
		worker.do("scriptDelete", "deletedId", map[string]any{"script": at[string](t, first, "script", "id")})
		if p := worker.try("again", keyed); p.refusals() != "BAD_STATE input.idempotencyKey" {
			t.Errorf("after it was deleted: %v", p)
		}
		// One of twenty gets the name.
		var made, taken int
		results := make([]payload, 20)
		atOnce(20, func(i int) { results[i] = worker.try("race", nil) })
		for _, p := range results {
			switch p.refusals() {
			case "":
				made++
			case "NAME_TAKEN input.name":
				taken++
			}
		}
		if made != 1 || taken != 19 {
			t.Errorf("%d made it, %d found it taken", made, taken)
		}
	})
}

// TestS2List: scripts with their latest versions, in order, filtered, in pages, without those of agents.
func TestS2List(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, worker *shelf) {
		label := func(name, value string) map[string]any { return map[string]any{"name": name, "value": value} }
		ids := map[string]string{}
		for _, name := range []string{"b_deck", "a-deck", "c", "b-deck", "bdeck"} {
			ids[name], _ = worker.creates(name, map[string]any{"labels": []any{label("team", "x"), label("name", name)}})
		}
		worker.save(t, worker.secret, worker.agent2(), "of_an_agent", "print()")
		worker.next(ids["a-deck"], source("print(2)"))
		list := func(arguments string) string {
			t.Helper()
			d := worker.must(t, worker.secret, `query($l: [LabelInput!], $c: Cursor) { scripts(`+arguments+`) { totalCount pageInfo { endCursor hasNextPage hasPreviousPage } nodes { name latestVersion { number } } } q: viewer { operator } x: nodes(ids: []) { id }
				unused: scripts(first: 1, filter: {labels: $l}, after: $c) { totalCount } }`, map[string]any{"l": []any{}})
			var all []string
			for _, n := range at[[]any](t, d, "scripts", "nodes") {
				all = append(all, fmt.Sprintf("%s@%v", at[string](t, n, "name"), at[float64](t, n, "latestVersion", "number")))
			}
			return fmt.Sprintf("%s of %v", strings.Join(all, " "), at[float64](t, d, "scripts", "totalCount"))
		}
		for arguments, want := range map[string]string{
			`first: 100`:                                               "a-deck@2 b-deck@1 b_deck@1 bdeck@1 c@1 of 5",
			`orderBy: null, last: 1`:                                   "c@1 of 5",
			`last: 2`:                                                  "bdeck@1 c@1 of 5",
			`orderBy: CREATED_AT`:                                      "bdeck@1 b-deck@1 c@1 a-deck@2 b_deck@1 of 5",
			`orderBy: UPDATED_AT, first: 2`:                            "a-deck@2 bdeck@1 of 5",
			`filter: {nameContains: "deck"}, first: 3`:                 "a-deck@2 b-deck@1 b_deck@1 of 4",
			`filter: {nameContains: "_"}`:                              "b_deck@1 of 1",
			`filter: {nameContains: "%"}`:                              " of 0",
			`filter: {nameContains: "DECK\u0000"}`:                     " of 0",
			`filter: {labels: [{name: "team", value: "x"}]}, first: 1`: "a-deck@2 of 5",
			`filter: {labels: [{name: "team", value: "x"},{name:"name",value:"c"}]}`: "c@1 of 1",
			`filter: {labels: [{name: "team", value: "c"}]}`:                         " of 0",
			`filter: {nameContains: null, labels: []}, first: 1`:                     "a-deck@2 of 5",
		} {
			if got := list(arguments); got != want {
				t.Errorf("%s: %s, want %s", arguments, got, want)
			}
		}
		for _, order := range []string{"NAME", "CREATED_AT", "UPDATED_AT"} {
			whole := worker.must(t, worker.secret, `{ scripts(orderBy: `+order+`) { nodes { name } } }`, nil)
			var forward, backward []any
			var after, before any
			for range 5 {
				d := worker.must(t, worker.secret, `query($a: Cursor, $b: Cursor) { f: scripts(orderBy: `+order+`, first: 1, after: $a) { nodes { name } pageInfo { endCursor } }
					b: scripts(orderBy: `+order+`, last: 1, before: $b) { nodes { name } pageInfo { startCursor } } }`, map[string]any{"a": after, "b": before})
				forward, backward = append(forward, at[any](t, d, "f", "nodes", 0)), append([]any{at[any](t, d, "b", "nodes", 0)}, backward...)
				after, before = at[any](t, d, "f", "pageInfo", "endCursor"), at[any](t, d, "b", "pageInfo", "startCursor")
			}
			want := fmt.Sprint(at[[]any](t, whole, "scripts", "nodes"))
			if fmt.Sprint(forward) != want || fmt.Sprint(backward) != want {
				t.Errorf("%s: %v forward, %v backward, want %s", order, forward, backward, want)
			}
			other := map[string]string{"NAME": "CREATED_AT", "CREATED_AT": "UPDATED_AT", "UPDATED_AT": "NAME"}[order]
			if a := worker.send(t, worker.secret, `query($a: Cursor) { scripts(orderBy: `+other+`, after: $a) { nodes { id } } }`, map[string]any{"a": after}); !strings.Contains(a.body, "BAD_CURSOR") {
				t.Errorf("%s takes a cursor of %s: %s", other, order, a.body)
			}
		}
	})
}

func (s *shelf) agent2() string {
	s.t.Helper()
	return s.testServer.agent(s.t, s.secret, "an agent", 10)
}

// TestS2Entry: python3 or node, a file of the package, fixed arguments.
func TestS2Entry(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, _, worker *shelf) {
		for i, entry := range [][]any{{"python3", "main.py"}, {"node", "lib/deck.py"}, {"python3", "main.py", "-c", "", "{}", "\n"}} {
			worker.creates(fmt.Sprint("good", i), map[string]any{"entrypoint": entry})
		}
		many := []any{"python3", "main.py"}
		for range 65 {
			many = append(many, "x")
		}
		for want, entries := range map[string][][]any{
			"INVALID input.entrypoint":                               {{}, {"python3"}, {"main.py"}},
			"TOO_LARGE input.entrypoint":                             {many},
			"INVALID input.entrypoint.0":                             {{"bash", "main.py"}, {"/usr/bin/python3", "main.py"}, {"python3 ", "main.py"}, {"", "main.py"}, {"PYTHON3", "main.py"}},
			"INVALID input.entrypoint.1":                             {{"python3", "none.py"}, {"python3", "./main.py"}, {"python3", "lib"}, {"python3", "-c", "main.py"}, {"node", ""}, {"python3", "main.py\x00"}},
			"INVALID input.entrypoint.3":                             {{"python3", "main.py", "x", "\x00"}},
			"TOO_LARGE input.entrypoint.2":                           {{"python3", "main.py", strings.Repeat("x", 4097)}},
			"INVALID input.entrypoint.0, INVALID input.entrypoint.1": {{"sh", "x"}},
		} {
			for _, entry := range entries {
				if got := worker.try("bad", map[string]any{"entrypoint": entry}).refusals(); got != want {
					t.Errorf("%.90q: %s, want %s", entry, got, want)
				}
			}
		}
		if got := worker.try("bad", map[string]any{"entrypoint": []any{"python3", "-c"}, "files": []any{textFile("-c", "")}}).refusals(); got != "INVALID input.entrypoint.1" {
			t.Errorf("a file that is an option: %s", got)
		}
	})
}

// TestS2Files: each file has a path and exactly one source; an upload takes FILES, and is the organization's.
func TestS2Files(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, worker *shelf) {
		upload := worker.upload("PK\x03\x04\xff")
		p := worker.try("deck", map[string]any{"files": []any{textFile("main.py", "print()"), map[string]any{"path": "template.pptx", "fileId": upload}}})
		if files := at[[]any](t, p, "version", "files"); len(files) != 2 || at[string](t, files[1], "sha256") != hexSum("PK\x03\x04\xff") || at[float64](t, files[1], "size") != 5 {
			t.Errorf("%v", p)
		}
		d := manager.must(t, manager.secret, `{ script(name: "deck") { latestVersion { file(path: "template.pptx") { text } } } }`, nil)
		if got := at[map[string]any](t, d, "script", "latestVersion", "file"); got["text"] != nil {
			t.Errorf("bytes that are no text read %q", got["text"])
		}
		theirs := (&shelf{&catalog{worker.testServer, t, worker.organization(t, "another"), ""}}).upload("x")
		main := textFile("main.py", "")
		for want, files := range map[string][]any{
			"INVALID input.files":                                            {},
			"INVALID input.files.1":                                          {main, map[string]any{"path": "a"}},
			"INVALID input.files.0":                                          {map[string]any{"path": "main.py", "content": "", "fileId": upload}},
			"NOT_FOUND input.files.1.fileId":                                 {main, map[string]any{"path": "a", "fileId": id.New(id.File)}},
			"NOT_FOUND input.files.2.fileId":                                 {main, map[string]any{"path": "a", "fileId": upload}, map[string]any{"path": "b", "fileId": theirs}},
			"NOT_FOUND input.files.0.fileId, NOT_FOUND input.files.1.fileId": {map[string]any{"path": "main.py", "fileId": "x\x00"}, map[string]any{"path": "a", "fileId": ""}},
			"INVALID input.files.1.path, INVALID input.files.3.path":         {main, textFile("main.py", "x"), textFile("a", ""), textFile("a/b", "")},
		} {
			if got := worker.try("bad", map[string]any{"files": files}).refusals(); got != want {
				t.Errorf("%v: %s, want %s", files, got, want)
			}
		}
		noFiles := manager.key("TOOLING")
		if got := noFiles.try("bad", map[string]any{"files": []any{main, map[string]any{"path": "a", "fileId": upload}}}).refusals(); got != "DENIED input.files.1.fileId" {
			t.Errorf("without FILES: %s", got)
		}
		noFiles.creates("text_alone", nil)
	})
}

// TestS2Fcopy: a version keeps the bytes of an upload that is gone.
func TestS2Fcopy(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, _, worker *shelf) {
		upload := worker.upload("a template")
		script, _ := worker.creates("deck", map[string]any{"files": []any{textFile("main.py", ""), map[string]any{"path": "t", "fileId": upload}}})
		worker.forget(upload)
		d := worker.must(t, worker.secret, `query($s: ID!) { node(id: $s) { ... on Script { latestVersion { file(path: "t") { text } } } } }`, map[string]any{"s": script})
		if got := at[string](t, d, "node", "latestVersion", "file", "text"); got != "a template" {
			t.Errorf("the copy is %q", got)
		}
		if got := worker.try("late", map[string]any{"files": []any{textFile("main.py", ""), map[string]any{"path": "t", "fileId": upload}}}).refusals(); got != "NOT_FOUND input.files.1.fileId" {
			t.Errorf("an upload that is gone: %s", got)
		}
	})
}

// TestS2Path: relative paths of at most 255 characters, without what could lead elsewhere.
func TestS2Path(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, _, worker *shelf) {
		long := strings.Repeat("d/", 127) + "x" // 255
		var good []any
		for _, path := range []string{"main.py", "lib/deck.py", "..a", "a..b", "...", ".hidden/x", " ", "報告 ñ😀.txt", long, "-c", "%2e%2e/x", "CON", "ä" /* NFC */, "a\u0308"} {
			good = append(good, textFile(path, path))
		}
		script, _ := worker.creates("good", map[string]any{"files": good})
		d := worker.must(t, worker.secret, `query($s: ID!, $p: String!) { node(id: $s) { ... on Script { latestVersion { files { path } file(path: $p) { text } } } } }`, map[string]any{"s": script, "p": long})
		if len(at[[]any](t, d, "node", "latestVersion", "files")) != len(good) || at[string](t, d, "node", "latestVersion", "file", "text") != long {
			t.Errorf("%v", d)
		}
		for _, path := range []string{
			"", "/", "/main.py", "..", "../x", "a/../x", "a/..", "./x", "a/./x", ".", "a//b", "a/", `a\b`, `..\x`, "a\x00", "a\nb", "a\tb", "a\x7f", "a\u0085b", strings.Repeat("d/", 128) + "x",
			strings.Repeat("x", 256), strings.Repeat("😀", 64),
		} {
			if got := worker.try("bad", map[string]any{"files": []any{textFile("main.py", ""), textFile(path, "")}}).refusals(); got != "INVALID input.files.1.path" {
				t.Errorf("%.70q: %s", path, got)
			}
		}
	})
}

// TestS2Size: at most 200 files and 20 MiB.
func TestS2Size(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, _, worker *shelf) {
		files := []any{textFile("main.py", "")}
		for i := range 199 {
			files = append(files, textFile(fmt.Sprintf("f/%d", i), "x"))
		}
		worker.creates("many", map[string]any{"files": files})
		if got := worker.try("bad", map[string]any{"files": append(files, textFile("one more", ""))}).refusals(); got != "TOO_LARGE input.files" {
			t.Errorf("201 files: %s", got)
		}
		half, rest, big := worker.upload(strings.Repeat("h", 10<<20)), worker.upload(strings.Repeat("r", 10<<20-7)), worker.upload(strings.Repeat("b", 20<<20+1))
		uploaded := func(more string, ids ...string) []any {
			files := []any{textFile("main.py", "print()"+more)}
			for i, id := range ids {
				files = append(files, map[string]any{"path": fmt.Sprint(i), "fileId": id})
			}
			return files
		}
		script, _ := worker.creates("large", map[string]any{"files": uploaded("", half, rest)})
		for want, files := range map[string][]any{
			"TOO_LARGE input.files":   uploaded("x", half, rest),
			"TOO_LARGE input.files.2": uploaded("", half, big),
		} {
			if got := worker.try("bad", map[string]any{"files": files}).refusals(); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		d := worker.must(t, worker.secret, `query($s: ID!) { node(id: $s) { ... on Script { latestVersion { files { size text } } } } }`, map[string]any{"s": script})
		if file := at[map[string]any](t, d, "node", "latestVersion", "files", 0); file["text"] != nil || file["size"] != 10.0*(1<<20) {
			t.Error("a large file has a text")
		}
	})
}

// TestS2Fget: a version's file comes back byte for byte, with its SHA-256 as ETag, wherever its path leads; a draft's only to keys that see it.
func TestS2Fget(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, worker *shelf) {
		_, version := worker.creates("deck", map[string]any{"files": []any{
			textFile("main.py", "print('é')\n"), textFile("a b/%2e?#&+;=\"'<>.txt", "odd"), textFile("報告 ñ😀.txt", "utf-8"), textFile("empty", ""), map[string]any{"path": "bytes", "fileId": worker.upload("\x00\xff")},
		}})
		get := func(key *shelf, method, url string, header ...string) *http.Response {
			t.Helper()
			r := httptest.NewRequestWithContext(t.Context(), method, url, nil)
			for i := 0; i < len(header); i += 2 {
				r.Header.Set(header[i], header[i+1])
			}
			r.Header.Set("Authorization", "Bearer "+key.secret)
			w := httptest.NewRecorder()
			key.handler.ServeHTTP(w, r)
			return w.Result()
		}
		body := func(r *http.Response) string {
			t.Helper()
			raw, err := io.ReadAll(r.Body)
			if err := errors.Join(err, r.Body.Close()); err != nil {
				t.Fatal(err)
			}
			return string(raw)
		}
		d := worker.must(t, worker.secret, `query($v: ID!) { node(id: $v) { ... on ScriptVersion { files { path url size sha256 } } } }`, map[string]any{"v": version})
		files := at[[]any](t, d, "node", "files")
		for _, f := range files {
			url, sum := at[string](t, f, "url"), at[string](t, f, "sha256")
			r := get(worker, http.MethodGet, url)
			if got := body(r); r.StatusCode != http.StatusOK || hexSum(got) != sum || r.Header.Get("ETag") != `"`+sum+`"` || float64(r.ContentLength) != at[float64](t, f, "size") && r.Header.Get("Content-Length") != fmt.Sprint(at[float64](t, f, "size")) {
				t.Errorf("%s: %d %q %v", url, r.StatusCode, got, r.Header)
			}
			if r.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(r.Header.Get("Content-Disposition"), "attachment") {
				t.Errorf("%s: a browser may show it: %v", url, r.Header)
			}
			if r := get(worker, http.MethodGet, url, "If-None-Match", `"`+sum+`"`); r.StatusCode != http.StatusNotModified {
				t.Errorf("%s again: %d", url, r.StatusCode)
			}
			if r := get(worker, http.MethodHead, url); r.StatusCode != http.StatusOK || body(r) != "" {
				t.Errorf("HEAD %s: %d", url, r.StatusCode)
			}
		}
		main := "/versions/" + version + "/files/main.py"
		if r := get(worker, http.MethodGet, main, "Range", "bytes=0-4"); r.StatusCode != http.StatusPartialContent || body(r) != "print" {
			t.Errorf("a range: %d", r.StatusCode)
		}
		drafted := at[string](t, manager.next(at[string](t, worker.must(t, worker.secret, `{ script(name: "deck") { id } }`, nil), "script", "id"), with(draft, source("draft"))), "version", "id")
		if r := get(manager, http.MethodGet, "/versions/"+drafted+"/files/main.py"); r.StatusCode != http.StatusOK || body(r) != "draft" {
			t.Errorf("the manager's draft: %d", r.StatusCode)
		}
		stranger := &shelf{&catalog{worker.testServer, t, worker.organization(t, "another"), ""}}
		missing := body(get(worker, http.MethodGet, "/versions/"+id.New(id.Version)+"/files/main.py"))
		for _, r := range []*http.Response{
			get(worker, http.MethodGet, "/versions/"+drafted+"/files/main.py"), get(stranger, http.MethodGet, main), get(worker, http.MethodGet, "/versions/"+version+"/files/none"),
			get(worker, http.MethodGet, "/versions/"+version+"/files/a%00b"), get(worker, http.MethodGet, "/versions/"+version+"/files/%ff"), get(worker, http.MethodGet, "/versions/"+version+"/files/"),
		} {
			if got := body(r); r.StatusCode != http.StatusNotFound || requestIDs.ReplaceAllString(got, "") != requestIDs.ReplaceAllString(missing, "") {
				t.Errorf("%d %s, a missing one %s", r.StatusCode, got, missing)
			}
		}
	})
}

// TestS2Text: texts of files are bounded together, however a query asks for them.
func TestS2Text(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, _, worker *shelf) {
		files := []any{textFile("main.py", strings.Repeat("#", 900_000))}
		for i := range 11 {
			files = append(files, map[string]any{"path": fmt.Sprint("large", i), "fileId": worker.upload(fmt.Sprint(i) + strings.Repeat("l", 999_990))})
		}
		files = append(files, map[string]any{"path": "half", "fileId": worker.upload("\xe2\x82")}, map[string]any{"path": "larger", "fileId": worker.upload(strings.Repeat("l", 1_000_001))})
		worker.creates("large", map[string]any{"files": files})
		d := worker.must(t, worker.secret, `{ script(name: "large") { latestVersion { source half: file(path: "half") { text } larger: file(path: "larger") { text } large: file(path: "large10") { text } } } }`, nil)
		v := at[map[string]any](t, d, "script", "latestVersion")
		if len(v["source"].(string)) != 900_000 || v["half"].(map[string]any)["text"] != nil || v["larger"].(map[string]any)["text"] != nil || len(at[string](t, v, "large", "text")) < 999_990 {
			t.Error("a text is not what was written")
		}
		// They are 11.9 MB, and are read again for each field of the root: five times are within 64 MiB, six are not.
		ask := func(times int) string {
			var query strings.Builder
			for i := range times {
				fmt.Fprintf(&query, ` s%d: script(name: "large") { latestVersion { files { text } } }`, i)
			}
			a := worker.send(t, worker.secret, "{"+query.String()+" }", nil).body
			return a[:min(len(a), 300)]
		}
		if a := ask(5); strings.Contains(a, "LIMIT_EXCEEDED") {
			t.Errorf("five times: %s", a)
		}
		if a := ask(6); !strings.Contains(a, "LIMIT_EXCEEDED") {
			t.Errorf("six times: %s", a)
		}
	})
}
