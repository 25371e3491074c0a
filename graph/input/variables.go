package input

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/scriptorium-dev/scriptorium/graph/scalar"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// Coerce reads the raw variables of an operation along the types that it declares for them. Left out variables get their
// defaults; such that the operation does not declare are read over. raw may be empty or null.
//
// Values are as the generated code takes them: int64 for Int, string for String, ID and enums, bool, []any, map[string]any, and
// json.RawMessage for JSON.
func Coerce(schema *ast.Schema, op *ast.OperationDefinition, raw json.RawMessage) (map[string]any, *gqlerror.Error) {
	values, _, err := coerce(schema, op, raw)
	return values, err
}

// coerce also answers the text of each variable that has a value, for use inside of JSON literals.
func coerce(schema *ast.Schema, op *ast.OperationDefinition, raw json.RawMessage) (map[string]any, map[string]json.RawMessage, *gqlerror.Error) {
	c := &coercer{schema: schema, raw: raw, values: map[string]any{}, texts: map[string]json.RawMessage{}, path: ast.Path{ast.PathName("variables")}}
	if len(bytes.TrimSpace(raw)) > 0 {
		c.decoder = newDecoder(raw)
		if err := c.variables(op); err != nil {
			return nil, nil, err
		}
	}
	for _, definition := range op.VariableDefinitions {
		if _, ok := c.values[definition.Variable]; ok {
			continue
		}
		if err := c.leftOut(definition); err != nil {
			return nil, nil, err
		}
	}
	return c.values, c.texts, nil
}

type coercer struct {
	schema  *ast.Schema
	raw     json.RawMessage
	decoder *jsontext.Decoder
	path    ast.Path
	values  map[string]any
	texts   map[string]json.RawMessage
}

// in runs f one step deeper in the path.
func (c *coercer) in(step ast.PathElement, f func() *gqlerror.Error) *gqlerror.Error {
	c.path = append(c.path, step)
	defer func() { c.path = c.path[:len(c.path)-1] }()
	return f()
}

// invalid refuses the value at the path.
func (c *coercer) invalid(format string, args ...any) *gqlerror.Error {
	return refuse(fault.ValidationFailed, c.path, format, args...)
}

// broken refuses text that is no JSON.
func (c *coercer) broken(err error) *gqlerror.Error { return broken(c.path[:1], err) }

// variables reads the object of all variables.
func (c *coercer) variables(op *ast.OperationDefinition) *gqlerror.Error {
	if c.decoder.PeekKind() == 'n' {
		if _, err := c.decoder.ReadToken(); err != nil {
			return c.broken(err)
		}
		return atEnd(c.path, c.decoder)
	}
	err := c.members(func(name string) *gqlerror.Error {
		definition := op.VariableDefinitions.ForName(name)
		if definition == nil {
			if err := c.decoder.SkipValue(); err != nil {
				return c.broken(err)
			}
			return nil
		}
		start := c.decoder.InputOffset()
		value, err := c.value(definition.Type)
		if err != nil {
			return err
		}
		c.values[name] = value
		c.texts[name] = bytes.TrimLeft(c.raw[start:c.decoder.InputOffset()], ": \t\r\n")
		return nil
	})
	if err != nil {
		return err
	}
	return atEnd(c.path, c.decoder)
}

// members reads an object, and calls member in front of each value, with the name in the path. A name that comes twice is refused.
func (c *coercer) members(member func(name string) *gqlerror.Error) *gqlerror.Error {
	if kind := c.decoder.PeekKind(); kind != '{' {
		return c.notA("an object")
	}
	if _, err := c.decoder.ReadToken(); err != nil {
		return c.broken(err)
	}
	seen := map[string]bool{}
	for c.decoder.PeekKind() != '}' {
		token, err := c.decoder.ReadToken()
		if err != nil {
			return c.broken(err)
		}
		name := token.String()
		if err := c.in(ast.PathName(name), func() *gqlerror.Error {
			if seen[name] {
				return c.invalid("given twice")
			}
			seen[name] = true
			return member(name)
		}); err != nil {
			return err
		}
	}
	if _, err := c.decoder.ReadToken(); err != nil {
		return c.broken(err)
	}
	return nil
}

// notA refuses the next value, whose kind is wrong, or whose text is broken.
func (c *coercer) notA(wanted string) *gqlerror.Error {
	raw, err := c.decoder.ReadValue()
	if err != nil {
		return c.broken(err)
	}
	return c.invalid("must be %s, not %s", wanted, kindName(raw.Kind()))
}

func kindName(kind jsontext.Kind) string {
	switch kind {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '[':
		return "a list"
	default:
		return "an object"
	}
}

// value reads the next value as the type has it.
func (c *coercer) value(kind *ast.Type) (any, *gqlerror.Error) {
	if c.decoder.PeekKind() == 'n' {
		if _, err := c.decoder.ReadToken(); err != nil {
			return nil, c.broken(err)
		}
		if kind.NonNull {
			return nil, c.invalid("cannot be null")
		}
		return nil, nil
	}
	if kind.Elem != nil {
		return c.list(kind.Elem)
	}
	definition := c.schema.Types[kind.NamedType]
	switch definition.Kind {
	case ast.InputObject:
		return c.object(definition)
	case ast.Enum:
		return c.enum(definition)
	default:
		return c.scalar(definition.Name)
	}
}

