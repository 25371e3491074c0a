package input

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// Prepared is an operation that is ready to be executed with its variables.
type Prepared struct {
	// Document holds Operation. Where there is a JSON literal it is a copy.
	Document  *ast.QueryDocument
	Operation *ast.OperationDefinition
	// Variables pass gqlparser's validator.VariableValues for Operation unchanged.
	Variables map[string]any
}

// Prepare reads the raw variables of an operation (see Coerce) and turns JSON literals in the document into variables of a copy of
// it. The document must be valid for the schema; it is never changed. raw may be empty or null.
//
// Errors wrap a fault.Problem: BAD_REQUEST for text that is no JSON, PARSE_FAILED and VALIDATION_FAILED for values that do not fit,
// LIMIT_EXCEEDED for JSON that is nested too deep or grows too long. They name path and place.
func Prepare(schema *ast.Schema, document *ast.QueryDocument, op *ast.OperationDefinition, raw json.RawMessage) (*Prepared, *gqlerror.Error) {
	if op.Position != nil && op.Position.Src != nil {
		if err := CheckDocument(op.Position.Src.Input); err != nil {
			return nil, err
		}
	}
	values, texts, err := coerce(schema, op, raw)
	if err != nil {
		return nil, err
	}
	r := &rewriter{
		schema: schema, source: document, values: values, texts: texts, files: filesOf(schema, op),
		copies: map[string]*ast.FragmentDefinition{},
	}
	selections := r.selections(op.SelectionSet)
	if r.err != nil {
		return nil, r.err
	}
	if len(r.added) == 0 {
		return &Prepared{Document: document, Operation: op, Variables: values}, nil
	}
	operation := *op
	operation.SelectionSet = selections
	operation.VariableDefinitions = append(append(ast.VariableDefinitionList(nil), op.VariableDefinitions...), r.added...)
	copied := *document
	copied.Operations = replaced(document.Operations, op, &operation)
	copied.Fragments = nil
	for _, fragment := range document.Fragments {
		if made := r.copies[fragment.Name]; made != nil {
			fragment = made
		}
		copied.Fragments = append(copied.Fragments, fragment)
	}
	return &Prepared{Document: &copied, Operation: &operation, Variables: values}, nil
}

func replaced(operations ast.OperationList, from, to *ast.OperationDefinition) ast.OperationList {
	list := append(ast.OperationList(nil), operations...)
	for i, op := range list {
		if op == from {
			list[i] = to
		}
	}
	return list
}

// rewriter copies selections, with JSON literals replaced by variables, and checks all literals. It keeps its first error.
type rewriter struct {
	schema *ast.Schema
	source *ast.QueryDocument
	values map[string]any
	texts  map[string]json.RawMessage
	files  map[string]bool // the variables that hold files
	copies map[string]*ast.FragmentDefinition
	added  ast.VariableDefinitionList
	length int
	err    *gqlerror.Error
}

func (r *rewriter) selections(set ast.SelectionSet) ast.SelectionSet {
	if set == nil {
		return nil
	}
	out := make(ast.SelectionSet, len(set))
	for i, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			field := *s
			field.Arguments = r.arguments(s)
			field.SelectionSet = r.selections(s.SelectionSet)
			out[i] = &field
		case *ast.InlineFragment:
			fragment := *s
			fragment.SelectionSet = r.selections(s.SelectionSet)
			out[i] = &fragment
		case *ast.FragmentSpread:
			spread := *s
			spread.Definition = r.fragment(s.Name)
			out[i] = &spread
		}
	}
	return out
}

// fragment copies a fragment once; the document is valid, so that no fragment holds itself.
func (r *rewriter) fragment(name string) *ast.FragmentDefinition {
	if made := r.copies[name]; made != nil {
		return made
	}
	made := *r.source.Fragments.ForName(name)
	made.SelectionSet = r.selections(made.SelectionSet)
	r.copies[name] = &made
	return &made
}

