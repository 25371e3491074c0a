package tool_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/jsonschema"
	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/internal/tool"
)

var update = flag.Bool("update", false, "write testdata anew")

func entry(name string, number int, parameters string) script.Entry {
	e := script.Entry{
		Script:  &script.Script{ID: "scr_" + name, Name: name},
		Version: &script.Version{ID: "ver_" + name, Number: number, Description: "Does <" + name + "> & more."},
	}
	if parameters != "" {
		e.Version.Parameters = json.RawMessage(parameters)
	}
	return e
}

func TestS1OwnTool(t *testing.T) {
	t.Parallel()
	entries := []script.Entry{entry("deck", 3, `{"type":"object","maximum":1.0}`), entry("plain", 1, "")}
	if got := tool.Of(entries, false); got == nil || len(got) != 0 {
		t.Errorf("with scripting off: %v", got)
	}
	if got := tool.Of(nil, true); len(got) != 5 || got[3].Name != tool.ScriptRun || got[3].Version != nil {
		t.Errorf("without scripts: %v", got)
	}
	tools := tool.Of(entries, true)
	if len(tools) != 6 || tools[5].Name != "deck" || *tools[5].Version != 3 || tools[5].ScriptID != "scr_deck" {
		t.Fatalf("got %v", tools)
	}
	raw, err := tool.Encode(tools)
	if err != nil {
		t.Fatal(err)
	}
	back, err := tool.Decode(raw)
	if err != nil || len(back) != 6 || !reflect.DeepEqual(back[5], tools[5]) {
		t.Errorf("read again: %+v, %v", back, err)
	}
}

// TestS1Five: the system's own tools, as each kind of model API is told of them.
func TestS1Five(t *testing.T) {
	t.Parallel()
	tools := tool.Native()
	for _, f := range []tool.Format{tool.OpenAI, tool.Anthropic, tool.MCP} {
		var all bytes.Buffer
		for _, own := range tools {
			d, err := own.Definition(f)
			if err == nil {
				err = json.Indent(&all, d, "", "  ")
			}
			if err != nil {
				t.Fatal(err)
			}
			all.WriteByte('\n')
		}
		golden(t, "native_"+strings.ToLower(string(f))+".json", all.Bytes())
	}
	var names []string
	for _, own := range tools {
		names = append(names, own.Name)
		if !tool.IsNative(own.Name) || !agent.IsNativeTool(own.Name) {
			t.Errorf("%s can be taken by others", own.Name)
		}
		if err := jsonschema.Check(own.Parameters); err != nil {
			t.Errorf("%s breaks the rules for schemas: %v", own.Name, err)
		}
		if len(own.Description) > 1024 { // what model APIs take
			t.Errorf("%s has a description of %d bytes", own.Name, len(own.Description))
		}
	}
	if got := strings.Join(names, " "); got != "script_create script_list script_read script_run script_delete" {
		t.Errorf("offered are %s", got)
	}
	if tool.IsNative("deck") || tool.IsNative("") || tool.IsNative("script_") {
		t.Error("other names are the system's own")
	}
	tools[0].Name = "changed"
	if tool.Native()[0].Name != tool.ScriptCreate {
		t.Error("who changes a tool changes it for all")
	}
}

// golden compares with a file of testdata; -update writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs: run with -update, and read the change", name)
	}
}

func TestDefinition(t *testing.T) {
	t.Parallel()
	deck := tool.Of([]script.Entry{entry("deck", 3, `{"type":"object","maximum":1.0}`)}, true)[5]
	const rest = `"name":"deck","description":"Does <deck> & more.",`
	for format, want := range map[tool.Format]string{
		tool.OpenAI:    `{"type":"function","function":{` + rest + `"parameters":{"type":"object","maximum":1.0,"properties":{}}}}`,
		tool.Anthropic: `{` + rest + `"input_schema":{"type":"object","maximum":1.0,"properties":{}}}`,
		tool.MCP:       `{` + rest + `"inputSchema":{"type":"object","maximum":1.0,"properties":{}}}`,
	} {
		if got, err := deck.Definition(format); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", format, got, err)
		}
	}
	if _, err := deck.Definition("OTHER"); err == nil {
		t.Error("an unknown format")
	}
}

// TestS2Toolget: an organization's script, as each kind of model API is told of it.
func TestS2Toolget(t *testing.T) {
	t.Parallel()
	long := entry(strings.Repeat("d", 56), 12, "")
	long.Labels = []*script.Label{{Name: "team", Value: "marketing"}}
	var all bytes.Buffer
	for _, e := range []script.Entry{entry("house_deck", 2, `{"type":"object","properties":{"n":{"maximum":1.0,"properties":{}}}}`), long} {
		made := tool.OfPackage(&e)
		if len(made.Name) > 64 || len(made.Labels) != len(e.Labels) || *made.Version != e.Version.Number {
			t.Errorf("%+v", made)
		}
		for _, f := range []tool.Format{tool.OpenAI, tool.Anthropic, tool.MCP} {
			d, err := made.Definition(f)
			if err == nil {
				err = json.Indent(&all, d, "", "  ")
			}
			if err != nil {
				t.Fatal(err)
			}
			all.WriteByte('\n')
		}
	}
	golden(t, "package.json", all.Bytes())
	for name, want := range map[string]string{"script__deck": "deck", "script__": "", "script_run": "", "deck": "", "script__Deck": "", "script__" + strings.Repeat("d", 57): "", "script__*": ""} {
		if got, ok := tool.PackageOf(name); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %s %v", name, got, ok)
		}
	}
}
