package input_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
	"go.uber.org/goleak"

	"github.com/vektah/gqlparser/v2"

	"github.com/scriptorium-dev/scriptorium/graph/input"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testSchema has every kind of input that there is.
const testSchema = `
scalar JSON
scalar Time
scalar BigInt
enum Color { RED GREEN }
input Point { x: Int! y: Int = 2 color: Color note: String data: JSON next: Point }
input Either @oneOf { a: String b: JSON }
type Query {
  all(
    i: Int f: Float s: String b: Boolean id: ID color: Color colors: [Color!] grid: [[Int!]!] j: JSON js: [JSON]
    t: Time n: BigInt point: Point points: [Point!] either: Either
  ): Query
  text: String
}
`

var schema = gqlparser.MustLoadSchema(&ast.Source{Name: "test.graphql", Input: testSchema})

func parse(t testing.TB, query string) *ast.QueryDocument {
	t.Helper()
	doc, err := parser.ParseQuery(&ast.Source{Input: query})
	if err != nil {
		t.Fatalf("%v in %.200s", err, query)
	}
	if errs := validator.ValidateWithRules(schema, doc, rules.NewDefaultRules()); len(errs) > 0 {
		t.Fatalf("%.500v in %.200s", errs, query)
	}
	return doc
}

func codeOf(err *gqlerror.Error) fault.ProblemCode {
	if problem, ok := errors.AsType[*fault.Problem](err); ok {
		return problem.Code
	}
	return ""
}

// arguments executes as the generated code does: validator.VariableValues over what Prepare answered, then the
// arguments of the first field.
func arguments(t testing.TB, query, variables string) (map[string]any, *gqlerror.Error) {
	t.Helper()
	doc := parse(t, query)
	before := format(doc)
	prepared, refused := input.Prepare(schema, doc, doc.Operations[0], json.RawMessage(variables))
	if after := format(doc); after != before {
		t.Fatalf("the document changed from\n%s\nto\n%s", before, after)
	}
	if refused != nil {
		return nil, refused
	}
	values, err := validator.VariableValues(schema, prepared.Operation, prepared.Variables)
	if err != nil {
		t.Fatalf("VariableValues refuses what Prepare answered: %v", err)
	}
	if prepared.Document.Operations.ForName(prepared.Operation.Name) != prepared.Operation {
		t.Fatal("the document does not hold the operation")
	}
	selection := prepared.Operation.SelectionSet[0]
	if spread, ok := selection.(*ast.FragmentSpread); ok {
		if prepared.Document.Fragments.ForName(spread.Name) != spread.Definition {
			t.Fatal("the spread is not of the document's fragment")
		}
		selection = spread.Definition.SelectionSet[0]
	}
	if inline, ok := selection.(*ast.InlineFragment); ok {
		selection = inline.SelectionSet[0]
	}
	return selection.(*ast.Field).ArgumentMap(values), nil
}

func format(doc *ast.QueryDocument) string {
	var text strings.Builder
	formatter.NewFormatter(&text).FormatQueryDocument(doc)
	return text.String()
}

