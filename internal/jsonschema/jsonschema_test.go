package jsonschema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/jsonschema"
)

// object is a schema with these properties.
func object(properties string) string {
	return `{"type":"object","properties":` + properties + `}`
}

func TestS1ParamsCheck(t *testing.T) {
	t.Parallel()
	deep := object(`{"a":` + strings.Repeat(`{"items":`, 190) + "{}" + strings.Repeat("}", 190) + "}")
	tooDeep := object(`{"a":` + strings.Repeat(`{"items":`, 200) + "{}" + strings.Repeat("}", 200) + "}")
	cases := []struct {
		name, schema     string
		pointer, keyword string
		fine             bool
	}{
		{"smallest", `{"type":"object"}`, "", "", true},
		{"draft named", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`, "", "", true},
		{"recursive", `{"type":"object","properties":{"child":{"$ref":"#"}}}`, "", "", true},
		{"recursive by anchor", `{"type":"object","properties":{"t":{"$ref":"#n"}},"$defs":{"n":{"$anchor":"n","items":{"$ref":"#n"}}}}`, "", "", true},
		{"alternatives inside", object(`{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}`), "", "", true},
		{"unknown keyword and format", object(`{"a":{"format":"email","x-hint":[1]}}`), "", "", true},
		{"a property called $ref", object(`{"a":{"properties":{"pattern":{"type":"string"}}}}`), "", "", true},
		{"schema words in enum", object(`{"a":{"enum":[{"$ref":"http://x/"}]}}`), "", "", true},
		{"190 levels", deep, "", "", true},
		{"200 and more levels", tooDeep, "", "", false},
		{"empty", `{}`, "", "type", false},
		{"true", `true`, "", "type", false},
		{"array", `[]`, "", "type", false},
		{"string", `"x"`, "", "type", false},
		{"no JSON", `{"type":`, "", "", false},
		{"two values", `{"type":"object"} {}`, "", "", false},
		{"another type", `{"type":"array"}`, "", "type", false},
		{"list of types", `{"type":["object"]}`, "", "type", false},
		{"anyOf on top", `{"type":"object","anyOf":[{}]}`, "", "anyOf", false},
		{"oneOf on top", `{"type":"object","oneOf":[{}]}`, "", "oneOf", false},
		{"allOf on top", `{"type":"object","allOf":[{}]}`, "", "allOf", false},
		{"another draft", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`, "/$schema", "$schema", false},
		{"remote ref", object(`{"a":{"$ref":"http://127.0.0.1:1/x.json"}}`), "/properties/a/$ref", "$ref", false},
		{"file ref", object(`{"a":{"$ref":"file:///etc/passwd"}}`), "/properties/a/$ref", "$ref", false},
		{"relative ref", object(`{"a":{"$ref":"other.json#/x"}}`), "/properties/a/$ref", "$ref", false},
		{"remote ref of an older draft", object(`{"a":{"$recursiveRef":"http://json-schema.org/draft-07/schema"}}`), "/properties/a/$recursiveRef", "$recursiveRef", false},
		{"pattern in dependencies", `{"type":"object","dependencies":{"a":{"pattern":"("}}}`, "/dependencies/a/pattern", "pattern", false},
		{"dangling ref", object(`{"a":{"$ref":"#/$defs/none"}}`), "/properties/a/$ref", "$ref", false},
		{"dangling anchor", object(`{"a":{"$ref":"#none"}}`), "/properties/a/$ref", "$ref", false},
		{"endless", `{"type":"object","$ref":"#"}`, "", "$ref", false},
		{"pattern", object(`{"a":{"pattern":"(?=x)"}}`), "/properties/a/pattern", "pattern", false},
		{"pattern of properties", object(`{"a":{"patternProperties":{"(":{}}}}`), "/properties/a/patternProperties/(", "patternProperties", false},
		{"space in a name", object(`{"my name":{}}`), "/properties/my name", "properties", false},
		{"slash in a name", object(`{"a":{"properties":{"x/y~":{}}}}`), "/properties/a/properties/x~1y~0", "properties", false},
		{"64 characters", object(`{"` + strings.Repeat("n", 64) + `":{}}`), "", "", true},
		{"65 characters", object(`{"` + strings.Repeat("n", 65) + `":{}}`), "/properties/" + strings.Repeat("n", 65), "properties", false},
		{"wrong value of a keyword", object(`{"a":{"minLength":-1}}`), "/properties/a/minLength", "minLength", false},
		{"wrong type", object(`{"a":{"type":"strnig"}}`), "/properties/a/type", "type", false},
		{"wrong required", `{"type":"object","required":[1]}`, "/required/0", "required", false},
		{"a schema that is a number", object(`{"a":5}`), "/properties/a", "properties", false},
		{"a name twice", object(`{"a":{"type":"string","type":"number"}}`), "/properties/a", "type", false},
		{"exponent", object(`{"a":{"maximum":1e100001}}`), "/properties/a/maximum", "exponent", false},
		{"exponent in bounds", object(`{"a":{"maximum":1e100000}}`), "", "", true},
		{"64 KiB", `{"type":"object"` + strings.Repeat(" ", 64<<10-17) + `}`, "", "", true},
		{"over 64 KiB", `{"type":"object"` + strings.Repeat(" ", 64<<10-16) + `}`, "", "", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := jsonschema.Check(json.RawMessage(c.schema))
			var invalid *jsonschema.Invalid
			switch {
			case c.fine && err != nil:
				t.Fatalf("refused: %v", err)
			case c.fine:
			case !errors.As(err, &invalid):
				t.Fatalf("Check = %v, want *Invalid", err)
			case c.name != "200 and more levels" && invalid.Pointer != c.pointer || invalid.Keyword != c.keyword || invalid.Reason == "":
				t.Fatalf("Check = %+v, want %q %q", invalid, c.pointer, c.keyword)
			}
		})
	}
}

