package tool

import (
	"encoding/json"
	"fmt"

	"github.com/scriptorium-dev/scriptorium/internal/script"
)

// Tool is one tool as the model sees it (SDL: Tool).
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	// Version is the number of the script version behind it; nil for the system's own tools.
	Version *int `json:"version,omitempty"`
	// ScriptID and VersionID name what is behind it; empty for the system's own tools.
	ScriptID  string `json:"scriptId,omitempty"`
	VersionID string `json:"versionId,omitempty"`
}

// Of answers the tools of a new run: the system's own (S1-five), then the scripts with parameters in the order of entries (S1-owntool).
func Of(entries []script.Entry, scripting bool) []*Tool {
	if !scripting {
		return []*Tool{}
	}
	tools := Native()
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
