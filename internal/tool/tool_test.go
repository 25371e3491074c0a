package tool_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/jsonschema"
	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/internal/tool"
)

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
	if got := tool.Of(nil, true); len(got) != 1 || got[0].Name != tool.ScriptRun || got[0].Version != nil {
		t.Errorf("without scripts: %v", got)
	}
	tools := tool.Of(entries, true)
	if len(tools) != 2 || tools[1].Name != "deck" || *tools[1].Version != 3 || tools[1].ScriptID != "scr_deck" {
		t.Fatalf("got %v", tools)
	}
	raw, err := tool.Encode(tools)
	if err != nil {
		t.Fatal(err)
	}
	back, err := tool.Decode(raw)
	if err != nil || len(back) != 2 || !reflect.DeepEqual(back[1], tools[1]) {
		t.Errorf("read again: %+v, %v", back, err)
	}
	if err := jsonschema.Check(tools[0].Parameters); err != nil {
		t.Errorf("script_run's own schema: %v", err)
	}
}

func TestDefinition(t *testing.T) {
	t.Parallel()
	deck := tool.Of([]script.Entry{entry("deck", 3, `{"type":"object","maximum":1.0}`)}, true)[1]
	const rest = `"name":"deck","description":"Does <deck> & more.",`
	for format, want := range map[tool.Format]string{
		tool.OpenAI:    `{"type":"function","function":{` + rest + `"parameters":{"type":"object","maximum":1.0}}}`,
		tool.Anthropic: `{` + rest + `"input_schema":{"type":"object","maximum":1.0}}`,
		tool.MCP:       `{` + rest + `"inputSchema":{"type":"object","maximum":1.0}}`,
	} {
		if got, err := deck.Definition(format); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", format, got, err)
		}
	}
	if _, err := deck.Definition("OTHER"); err == nil {
		t.Error("an unknown format")
	}
}
