package jsonschema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	lib "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/message"
)

const (
	// maxSteps is how many schemas are applied in one Validate at most; a pattern counts by the text that it is matched with.
	maxSteps = 1_000_000
	// maxWork bounds the values of arguments times the schema's weight (see walker.weigh). The library compares each value with
	// each enum value and each required name, keeps every fault, and can be stopped in none of that.
	maxWork = 256_000_000
	// textStep is how much text is matched with a pattern in a step.
	textStep = 64
)

// Violation says where arguments break their schema first.
type Violation struct {
	Pointer string // JSON Pointer of the argument at fault; of a missing one where it would be
	Keyword string // the rule that it broke
}

// maxShown is how much of a pointer a line tells, in bytes: names are the caller's, and as long as they like.
const maxShown = 400

// Error implements error: it is the line that a model reads, such as `/slides/0/heading: required` or `(root): type`. It is one
// line, and a short one: control characters are escaped as in JSON, and a long pointer ends with `…`.
func (v *Violation) Error() string {
	shown := v.Pointer
	if len(shown) > maxShown {
		cut := maxShown
		for !utf8.RuneStart(shown[cut]) {
			cut--
		}
		shown = shown[:cut] + "…"
	}
	var line strings.Builder
	for _, r := range cmp.Or(shown, "(root)") {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			fmt.Fprintf(&line, `\u%04x`, r)
		} else {
			line.WriteRune(r)
		}
	}
	return line.String() + ": " + v.Keyword
}

// Validate checks arguments, a JSON value, against the schema, and answers a *Violation for the first fault. Text that is no JSON value
// is another error.
func (s *Schema) Validate(arguments json.RawMessage) error {
	root, err := parse(arguments)
	var bound *parseFault
	if errors.As(err, &bound) {
		return &Violation{bound.pointer, cmp.Or(bound.keyword, "depth")}
	}
	if err != nil {
		return fmt.Errorf("arguments are no JSON value: %w", err)
	}
	if s.weight > 0 && root.count() > maxWork/s.weight {
		return &Violation{"", "complexity"}
	}
	err = s.apply(root.value)
	var faults *lib.ValidationError
	if errors.As(err, &faults) {
		first := firstOf(root, faults)
		return &Violation{pointer(first.path), first.keyword}
	}
	return err
}

// apply has the library validate, within the budget.
func (s *Schema) apply(value any) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.budget.left = s.steps
	defer spent(&err)
	return s.schema.Validate(value)
}

// spent, deferred, makes a panic of the budget an error.
func spent(err *error) {
	if r := recover(); r == errBudget { //nolint:errorlint // it is this very value
		*err = &Violation{"", "complexity"}
	} else if r != nil {
		panic(r)
	}
}

// endless says whether the schema applies itself to one and the same value.
func (s *Schema) endless() bool {
	var faults *lib.ValidationError
	return errors.As(s.apply(map[string]any{}), &faults) && cyclic(faults)
}

func cyclic(e *lib.ValidationError) bool {
	if _, ok := e.ErrorKind.(*kind.RefCycle); ok {
		return true
	}
	return slices.ContainsFunc(e.Causes, cyclic)
}

var errBudget = errors.New("jsonschema: budget spent")

// budget counts the steps of one validation, and panics with errBudget: the library knows no other way out.
type budget struct{ left int }

// Validate implements lib.SchemaExt.
func (b *budget) Validate(*lib.ValidatorContext, any) { b.spend(1) }

func (b *budget) spend(steps int) {
	if b.left -= steps; b.left < 0 {
		panic(errBudget)
	}
}

// expression is a pattern whose matching is counted.
type expression struct {
	*regexp.Regexp
	budget *budget
}

// MatchString implements lib.Regexp.
func (e *expression) MatchString(text string) bool {
	e.budget.spend(1 + len(text)/textStep)
	return e.Regexp.MatchString(text)
}

// names counts a step, and checks propertyNames: the library's own answer to that loses the place.
type names struct {
	*budget
	schema *lib.Schema
}

// Validate implements lib.SchemaExt.
func (n *names) Validate(ctx *lib.ValidatorContext, v any) {
	n.budget.Validate(ctx, v)
	object, ok := v.(map[string]any)
	if !ok {
		return
	}
	for name := range object {
		if n.schema.Validate(name) != nil {
			ctx.AddError(&badName{name})
		}
	}
}

// badName is a property whose name breaks propertyNames.
type badName struct{ name string }

// KeywordPath implements lib.ErrorKind.
func (*badName) KeywordPath() []string { return []string{"propertyNames"} }

// LocalizedString implements lib.ErrorKind.
func (b *badName) LocalizedString(*message.Printer) string { return "bad name" }

