package jsonschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	lib "github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// MaxSize is the largest schema, in bytes.
	MaxSize = 64 << 10

	maxRefs = 256
	// maxSchemas is how many schemas there may be in one, and maxPlaces how many bytes of JSON Pointers lead to them: to compile them takes
	// time that grows with the square of the one, and memory that grows with the other.
	maxSchemas = 4096
	maxPlaces  = 1 << 20
	// compileFactor is how many times as much it is to compile a schema as to read arguments of its size.
	compileFactor = 16
	draft         = "https://json-schema.org/draft/2020-12/schema"
	// base is what relative references would be relative to, if there could be any.
	base = "https://parameters.invalid/schema"
)

// Invalid says why a schema is refused.
type Invalid struct {
	Pointer string // JSON Pointer of the place in the schema; "" is the whole
	Keyword string // the keyword at fault, "" where it is none
	Reason  string // in words
}

// Error implements error.
func (i *Invalid) Error() string { return i.Pointer + ": " + i.Reason }

// Schema is a schema that passed Check. It never changes: several goroutines may use it at once.
type Schema struct {
	set    *set
	limits limits // of each Validate
	size   int
}

// Size tells how many bytes the schema takes, about.
func (s *Schema) Size() int { return s.size }

// Check answers an *Invalid where the schema breaks a rule.
func Check(schema json.RawMessage) error {
	_, err := Compile(schema)
	return err
}

// Compile is Check, and answers the schema for Validate.
func Compile(schema json.RawMessage) (*Schema, error) {
	if len(schema) > MaxSize {
		return nil, &Invalid{Reason: fmt.Sprintf("a schema has at most %d bytes", MaxSize)}
	}
	defer large.turn(compileFactor * len(schema))()
	root, err := parse(schema)
	var bound *parseFault
	if errors.As(err, &bound) {
		return nil, &Invalid{bound.pointer, bound.keyword, bound.reason}
	}
	if err != nil {
		return nil, &Invalid{Reason: "a schema is one JSON value"}
	}
	if err := checkTop(root); err != nil {
		return nil, err
	}
	w := &walker{document: root, in: map[string]string{}}
	if err := w.all(); err != nil {
		return nil, err
	}
	if err := meta(root); err != nil {
		return nil, err
	}
	rules, err := compile(schema, w)
	if err != nil {
		return nil, w.invalid(err)
	}
	s := &Schema{rules, usual, len(schema) + rules.size + 64*w.patterns.size + 4*w.patterns.runes}
	if s.endless() {
		return nil, &Invalid{"", "$ref", "the schema refers to itself without end"}
	}
	return s, nil
}

// endless says whether the schema applies itself to one and the same value.
func (s *Schema) endless() bool {
	empty, err := parse(json.RawMessage("{}"))
	return err == nil && s.set.run(empty, s.limits).cyclic
}

// checkTop holds the rules about the top of a schema.
func checkTop(root *document) error {
	if root.kind(0) != '{' {
		return &Invalid{"", "type", `a schema is an object with "type": "object"`}
	}
	if t, ok := root.member(0, "type"); !ok || root.kind(t) != '"' || root.text(t) != "object" {
		return &Invalid{"", "type", `the top of a schema must have "type": "object"`}
	}
	for _, m := range root.children(0) {
		if name := root.name(m); name == "anyOf" || name == "oneOf" || name == "allOf" {
			return &Invalid{"", name, "model APIs refuse a request whose tool has " + name + " at the top of its schema; put it into a property"}
		}
	}
	return nil
}

// Where schemas lie inside of schemas.
var (
	schemaKeywords = []string{
		"items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else",
		"unevaluatedItems", "unevaluatedProperties", "contentSchema",
	}
	listKeywords = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	mapKeywords  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)

var propertyName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// walker checks what the library does not, everywhere in a schema.
type walker struct {
	*document
	refs     []ref
	anchors  []string          // pointers of the schemas with $dynamicAnchor
	dynamic  bool              // there is a $dynamicRef
	in       map[string]string // by a schema's pointer: its resource's, which is the next schema around it with an $id
	places   int               // bytes of all pointers
	patterns patterns
}

type ref struct {
	path     []string
	keyword  string
	target   string
	resource scope
}

// scope is the resource that schemas lie in.
type scope struct {
	node int
	path []string
}

// all walks through the schema, and through what references lead to: they may lead to where no schema would be looked for.
func (w *walker) all() error {
	if err := w.schema(0, nil, scope{}); err != nil {
		return err
	}
	for i := 0; i < len(w.refs); i++ { // it grows
		r := w.refs[i]
		fragment, err := url.PathUnescape(strings.TrimPrefix(r.target, "#"))
		if err != nil || !strings.HasPrefix(fragment, "/") {
			continue // an anchor, which only schemas have; or nothing, which the library tells
		}
		path, n := tokens(fragment), r.resource.node
		for _, token := range path {
			if n = w.child(n, token); n < 0 {
				break
			}
		}
		path = append(slices.Clone(r.resource.path), path...)
		if _, known := w.in[pointer(path)]; known || n < 0 {
			continue
		}
		if err := w.schema(n, path, r.resource); err != nil {
			return err
		}
	}
	return nil
}

