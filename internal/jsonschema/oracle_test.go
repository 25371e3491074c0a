package jsonschema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	lib "github.com/santhosh-tekuri/jsonschema/v6"
	libkind "github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/message"
)

// The library validates too, and is right where it comes to an end. Its answers, sorted by the package's rule, must be the package's own.

// oracle answers what the library says of a value: the line of a Violation, or "".
func oracle(t *testing.T, schema, value string) string {
	t.Helper()
	c := lib.NewCompiler()
	c.DefaultDraft(lib.Draft2020)
	c.AssertVocabs()
	c.UseRegexpEngine(func(pattern string) (lib.Regexp, error) { return regexp.Compile(pattern) })
	c.RegisterVocabulary(&lib.Vocabulary{URL: "https://oracle.invalid/names", Compile: func(ctx *lib.CompilerContext, object map[string]any) (lib.SchemaExt, error) {
		if _, ok := object["propertyNames"]; ok {
			return &oracleNames{ctx.Enqueue([]string{"propertyNames"})}, nil
		}
		return nil, nil
	}})
	text, err := lib.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddResource(base, text); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile(base)
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(value)))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		t.Fatal(err)
	}
	var faults *lib.ValidationError
	if !errors.As(compiled.Validate(v), &faults) {
		return ""
	}
	d, err := parse(json.RawMessage(value))
	if err != nil {
		t.Fatal(err)
	}
	var first *fault
	oracleFaults(d, faults, func(path []string, keyword, member string, isMember bool) {
		n, ok := oracleNode(d, path)
		if !ok {
			t.Fatalf("%s: no %v in %s", schema, path, value)
		}
		found := &check{first: first}
		if isMember {
			found.fault(true, n, keyword, &member)
		} else {
			found.fault(true, n, keyword, nil)
		}
		first = found.first
	})
	return (&Violation{pointer(d.faultPath(first)), first.keyword}).Error()
}

// oracleNode finds a value.
func oracleNode(d *document, path []string) (n int, ok bool) {
	w := &walker{document: d}
	for _, token := range path {
		if n = w.child(n, token); n < 0 {
			return 0, false
		}
	}
	return n, true
}

type oracleNames struct{ schema *lib.Schema }

// Validate implements lib.SchemaExt.
func (o *oracleNames) Validate(ctx *lib.ValidatorContext, v any) {
	object, _ := v.(map[string]any)
	for name := range object {
		if o.schema.Validate(name) != nil {
			ctx.AddError(&oracleName{name})
		}
	}
}

type oracleName struct{ name string }

// KeywordPath implements lib.ErrorKind.
func (*oracleName) KeywordPath() []string { return []string{"propertyNames"} }

// LocalizedString implements lib.ErrorKind.
func (*oracleName) LocalizedString(*message.Printer) string { return "" }

// oracleFaults tells of each fault.
func oracleFaults(d *document, e *lib.ValidationError, found func(path []string, keyword, member string, isMember bool)) {
	path := e.InstanceLocation
	member := func(keyword string, names []string) {
		n, _ := oracleNode(d, path)
		place := func(name string) int { child, _ := d.member(n, name); return child }
		found(path, keyword, slices.MinFunc(names, func(a, b string) int { return cmp.Compare(place(a), place(b)) }), true)
	}
	switch k := e.ErrorKind.(type) {
	case *libkind.Schema, *libkind.Group, *libkind.AllOf, *libkind.Reference:
		for _, cause := range e.Causes {
			oracleFaults(d, cause, found)
		}
	case *libkind.PropertyNames:
	case *libkind.Required:
		member("required", k.Missing)
	case *libkind.DependentRequired:
		member("dependentRequired", k.Missing)
	case *libkind.AdditionalProperties:
		member("additionalProperties", k.Properties)
	case *oracleName:
		member("propertyNames", []string{k.name})
	case *libkind.Not:
		found(path, "not", "", false)
	case *libkind.RefCycle:
		found(path, "$ref", "", false)
	case *libkind.FalseSchema:
		_, fragment, _ := strings.Cut(e.SchemaURL, "#")
		place, _ := url.PathUnescape(fragment)
		found(path, keywordAt(tokens(place)), "", false)
	default:
		found(path, e.ErrorKind.KeywordPath()[0], "", false)
	}
}

// dice makes random schemas and values of few words, so that they meet.
type dice struct{ *rand.Rand }

func (d dice) of(from ...string) string { return from[d.IntN(len(from))] }

func (d dice) name() string { return d.of("a", "b", "ab", "c") }

func (d dice) scalar() string {
	return d.of("null", "true", "false", "0", "-0.0", "1", "1.0", "10e-1", "2", "2.5", "-3", "1e3", "1000", "0.05", "1e-30", "7e40", `""`, `"a"`, `"ab"`, `"é"`, `"\u0061"`)
}

func (d dice) many(most int, item func() string) string {
	items := make([]string, d.IntN(most+1))
	for i := range items {
		items[i] = item()
	}
	return strings.Join(items, ",")
}

