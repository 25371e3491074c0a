package jsonschema

import (
	"encoding/json"
	"errors"
	"fmt"
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
	draft   = "https://json-schema.org/draft/2020-12/schema"
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

// Schema is a schema that passed Check. It may be used by several goroutines, which take turns.
type Schema struct {
	mu     sync.Mutex
	schema *lib.Schema
	budget *budget
	steps  int // of one Validate at most
	weight int // see walker.weigh
}

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
	root, err := parse(schema)
	var bound *parseFault
	if errors.As(err, &bound) {
		return nil, &Invalid{bound.pointer, bound.keyword, bound.reason}
	}
	if err != nil {
		return nil, &Invalid{Reason: "a schema is one JSON value"}
	}
	w := &walker{}
	if err := checkTop(root); err != nil {
		return nil, err
	}
	if err := w.schema(root, nil); err != nil {
		return nil, err
	}
	s := &Schema{budget: &budget{}, steps: maxSteps, weight: w.weight}
	if s.schema, err = compile(root.value, s.budget); err != nil {
		return nil, w.invalid(root, err)
	}
	if s.endless() {
		return nil, &Invalid{"", "$ref", "the schema refers to itself without end"}
	}
	return s, nil
}

// checkTop holds the rules about the top of a schema.
func checkTop(root *node) error {
	if root.members == nil && root.index == nil {
		return &Invalid{"", "type", `a schema is an object with "type": "object"`}
	}
	if t, _ := root.at("type"); t == nil || t.value != "object" {
		return &Invalid{"", "type", `the top of a schema must have "type": "object"`}
	}
	for _, m := range root.members {
		if m.name == "anyOf" || m.name == "oneOf" || m.name == "allOf" {
			return &Invalid{"", m.name, "model APIs refuse a request whose tool has " + m.name + " at the top of its schema; put it into a property"}
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
	mapKeywords  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)

var propertyName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// walker checks what the library does not, everywhere in a schema.
type walker struct {
	refs   []ref
	weight int
}

type ref struct {
	path    []string
	keyword string
	target  string
}

func (w *walker) schema(n *node, path []string) error {
	if n.repeats {
		return &Invalid{pointer(path), n.twice, fmt.Sprintf("%q comes twice", n.twice)}
	}
	for _, m := range n.members {
		at := append(slices.Clone(path), m.name)
		if err := w.keyword(m, at); err != nil {
			return err
		}
		w.weigh(m)
		var err error
		switch {
		case slices.Contains(schemaKeywords, m.name):
			err = w.schema(m.node, at)
		case slices.Contains(listKeywords, m.name):
			err = w.list(m.node, at)
		case slices.Contains(mapKeywords, m.name):
			err = w.mapOf(m, at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) list(n *node, path []string) error {
	for i, item := range n.items {
		if err := w.schema(item, append(slices.Clone(path), strconv.Itoa(i))); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) mapOf(m member, path []string) error {
	if m.node.repeats {
		return &Invalid{pointer(path), m.name, fmt.Sprintf("%q comes twice", m.node.twice)}
	}
	for _, child := range m.node.members {
		at := append(slices.Clone(path), child.name)
		switch m.name {
		case "properties":
			if !propertyName.MatchString(child.name) {
				return &Invalid{pointer(at), m.name, "names of properties are 1 to 64 of the characters a to z, A to Z, 0 to 9, _, . and -"}
			}
		case "patternProperties":
			if err := checkPattern(child.name, m.name, at); err != nil {
				return err
			}
		}
		if err := w.schema(child.node, at); err != nil {
			return err
		}
	}
	return nil
}

// keyword checks a keyword by itself.
func (w *walker) keyword(m member, path []string) error {
	text, isText := m.node.value.(string)
	switch m.name {
	case "$schema":
		if strings.TrimSuffix(text, "#") != draft {
			return &Invalid{pointer(path), m.name, "only draft 2020-12 is known here: " + draft}
		}
	case "$ref", "$dynamicRef":
		if isText && !strings.HasPrefix(text, "#") {
			return &Invalid{pointer(path), m.name, "only references inside of the schema (#…) are followed"}
		}
		if w.refs = append(w.refs, ref{path, m.name, text}); len(w.refs) > maxRefs {
			return &Invalid{pointer(path), m.name, fmt.Sprintf("more than %d references", maxRefs)}
		}
	case "pattern":
		if isText {
			return checkPattern(text, m.name, path)
		}
	}
	return nil
}

// weigh adds up what validating one value may cost at most by keywords that hold lists, whichever schemas apply to it: in units of some
// 50 ns or bytes. A number is compared as an exact one, and what is missing or does not fit is kept.
func (w *walker) weigh(m member) {
	const text, name, alternative, number = 1, 16, 16, 32
	switch m.name {
	case "enum":
		for _, item := range m.node.items {
			if _, ok := item.value.(string); ok {
				w.weight += text
			} else {
				w.weight += number * item.count()
			}
		}
	case "required":
		w.weight += name * len(m.node.items)
	case "dependentRequired":
		w.weight += name * m.node.count()
	case "patternProperties":
		w.weight += number * len(m.node.members)
	case "allOf", "anyOf", "oneOf":
		w.weight += alternative * len(m.node.items)
	}
}

func checkPattern(pattern, keyword string, path []string) error {
	if _, err := regexp.Compile(pattern); err != nil {
		return &Invalid{pointer(path), keyword, "patterns are RE2 regular expressions: " + err.Error()}
	}
	return nil
}

// invalid says in our words why the library refused the schema.
func (w *walker) invalid(root *node, err error) error {
	var broken *lib.SchemaValidationError
	var faults *lib.ValidationError
	if errors.As(err, &broken) && errors.As(broken.Err, &faults) {
		first := firstOf(root, faults)
		path := first.path
		return &Invalid{pointer(path), keywordAt(path), "draft 2020-12 does not allow this value (" + first.keyword + ")"}
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
