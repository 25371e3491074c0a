package schema_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// aliased names the fields that clients must alias to ask for them on several kinds of Node at once, since the contract
// gives them other types there. Nothing is added that the contract does not ask for.
var aliased = map[string][]string{
	"Node": {"name", "run", "script", "status", "tools"},
}

// TestSpread builds one document that spreads every member of every union and interface with all of its fields that need
// no argument, and validates it: no name has two types in one place but those above.
func TestSpread(t *testing.T) {
	t.Parallel()
	loaded := load(t)
	var document strings.Builder
	count := 0
	for _, definition := range types(loaded) {
		if definition.Kind != ast.Union && definition.Kind != ast.Interface {
			continue
		}
		count++
		if got := conflicts(loaded, definition); !slices.Equal(got, aliased[definition.Name]) {
			t.Errorf("on %s these fields have several types: %v, want %v", definition.Name, got, aliased[definition.Name])
		}
		operation, ok := spread(loaded, definition)
		if !ok {
			t.Errorf("no operation reaches %s", definition.Name)
		}
		document.WriteString(operation)
	}
	if count < 5 {
		t.Fatalf("found %d unions and interfaces only", count)
	}
	query, err := parser.ParseQuery(&ast.Source{Input: document.String()})
	if err != nil {
		t.Fatalf("%v in\n%s", err, document.String())
	}
	if errs := validator.ValidateWithRules(loaded, query, rules.NewDefaultRules()); len(errs) > 0 {
		t.Fatalf("%v in\n%s", errs, document.String())
	}
}

// conflicts lists the names that differ in shape between the members, as the rule on overlapping fields sees it.
func conflicts(loaded *ast.Schema, definition *ast.Definition) []string {
	shapes := map[string]map[string]bool{}
	for _, member := range loaded.PossibleTypes[definition.Name] {
		for _, field := range fields(member) {
			if len(field.Arguments) > 0 {
				continue
			}
			if shapes[field.Name] == nil {
				shapes[field.Name] = map[string]bool{}
			}
			shapes[field.Name][shape(loaded, field.Type)] = true
		}
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		if len(shapes[name]) > 1 {
			names = append(names, name)
		}
	}
	return names
}

func shape(loaded *ast.Schema, kind *ast.Type) string {
	if loaded.Types[kind.Name()].IsLeafType() {
		return kind.String()
	}
	return strings.ReplaceAll(kind.String(), kind.Name(), "{}")
}

// spread writes an operation that reaches the type and asks for all that its members have.
func spread(loaded *ast.Schema, definition *ast.Definition) (string, bool) {
	var members strings.Builder
	for _, member := range loaded.PossibleTypes[definition.Name] {
		fmt.Fprintf(&members, "... on %s {", member.Name)
		for _, field := range fields(member) {
			if len(field.Arguments) > 0 {
				continue
			}
			if slices.Contains(aliased[definition.Name], field.Name) {
				fmt.Fprintf(&members, " %s_%s:", member.Name, field.Name)
			}
			members.WriteString(" " + field.Name)
			if !loaded.Types[field.Type.Name()].IsLeafType() {
				members.WriteString(" { __typename }")
			}
		}
		members.WriteString(" }\n")
	}
	for _, root := range []*ast.Definition{loaded.Query, loaded.Mutation, loaded.Subscription} {
		kind := strings.ToLower(root.Name)
		walk := &walker{loaded: loaded, to: definition.Name, seen: map[string]bool{}}
		if selection, ok := walk.path(root, members.String()); ok {
			variables := ""
			if len(walk.variables) > 0 {
				variables = "(" + strings.Join(walk.variables, " ") + ")"
			}
			return fmt.Sprintf("%s Spread%s%s %s\n", kind, definition.Name, variables, selection), true
		}
	}
	return "", false
}

// walker finds a way from a root to a type, with a variable for each argument that must be given.
type walker struct {
	loaded    *ast.Schema
	to        string
	seen      map[string]bool
	variables []string
}

func (w *walker) path(from *ast.Definition, inner string) (string, bool) {
	if from.Name == w.to {
		return "{ " + inner + "}", true
	}
	if from.Kind != ast.Object || w.seen[from.Name] {
		return "", false
	}
	w.seen[from.Name] = true
	for _, field := range fields(from) {
		length := len(w.variables)
		arguments := w.arguments(field)
		if selection, ok := w.path(w.loaded.Types[field.Type.Name()], inner); ok {
			return "{ " + field.Name + arguments + " " + selection + " }", true
		}
		w.variables = w.variables[:length]
	}
	return "", false
}

func (w *walker) arguments(field *ast.FieldDefinition) string {
	var given []string
	for _, argument := range field.Arguments {
		if argument.Type.NonNull && argument.DefaultValue == nil {
			name := fmt.Sprintf("$v%d", len(w.variables))
			w.variables = append(w.variables, name+": "+argument.Type.String())
			given = append(given, argument.Name+": "+name)
		}
	}
	if given == nil {
		return ""
	}
	return "(" + strings.Join(given, " ") + ")"
}
