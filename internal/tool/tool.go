package tool

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/script"
)

// Tool is one tool as the model sees it (SDL: Tool).
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	// Labels are those of the organization's script; none of other tools.
	Labels []*script.Label `json:"labels,omitempty"`
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

// noParameters is the schema of a script of the organization that says nothing of its arguments: any object.
var noParameters = json.RawMessage(`{"type":"object"}`)

// OfPackage is an organization's script in one of its versions, as a tool.
func OfPackage(e *script.Entry) *Tool {
	number := e.Version.Number
	t := &Tool{
		Name: agent.ScriptPrefix + e.Script.Name, Description: e.Version.Description, Parameters: e.Version.Parameters, Labels: e.Labels,
		Version: &number, ScriptID: e.Script.ID, VersionID: e.Version.ID,
	}
	if t.Parameters == nil {
		t.Parameters = noParameters
	}
	return t
}

// PackageOf answers the name of the organization's script behind a tool's name; false where a script can have no such tool.
func PackageOf(name string) (string, bool) {
	s, ok := strings.CutPrefix(name, agent.ScriptPrefix)
	return s, ok && script.ValidPackageName(s)
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
