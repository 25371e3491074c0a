package input

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/scriptorium-dev/scriptorium/graph/scalar"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// maxLiterals bounds the JSON text that the literals of one document become. A literal may hold variables, and each of them many
// times: without a bound a small request could become a huge one.
const maxLiterals = 1 << 20

// checker holds literals to what the validator lets pass: Int has 32 bits, and custom scalars say what is wrong.
type checker struct {
	schema *ast.Schema
	path   ast.Path
	at     *ast.Position
}

func (c *checker) invalid(format string, args ...any) *gqlerror.Error {
	return located(refuse(fault.ValidationFailed, c.path, format, args...), c.at)
}

func located(err *gqlerror.Error, at *ast.Position) *gqlerror.Error {
	if at != nil {
		err.Locations = []gqlerror.Location{{Line: at.Line, Column: at.Column}}
	}
	return err
}

// scalar answers the value of a literal of a scalar type other than JSON.
func (c *checker) scalar(name string, v *ast.Value) (any, *gqlerror.Error) {
	value, err := v.Value(nil)
	switch {
	case err != nil || v.Kind == ast.ObjectValue || v.Kind == ast.ListValue:
		return nil, c.invalid("%s is no %s", v.String(), name)
	case name == "Int":
		if n, ok := value.(int64); !ok || n < math.MinInt32 || n > math.MaxInt32 {
			return nil, c.invalid("must be a whole number from %d to %d", math.MinInt32, math.MaxInt32)
		}
	case name == "ID" && v.Kind == ast.IntValue:
		return v.Raw, nil
	}
	if err := scalar.Check(name, value); err != nil {
		return nil, c.invalid("%s", err)
	}
	return value, nil
}

// constant answers the value of a literal without variables: the default of a variable.
func constant(schema *ast.Schema, kind *ast.Type, v *ast.Value, path ast.Path) (any, *gqlerror.Error) {
	switch {
	case v.Kind == ast.NullValue:
		return nil, nil
	case kind.Elem != nil && v.Kind == ast.ListValue:
		list := []any{}
		for i, child := range v.Children {
			value, err := constant(schema, kind.Elem, child.Value, append(path, ast.PathIndex(i)))
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	case kind.Elem != nil:
		value, err := constant(schema, kind.Elem, v, path)
		return []any{value}, err
	case kind.NamedType == "JSON":
		return constantText(v, path)
	}
	switch definition := schema.Types[kind.NamedType]; definition.Kind {
	case ast.InputObject:
		object := map[string]any{}
		for _, child := range v.Children {
			value, err := constant(schema, definition.Fields.ForName(child.Name).Type, child.Value, append(path, ast.PathName(child.Name)))
			if err != nil {
				return nil, err
			}
			object[child.Name] = value
		}
		return object, nil
	case ast.Enum:
		return v.Raw, nil
	default:
		c := &checker{schema: schema, path: path, at: v.Position}
		return c.scalar(definition.Name, v)
	}
}

// constantText answers the JSON text of a literal without variables; an enum value is written as its name.
func constantText(v *ast.Value, path ast.Path) (json.RawMessage, *gqlerror.Error) {
	w := &textWriter{path: path, enums: true}
	return w.finish(v)
}

// textWriter writes a literal as JSON text, with its order and digits.
type textWriter struct {
	path  ast.Path
	texts map[string]json.RawMessage // of the variables that have a value
	files map[string]bool            // the variables that hold files, which no JSON holds
	enums bool                       // write enum values as strings
	out   []byte
}

func (w *textWriter) finish(v *ast.Value) (json.RawMessage, *gqlerror.Error) {
	if err := w.value(v); err != nil {
		return nil, err
	}
	if depth(w.out) > MaxDepth {
		return nil, located(refuse(fault.LimitExceeded, w.path, "nested more than %d levels deep", MaxDepth), v.Position)
	}
	return w.out, nil
}

func (w *textWriter) value(v *ast.Value) *gqlerror.Error {
	switch v.Kind {
	case ast.Variable:
		if w.files[v.Raw] {
			return located(refuse(fault.ValidationFailed, w.path, "$%s is a file, which JSON does not have", v.Raw), v.Position)
		}
		text, ok := w.texts[v.Raw]
		if !ok {
			text = json.RawMessage("null")
		}
		w.out = append(w.out, text...)
	case ast.IntValue, ast.FloatValue, ast.BooleanValue, ast.NullValue:
		w.out = append(w.out, v.Raw...)
	case ast.StringValue, ast.BlockValue:
		w.string(v.Raw)
	case ast.EnumValue:
		if !w.enums {
			return located(refuse(fault.ValidationFailed, w.path, "%s is an enum value, which JSON does not have; write %q for a string", v.Raw, v.Raw), v.Position)
		}
		w.string(v.Raw)
	case ast.ListValue:
		return w.list(v)
	default:
		return w.object(v)
	}
	if len(w.out) > maxLiterals {
		return located(refuse(fault.LimitExceeded, w.path, "with its variables the JSON literal is longer than %d bytes", maxLiterals), v.Position)
	}
	return nil
}

func (w *textWriter) list(v *ast.Value) *gqlerror.Error {
	w.out = append(w.out, '[')
	for i, child := range v.Children {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if err := w.in(ast.PathIndex(i), child.Value); err != nil {
			return err
		}
	}
	w.out = append(w.out, ']')
	return nil
}

func (w *textWriter) object(v *ast.Value) *gqlerror.Error {
	w.out = append(w.out, '{')
	first := true
	for _, child := range v.Children {
		if child.Value.Kind == ast.Variable && w.texts[child.Value.Raw] == nil {
			continue // a member whose variable has no value is left out
		}
		if !first {
			w.out = append(w.out, ',')
		}
		first = false
		w.string(child.Name)
		w.out = append(w.out, ':')
		if err := w.in(ast.PathName(child.Name), child.Value); err != nil {
			return err
		}
	}
	w.out = append(w.out, '}')
	return nil
}

func (w *textWriter) in(step ast.PathElement, v *ast.Value) *gqlerror.Error {
	w.path = append(w.path, step)
	defer func() { w.path = w.path[:len(w.path)-1] }()
	return w.value(v)
}

// string writes a string as JSON. The text is valid UTF-8: documents that are not were refused.
func (w *textWriter) string(text string) {
	w.out = append(w.out, '"')
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			w.out = append(w.out, '\\', c)
		case c < 0x20:
			w.out = append(w.out, `\u00`...)
			w.out = append(w.out, strconv.FormatUint(uint64(c)>>4, 16)...)
			w.out = append(w.out, strconv.FormatUint(uint64(c)&15, 16)...)
		default:
			w.out = append(w.out, c)
		}
	}
	w.out = append(w.out, '"')
}