// members makes an object of distinct names: the library sees no others.
func (d dice) members(most int, value func() string) string {
	seen := map[string]bool{}
	var parts []string
	for range d.IntN(most + 1) {
		if name := d.name(); !seen[name] {
			seen[name] = true
			parts = append(parts, fmt.Sprintf("%q:%s", name, value()))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func (d dice) value(depth int) string {
	if depth == 0 || d.IntN(3) == 0 {
		return d.scalar()
	}
	inner := func() string { return d.value(depth - 1) }
	if d.IntN(2) == 0 {
		return "[" + d.many(4, inner) + "]"
	}
	return d.members(4, inner)
}

func (d dice) names() string {
	names := []string{`"a"`, `"b"`, `"ab"`, `"c"`}
	d.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return "[" + strings.Join(names[:d.IntN(4)], ",") + "]"
}

func (d dice) pattern() string {
	return d.of("^a", "b", "b$", "^.$", "(a|b)+c?", `\\b`, "[^a]", "é", "(?i)A{1,2}$", "^$")
}

// schema makes a schema of a few keywords.
func (d dice) schema(depth int) string {
	if depth == 0 || d.IntN(8) == 0 {
		return d.of("true", "false", "{}", `{"type":"integer"}`, `{"type":["string","null"]}`, `{"type":"object"}`, `{"$ref":"#/$defs/x"}`, `{"$ref":"#y"}`, `{"$ref":"#/$defs/o"}`,
			`{"$dynamicRef":"#z"}`, `{"minimum":1}`, `{"required":["a"]}`, `{"properties":{"a":true}}`)
	}
	inner := func() string { return d.schema(depth - 1) }
	list := func() string { return "[" + inner() + "," + inner() + "]" }
	number := func() string { return d.of("0", "1", "2", "3") }
	keywords := map[string]func() string{
		"type": func() string {
			return d.of(`"string"`, `"object"`, `"array"`, `"number"`, `"integer"`, `["object","array"]`, `["integer","null","boolean"]`)
		},
		"const": func() string { return d.value(1) }, "enum": func() string { return "[" + d.value(1) + "," + d.value(2) + "," + d.scalar() + "]" },
		"$ref": func() string { return d.of(`"#/$defs/x"`, `"#y"`) }, "$dynamicRef": func() string { return `"#z"` },
		"allOf": list, "anyOf": list, "oneOf": list, "not": inner, "if": inner, "then": inner, "else": inner,
		"properties":           func() string { return d.members(3, inner) },
		"patternProperties":    func() string { return fmt.Sprintf("{%q:%s}", d.of("^a", "b", "b$"), inner()) },
		"additionalProperties": inner, "propertyNames": inner, "required": d.names,
		"dependentRequired": func() string { return d.members(2, d.names) },
		"dependentSchemas":  func() string { return d.members(2, inner) },
		"dependencies": func() string {
			return d.members(2, func() string {
				if d.IntN(2) == 0 {
					return d.names()
				}
				return inner()
			})
		},
		"unevaluatedProperties": inner, "unevaluatedItems": inner, "minProperties": number, "maxProperties": number,
		"prefixItems": list, "items": inner, "contains": inner, "minContains": number, "maxContains": number, "minItems": number, "maxItems": number,
		"uniqueItems": func() string { return "true" }, "minLength": number, "maxLength": number,
		"pattern": func() string { return `"` + d.pattern() + `"` },
		"minimum": func() string { return d.of("1", "0.5", "-3", "1e40") }, "maximum": func() string { return d.of("1", "2.5", "1e-29") },
		"exclusiveMinimum": func() string { return d.of("1", "0") }, "exclusiveMaximum": func() string { return d.of("1", "1000") },
		"multipleOf": func() string { return d.of("1", "0.5", "0.025", "3", "7", "20", "1e-31") },
	}
	var all []string
	for keyword := range keywords {
		all = append(all, keyword)
	}
	slices.Sort(all)
	d.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	parts := make([]string, 0, 4)
	for _, keyword := range all[:1+d.IntN(4)] {
		parts = append(parts, fmt.Sprintf("%q:%s", keyword, keywords[keyword]()))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// whole makes a schema with what its references lead to.
func (d dice) whole() string {
	return fmt.Sprintf(`{"type":"object","properties":{"a":%s,"b":%s},"additionalProperties":%s,"$defs":{"x":%s,"y":{"$anchor":"y","items":%s},`+
		`"z":{"$dynamicAnchor":"z","maxItems":2},"o":{"$id":"o","$dynamicAnchor":"z","properties":{"a":{"$dynamicRef":"#z"}},"not":{"const":%s}}},"unevaluatedProperties":%s}`,
		d.schema(3), d.schema(3), d.schema(1), d.schema(2), d.schema(1), d.scalar(), d.schema(1))
}

func TestAgainstLibrary(t *testing.T) {
	t.Parallel()
	refused := 0
	for seed := range uint64(250) {
		d := dice{rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // not for secrets
		text := d.whole()
		schema, err := Compile(json.RawMessage(text))
		if err != nil {
			t.Fatalf("Compile(%s) = %v", text, err)
		}
		for range 3 {
			value := d.members(4, func() string { return d.value(3) })
			got := ""
			if err := schema.Validate(json.RawMessage(value)); err != nil {
				got = err.Error()
			}
			if got != "" {
				refused++
			}
			if want := oracle(t, text, value); got != want {
				t.Fatalf("seed %d: %s\nof %s\nis %q, and the library's %q", seed, text, value, got, want)
			}
		}
	}
	if refused < 150 || refused > 600 {
		t.Fatalf("%d of 750 values are refused: that compares little", refused)
	}
}