// list reads a list; a single value stands for a list of it, as GraphQL has it.
func (c *coercer) list(elem *ast.Type) (any, *gqlerror.Error) {
	if c.decoder.PeekKind() != '[' {
		value, err := c.value(elem)
		if err != nil {
			return nil, err
		}
		return []any{value}, nil
	}
	if _, err := c.decoder.ReadToken(); err != nil {
		return nil, c.broken(err)
	}
	list := []any{}
	for c.decoder.PeekKind() != ']' {
		if err := c.in(ast.PathIndex(len(list)), func() *gqlerror.Error {
			value, err := c.value(elem)
			list = append(list, value)
			return err
		}); err != nil {
			return nil, err
		}
	}
	if _, err := c.decoder.ReadToken(); err != nil {
		return nil, c.broken(err)
	}
	return list, nil
}

// object reads an input object. Defaults of left out members are for the generated code.
func (c *coercer) object(definition *ast.Definition) (any, *gqlerror.Error) {
	object := map[string]any{}
	err := c.members(func(name string) *gqlerror.Error {
		field := definition.Fields.ForName(name)
		if field == nil {
			return c.invalid("%s has no such field", definition.Name)
		}
		value, err := c.value(field.Type)
		object[name] = value
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, field := range definition.Fields {
		if _, given := object[field.Name]; !given && field.Type.NonNull && field.DefaultValue == nil {
			return nil, c.in(ast.PathName(field.Name), func() *gqlerror.Error { return c.invalid("must be given") })
		}
	}
	if definition.Directives.ForName("oneOf") != nil {
		if err := c.oneOf(definition, object); err != nil {
			return nil, err
		}
	}
	return object, nil
}

func (c *coercer) oneOf(definition *ast.Definition, object map[string]any) *gqlerror.Error {
	if len(object) != 1 {
		return c.invalid("exactly one field of %s must be given", definition.Name)
	}
	for name, value := range object {
		if value == nil {
			return c.in(ast.PathName(name), func() *gqlerror.Error { return c.invalid("cannot be null") })
		}
	}
	return nil
}

func (c *coercer) enum(definition *ast.Definition) (any, *gqlerror.Error) {
	if c.decoder.PeekKind() != '"' {
		return nil, c.notA("a string with a value of " + definition.Name)
	}
	token, err := c.decoder.ReadToken()
	if err != nil {
		return nil, c.broken(err)
	}
	if definition.EnumValues.ForName(token.String()) == nil {
		return nil, c.invalid("%q is no value of %s", token.String(), definition.Name)
	}
	return token.String(), nil
}

func (c *coercer) scalar(name string) (any, *gqlerror.Error) {
	raw, err := c.decoder.ReadValue()
	if err != nil {
		return nil, c.broken(err)
	}
	raw = raw.Clone()
	if name == "JSON" {
		if depth(json.RawMessage(raw)) > MaxDepth {
			return nil, refuse(fault.LimitExceeded, c.path, "nested more than %d levels deep", MaxDepth)
		}
		return json.RawMessage(raw), nil
	}
	switch wanted := map[string]string{"Int": "0", "Float": "0", "String": `"`, "Boolean": "tf", "ID": `"0`}[name]; {
	case wanted != "" && !bytes.ContainsRune([]byte(wanted), rune(raw.Kind())):
		return nil, c.invalid("must be %s, not %s", scalarName(name), kindName(raw.Kind()))
	case raw.Kind() == '{' || raw.Kind() == '[':
		return nil, c.invalid("must be %s, not %s", scalarName(name), kindName(raw.Kind()))
	}
	switch raw.Kind() {
	case '"':
		return c.text(name, raw)
	case '0':
		return c.number(name, string(raw))
	default:
		return c.custom(name, raw.Kind() == 't')
	}
}

func scalarName(name string) string {
	switch name {
	case "Int":
		return "a whole number"
	case "Float":
		return "a number"
	case "String", "ID":
		return "a string"
	case "Boolean":
		return "a boolean"
	default:
		return "a " + name
	}
}

func (c *coercer) text(name string, raw jsontext.Value) (any, *gqlerror.Error) {
	text, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return nil, c.broken(err)
	}
	return c.custom(name, string(text))
}

func (c *coercer) number(name, text string) (any, *gqlerror.Error) {
	switch name {
	case "Int":
		return c.int(text)
	case "Float":
		if f, err := strconv.ParseFloat(text, 64); err != nil || math.IsInf(f, 0) {
			return nil, c.invalid("must be a number that 64 bits hold")
		}
		return json.Number(text), nil
	case "ID":
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			return nil, c.invalid("must be a string")
		}
		return text, nil
	default:
		return c.custom(name, json.Number(text))
	}
}

func (c *coercer) int(text string) (any, *gqlerror.Error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return nil, c.invalid("must be a whole number from %d to %d", math.MinInt32, math.MaxInt32)
	}
	return n, nil
}

// custom lets a scalar of the schema say what is wrong with its value.
func (c *coercer) custom(name string, value any) (any, *gqlerror.Error) {
	if err := scalar.Check(name, value); err != nil {
		return nil, c.invalid("%s", err)
	}
	return value, nil
}

// leftOut gives a variable without a value its default.
func (c *coercer) leftOut(definition *ast.VariableDefinition) *gqlerror.Error {
	return c.in(ast.PathName(definition.Variable), func() *gqlerror.Error {
		if definition.DefaultValue == nil {
			if definition.Type.NonNull {
				return c.invalid("must be given")
			}
			return nil
		}
		value, err := constant(c.schema, definition.Type, definition.DefaultValue, c.path)
		if err != nil {
			return err
		}
		text, err := constantText(definition.DefaultValue, c.path)
		if err != nil {
			return err
		}
		c.values[definition.Variable], c.texts[definition.Variable] = value, text
		return nil
	})
}
