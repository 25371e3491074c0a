package schema_test

import (
	"flag"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"go.uber.org/goleak"

	"github.com/scriptorium-dev/scriptorium/schema"
)

var update = flag.Bool("update", false, "write testdata/schema.golden.graphql anew")

const golden = "testdata/schema.golden.graphql"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func load(t *testing.T) *ast.Schema {
	t.Helper()
	loaded, err := schema.Load()
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// types returns the schema's own types in the order of their names.
func types(loaded *ast.Schema) []*ast.Definition {
	var own []*ast.Definition
	for _, name := range slices.Sorted(maps.Keys(loaded.Types)) {
		if definition := loaded.Types[name]; !definition.BuiltIn {
			own = append(own, definition)
		}
	}
	return own
}

// fields returns the fields of a type without those of introspection.
func fields(definition *ast.Definition) ast.FieldList {
	return slices.DeleteFunc(slices.Clone(definition.Fields), func(field *ast.FieldDefinition) bool {
		return strings.HasPrefix(field.Name, "__")
	})
}

// TestPrintedSchema holds the public schema: a change of it is a change of the golden file, seen in review.
func TestPrintedSchema(t *testing.T) {
	t.Parallel()
	printed, err := schema.Print()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, []byte(printed), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if printed != string(want) {
		t.Errorf("the printed schema differs from %s; go test ./schema -run TestPrintedSchema -update writes it anew", golden)
	}
	if strings.Contains(printed, "goField") {
		t.Error("the printed schema shows the code generator's directive")
	}
	if _, err := gqlparser.LoadSchema(&ast.Source{Name: golden, Input: printed}); err != nil {
		t.Errorf("the printed schema does not parse: %v", err)
	}
}

// TestEveryElementIsDescribed: what clients see has a description, and it says something.
func TestEveryElementIsDescribed(t *testing.T) {
	t.Parallel()
	described := func(at, text string) {
		if len(strings.TrimSpace(text)) < 3 {
			t.Errorf("%s has no description", at)
		}
	}
	for _, definition := range types(load(t)) {
		described(definition.Name, definition.Description)
		for _, field := range fields(definition) {
			at := definition.Name + "." + field.Name
			described(at, field.Description)
			for _, argument := range field.Arguments {
				described(at+"("+argument.Name+")", argument.Description)
			}
		}
		for _, value := range definition.EnumValues {
			described(definition.Name+"."+value.Name, value.Description)
		}
	}
}

// TestConnections: every list that is read in pages has the shape that Relay wants, and both directions.
func TestConnections(t *testing.T) {
	t.Parallel()
	loaded := load(t)
	count := 0
	for _, definition := range types(loaded) {
		if item, ok := strings.CutSuffix(definition.Name, "Connection"); ok {
			count++
			checkFields(t, definition, map[string]string{
				"edges": "[" + item + "Edge!]!", "nodes": "[" + item + "!]!", "pageInfo": "PageInfo!", "totalCount": "Int!",
			})
			edge := loaded.Types[item+"Edge"]
			if edge == nil {
				t.Errorf("%s has no edge type", definition.Name)
				continue
			}
			checkFields(t, edge, map[string]string{"node": item + "!", "cursor": "Cursor!"})
			if !slices.Contains(loaded.Types[item].Interfaces, "Node") {
				t.Errorf("%s is no Node", item)
			}
		}
		for _, field := range fields(definition) {
			if strings.HasSuffix(field.Type.Name(), "Connection") {
				checkPageArguments(t, definition, field)
			}
		}
	}
	if count == 0 {
		t.Fatal("there is no connection")
	}
	checkFields(t, loaded.Types["PageInfo"], map[string]string{
		"hasNextPage": "Boolean!", "hasPreviousPage": "Boolean!", "startCursor": "Cursor", "endCursor": "Cursor",
	})
	checkFields(t, loaded.Types["Node"], map[string]string{"id": "ID!"})
}

func checkFields(t *testing.T, definition *ast.Definition, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for _, field := range fields(definition) {
		got[field.Name] = field.Type.String()
	}
	if !maps.Equal(got, want) {
		t.Errorf("%s has the fields %v, want %v", definition.Name, got, want)
	}
}

func checkPageArguments(t *testing.T, definition *ast.Definition, field *ast.FieldDefinition) {
	t.Helper()
	for name, kind := range map[string]string{"first": "Int", "after": "Cursor", "last": "Int", "before": "Cursor"} {
		if argument := field.Arguments.ForName(name); argument == nil || argument.Type.String() != kind {
			t.Errorf("%s.%s has no argument %s: %s", definition.Name, field.Name, name, kind)
		}
	}
	if !field.Type.NonNull {
		t.Errorf("%s.%s can be null", definition.Name, field.Name)
	}
}

// TestMutations: nounVerb, one input, one payload that is null where refused, and userErrors.
func TestMutations(t *testing.T) {
	t.Parallel()
	loaded := load(t)
	nounVerb := regexp.MustCompile(`^[a-z]+([A-Z][a-z]+)*(Create|Update|Delete|Save|Clear|Restore|Apply|Revoke|Start|Finish|Call|Cancel|Set|Publish|Reject|Upload)$`)
	for _, field := range fields(loaded.Mutation) {
		stem := strings.ToUpper(field.Name[:1]) + field.Name[1:]
		if !nounVerb.MatchString(field.Name) {
			t.Errorf("%s is not called by noun and verb", field.Name)
		}
		if len(field.Arguments) != 1 || field.Arguments[0].Name != "input" || field.Arguments[0].Type.String() != stem+"Input!" {
			t.Errorf("%s does not take input: %sInput! alone", field.Name, stem)
		}
		if field.Type.String() != stem+"Payload!" {
			t.Errorf("%s answers %s", field.Name, field.Type)
			continue
		}
		payload := loaded.Types[stem+"Payload"]
		if errors := payload.Fields.ForName("userErrors"); errors == nil || errors.Type.String() != "[UserError!]!" {
			t.Errorf("%s has no userErrors: [UserError!]!", payload.Name)
		}
		for _, part := range payload.Fields {
			if part.Type.NonNull && part.Type.Elem == nil {
				t.Errorf("%s.%s is not null where the request is refused", payload.Name, part.Name)
			}
		}
	}
}

// TestUserErrors: each kind has the three fields of every error; UserError has no members but these.
func TestUserErrors(t *testing.T) {
	t.Parallel()
	loaded := load(t)
	common := map[string]string{"code": "ErrorCode!", "message": "String!", "path": "[String!]!"}
	checkFields(t, loaded.Types["UserError"], common)
	var names []string
	for _, definition := range loaded.PossibleTypes["UserError"] {
		names = append(names, definition.Name)
	}
	slices.Sort(names)
	want := []string{"CapReached", "NameTaken", "NotConfigured", "PackageNotApproved", "PlainUserError", "SchemaInvalid", "ScriptInUse", "VersionConflict"}
	if !slices.Equal(names, want) {
		t.Errorf("the kinds of user errors are %v, want %v", names, want)
	}
	checkFields(t, loaded.Types["PlainUserError"], common)
}

// TestEventsHaveCursors: a subscriber can go on behind every event.
func TestEventsHaveCursors(t *testing.T) {
	t.Parallel()
	loaded := load(t)
	for _, field := range fields(loaded.Subscription) {
		if after := field.Arguments.ForName("after"); after == nil || after.Type.String() != "Cursor" {
			t.Errorf("%s has no argument after: Cursor", field.Name)
		}
		members := loaded.PossibleTypes[field.Type.Name()]
		if !slices.ContainsFunc(members, func(member *ast.Definition) bool { return member.Name == "StreamGap" }) {
			t.Errorf("%s cannot tell of a gap", field.Name)
		}
		for _, member := range members {
			if cursor := member.Fields.ForName("cursor"); cursor == nil || cursor.Type.String() != "Cursor!" {
				t.Errorf("%s, an event of %s, has no cursor", member.Name, field.Name)
			}
		}
	}
}

// TestOnlyTheGeneratorsDirective: the files use no directive that Print would have to keep or hide besides goField, and
// a batch is asked for only where there are parents.
func TestOnlyTheGeneratorsDirective(t *testing.T) {
	t.Parallel()
	sources, err := schema.Source()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := gqlparser.LoadSchema(sources...)
	if err != nil {
		t.Fatal(err)
	}
	for _, definition := range types(raw) {
		root := definition == raw.Query || definition == raw.Mutation || definition == raw.Subscription
		for _, field := range fields(definition) {
			for _, directive := range field.Directives {
				if directive.Name != "goField" {
					t.Errorf("%s.%s has the directive %s", definition.Name, field.Name, directive.Name)
				}
				if root || definition.Kind != ast.Object {
					t.Errorf("%s.%s cannot be batched", definition.Name, field.Name)
				}
			}
		}
	}
}