// child answers a member or item, or -1.
func (w *walker) child(n int, token string) int {
	if member, ok := w.member(n, token); ok {
		return member
	}
	index, err := strconv.Atoi(token)
	if err != nil || w.kind(n) != '[' {
		return -1
	}
	for place, item := range w.children(n) {
		if place == index {
			return item
		}
	}
	return -1
}

// count bounds how many schemas there are, and how much it is to name all of them: the library does.
func (w *walker) count(path []string, in scope) error {
	place := pointer(path)
	w.in[place] = pointer(in.path)
	if len(w.in) > maxSchemas {
		return &Invalid{place, keywordAt(path), fmt.Sprintf("more than %d schemas in one", maxSchemas)}
	}
	if w.places += len(place); w.places > maxPlaces {
		return &Invalid{place, keywordAt(path), fmt.Sprintf("the pointers to all schemas in this one have more than %d bytes", maxPlaces)}
	}
	return nil
}

func (w *walker) schema(n int, path []string, in scope) error {
	if name, ok := w.twice(n); ok {
		return &Invalid{pointer(path), name, fmt.Sprintf("%q comes twice", name)}
	}
	if id, ok := w.member(n, "$id"); ok && w.kind(id) == '"' {
		if text, _, _ := strings.Cut(w.text(id), "#"); text != "" {
			in = scope{n, path}
		}
	}
	if err := w.count(path, in); err != nil {
		return err
	}
	if w.kind(n) != '{' {
		return nil
	}
	for _, m := range w.children(n) {
		name := w.name(m)
		at := append(slices.Clone(path), name)
		if err := w.keyword(m, at, in); err != nil {
			return err
		}
		var err error
		switch {
		case slices.Contains(schemaKeywords, name):
			err = w.schema(m, at, in)
		case slices.Contains(listKeywords, name):
			err = w.list(m, at, in)
		case slices.Contains(mapKeywords, name):
			err = w.mapOf(m, at, in)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) list(n int, path []string, in scope) error {
	if w.kind(n) != '[' {
		return nil
	}
	for i, item := range w.children(n) {
		if err := w.schema(item, append(slices.Clone(path), strconv.Itoa(i)), in); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) mapOf(m int, path []string, in scope) error {
	keyword := w.name(m)
	if name, ok := w.twice(m); ok {
		return &Invalid{pointer(path), keyword, fmt.Sprintf("%q comes twice", name)}
	}
	if w.kind(m) != '{' {
		return nil
	}
	for _, child := range w.children(m) {
		name := w.name(child)
		at := append(slices.Clone(path), name)
		switch keyword {
		case "properties":
			if !propertyName.MatchString(name) {
				return &Invalid{pointer(at), keyword, "names of properties are 1 to 64 of the characters a to z, A to Z, 0 to 9, _, . and -"}
			}
		case "patternProperties":
			if err := w.pattern(name, keyword, at); err != nil {
				return err
			}
		}
		if err := w.schema(child, at, in); err != nil {
			return err
		}
	}
	return nil
}

// keyword checks a keyword by itself.
func (w *walker) keyword(m int, path []string, in scope) error {
	name := w.name(m)
	text, isText := w.string(m)
	if !isText {
		text = ""
	}
	switch name {
	case "$schema":
		if strings.TrimSuffix(text, "#") != draft {
			return &Invalid{pointer(path), name, "only draft 2020-12 is known here: " + draft}
		}
	case "$dynamicAnchor":
		w.anchors = append(w.anchors, pointer(path[:len(path)-1]))
	case "$ref", "$dynamicRef", "$recursiveRef":
		if isText && !strings.HasPrefix(text, "#") {
			return &Invalid{pointer(path), name, "only references inside of the schema (#…) are followed"}
		}
		w.dynamic = w.dynamic || name == "$dynamicRef"
		if w.refs = append(w.refs, ref{path, name, text, in}); len(w.refs) > maxRefs {
			return &Invalid{pointer(path), name, fmt.Sprintf("more than %d references", maxRefs)}
		}
	case "pattern":
		if isText {
			return w.pattern(text, name, path)
		}
	}
	return nil
}

func (w *walker) pattern(pattern, keyword string, path []string) error {
	_, err := w.patterns.compile(pattern)
	var large *tooMuch
	if errors.As(err, &large) {
		return &Invalid{pointer(path), keyword, large.reason}
	}
	if err != nil {
		return &Invalid{pointer(path), keyword, "patterns are RE2 regular expressions: " + err.Error()}
	}
	return nil
}

// metaRules are the rules that schemas themselves follow: what the library holds them to. Annotations may be anything.
var metaRules = sync.OnceValue(func() *set {
	const metaschema = base + "/meta"
	var parts []any
	for _, vocabulary := range []string{"core", "applicator", "unevaluated", "validation"} {
		parts = append(parts, map[string]any{"$ref": strings.TrimSuffix(draft, "schema") + "meta/" + vocabulary})
	}
	c := newCompiler(&patterns{})
	err := c.AddResource(metaschema, map[string]any{"$dynamicAnchor": "meta", "allOf": parts})
	if err != nil {
		panic(err) // it is a constant
	}
	schema, err := c.Compile(metaschema)
	if err != nil {
		panic(err) // as above, and the library brings what it refers to
	}
	return newSet(schema, nil, func(place string) string {
		resource, _, _ := strings.Cut(place, "#")
		return resource
	})
})

// meta checks the schema as the draft has it.
func meta(root *document) error {
	r := metaRules().run(root, usual)
	if r.spent {
		return &Invalid{"", "", "it is too much work to check the schema"}
	}
	if r.first == nil {
		return nil
	}
	path := root.faultPath(r.first)
	return &Invalid{pointer(path), keywordAt(path), "draft 2020-12 does not allow this value (" + r.first.keyword + ")"}
}

// newCompiler is the library's, as it is needed here.
func newCompiler(p *patterns) *lib.Compiler {
	c := lib.NewCompiler()
	c.UseRegexpEngine(func(pattern string) (lib.Regexp, error) {
		compiled, err := p.compile(pattern)
		if err != nil {
			return nil, err
		}
		return compiled, nil
	})
	c.DefaultDraft(lib.Draft2020)
	c.UseLoader(noLoader{})
	c.AssertVocabs()
	c.RegisterVocabulary(&lib.Vocabulary{URL: base + "/source", Compile: func(_ *lib.CompilerContext, object map[string]any) (lib.SchemaExt, error) {
		return &source{object}, nil
	}})
	return c
}

// compile has the library compile a schema, and makes rules of that.
func compile(schema json.RawMessage, w *walker) (*set, error) {
	value, err := lib.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	c := newCompiler(&w.patterns)
	if err := c.AddResource(base, value); err != nil {
		return nil, err
	}
	root, err := c.Compile(base)
	if err != nil {
		return nil, err
	}
	var anchors []*lib.Schema
	for _, place := range w.anchors {
		if !w.dynamic {
			break
		}
		anchor, err := c.Compile(base + "#" + url.PathEscape(place))
		if err != nil {
			return nil, err
		}
		anchors = append(anchors, anchor)
	}
	return newSet(root, anchors, func(place string) string {
		_, fragment, _ := strings.Cut(place, "#")
		path, _ := url.PathUnescape(fragment) // the library escaped it
		return w.in[path]
	}), nil
}

// noLoader fetches nothing.
type noLoader struct{}

// Load implements lib.URLLoader.
func (noLoader) Load(string) (any, error) { return nil, errors.New("nothing is fetched") }

// invalid says in our words why the library refused the schema.
func (w *walker) invalid(err error) error {
	var broken *lib.SchemaValidationError
	if errors.As(err, &broken) { // where a reference leads to, and no schema would be
		return &Invalid{"", "$ref", "a reference leads to what draft 2020-12 does not allow"}
	}
	var noPointer *lib.JSONPointerNotFoundError
	var noAnchor *lib.AnchorNotFoundError
	if errors.As(err, &noPointer) || errors.As(err, &noAnchor) {
		for _, r := range w.refs {
			if noPointer != nil && strings.HasSuffix(noPointer.URL, r.target) || noAnchor != nil && strings.HasSuffix(noAnchor.Reference, r.target) {
				return &Invalid{pointer(r.path), r.keyword, "there is no " + r.target + " in the schema"}
			}
		}
		return &Invalid{"", "$ref", "a reference leads nowhere"}
	}
	var notLoaded *lib.LoadURLError
	if errors.As(err, &notLoaded) {
		return &Invalid{"", "$ref", "only references inside of the schema (#…) are followed"}
	}
	return &Invalid{"", "$id", "ids and anchors do not fit together: " + strings.ReplaceAll(err.Error(), base, "")}
}

// keywordAt answers the keyword of a schema that a path lies in.
func keywordAt(path []string) string {
	keyword := ""
	for i := 0; i < len(path); i++ {
		keyword = path[i]
		switch {
		case slices.Contains(listKeywords, keyword), slices.Contains(mapKeywords, keyword):
			i++ // an index or a name, and then a schema
		case !slices.Contains(schemaKeywords, keyword):
			return keyword
		}
	}
	return keyword
}