// compile has the library compile a schema, with the budget in each part of it.
func compile(schema any, b *budget) (compiled *lib.Schema, err error) {
	b.left = maxSteps
	defer spent(&err)
	c := lib.NewCompiler()
	c.UseRegexpEngine(func(pattern string) (lib.Regexp, error) {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, err
		}
		return &expression{re, b}, nil
	})
	c.DefaultDraft(lib.Draft2020)
	c.UseLoader(noLoader{})
	c.AssertVocabs()
	c.RegisterVocabulary(&lib.Vocabulary{URL: "https://parameters.invalid/budget", Compile: func(ctx *lib.CompilerContext, object map[string]any) (lib.SchemaExt, error) {
		if _, ok := object["propertyNames"]; ok {
			return &names{b, ctx.Enqueue([]string{"propertyNames"})}, nil
		}
		return b, nil
	}})
	if err := c.AddResource(base, schema); err != nil {
		return nil, err
	}
	return c.Compile(base)
}

// noLoader fetches nothing.
type noLoader struct{}

// Load implements lib.URLLoader.
func (noLoader) Load(string) (any, error) { return nil, errors.New("nothing is fetched") }

// fault is a broken rule: where it sorts, what it is about, and the rule.
type fault struct {
	place   []int
	path    []string
	keyword string
	order   int // among the rules at one place
}

// firstOf answers the first fault in the value's document order.
func firstOf(root *node, e *lib.ValidationError) fault {
	var first *fault
	collect(root, e, func(f fault) {
		if first == nil || compare(f, *first) < 0 {
			first = &f
		}
	})
	if first == nil { // a group without members: the library makes none
		return fault{keyword: "schema"}
	}
	return *first
}

func compare(a, b fault) int {
	return cmp.Or(slices.Compare(a.place, b.place), cmp.Compare(a.order, b.order), cmp.Compare(a.keyword, b.keyword),
		slices.Compare(a.path, b.path))
}

// collect calls found for each fault. Alternatives (anyOf, oneOf, not, contains) are one fault: their parts are none.
func collect(root *node, e *lib.ValidationError, found func(fault)) {
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		for _, cause := range e.Causes {
			collect(root, cause, found)
		}
	case *kind.PropertyNames: // see names
	case *kind.Required:
		members(root, e, "required", k.Missing, found)
	case *kind.DependentRequired:
		members(root, e, "dependentRequired", k.Missing, found)
	case *kind.AdditionalProperties:
		members(root, e, "additionalProperties", k.Properties, found)
	case *badName:
		members(root, e, "propertyNames", []string{k.name}, found)
	default:
		found(at(root, e.InstanceLocation, keywordOf(e)))
	}
}

// members tells of faults that are about members of the object at the error's place: the first one, as the document or, where they are
// missing, the schema has them.
func members(root *node, e *lib.ValidationError, keyword string, names []string, found func(fault)) {
	object := root
	for _, token := range e.InstanceLocation {
		if object, _ = object.at(token); object == nil {
			return
		}
	}
	first := slices.MinFunc(names, func(a, b string) int {
		_, i := object.at(a)
		_, j := object.at(b)
		return cmp.Compare(i, j)
	})
	f := at(root, e.InstanceLocation, keyword)
	f.path = append(slices.Clone(f.path), first)
	found(f)
}

// at is the fault of a rule at a place.
func at(root *node, path []string, keyword string) fault {
	place := make([]int, 0, len(path))
	n := root
	for _, token := range path {
		var i int
		if n, i = n.at(token); n == nil {
			break
		}
		place = append(place, i)
	}
	order := slices.Index([]string{"type", "enum", "const", "required", "additionalProperties"}, keyword)
	if order < 0 {
		order = 5
	}
	return fault{place, path, keyword, order}
}

// keywordOf answers the rule that an error tells of.
func keywordOf(e *lib.ValidationError) string {
	switch e.ErrorKind.(type) {
	case *kind.Not:
		return "not"
	case *kind.RefCycle:
		return "$ref"
	case *kind.FalseSchema: // the keyword that the schema `false` is the value of
		_, fragment, _ := strings.Cut(e.SchemaURL, "#")
		if path, err := url.PathUnescape(fragment); err == nil {
			return cmp.Or(keywordAt(tokens(path)), "false")
		}
		return "false"
	}
	if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
		return path[0]
	}
	return "schema"
}

var unescapes = strings.NewReplacer("~1", "/", "~0", "~")

// tokens splits a JSON Pointer.
func tokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	path := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, token := range path {
		path[i] = unescapes.Replace(token)
	}
	return path
}