func TestS2CheckValidate(t *testing.T) {
	t.Parallel()
	slides := object(`{"slides":{"type":"array","items":{"type":"object","required":["heading"],"properties":{"heading":{"type":"string","minLength":2,"pattern":"^[A-Z]"}}}}}`)
	closed := `{"type":"object","properties":{"a":{"type":"integer"},"b":{"enum":["x","y"]}},"required":["a"],"additionalProperties":false}`
	cases := []struct{ name, schema, arguments, line string }{
		{"fits", slides, `{"slides":[{"heading":"One"}]}`, ""},
		{"missing member", slides, `{"slides":[{}]}`, "/slides/0/heading: required"},
		{"missing at the top", closed, `{}`, "/a: required"},
		{"not an object", closed, `[]`, "(root): type"},
		{"document order", slides, `{"slides":[{"heading":"One"},{"heading":3},{}]}`, "/slides/1/heading: type"},
		{"alphabet at one place", slides, `{"slides":[{"heading":"a"}]}`, "/slides/0/heading: minLength"},
		{"required before additional", closed, `{"c":1,"d":2}`, "/a: required"},
		{"additional, first in the document", closed, `{"a":1,"d":2,"c":3}`, "/d: additionalProperties"},
		{"members in document order", closed, `{"b":"z","a":"s"}`, "/b: enum"},
		{"escaped", object(`{"m":{"additionalProperties":{"type":"string"}}}`), `{"m":{"a/b~c":1}}`, "/m/a~1b~0c: type"},
		{"one line", object(`{"m":{"additionalProperties":{"type":"string"}}}`), `{"m":{"a\nstdout:\u0000\u2028b":1}}`, `/m/a\u000astdout:\u0000\u2028b: type`},
		{"a short line", `{"type":"object","additionalProperties":false}`, `{"a` + strings.Repeat("é", 100_000) + `":1}`, "/a" + strings.Repeat("é", 199) + "…: additionalProperties"},
		{"alternatives", object(`{"a":{"anyOf":[{"type":"string"},{"type":"object","required":["x"]}]}}`), `{"a":{}}`, "/a: anyOf"},
		{"allOf tells its part", object(`{"a":{"allOf":[{"minimum":3},{"maximum":9}]}}`), `{"a":1}`, "/a: minimum"},
		{"ref tells its part", `{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"number"}}}`, `{"a":"1"}`, "/a: type"},
		{"false", object(`{"a":false}`), `{"a":1}`, "/a: properties"},
		{"unevaluated", `{"type":"object","properties":{"a":{}},"unevaluatedProperties":false}`, `{"b":1}`, "/b: unevaluatedProperties"},
		{"not", object(`{"a":{"not":{"type":"string"}}}`), `{"a":"s"}`, "/a: not"},
		{"names", object(`{"z":{"propertyNames":{"pattern":"^x"}},"q":{"propertyNames":{"maxLength":3}}}`), `{"z":{"xa":1,"ya":2},"q":{"long":1}}`, "/z/ya: propertyNames"},
		{"names, one deeper", object(`{"z":{"additionalProperties":{"propertyNames":{"maxLength":1}}}}`), `{"z":{"p":{"a":1},"q":{"bb":1},"r":{"c":1}}}`, "/z/q/bb: propertyNames"},
		{"numbers are exact", object(`{"a":{"const":9007199254740993}}`), `{"a":9007199254740992}`, "/a: const"},
		{"one is one", object(`{"a":{"type":"integer","const":1}}`), `{"a":1.0}`, ""},
		{"large exponent", object(`{"a":{"maximum":1}}`), `{"a":1e400}`, "/a: maximum"},
		{"too large exponent", object(`{"a":{}}`), `{"a":[1,1e-100001]}`, "/a/1: exponent"},
		{"too many large exponents", object(`{"a":{}}`), `{"a":[` + strings.Repeat("1e100000,", 10) + `1e1]}`, "/a/10: exponent"},
		{"formats are not asserted", object(`{"a":{"format":"date"}}`), `{"a":"no date"}`, ""},
		{"dependent", `{"type":"object","dependentRequired":{"a":["b"]}}`, `{"a":1}`, "/b: dependentRequired"},
		{"dependencies of an older draft", `{"type":"object","dependencies":{"a":["b"],"c":{"required":["d"]}}}`, `{"a":1,"c":1}`, "/d: required"},
		{"names that depend, of an older draft", `{"type":"object","dependencies":{"a":["b"]}}`, `{"a":1}`, "(root): dependency"},
		{"a reference of an older draft", `{"type":"object","properties":{"a":{"$recursiveRef":"#"}}}`, `{"a":{"a":1}}`, "/a/a: type"},
		{"annotations may be anything", object(`{"a":{"title":1,"deprecated":"x","examples":{}}}`), `{"a":1}`, ""},
		{"no schema where one would be", `{"type":"object","dependencies":{"a":5}}`, `{"a":1}`, ""},
		{"multiples of nothing", `{"type":"object","dependencies":{"a":{"properties":{"a":{"multipleOf":0}}}}}`, `{"a":1}`, ""},
		{"of a name twice the last counts", object(`{"a":{"type":"string"}}`), `{"a":1,"a":"s"}`, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			schema, err := jsonschema.Compile(json.RawMessage(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			for range 20 { // the library's order is random
				line := ""
				var violation *jsonschema.Violation
				if err := schema.Validate(json.RawMessage(c.arguments)); errors.As(err, &violation) {
					line = err.Error()
				} else if err != nil {
					t.Fatal(err)
				}
				if line != c.line {
					t.Fatalf("Validate = %q, want %q", line, c.line)
				}
			}
		})
	}
}

func TestValidateNoJSON(t *testing.T) {
	t.Parallel()
	schema, err := jsonschema.Compile(json.RawMessage(`{"type":"object"}`))
	if err != nil {
		t.Fatal(err)
	}
	var violation *jsonschema.Violation
	for _, text := range []string{"", "{", `{"a":1}}`, "nul", `{"a" 1}`} {
		if err := schema.Validate(json.RawMessage(text)); err == nil || errors.As(err, &violation) {
			t.Errorf("Validate(%q) = %v", text, err)
		}
	}
}

// TestValidateBounded: schemas whose work doubles with each level end at the budget.
func TestValidateBounded(t *testing.T) {
	t.Parallel()
	var defs []string
	for i := range 60 {
		defs = append(defs, fmt.Sprintf(`"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1))
	}
	doubling := `{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{` + strings.Join(defs, ",") + `,"d60":{"minimum":5}}}`
	schema, err := jsonschema.Compile(json.RawMessage(doubling))
	if err != nil {
		t.Fatal(err)
	}
	schema.LimitSteps(20_000)
	for range 2 { // the budget is for each use
		if err := schema.Validate(json.RawMessage(`{"a":1}`)); err == nil || err.Error() != "(root): complexity" {
			t.Fatalf("Validate = %v", err)
		}
	}
	if err := schema.Validate(json.RawMessage(`{"b":1}`)); err != nil {
		t.Fatalf("Validate = %v", err)
	}
	many, err := jsonschema.Compile(json.RawMessage(object(`{"a":{"type":"array","items":{"type":"integer","minimum":0}}}`)))
	if err != nil {
		t.Fatal(err)
	}
	if err := many.Validate(json.RawMessage(`{"a":[` + strings.Repeat("1,", 50_000) + `1]}`)); err != nil {
		t.Fatalf("many numbers: %v", err)
	}
}

// TestValidateWork: work that grows with the schema times the arguments is bounded too, in time and memory; what tools need is far below.
func TestValidateWork(t *testing.T) {
	t.Parallel()
	list := func(n int, item func(int) string) string {
		items := make([]string, n)
		for i := range items {
			items[i] = item(i)
		}
		return strings.Join(items, ",")
	}
	same := func(text string) func(int) string { return func(int) string { return text } }
	numbers := list(10_000, func(i int) string { return fmt.Sprint(i) })
	names := list(5_000, func(i int) string { return fmt.Sprintf(`"a%d"`, i) })
	cases := []struct {
		name, items, arguments string
		line                   string
	}{
		{"enum of numbers", `{"enum":[` + numbers + `]}`, list(100_000, same("9999")), ""},
		{"required", `{"required":[` + names + `]}`, list(100_000, same("{}")), "/a/0/a0: required"},
		{"dependentRequired", `{"dependentRequired":{"b":[` + names + `]}}`, list(100_000, same(`{"b":1}`)), "/a/0/a0: dependentRequired"},
		{"patternProperties", `{"patternProperties":{` + list(1_000, func(i int) string { return fmt.Sprintf(`"(a|b%d)*x":{}`, i) }) + `}}`,
			`{` + list(10_000, func(i int) string { return fmt.Sprintf(`"abab%d":1`, i) }) + `}`, "(root): complexity"},
		{"allOf", `{"allOf":[` + list(3_000, same(`{"type":"string"}`)) + `]}`, list(100_000, same("1")), "(root): complexity"},
		{"long texts", `{"pattern":"y"}`, list(20, same(`"`+strings.Repeat("x", 900_000)+`"`)), "(root): complexity"},
		{"an enum of 200 texts", `{"enum":[` + list(199, func(i int) string { return fmt.Sprintf(`"country %d"`, i) }) + `,"x"]}`, list(100_000, same(`"x"`)), ""},
		{"rows with 50 columns", `{"required":[` + list(50, func(i int) string { return fmt.Sprintf(`"a%d"`, i) }) + `],"additionalProperties":{"anyOf":[{"type":"number"},{"type":"null"}]}}`,
			list(1_000, same(`{`+list(50, func(i int) string { return fmt.Sprintf(`"a%d":%d`, i, i) })+`}`)), ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			schema, err := jsonschema.Compile(json.RawMessage(object(`{"a":{"items":` + c.items + `}}`)))
			if err != nil {
				t.Fatal(err)
			}
			line := ""
			if err := schema.Validate(json.RawMessage(`{"a":[` + c.arguments + `]}`)); err != nil {
				line = err.Error()
			}
			if line != c.line {
				t.Fatalf("Validate = %.200s, want %q", line, c.line)
			}
		})
	}
}

// doubling is a schema that applies another to `a` again and again, 2^60 times.
func doubling(leaf string) string {
	var defs []string
	for i := range 60 {
		defs = append(defs, fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1))
	}
	return `{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{` + strings.Join(defs, ",") + `,"d60":` + leaf + `}}`
}

// listed repeats an item n times, with commas; %d is its number.
func listed(n int, item string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = strings.ReplaceAll(item, "%d", strconv.Itoa(i))
	}
	return strings.Join(items, ",")
}

// TestValidateCounted: all work is counted, in steps and in memory. Each case is known to do at least so many of what a step is, and
// ends at the budget with less than a budget's memory.
func TestValidateCounted(t *testing.T) {
	t.Parallel()
	nested := strings.Repeat(`{"a":`, 190) + "{}" + strings.Repeat("}", 190)
	long := func(n int) string { return `{"a":"` + strings.Repeat("x", n) + `"}` }
	keys := func(n int) string { return `{"a":{` + listed(n, `"k%d":1`) + `}}` }
	often := func(leaf string) string {
		return object(`{"a":{"allOf":[`+listed(100, `{"$ref":"#/$defs/l"}`)+`]}},"$defs":{"l":`+leaf) + `}`
	}
	cases := []struct {
		name, schema, arguments string
		least                   int // steps that it takes at least, up to the budget
	}{
		{"alternatives in alternatives", `{"type":"object","properties":{"a":{"$ref":"#/$defs/t"}},"$defs":{"t":{"anyOf":[` +
			listed(20, `{"type":"object","additionalProperties":{"$ref":"#/$defs/t"},"required":["z%d"]}`) + `]}}}`, nested, 1e9},
		{"faults in faults", `{"type":"object","properties":{"a":{"$ref":"#/$defs/t"}},"$defs":{"t":{"allOf":[` +
			listed(20, `{"additionalProperties":{"$ref":"#/$defs/t"},"required":["z%d"]}`) + `]}}}`, nested, 1e9},
		{"types that do not fit", doubling(`{"anyOf":[` + listed(1000, `{"type":"string"}`) + `,{}]}`), `{"a":1}`, 1e9},
		{"a large program", object(`{"a":{"pattern":"` + strings.Repeat(".*", 1000) + `z"}}`), long(10_000), 10_000 * 1000},
		{"a program of nothing", object(`{"a":{"pattern":"` + strings.Repeat("(a|)", 1000) + `$"}}`), long(2000), 2000 * 1000},
		{"a class", object(`{"a":{"pattern":"(\\p{L}|x)*z"}}`), long(10_000), 10_000},
		{"patterns of one text", object(`{"a":{"allOf":[` + listed(1000, `{"pattern":"y%d"}`) + `]}}`), long(10_000), 10_000 * 1000},
		{"patterns of a huge name", object(`{"a":{"allOf":[` + listed(1000, `{"patternProperties":{"y%d":{}}}`) + `]}}`), `{"a":{"` + strings.Repeat("x", 10_000) + `":1}}`, 10_000 * 1000},
		{"patterns of many names", object(`{"a":{"patternProperties":{` + listed(1000, `"y%d":{}`) + `}}}`), keys(1000), 1000 * 1000},
		{"a huge name", object(`{"a":{"allOf":[` + listed(1000, `{"properties":{"y":{}}}`) + `]}}`), `{"a":{"` + strings.Repeat("x", 100_000) + `":1}}`, 1000 * 100_000 / 8},
		{"lengths", often(`{"minLength":1}`), long(100_000), 1e9},
		{"large texts in an enum", often(`{"enum":["` + strings.Repeat("x", 50_000) + `"]}`), long(50_000), 100 * 50_000 / 8},
		{"long numbers", often(`{"minimum":1}`), `{"a":` + strings.Repeat("7", 100_000) + `}`, 1e9},
		{"digits that divide", object(`{"a":{"multipleOf":` + strings.Repeat("7", 10_000) + `}}`), `{"a":` + strings.Repeat("7", 10_000) + `e100000}`, 500 * 500},
		{"long multiples", object(`{"a":{"multipleOf":7}}`), `{"a":` + strings.Repeat("7", 1_000_000) + `}`, 1e9},
		{"unique in unique", `{"type":"object","properties":{"a":{"$ref":"#/$defs/u"}},"$defs":{"u":{"uniqueItems":true,"items":{"$ref":"#/$defs/u"}}}}`,
			`{"a":` + strings.Repeat("[", 190) + listed(1000, `%d`) + strings.Repeat("]", 190) + `}`, 190 * 1000},
		{"unique", object(`{"a":{"uniqueItems":true}}`), `{"a":[` + listed(10_000, `{"%d":%d}`) + `]}`, 20_000 * 40},
		{"large values in an enum", often(`{"not":{"enum":[[1],{"a":1}]}}`), keys(1000), 1e9},
		{"contains", often(`{"contains":{"const":3}}`), `{"a":[` + listed(10_000, "1") + `]}`, 1e9},
		{"unevaluated", often(`{"unevaluatedProperties":true,"allOf":[{},{"x":1}]}`), keys(10_000), 1e9},
		{"unevaluated items", often(`{"unevaluatedItems":true,"allOf":[{},{"x":1}]}`), `{"a":[` + listed(10_000, "1") + `]}`, 1e9},
		{"dependent schemas", often(`{"dependentSchemas":{` + listed(500, `"k%d":{"required":["k0"]}`) + `}}`), keys(500), 100 * 500 * 8},
		{"dependent names", often(`{"dependentRequired":{` + listed(500, `"k%d":["k0"]`) + `}}`), keys(500), 100 * 500 * 8},
		{"dependents of nothing", often(`{"dependentSchemas":{` + listed(500, `"k%d":{"x":1}`) + `}}`), `{"a":{}}`, 100 * 500 * 8},
		{"items without a rule", often(`{"prefixItems":[{"x":1}]}`), `{"a":[` + listed(9_000, "1") + `]}`, 100 * 9_000},
		{"references that only lead on", object(`{"a":{"items":{"$ref":"#/$defs/d0"}}},"$defs":{`+refChain(200)) + `}`, `{"a":[` + listed(1000, "1") + `]}`, 1000 * 200 * 8},
		{"small numbers", often(`{"items":{"minimum":1}}`), `{"a":[` + listed(200, "1") + `]}`, 100 * 200 * 40},
		{"names", object(`{"a":{"propertyNames":{"allOf":[` + listed(1000, `{"minLength":1}`) + `]}}}`), keys(1000), 1000 * 1000},
		{"required names", object(`{"a":{"allOf":[` + listed(1000, `{"required":["k0","k1","k2"]}`) + `]}}`), keys(1000), 1000 * 1000},
		{"chains of references", doubling(`{"x":1}`), `{"a":1}`, 1e9},
		{"references without an end", object(`{"a":{"$ref":"#/properties/b"},"b":{"$ref":"#/properties/a"}}`), `{"a":1}`, 1},
		{"dynamic references", `{"type":"object","properties":{"a":{"$dynamicRef":"#t"}},"$defs":{"t":{"$dynamicAnchor":"t","anyOf":[` +
			listed(20, `{"additionalProperties":{"$dynamicRef":"#t"},"required":["z%d"]}`) + `]}}}`, nested, 1e9},
		{"depth", object(`{"a":{"$ref":"#/$defs/t"}},"$defs":{"t":` + strings.Repeat(`{"x":1,"not":`, 90) + `{"additionalProperties":{"$ref":"#/$defs/t"}}` + strings.Repeat("}", 91)),
			nested, 4096},
	}
	const budget = 1_000_000
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			schema, err := jsonschema.Compile(json.RawMessage(c.schema))
			if err != nil {
				t.Fatalf("%.300v", err)
			}
			schema.LimitSteps(budget)
			steps, memory, spent := schema.Cost(c.arguments)
			if want := c.least > budget; steps < min(c.least, budget) || want && !spent {
				t.Fatalf("%d steps (spent: %t), want %d", steps, spent, c.least)
			}
			if memory > 25<<20 {
				t.Fatalf("%d bytes at a time", memory)
			}
			line := ""
			if err := schema.Validate(json.RawMessage(c.arguments)); err != nil {
				line = err.Error()
			}
			if spent != (line == "(root): complexity") {
				t.Fatalf("Validate = %.100s", line)
			}
		})
	}
}

// TestValidateHeld: what a check holds is counted, and there is an end to it.
func TestValidateHeld(t *testing.T) {
	t.Parallel()
	items := `{"a":[` + listed(10_000, "%d") + `]}`
	cases := []struct {
		name, schema, arguments string
		least                   int // bytes at a time
	}{
		{"digests", object(`{"a":{"uniqueItems":true}}`), items, 10_000 * 36},
		{"members of a digest", object(`{"a":{"const":{}}}`), `{"a":{` + listed(10_000, `"%d":1`) + `}}`, 10_000 * 48},
		{"marks", object(`{"a":{` + strings.Repeat(`"unevaluatedItems":true,"allOf":[{`, 50) + strings.Repeat(`}]`, 50) + `}}`), items, 50 * 10_000 / 8},
		{"names asked for", object(`{"a":{"required":[` + listed(5000, `"k%d"`) + `]}}`), `{"a":{}}`, 5000 / 8},
		{"a program", object(`{"a":{"pattern":"a{1000}"}}`), `{"a":"a"}`, 1000 * 16},
		{"digits", object(`{"a":{"multipleOf":7}}`), `{"a":` + strings.Repeat("7", 100_000) + `}`, 100_000 / 19 * 24},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			schema, err := jsonschema.Compile(json.RawMessage(c.schema))
			if err != nil {
				t.Fatalf("%.300v", err)
			}
			if _, memory, spent := schema.Cost(c.arguments); memory < c.least || memory > 4*c.least+20_000 || spent {
				t.Fatalf("%d bytes (spent: %t), want %d", memory, spent, c.least)
			}
			schema.LimitMemory(c.least - 1)
			if err := schema.Validate(json.RawMessage(c.arguments)); err == nil || err.Error() != "(root): complexity" {
				t.Fatalf("Validate = %.100v", err)
			}
		})
	}
}

// TestValidateCheap: what tools need costs a small part of the budget, and no more than in proportion.
func TestValidateCheap(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, schema, arguments string
		most                    int // steps
	}{
		{"half a million numbers", object(`{"a":{"items":{"type":"integer","minimum":0}}}`), `{"a":[` + listed(500_000, "1") + `]}`, 32_000_000},
		{"an enum of 5,000 numbers", object(`{"a":{"items":{"enum":[` + listed(5000, "%d") + `]}}}`), `{"a":[` + listed(10_000, "4999") + `]}`, 1_000_000},
		{"100,000 unique numbers", object(`{"a":{"uniqueItems":true}}`), `{"a":[` + listed(100_000, "%d") + `]}`, 16_000_000},
		{"100,000 names by a counted pattern", object(`{"a":{"items":{"pattern":"^[a-z0-9-]{1,63}$"}}}`), `{"a":[` + listed(100_000, `"abc-%d"`) + `]}`, 16_000_000},
		{"a counted pattern and a long text", object(`{"a":{"pattern":"^.{1,1000}$"}}`), `{"a":"` + strings.Repeat("x", 900) + `"}`, 20_000},
		{"an anchored pattern that fails at once", object(`{"a":{"pattern":"^b.*"}}`), `{"a":"` + strings.Repeat("x", 900_000) + `"}`, 1000},
		{"a mebibyte by a pattern", object(`{"a":{"pattern":"^[a-z0-9-]+@[a-z]+\\.com$"}}`), `{"a":"` + strings.Repeat("x", 1<<20) + `@a.com"}`, 16_000_000},
		{"large exponents", object(`{"a":{"items":{"minimum":-1e100000,"maximum":1e100000,"multipleOf":1e-100000}}}`), `{"a":[` + listed(9, "1e100000") + `,1e-100000]}`, 20_000},
		{"50 required names", object(`{"a":{"items":{"required":[` + listed(50, `"a%d"`) + `]}}}`), `{"a":[` + listed(1000, `{`+strings.ReplaceAll(listed(50, `"a#":1`), "#", "%d")+`}`) + `]}`, 16_000_000},
		{"a chain of references", object(`{"a":{"items":{"$ref":"#/$defs/d0"}}},"$defs":{`+refChain(200)) + `}`, `{"a":[` + listed(1000, "1") + `]}`, 3_000_000},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			schema, err := jsonschema.Compile(json.RawMessage(c.schema))
			if err != nil {
				t.Fatalf("%.300v", err)
			}
			if steps, memory, spent := schema.Cost(c.arguments); spent || steps > c.most || memory > 20<<20 {
				t.Fatalf("%d steps of %d, %d bytes, spent: %t", steps, c.most, memory, spent)
			}
		})
	}
}

func refChain(n int) string {
	var defs []string
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1))
	}
	return strings.Join(defs, ",") + fmt.Sprintf(`,"d%d":{"type":"integer"}`, n)
}

// TestCompileBounded: what would make a schema much work to compile is refused by its place.
func TestCompileBounded(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, schema, pointer, keyword, reason string }{
		{"programs", object(`{"x":{"pattern":"^a{1000}$"},` + listed(60, `"y%d":{"pattern":"%d{1000}"}`) + `}`), "/properties/y48/pattern", "pattern", "50000 instructions"},
		{"a program", object(`{"x":{"pattern":"` + strings.Repeat(".*", 30_000) + `"}}`), "/properties/x/pattern", "pattern", "50000 instructions"},
		{"names of programs", object(`{"x":{"patternProperties":{` + listed(60, `"%d{1000}":{}`) + `}}}`), "/properties/x/patternProperties/49{1000}", "patternProperties", "50000 instructions"},
		{"programs where a reference leads to", object(`{"x":{"$ref":"#/x-any/0"}}`)[:len(object(`{"x":{"$ref":"#/x-any/0"}}`))-1] +
			`,"x-any":[{"allOf":[` + listed(60, `{"pattern":"%d{1000}"}`) + `]}]}`, "/x-any/0/allOf/49/pattern", "pattern", "50000 instructions"},
		{"a bad pattern where a reference leads to", `{"type":"object","properties":{"x":{"$ref":"#/x-any"}},"x-any":{"pattern":"("}}`, "/x-any/pattern", "pattern", "RE2"},
		{"classes", object(`{"x":{"pattern":"` + strings.Repeat(`\\pL`, 9000) + `"}}`), "/properties/x/pattern", "pattern", "classes"},
		{"ranges that ignore case", object(`{"x":{"pattern":"(?i)` + strings.Repeat(`[a-\\x{1e900}]`, 20) + `"}}`), "/properties/x/pattern", "pattern", "classes"},
		{"schemas", object(`{"x":{"prefixItems":[` + listed(5000, "{}") + `]}}`), "/properties/x/prefixItems/4094", "prefixItems", "4096 schemas"},
		{"pointers", `{"type":"object","patternProperties":{"` + strings.Repeat("x", 30_000) + `":{"allOf":[` + listed(100, "{}") + `]}}}`,
			"/patternProperties/" + strings.Repeat("x", 30_000) + "/allOf/33", "allOf", "1048576 bytes"},
		{"another draft where a reference leads to", `{"type":"object","properties":{"x":{"$ref":"#/x-any"}},"x-any":{"$schema":"http://json-schema.org/draft-07/schema#"}}`,
			"/x-any/$schema", "$schema", "2020-12"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := jsonschema.Check(json.RawMessage(c.schema))
			var invalid *jsonschema.Invalid
			if !errors.As(err, &invalid) || invalid.Pointer != c.pointer || invalid.Keyword != c.keyword || !strings.Contains(invalid.Reason, c.reason) {
				t.Fatalf("Check = %.300v", err)
			}
		})
	}
	for _, fine := range []string{
		object(`{` + listed(49, `"y%d":{"pattern":"%d{1000}"}`) + `}`),
		object(`{` + listed(1000, `"y%d":{"pattern":"^[a-z0-9-]{1,63}$"}`) + `}`), // one program
		object(`{` + listed(300, `"y%d":{"pattern":"(?i)^[a-z0-9-]+%d$"}`) + `}`),
		object(`{"x":{"prefixItems":[` + listed(4000, `{"x":1}`) + `]}}`),
	} {
		schema, err := jsonschema.Compile(json.RawMessage(fine))
		if err != nil {
			t.Fatalf("Compile(%.100s…) = %v", fine, err)
		}
		if schema.Size() < len(fine) {
			t.Errorf("%.100s… has %d bytes, and takes %d", fine, len(fine), schema.Size())
		}
	}
}

// TestValidateDeepest: the longest chain of references at the deepest value fits the stack.
func TestValidateDeepest(t *testing.T) {
	t.Parallel()
	var defs []string
	const chain = 250
	for i := range chain {
		defs = append(defs, fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1))
	}
	text := `{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{` + strings.Join(defs, ",") +
		fmt.Sprintf(`,"d%d":{"properties":{"a":{"$ref":"#/$defs/d0"}}}}}`, chain)
	schema, err := jsonschema.Compile(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(json.RawMessage(strings.Repeat(`{"a":`, 199) + "1" + strings.Repeat("}", 199))); err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(json.RawMessage(strings.Repeat(`{"a":`, 201) + "1" + strings.Repeat("}", 201))); err == nil || !strings.HasSuffix(err.Error(), ": depth") {
		t.Fatalf("201 levels: %v", err)
	}
}

func FuzzCompile(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":["string","null"]}}}`, `{"a":1}`)
	f.Add(`{"type":"object","propertyNames":{"pattern":"^a"},"patternProperties":{"b":false}}`, `{"ab":1}`)
	f.Add(`{"type":"object","$id":"x","$dynamicRef":"#y","$dynamicAnchor":"y"}`, `{}`)
	f.Add(`{"type":"object","if":{"required":["a"]},"then":{"unevaluatedProperties":{"contains":{}}}}`, `{"a":[1,2e5]}`)
	f.Fuzz(func(t *testing.T, schema, arguments string) {
		s, err := jsonschema.Compile(json.RawMessage(schema))
		if err != nil {
			var invalid *jsonschema.Invalid
			if !errors.As(err, &invalid) {
				t.Fatalf("Compile(%q) = %v", schema, err)
			}
			return
		}
		var violation *jsonschema.Violation
		if err := s.Validate(json.RawMessage(arguments)); err != nil && json.Valid([]byte(arguments)) && !errors.As(err, &violation) {
			t.Fatalf("Validate(%q, %q) = %v", schema, arguments, err)
		}
	})
}
