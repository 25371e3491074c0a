package input_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/scriptorium-dev/scriptorium/graph/input"
)

// FuzzVariables: whatever comes, what is accepted is whole: the executor takes it, and JSON values are parts of what came.
func FuzzVariables(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `{}`, `[]`, `{"j":{"a":1.0},"p":{"x":1,"data":[1e400],"next":{"x":2}},"l":["a",null]}`, `{"j":"\ud800"}`,
		`{"e":{"b":1}}`, "{\"j\":\"\xff\"}", `{"j":1,"j":2}`, `{"c":"RED"}`, `{"c":["RED"]}`, `{"p":[{"x":1}]} `, `{"g":[1,[2]]}`, `{"q":[[`,
	} {
		f.Add([]byte(seed))
	}
	doc := parse(f, `query($j: JSON, $l: [JSON], $p: [Point!], $e: Either, $c: [Color!], $g: [[Int!]!], $s: String, $i: ID) {
		all(j: {j: $j, l: $l, s: $s}, js: $l, points: $p, either: $e, colors: $c, grid: $g, s: $s, id: $i) { text } }`)
	f.Fuzz(func(t *testing.T, raw []byte) {
		prepared, refused := input.Prepare(schema, doc, doc.Operations[0], raw)
		if refused != nil {
			if refused.Message == "" || !utf8.ValidString(refused.Message) {
				t.Fatalf("refused with %q", refused.Message)
			}
			return
		}
		values, err := validator.VariableValues(schema, prepared.Operation, prepared.Variables)
		if err != nil {
			t.Fatalf("the executor refuses %s: %v", raw, err)
		}
		for name, value := range values {
			if doc.Operations[0].VariableDefinitions.ForName(name) != nil { // others stand for literals
				wholeJSON(t, raw, value)
			}
		}
		arguments := prepared.Operation.SelectionSet[0].(*ast.Field).ArgumentMap(values)
		if text, ok := arguments["j"].(json.RawMessage); !ok || !json.Valid(text) || !utf8.Valid(text) {
			t.Fatalf("the literal became %v", arguments["j"])
		}
	})
}

// wholeJSON walks a value to its JSON parts; single values that came stand in raw as they are.
func wholeJSON(t *testing.T, raw []byte, value any) {
	switch value := value.(type) {
	case json.RawMessage:
		if !json.Valid(value) || !utf8.Valid(value) {
			t.Fatalf("%s is no JSON", value)
		}
		if !bytes.Contains(raw, value) {
			t.Fatalf("%s is no part of %s", value, raw)
		}
	case []any:
		for _, each := range value {
			wholeJSON(t, raw, each)
		}
	case map[string]any:
		for _, each := range value {
			wholeJSON(t, raw, each)
		}
	}
}

// FuzzLiterals: a literal becomes JSON that says the same.
func FuzzLiterals(f *testing.F) {
	for _, seed := range []string{
		`{b: 1.0, a: [9007199254740993, -0, 1e400], c: {}}`, `"a\"\\\n\u0001\ud83d\ude00"`, `"""block " \""" x"""`, `FOO`, `[null true]`, `{a: [FOO]}`, `"\ud800"`, `"\u{1F600}"`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, literal string) {
		doc, ok := valid(`{ all(j: ` + literal + ` ) { text } }`)
		if !ok || len(doc.Operations) != 1 {
			return
		}
		prepared, refused := input.Prepare(schema, doc, doc.Operations[0], nil)
		if refused != nil {
			return
		}
		field, ok := prepared.Operation.SelectionSet[0].(*ast.Field)
		source, _ := doc.Operations[0].SelectionSet[0].(*ast.Field)
		if !ok || source.Arguments.ForName("j") == nil || source.Arguments.ForName("j").Value.Kind == ast.NullValue {
			return
		}
		text, ok := field.ArgumentMap(prepared.Variables)["j"].(json.RawMessage)
		if !ok || !utf8.Valid(text) {
			t.Fatalf("%s became %s", literal, text)
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		var got any
		if err := decoder.Decode(&got); err != nil {
			t.Fatalf("%s became %s: %v", literal, text, err)
		}
		if want := meaning(source.Arguments.ForName("j").Value); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s became %s, which is %#v, want %#v", literal, text, got, want)
		}
	})
}

