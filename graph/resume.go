package graph

import (
	"bytes"
	"encoding/json"

	"github.com/vektah/gqlparser/v2/ast"
)

// cursorAlias is the response name under which an event stream asks for the cursor of each event, beside what the client asked for.
const cursorAlias = "__cursor"

// resumable answers a copy of a subscription for an event stream: it asks for each event's cursor last, so that takeCursor can put it into the
// event's id, and goes on behind lastEventID, where there is one, whatever its argument `after` says.
func resumable(schema *ast.Schema, doc *ast.QueryDocument, op *ast.OperationDefinition, lastEventID string) (*ast.QueryDocument, *ast.OperationDefinition) {
	var root *ast.Field
	var visit func(ast.SelectionSet)
	visit = func(set ast.SelectionSet) {
		for _, sel := range set {
			switch sel := sel.(type) {
			case *ast.Field: // the one root field, perhaps in several pieces
				if root == nil {
					copied := *sel
					root = &copied
					root.SelectionSet = nil
				}
				root.SelectionSet = append(root.SelectionSet, sel.SelectionSet...)
			case *ast.InlineFragment:
				visit(sel.SelectionSet)
			case *ast.FragmentSpread:
				visit(sel.Definition.SelectionSet)
			}
		}
	}
	visit(op.SelectionSet)
	root.SelectionSet = append(root.SelectionSet, cursors(schema, root)...)
	if lastEventID != "" {
		after(schema, root, lastEventID)
	}
	copied := *op
	copied.SelectionSet = ast.SelectionSet{root}
	return &ast.QueryDocument{Operations: ast.OperationList{&copied}, Fragments: doc.Fragments, Position: doc.Position}, &copied
}

// cursors selects the cursor of every type that the field may answer and that has one.
func cursors(schema *ast.Schema, root *ast.Field) ast.SelectionSet {
	answered := schema.Types[root.Definition.Type.Name()]
	if answered.Kind == ast.Object {
		return cursor(answered, root.Position)
	}
	var out ast.SelectionSet
	for _, t := range schema.GetPossibleTypes(answered) {
		if set := cursor(t, root.Position); set != nil {
			out = append(out, &ast.InlineFragment{TypeCondition: t.Name, ObjectDefinition: t, SelectionSet: set, Position: root.Position})
		}
	}
	return out
}

func cursor(t *ast.Definition, pos *ast.Position) ast.SelectionSet {
	def := t.Fields.ForName("cursor")
	if def == nil {
		return nil
	}
	return ast.SelectionSet{&ast.Field{Alias: cursorAlias, Name: def.Name, Definition: def, ObjectDefinition: t, Position: pos}}
}

// after sets the argument of that name, where the field has one.
func after(schema *ast.Schema, root *ast.Field, cursor string) {
	def := root.Definition.Arguments.ForName("after")
	if def == nil {
		return
	}
	value := &ast.Value{
		Kind: ast.StringValue, Raw: cursor, Position: root.Position, ExpectedType: def.Type, Definition: schema.Types[def.Type.Name()],
	}
	arguments := ast.ArgumentList{}
	for _, a := range root.Arguments {
		if a.Name != def.Name {
			arguments = append(arguments, a)
		}
	}
	root.Arguments = append(arguments, &ast.Argument{Name: def.Name, Value: value, Position: root.Position})
}

// takeCursor splits what resumable added from the end of an event's data: `,"__cursor":"…"}}`.
func takeCursor(data []byte) (rest []byte, cursor string) {
	mark := []byte(`"` + cursorAlias + `":`)
	i := bytes.LastIndex(data, mark)
	value, ok := bytes.CutSuffix(data[max(i, 0):], []byte("}}"))
	if i < 1 || !ok || json.Unmarshal(value[len(mark):], &cursor) != nil {
		return data, ""
	}
	rest = bytes.TrimSuffix(data[:i:i], []byte(","))
	return append(rest, "}}"...), cursor
}