// show writes values with raw JSON marked, so that a string and a JSON text of it differ.
func show(v any) string {
	switch v := v.(type) {
	case json.RawMessage:
		return "raw(" + string(v) + ")"
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = show(e)
		}
		return "[" + strings.Join(parts, " ") + "]"
	case map[string]any:
		var parts []string
		for _, name := range []string{"x", "y", "color", "note", "data", "next", "a", "b"} {
			if e, ok := v[name]; ok {
				parts = append(parts, name+":"+show(e))
			}
		}
		return "{" + strings.Join(parts, " ") + "}"
	default:
		text, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, kind, argument, value, want string }{
		{"JSON keeps digits, order, repeats and white space", "JSON", "j", `{"b": 1.0, "a":9007199254740993,"a":1e400 }`, `raw({"b": 1.0, "a":9007199254740993,"a":1e400 })`},
		{"JSON keeps escapes", "JSON", "j", `"\u0000\/\ud83d\ude00"`, `raw("\u0000\/\ud83d\ude00")`},
		{"JSON scalar values", "JSON", "j", `-0.10`, `raw(-0.10)`},
		{"JSON null is null", "JSON", "j", `null`, `null`},
		{"JSON in a list", "[JSON]", "js", `[1.0, null, {"a":[]}]`, `[raw(1.0) null raw({"a":[]})]`},
		{"one JSON stands for a list", "[JSON]", "js", `{"a": 1}`, `[raw({"a": 1})]`},
		{"JSON in input objects", "Point", "point", `{"x":1,"data":{"z": 1.50},"next":{"x":2,"data":"s"}}`, `{x:1 data:raw({"z": 1.50}) next:{x:2 data:raw("s")}}`},
		{"null members stay null", "Point", "point", `{"x":1,"y":null,"note":null}`, `{x:1 y:null note:null}`},
		{"Int", "Int", "i", `-2147483648`, `-2147483648`},
		{"Float", "Float", "f", `1.50`, `1.5`},
		{"String", "String", "s", `"a\u0000"`, `"a\u0000"`},
		{"Boolean", "Boolean", "b", `true`, `true`},
		{"ID as a string", "ID", "id", `"agt_1"`, `"agt_1"`},
		{"ID as a number", "ID", "id", `12`, `"12"`},
		{"enum", "Color", "color", `"RED"`, `"RED"`},
		{"one value stands for a list", "[Color!]", "colors", `"RED"`, `["RED"]`},
		{"empty list", "[Color!]", "colors", `[]`, `[]`},
		{"nested lists", "[[Int!]!]", "grid", `[[1,2],3]`, `[[1 2] [3]]`},
		{"Time", "Time", "t", `"2026-01-31T09:30:00Z"`, `"2026-01-31T09:30:00Z"`},
		{"BigInt", "BigInt", "n", `9223372036854775807`, `9223372036854775807`},
		{"oneOf", "Either", "either", `{"b": [1.0]}`, `{b:raw([1.0])}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := arguments(t, "query($v: "+c.kind+") { all("+c.argument+": $v) { text } }", `{"v": `+c.value+`, "other": [1e999]}`)
			if err != nil {
				t.Fatal(err)
			}
			if shown := show(got[c.argument]); shown != c.want {
				t.Errorf("got %s, want %s", shown, c.want)
			}
		})
	}
}

func TestVariablesRefused(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", input.MaxDepth+1) + strings.Repeat("]", input.MaxDepth+1)
	cases := []struct {
		name, kind, argument, variables string
		code                            fault.ProblemCode
		message                         string
	}{
		{"no object", "Int", "i", `[1]`, fault.ValidationFailed, "variables: must be an object, not a list"},
		{"no JSON", "Int", "i", `{"v": 1`, fault.BadRequest, "variables: not valid JSON: the text ends too early at byte 7"},
		{"behind the end", "Int", "i", `{"v": 1} {}`, fault.BadRequest, "variables: not valid JSON: something follows the value, at byte 10"},
		{"given twice", "Int", "i", `{"v": 1, "v": 2}`, fault.ValidationFailed, "variables.v: given twice"},
		{"null for what must be there", "Int!", "i", `{"v": null}`, fault.ValidationFailed, "variables.v: cannot be null"},
		{"missing", "Int!", "i", `{}`, fault.ValidationFailed, "variables.v: must be given"},
		{"missing, no variables", "Int!", "i", ``, fault.ValidationFailed, "variables.v: must be given"},
		{"missing, null variables", "Int!", "i", `null`, fault.ValidationFailed, "variables.v: must be given"},
		{"Int of 33 bits", "Int", "i", `{"v": 2147483648}`, fault.ValidationFailed, "variables.v: must be a whole number from -2147483648 to 2147483647"},
		{"Int with a point", "Int", "i", `{"v": 1.0}`, fault.ValidationFailed, "variables.v: must be a whole number from -2147483648 to 2147483647"},
		{"Int as a string", "Int", "i", `{"v": "3"}`, fault.ValidationFailed, "variables.v: must be a whole number, not a string"},
		{"Float too large", "Float", "f", `{"v": 1e400}`, fault.ValidationFailed, "variables.v: must be a number that 64 bits hold"},
		{"String as a number", "String", "s", `{"v": 3}`, fault.ValidationFailed, "variables.v: must be a string, not a number"},
		{"String as an object", "String", "s", `{"v": {}}`, fault.ValidationFailed, "variables.v: must be a string, not an object"},
		{"Boolean as a string", "Boolean", "b", `{"v": "true"}`, fault.ValidationFailed, "variables.v: must be a boolean, not a string"},
		{"ID as a boolean", "ID", "id", `{"v": true}`, fault.ValidationFailed, "variables.v: must be a string, not a boolean"},
		{"ID with a point", "ID", "id", `{"v": 1.5}`, fault.ValidationFailed, "variables.v: must be a string"},
		{"enum in another case", "Color", "color", `{"v": "red"}`, fault.ValidationFailed, `variables.v: "red" is no value of Color`},
		{"enum as a number", "Color", "color", `{"v": 1}`, fault.ValidationFailed, "variables.v: must be a string with a value of Color, not a number"},
		{"null in a list", "[Color!]", "colors", `{"v": ["RED", null]}`, fault.ValidationFailed, "variables.v.1: cannot be null"},
		{"unknown field", "Point", "point", `{"v": {"x": 1, "next": {"x": 1, "z": 1}}}`, fault.ValidationFailed, "variables.v.next.z: Point has no such field"},
		{"field given twice", "Point", "point", `{"v": {"x": 1, "x": 1}}`, fault.ValidationFailed, "variables.v.x: given twice"},
		{"missing field", "[Point!]", "points", `{"v": [{"x": 1}, {"y": 1}]}`, fault.ValidationFailed, "variables.v.1.x: must be given"},
		{"no input object", "Point", "point", `{"v": "x"}`, fault.ValidationFailed, "variables.v: must be an object, not a string"},
		{"oneOf with two", "Either", "either", `{"v": {"a": "x", "b": 1}}`, fault.ValidationFailed, "variables.v: exactly one field of Either must be given"},
		{"oneOf with none", "Either", "either", `{"v": {}}`, fault.ValidationFailed, "variables.v: exactly one field of Either must be given"},
		{"oneOf with null", "Either", "either", `{"v": {"b": null}}`, fault.ValidationFailed, "variables.v.b: cannot be null"},
		{"no time", "Time", "t", `{"v": "today"}`, fault.ValidationFailed, "variables.v: must be a time as RFC 3339 has it, such as 2026-01-31T09:30:00.000Z"},
		{"an object for a scalar", "BigInt", "n", `{"v": [1]}`, fault.ValidationFailed, "variables.v: must be a BigInt, not a list"},
		{"too deep", "JSON", "j", `{"v": ` + deep + `}`, fault.LimitExceeded, "variables.v: nested more than 200 levels deep"},
		{"lone surrogate", "JSON", "j", `{"v": {"a": ["\ud800"]}}`, fault.BadRequest, "variables.v.a.0: not valid JSON: a surrogate without its pair at byte 14"},
		{"not UTF-8", "String", "s", "{\"v\": \"a\xff\"}", fault.BadRequest, "variables.v: not valid JSON: invalid UTF-8 at byte 8"},
		{"not UTF-8 where nothing is declared", "String", "s", "{\"w\": [\"\xff\"]}", fault.BadRequest, "variables.w.0: not valid JSON: invalid UTF-8 at byte 8"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := arguments(t, "query($v: "+c.kind+") { all("+c.argument+": $v) { text } }", c.variables)
			if err == nil || err.Message != c.message || codeOf(err) != c.code {
				t.Errorf("got %v (%s), want %s: %s", err, codeOf(err), c.code, c.message)
			}
		})
	}
}

// TestDepth holds the bound at N and N + 1.
func TestDepth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		levels int
		ok     bool
	}{{input.MaxDepth, true}, {input.MaxDepth + 1, false}, {300, false}} {
		value := strings.Repeat(`{"a":[`, c.levels/2) + strings.Repeat("[", c.levels%2) + strings.Repeat("]", c.levels%2) + strings.Repeat("]}", c.levels/2)
		if _, err := arguments(t, `query($v: JSON) { all(j: $v) { text } }`, `{"v":`+value+`}`); (err == nil) != c.ok {
			t.Errorf("variable of %d levels: %v", c.levels, err)
		}
		if _, err := arguments(t, `{ all(j: `+strings.ReplaceAll(value, `"a"`, "a")+`) { text } }`, ``); (err == nil) != c.ok {
			t.Errorf("literal of %d levels: %v", c.levels, err)
		}
		if _, err := arguments(t, `query($v: JSON) { all(j: [$v]) { text } }`, `{"v":`+value[:0]+strings.Repeat("[", c.levels-1)+strings.Repeat("]", c.levels-1)+`}`); (err == nil) != c.ok {
			t.Errorf("literal with a variable of together %d levels: %v", c.levels, err)
		}
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, query, argument, variables, want string }{
		{"JSON", `query($v: JSON = {b: 1.0, a: [9007199254740993, 1e400, "x"]}) { all(j: $v) { text } }`, "j", ``, `raw({"b":1.0,"a":[9007199254740993,1e400,"x"]})`},
		{"null", `query($v: JSON = null) { all(j: $v) { text } }`, "j", `{}`, `null`},
		{"an explicit null wins", `query($v: JSON = 1) { all(j: $v) { text } }`, "j", `{"v":null}`, `null`},
		{"object", `query($v: Point = {x: 1, data: {k: 1.0}, color: RED}) { all(point: $v) { text } }`, "point", ``, `{x:1 color:"RED" data:raw({"k":1.0})}`},
		{"list", `query($v: [Color!] = RED) { all(colors: $v) { text } }`, "colors", ``, `["RED"]`},
		{"list of lists", `query($v: [[Int!]!] = [[1], 2]) { all(grid: $v) { text } }`, "grid", ``, `[[1] [2]]`},
		{"ID from digits", `query($v: ID = 12) { all(id: $v) { text } }`, "id", ``, `"12"`},
		{"an enum's default inside of JSON", `query($v: Color = RED) { all(j: {a: $v}, color: $v) { text } }`, "j", ``, `raw({"a":"RED"})`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := arguments(t, c.query, c.variables)
			if err != nil {
				t.Fatal(err)
			}
			if shown := show(got[c.argument]); shown != c.want {
				t.Errorf("got %s, want %s", shown, c.want)
			}
		})
	}
	if _, err := arguments(t, `query($v: Int = 9999999999) { all(i: $v) { text } }`, ``); err == nil {
		t.Error("a default of 34 bits passes for an Int")
	}
}

func TestLiterals(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, query, argument, variables, want string }{
		{"order and digits", `{ all(j: {b: 1.0, a: 9007199254740993, c: 1e400, d: -0, e: 1.5E+3}) { text } }`, "j", ``, `raw({"b":1.0,"a":9007199254740993,"c":1e400,"d":-0,"e":1.5E+3})`},
		{"more digits than 64 bits", `{ all(j: 123456789012345678901234567890) { text } }`, "j", ``, `raw(123456789012345678901234567890)`},
		{"strings", `{ all(j: ["a\"b\\\n\u0001é", "\ud83d\ude00", """block "x" """]) { text } }`, "j", ``, "raw([\"a\\\"b\\\\\\u000a\\u0001é\",\"\U0001F600\",\"block \\\"x\\\" \"])"},
		{"a string is JSON text of it", `{ all(j: "x") { text } }`, "j", ``, `raw("x")`},
		{"null is null", `{ all(j: null) { text } }`, "j", ``, `null`},
		{"null inside", `{ all(j: [null, true, false, {}, []]) { text } }`, "j", ``, `raw([null,true,false,{},[]])`},
		{"in an input object", `{ all(point: {x: 1, data: {k: 1.0}, next: {x: 2, data: [1]}}) { text } }`, "point", ``, `{x:1 data:raw({"k":1.0}) next:{x:2 data:raw([1])}}`},
		{"in a list", `{ all(js: [1.0, null, "x"]) { text } }`, "js", ``, `[raw(1.0) null raw("x")]`},
		{"one for a list", `{ all(js: {a: 1.0}) { text } }`, "js", ``, `raw({"a":1.0})`},
		{"variables inside", `query($s: String, $j: JSON, $i: Int, $n: Int) { all(j: {s: $s, j: $j, l: [$i, $n], n: $n}) { text } }`, "j", `{"s": "\u00e9", "j": {"x": 1.0 }, "i": 3}`, `raw({"s":"\u00e9","j":{"x": 1.0 },"l":[3,null]})`},
		{"a null variable inside", `query($s: String) { all(j: {s: $s}) { text } }`, "j", `{"s": null}`, `raw({"s":null})`},
		{"beside a variable", `query($j: JSON) { all(js: [$j, {a: 1}]) { text } }`, "js", `{"j": 1.0}`, `[raw(1.0) raw({"a":1})]`},
		{"in a fragment", `query { ...F } fragment F on Query { all(j: {a: 1.0}) { text } }`, "j", ``, `raw({"a":1.0})`},
		{"in an inline fragment", `{ ... on Query { all(j: {a: 1.0}) { text } } }`, "j", ``, `raw({"a":1.0})`},
		{"other types as they are", `{ all(i: 3, s: "x", id: 12, color: RED, colors: RED, t: "2026-01-31T09:30:00Z", n: 5, f: 1) { text } }`, "id", ``, `12`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := arguments(t, c.query, c.variables)
			if err != nil {
				t.Fatal(err)
			}
			if shown := show(got[c.argument]); shown != c.want {
				t.Errorf("got %s, want %s", shown, c.want)
			}
		})
	}
}

func TestLiteralsRefused(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, query, variables string
		code                   fault.ProblemCode
		message                string
	}{
		{"enum in JSON", `{ all(point: {x: 1, data: {a: [FOO]}}) { text } }`, ``, fault.ValidationFailed, `all.point.data.a.0: FOO is an enum value, which JSON does not have; write "FOO" for a string`},
		{"Int of 34 bits", `{ all(point: {x: 9999999999}) { text } }`, ``, fault.ValidationFailed, "all.point.x: must be a whole number from -2147483648 to 2147483647"},
		{"BigInt past 64 bits", `{ all(n: 9223372036854775808) { text } }`, ``, fault.ValidationFailed, "all.n: 9223372036854775808 is no BigInt"},
		{"no time", `{ all(t: "today") { text } }`, ``, fault.ValidationFailed, "all.t: must be a time as RFC 3339 has it, such as 2026-01-31T09:30:00.000Z"},
		{"an object for a scalar", `{ all(t: {a: 1}) { text } }`, ``, fault.ValidationFailed, "all.t: {a:1} is no Time"},
		{"deeper in the document", `{ all { all { all(j: FOO) { text } } } }`, ``, fault.ValidationFailed, `all.j: FOO is an enum value, which JSON does not have; write "FOO" for a string`},
		{"lone surrogate", `{ all(s: "\ud800") { text } }`, ``, fault.ParseFailed, `query: the surrogate \ud800 has no pair, at byte 10`},
		{"one variable many times", `query($v: String) { all(j: [` + strings.Repeat("$v ", 1100) + `]) { text } }`, `{"v":"` + strings.Repeat("x", 1000) + `"}`, fault.LimitExceeded, "all.j.1045: with its variables the JSON literal is longer than 1048576 bytes"},
		{"many literals", `query($v: String) { ` + manyFields(1100) + ` }`, `{"v":"` + strings.Repeat("x", 1000) + `"}`, fault.LimitExceeded, "all.j: the JSON literals of the document are together longer than 1048576 bytes"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := arguments(t, c.query, c.variables)
			if err == nil || err.Message != c.message || codeOf(err) != c.code {
				t.Fatalf("got %v (%s), want %s: %s", err, codeOf(err), c.code, c.message)
			}
			if len(err.Locations) == 0 && c.code != fault.BadRequest {
				t.Error("the error has no place")
			}
		})
	}
}

func manyFields(n int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString("f" + strconv.Itoa(i) + ": all(j: [$v]) { text } ")
	}
	return text.String()
}

// TestSharedDocument: a document without JSON literals is used as it is, one with them is copied for each request.
func TestSharedDocument(t *testing.T) {
	t.Parallel()
	plain := parse(t, `query($v: JSON) { all(j: $v, i: 3) { text } }`)
	prepared, err := input.Prepare(schema, plain, plain.Operations[0], json.RawMessage(`{"v": 1}`))
	if err != nil || prepared.Document != plain || prepared.Operation != plain.Operations[0] {
		t.Errorf("%+v, %v, want the document itself", prepared, err)
	}
	literal := parse(t, `query A { text } query B { ...F all(j: 1) { text } } fragment F on Query { all(j: 1) { text } } fragment G on Query { text } query C { ...G }`)
	prepared, err = input.Prepare(schema, literal, literal.Operations[1], nil)
	if err != nil || prepared.Document == literal || prepared.Operation == literal.Operations[1] {
		t.Fatalf("%+v, %v, want a copy", prepared, err)
	}
	if len(prepared.Document.Operations) != 3 || len(prepared.Document.Fragments) != 2 || prepared.Document.Operations[0] != literal.Operations[0] {
		t.Errorf("the copy lost something: %s", format(prepared.Document))
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`1`, ` {"a":1,"a":2} `, `"\ud83d\ude00"`, strings.Repeat("[", 1000) + strings.Repeat("]", 1000)} {
		if err := input.Check([]byte(text)); err != nil {
			t.Errorf("Check(%.40s) = %v", text, err)
		}
	}
	for text, want := range map[string]string{
		``:                         "not valid JSON: it is empty",
		` `:                        "not valid JSON: it is empty",
		`{"a":`:                    "a: not valid JSON: the text ends too early at byte 5",
		`{} x`:                     "not valid JSON: something follows the value, at byte 2",
		`{"a":{"b":["\ude00"]}}`:   "a.b.0: not valid JSON: a surrogate without its pair at byte 12",
		"{\"a\":\"\xc3(\"}":        "a: not valid JSON: invalid UTF-8 at byte 6",
		"{\"a\xff\":1}":            "not valid JSON: invalid UTF-8 at byte 3",
		`{"a":01}`:                 "not valid JSON: invalid character '1' after object value (expecting ',' or '}') at byte 6",
		strings.Repeat("[", 1<<20): "",
	} {
		err := input.Check([]byte(text))
		if err == nil || codeOf(err) != fault.BadRequest || (want != "" && err.Message != want) {
			t.Errorf("Check(%.40q) = %v (%s), want %s", text, err, codeOf(err), want)
			continue
		}
		if len(err.Message) > 1000 || len(err.Path) > 400 {
			t.Errorf("Check(%.40q) repeats %d parts of the path in %d bytes", text, len(err.Path), len(err.Message))
		}
	}
}

func TestCheckDocument(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{ text }`, `{ all(s: "\ud83d\ude00 \u00e9 \u{1F600}") { text } }`, "{ text # \"\\ud800\n }", "{ text # \\ud800",
		`{ all(s: """\ud800 \""" \ud800""") { text } }`, `{ all(s: "\\ud800") { text } }`, `{ all(s: "") { text } }`, `{ all(s: """""") { all(s: "\\") {text} } }`,
	} {
		if err := input.CheckDocument(text); err != nil {
			t.Errorf("CheckDocument(%s) = %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"{\n  all(s: \"x\\ud800\") { text } }":                 `query: the surrogate \ud800 has no pair, at byte 13`,
		`{ all(s: "\uDE00\ud83d") { text } }`:                  `query: the surrogate \uDE00 has no pair, at byte 10`,
		`{ all(s: "\ud83d\ud83d\ude00") { text } }`:            `query: the surrogate \ud83d has no pair, at byte 10`,
		`{ all(s: """x\"""" "\ud800") { text } }`:              "",
		`{ all(s: """x""", j: "\ud800") { text } }`:            `query: the surrogate \ud800 has no pair, at byte 22`,
		"{ all(s: \"\xff\") { text } }":                        `query: not valid UTF-8 at byte 10`,
		"{ all(s: \"\uFFFD\", j: \"\xed\xa0\x80\") { text } }": `query: not valid UTF-8 at byte 20`,
	} {
		err := input.CheckDocument(text)
		if want == "" {
			continue
		}
		if err == nil || err.Message != want {
			t.Errorf("CheckDocument(%q) = %v, want %s", text, err, want)
		}
	}
	err := input.CheckDocument("{\n  all(s: \"é\\ud800\") { text } }")
	if err == nil || len(err.Locations) != 1 || err.Locations[0] != (gqlerror.Location{Line: 2, Column: 12}) {
		t.Errorf("the place is %+v, want 2:12", err)
	}
}
