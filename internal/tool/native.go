package tool

import (
	"encoding/json"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
)

// The system's own tools (S1-five). script_run runs a script on the run's computer; the others read and write the agent's catalog and need
// none.
const (
	ScriptCreate = "script_create"
	ScriptList   = "script_list"
	ScriptRead   = "script_read"
	ScriptRun    = "script_run"
	ScriptDelete = "script_delete"
)

// native are the system's own tools in the order in which they are offered. What the model reads of them is here: the limits of what it may send
// are told in words, and checked with words by the use case that the tool calls.
var native = []Tool{
	{
		Name: ScriptCreate,
		Description: "Writes a script that you keep, a Python file, or replaces the one of the same name. It outlives this run. Write one when a task " +
			"was solved once and may come again. script_run runs it at once; one with parameters is also a tool of its own, under its name, " +
			"from your next run on. Replacing a script that this run began with takes effect from the next run.",
		Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {
    "name": {"type": "string", "description": "A lower-case letter, then at most 62 lower-case letters, digits, _ and -. Not a tool's name, and not manifest."},
    "description": {"type": "string", "description": "Why the script exists and what it does: at most 400 characters."},
    "source": {
      "type": "string",
      "description": "The whole Python file, at most 1,000,000 bytes. It reads its arguments as one JSON object from standard input; what it prints is the answer of a call. It may run for 120 seconds."
    },
    "parameters": {
      "type": ["object", "null"],
      "description": "JSON Schema of the script's arguments, with \"type\": \"object\" at its top. With it the script is a tool of its own in the next runs; left out, script_run takes any object for it."
    }
  },
  "required": ["name", "description", "source"],
  "additionalProperties": false
}`),
	},
	{
		Name:        ScriptList,
		Description: "Lists the scripts that you keep, as they are now, and why each exists.",
		Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {},
  "additionalProperties": false
}`),
	},
	{
		Name:        ScriptRead,
		Description: "Reads one of your scripts as it is now: its description, its parameters and its source.",
		Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {
    "name": {"type": "string", "description": "The name of the script."},
    "offset": {
      "type": "integer",
      "minimum": 0,
      "maximum": 1000000,
      "description": "How many bytes of the source to leave out at its start, to read on in a long one; left out: 0."
    }
  },
  "required": ["name"],
  "additionalProperties": false
}`),
	},
	{
		Name:        ScriptRun,
		Description: "Runs a script that was saved before, by its name, and answers its exit code and what it printed.",
		Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {
    "name": {"type": "string", "description": "The name of the script."},
    "arguments": {"type": "object", "description": "The arguments that the script reads as JSON on its standard input; left out: {}."}
  },
  "required": ["name"],
  "additionalProperties": false
}`),
	},
	{
		Name:        ScriptDelete,
		Description: "Deletes one of your scripts at once, also for this run: where it runs, it is stopped.",
		Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {
    "name": {"type": "string", "description": "The name of the script."}
  },
  "required": ["name"],
  "additionalProperties": false
}`),
	},
}

// Native answers the system's own tools.
func Native() []*Tool {
	tools := make([]*Tool, len(native))
	for i := range native {
		t := native[i]
		tools[i] = &t
	}
	return tools
}

// IsNative says whether the name is one of the system's own tools'.
func IsNative(name string) bool { return agent.IsNativeTool(name) }
