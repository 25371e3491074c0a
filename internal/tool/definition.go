package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Format is a kind of model API (SDL: ToolFormat).
type Format string

// The formats.
const (
	OpenAI    Format = "OPENAI"
	Anthropic Format = "ANTHROPIC"
	MCP       Format = "MCP"
)

// Definition describes the tool as that kind of model API wants it. The schema is the tool's, number for number, with what
// model APIs miss where it is left out: properties at its top, and items of arrays.
func (t *Tool) Definition(f Format) (json.RawMessage, error) {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	parameters := complete(t.Parameters)
	switch f {
	case OpenAI:
		return encode(struct {
			Type     string   `json:"type"`
			Function function `json:"function"`
		}{"function", function{t.Name, t.Description, parameters}})
	case Anthropic:
		return encode(struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			InputSchema json.RawMessage `json:"input_schema"`
		}{t.Name, t.Description, parameters})
	case MCP:
		return encode(struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			InputSchema json.RawMessage `json:"inputSchema"`
		}{t.Name, t.Description, parameters})
	}
	return nil, fmt.Errorf("there is no tool format %q", f)
}

// encode is json.Marshal that leaves <, > and & as they are.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("tools as JSON: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
