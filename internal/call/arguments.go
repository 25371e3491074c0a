package call

import (
	"bytes"
	"encoding/json"
	"errors"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/singleflight"

	"github.com/scriptorium-dev/scriptorium/internal/jsonschema"
	"github.com/scriptorium-dev/scriptorium/internal/tool"
)

// noArguments is what a script reads that was given none (S1-stdin).
const noArguments = "{}"

// arguments is what toolCall's arguments ask for.
type arguments struct {
	kept   json.RawMessage // as they came
	script string          // the name of the script that is to run: the tool's own, or what script_run was given
	input  json.RawMessage // the object that the script reads, with its very bytes
	fault  *refusal        // why they are refused; script may be there all the same
}

// parseArguments reads the arguments of a tool. They are an object, or a string that holds one as JSON (S1-argstr).
func parseArguments(name string, raw json.RawMessage) arguments {
	a := arguments{kept: raw, script: name}
	if absent(raw) {
		a.kept = json.RawMessage(noArguments)
	}
	if tool.IsNative(name) {
		a.script = ""
	}
	if a.input, a.fault = object(raw); a.fault != nil || !tool.IsNative(name) {
		return a
	}
	if servedHere(name) {
		a.fault = violation(nativeSchemas()[name], a.input)
		return a
	}
	if a.fault = violation(scriptRun(), a.input); a.fault != nil {
		return a
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(a.input, &members); err != nil || json.Unmarshal(members["name"], &a.script) != nil {
		a.fault = notValid(&jsonschema.Violation{Pointer: "/name", Keyword: "type"})
		return a
	}
	a.input, a.fault = object(members["arguments"])
	return a
}

// object answers the object in raw, as the bytes that came.
func object(raw json.RawMessage) (json.RawMessage, *refusal) {
	if absent(raw) {
		return json.RawMessage(noArguments), nil
	}
	trimmed := bytes.TrimSpace(raw)
	if trimmed[0] == '"' {
		var text string
		if err := json.Unmarshal(trimmed, &text); err != nil {
			return nil, &refusal{InvalidArguments, notAnObject}
		}
		raw, trimmed = json.RawMessage(text), bytes.TrimSpace([]byte(text))
	}
	// As strict as the edge is with arguments that are no string: no surrogate without its pair.
	if len(trimmed) == 0 || trimmed[0] != '{' || !jsontext.Value(trimmed).IsValid(jsontext.AllowDuplicateNames(true)) {
		return nil, &refusal{InvalidArguments, notAnObject}
	}
	return raw, nil
}

func absent(raw json.RawMessage) bool {
	trimmed := bytes.TrimSpace(raw)
	return len(trimmed) == 0 || string(trimmed) == "null"
}

// scriptRun checks script_run's own arguments. What its member arguments may be, object says.
var scriptRun = sync.OnceValue(func() *jsonschema.Schema {
	s, err := jsonschema.Compile(json.RawMessage(`{
		"type": "object", "properties": {"name": {"type": "string"}, "arguments": {}}, "required": ["name"], "additionalProperties": false
	}`))
	if err != nil {
		panic(err) // it is a constant
	}
	return s
})

// violation checks arguments against a schema (S2-check).
func violation(s *jsonschema.Schema, input json.RawMessage) *refusal {
	err := s.Validate(input)
	if err == nil {
		return nil
	}
	v, ok := errors.AsType[*jsonschema.Violation](err)
	if !ok {
		return &refusal{InvalidArguments, notAnObject}
	}
	return notValid(v)
}

func notValid(v *jsonschema.Violation) *refusal {
	return &refusal{InvalidArguments, sentence(InvalidArguments, 0) + "\n" + v.Error()}
}

// schemas keeps compiled schemas of versions, which never change, up to maxSchemas bytes. It forgets at random when there is no room.
type schemas struct {
	making singleflight.Group // one compiles for all who ask at once
	mu     sync.Mutex
	kept   map[string]*jsonschema.Schema
	size   int
}

// maxSchemas is how many bytes of compiled schemas are kept.
const maxSchemas = 32 << 20

// check checks arguments against the schema of a version (S2-check). A version that was saved under wider limits may have a schema that is
// too much to compile now: so is its check.
func (s *schemas) check(versionID string, raw, input json.RawMessage) (*refusal, error) {
	schema, err := s.of(versionID, raw)
	if _, ok := errors.AsType[*jsonschema.Invalid](err); ok {
		return notValid(&jsonschema.Violation{Keyword: "complexity"}), nil
	}
	if err != nil {
		return nil, err
	}
	return violation(schema, input), nil
}

// of answers the compiled schema of a version.
func (s *schemas) of(versionID string, raw json.RawMessage) (*jsonschema.Schema, error) {
	s.mu.Lock()
	schema := s.kept[versionID]
	s.mu.Unlock()
	if schema != nil {
		return schema, nil
	}
	made, err, _ := s.making.Do(versionID, func() (any, error) {
		schema, err := jsonschema.Compile(raw)
		if err == nil {
			s.keep(versionID, schema)
		}
		return schema, err
	})
	if err != nil {
		return nil, err
	}
	return made.(*jsonschema.Schema), nil
}

// keep makes room for a schema, and keeps it.
func (s *schemas) keep(versionID string, schema *jsonschema.Schema) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = map[string]*jsonschema.Schema{}
	}
	if before := s.kept[versionID]; before != nil { // it was made twice, one after the other
		s.size -= before.Size()
		delete(s.kept, versionID)
	}
	for id, other := range s.kept {
		if s.size+schema.Size() <= maxSchemas {
			break
		}
		s.size -= other.Size()
		delete(s.kept, id)
	}
	s.kept[versionID] = schema
	s.size += schema.Size()
}
