package tool

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Keywords of JSON Schema that hold a schema, a list of them, or one for each name.
var (
	schemaIn  = []string{"items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames", "unevaluatedItems", "unevaluatedProperties"}
	schemasIn = []string{"anyOf", "oneOf", "allOf", "prefixItems"}
	namedIn   = []string{"properties", "$defs", "patternProperties", "dependentSchemas"}
)

// member is one of a JSON object, as it was sent.
type member struct {
	name  string
	value json.RawMessage
}

// complete adds to a schema of arguments what some model APIs refuse a request without, and what says nothing: properties at its top, and items of arrays. All else stays
// as it was sent.
func complete(parameters json.RawMessage) json.RawMessage {
	members, ok := membersOf(parameters)
	if !ok {
		return parameters
	}
	members = completed(members)
	if !has(members, "properties") {
		members = append(members, member{"properties", json.RawMessage("{}")})
	}
	return object(members)
}

// schema completes a schema within another one.
func schema(raw json.RawMessage) json.RawMessage {
	members, ok := membersOf(raw)
	if !ok {
		return raw // true or false
	}
	return object(completed(members))
}

func completed(members []member) []member {
	array := false
	for i, m := range members {
		switch {
		case slices.Contains(schemaIn, m.name):
			members[i].value = schema(m.value)
		case slices.Contains(schemasIn, m.name):
			var all []json.RawMessage
			if json.Unmarshal(m.value, &all) == nil {
				for j := range all {
					all[j] = schema(all[j])
				}
				members[i].value = list(all)
			}
		case slices.Contains(namedIn, m.name):
			if named, ok := membersOf(m.value); ok {
				for j := range named {
					named[j].value = schema(named[j].value)
				}
				members[i].value = object(named)
			}
		case m.name == "type":
			array = string(m.value) == `"array"` || bytes.HasPrefix(m.value, []byte("[")) && bytes.Contains(m.value, []byte(`"array"`))
		}
	}
	if array && !has(members, "items") && !has(members, "prefixItems") {
		members = append(members, member{"items", json.RawMessage("{}")})
	}
	return members
}

func has(members []member, name string) bool {
	return slices.ContainsFunc(members, func(m member) bool { return m.name == name })
}

// membersOf reads an object's members in their order; false for what is no object.
func membersOf(raw json.RawMessage) (members []member, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		t, err := d.Token()
		name, isName := t.(string)
		var value json.RawMessage
		if err != nil || !isName || d.Decode(&value) != nil {
			return nil, false
		}
		members = append(members, member{name, value})
	}
	return members, true
}

func object(members []member) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := encode(m.name) // a string
		b.Write(name)
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

func list(values []json.RawMessage) json.RawMessage {
	return slices.Concat([]byte{'['}, bytes.Join(asBytes(values), []byte{','}), []byte{']'})
}

func asBytes(values []json.RawMessage) [][]byte {
	all := make([][]byte, len(values))
	for i, v := range values {
		all[i] = v
	}
	return all
}
