package tool

import (
	"encoding/json"
	"fmt"

	"github.com/scriptorium-dev/scriptorium/internal/script"
)

// ScriptRun is the tool that runs any script of the agent by its name (S1-run).
const ScriptRun = "script_run"

// Tool is one tool as the model sees it (SDL: Tool).
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	// Version is the number of the script version behind it; nil for script_run.
	Version *int `json:"version,omitempty"`
	// ScriptID and VersionID name what is behind it; empty for script_run.
	ScriptID  string `json:"scriptId,omitempty"`
	VersionID string `json:"versionId,omitempty"`
}

// scriptRunParameters is the JSON Schema of script_run's arguments. What its member arguments may be is checked by the call, with a
// sentence of its own (S1-argstr).
const scriptRunParameters = `{
  "type": "object",
  "properties": {
    "name": {"type": "string", "description": "The name of the script."},
    "arguments": {"type": "object", "description": "The arguments that the script reads as JSON on its standard input; left out: {}."}
  },
  "required": ["name"],
  "additionalProperties": false
}`

// Of answers the tools of a new run: script_run first, then the scripts with parameters in the order of entries.
func Of(entries []script.Entry, scripting bool) []*Tool {
	if !scripting {
		return []*Tool{}
	}
	tools := []*Tool{{
		Name:        ScriptRun,
		Description: "Runs a script that was saved before, by its name, and answers its exit code and what it printed.",
		Parameters:  json.RawMessage(scriptRunParameters),
	}}
	for _, e := range entries {
		if e.Version.Parameters == nil {
			continue
		}
		number := e.Version.Number
		tools = append(tools, &Tool{
			Name: e.Script.Name, Description: e.Version.Description, Parameters: e.Version.Parameters,
			Version: &number, ScriptID: e.Script.ID, VersionID: e.Version.ID,
		})
	}
	return tools
}

// Encode makes of a run's tools what is kept. Schemas keep their bytes, but for spaces between tokens.
func Encode(tools []*Tool) (json.RawMessage, error) {
	return encode(tools)
}

// Decode reads what Encode made.
func Decode(raw []byte) ([]*Tool, error) {
	tools := []*Tool{}
	if err := json.Unmarshal(raw, &tools); err != nil {
		return nil, fmt.Errorf("a run's tools: %w", err)
	}
	return tools, nil
}