func (r *rewriter) arguments(field *ast.Field) ast.ArgumentList {
	if len(field.Arguments) == 0 || field.Definition == nil {
		return field.Arguments
	}
	out := make(ast.ArgumentList, len(field.Arguments))
	for i, argument := range field.Arguments {
		changed := *argument
		path := ast.Path{ast.PathName(field.Name), ast.PathName(argument.Name)}
		changed.Value = r.value(field.Definition.Arguments.ForName(argument.Name).Type, argument.Value, path)
		out[i] = &changed
	}
	return out
}

func (r *rewriter) value(kind *ast.Type, v *ast.Value, path ast.Path) *ast.Value {
	switch {
	case r.err != nil || v.Kind == ast.Variable || v.Kind == ast.NullValue:
		return v
	case kind.Elem != nil && v.Kind != ast.ListValue:
		return r.value(kind.Elem, v, path)
	case kind.Elem != nil:
		return r.children(v, func(i int, _ string) (*ast.Type, ast.PathElement) { return kind.Elem, ast.PathIndex(i) }, path)
	case kind.NamedType == "JSON":
		return r.json(v, path)
	}
	definition := r.schema.Types[kind.NamedType]
	switch definition.Kind {
	case ast.InputObject:
		return r.children(v, func(_ int, name string) (*ast.Type, ast.PathElement) {
			return definition.Fields.ForName(name).Type, ast.PathName(name)
		}, path)
	case ast.Scalar:
		c := &checker{schema: r.schema, path: path, at: v.Position}
		_, r.err = c.scalar(definition.Name, v)
	}
	return v
}

// children copies a list or an input object; of tells the type of each child and its step in the path.
func (r *rewriter) children(v *ast.Value, of func(i int, name string) (*ast.Type, ast.PathElement), path ast.Path) *ast.Value {
	changed := *v
	changed.Children = make(ast.ChildValueList, len(v.Children))
	for i, child := range v.Children {
		kind, step := of(i, child.Name)
		made := *child
		made.Value = r.value(kind, child.Value, append(path[:len(path):len(path)], step))
		changed.Children[i] = &made
	}
	return &changed
}

// json writes a literal as JSON text and puts a variable in its place. Its name has a space, which no name in a document has.
func (r *rewriter) json(v *ast.Value, path ast.Path) *ast.Value {
	w := &textWriter{path: path, texts: r.texts, files: r.files}
	text, err := w.finish(v)
	if err != nil {
		r.err = err
		return v
	}
	if r.length += len(text); r.length > maxLiterals {
		r.err = located(refuse(fault.LimitExceeded, path, "the JSON literals of the document are together longer than %d bytes", maxLiterals), v.Position)
		return v
	}
	name := fmt.Sprintf("json %d", len(r.added))
	definition := &ast.VariableDefinition{
		Variable: name, Type: ast.NamedType("JSON", v.Position), Definition: r.schema.Types["JSON"], Used: true, Position: v.Position,
	}
	r.added = append(r.added, definition)
	r.values[name] = text
	return &ast.Value{
		Raw: name, Kind: ast.Variable, Position: v.Position,
		Definition: v.Definition, ExpectedType: v.ExpectedType, VariableDefinition: definition,
	}
}

// filesOf answers the variables of an operation whose type is Upload, or has it inside.
func filesOf(schema *ast.Schema, op *ast.OperationDefinition) map[string]bool {
	files := map[string]bool{}
	for _, definition := range op.VariableDefinitions {
		if holdsUpload(schema, definition.Type, map[string]bool{}) {
			files[definition.Variable] = true
		}
	}
	return files
}

// holdsUpload says whether values of a type may hold an Upload; seen are the types that were looked into.
func holdsUpload(schema *ast.Schema, kind *ast.Type, seen map[string]bool) bool {
	name := kind.Name()
	if name == "Upload" || seen[name] {
		return name == "Upload"
	}
	seen[name] = true
	definition := schema.Types[name]
	return definition.Kind == ast.InputObject && slices.ContainsFunc(definition.Fields, func(f *ast.FieldDefinition) bool { return holdsUpload(schema, f.Type, seen) })
}