func meaning(v *ast.Value) any {
	switch v.Kind {
	case ast.IntValue, ast.FloatValue:
		return json.Number(v.Raw)
	case ast.BooleanValue:
		return v.Raw == "true"
	case ast.NullValue:
		return nil
	case ast.ListValue:
		list := []any{}
		for _, child := range v.Children {
			list = append(list, meaning(child.Value))
		}
		return list
	case ast.ObjectValue:
		object := map[string]any{}
		for _, child := range v.Children {
			object[child.Name] = meaning(child.Value)
		}
		return object
	default:
		return v.Raw
	}
}

func valid(query string) (*ast.QueryDocument, bool) {
	doc, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: query}, 1000)
	if err != nil || len(validator.ValidateWithRules(schema, doc, rules.NewDefaultRules())) > 0 {
		return nil, false
	}
	return doc, true
}

// FuzzCheck compares with encoding/json, which lets broken UTF-8 and lone surrogates pass.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{``, `{"a":[1,"x",null]}`, `"\ud83d\ude00"`, `"\ud800"`, "\"\xff\"", `{} {}`, `[[[`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := input.Check(data)
		if err == nil && (!json.Valid(data) || !utf8.Valid(data)) {
			t.Fatalf("%q passes", data)
		}
		if err != nil && json.Valid(data) && utf8.Valid(data) && !bytes.Contains(bytes.ToLower(data), []byte(`\ud`)) && len(data) < 10_000 {
			t.Fatalf("%q does not pass: %v", data, err)
		}
	})
}

// FuzzCheckDocument: a document passes where the parser reads no U+FFFD that nobody wrote.
func FuzzCheckDocument(f *testing.F) {
	for _, seed := range []string{
		`{ all(s: "\ud800") { text } }`, `{ all(s: "\ud83d\ude00") { text } }`, `{ all(s: """\ud800""" id: "\\ud800") { text } } # "\ud800`,
		`{ all(s: """"x\"""" """) { text } }`, `{ all(s: "\ude00\ud83d\u00e9") { text } }`, `{ all(j: ["" "\ud800"]) { text } }`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		lower := strings.ToLower(query)
		doc, ok := valid(query)
		if !ok || !utf8.ValidString(query) || strings.Contains(query, "\uFFFD") || strings.Contains(lower, "fffd") {
			return
		}
		written := false
		for _, op := range doc.Operations {
			written = written || replacement(op.SelectionSet)
			for _, variable := range op.VariableDefinitions {
				written = written || replacementIn(variable.DefaultValue)
			}
		}
		for _, fragment := range doc.Fragments {
			written = written || replacement(fragment.SelectionSet)
		}
		if err := input.CheckDocument(query); (err != nil) != written {
			t.Fatalf("CheckDocument(%q) = %v", query, err)
		}
	})
}

func replacement(set ast.SelectionSet) bool {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			for _, argument := range s.Arguments {
				if replacementIn(argument.Value) {
					return true
				}
			}
			if replacement(s.SelectionSet) {
				return true
			}
		case *ast.InlineFragment:
			if replacement(s.SelectionSet) {
				return true
			}
		}
	}
	return false
}

func replacementIn(v *ast.Value) bool {
	if v == nil {
		return false
	}
	for _, child := range v.Children {
		if replacementIn(child.Value) {
			return true
		}
	}
	return (v.Kind == ast.StringValue || v.Kind == ast.BlockValue) && strings.Contains(v.Raw, "\uFFFD")
}
