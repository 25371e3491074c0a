package jsonschema

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	lib "github.com/santhosh-tekuri/jsonschema/v6"
)

// rule is a schema that was compiled by the library, in the form that a check goes through.
type rule struct {
	id            int // from 0, in its set
	resource      int
	dynamicAnchor string
	constant      *bool  // the schema is true or false
	place         string // of false: the keyword that it is the value of

	types              []kind
	integer            bool // it is one of the types, and number is none
	want               *values
	enum               *values
	ref, dynamic       *rule
	recursive          *rule  // as an older draft has it
	leads              bool   // it is nothing but ref
	anchor             string // of dynamic
	allOf, anyOf       []*rule
	oneOf              []*rule
	not                *rule
	when, then, orElse *rule

	members *memberRules
	items   *itemRules

	minLength, maxLength *int
	pattern              *program

	bounds     []bound
	multipleOf *divisor
}

// memberRules are what a schema asks of an object.
type memberRules struct {
	min, max    *int
	names       *rule
	properties  map[string]*rule
	patterns    []patternRule
	additional  *rule
	closed      bool           // additionalProperties is false
	asked       map[string]int // names that must be known to be there, from 0
	required    []string
	dependents  []dependent
	unevaluated *rule
}

type patternRule struct {
	pattern *program
	rule    *rule
}

// dependent is what a member asks for.
type dependent struct {
	name     string
	required []string
	rule     *rule
	older    bool // it was told by dependencies, as an older draft has it
}

// itemRules are what a schema asks of an array.
type itemRules struct {
	min, max                 *int
	unique                   bool
	prefix                   []*rule
	rest                     *rule
	contains                 *rule
	minContains, maxContains *int
	unevaluated              *rule
}

// bound is a keyword that compares numbers.
type bound struct {
	keyword string
	than    decimal
	fits    func(compared int) bool
}

// set is all rules that one leads to.
type set struct {
	root    *rule
	rules   int
	size    int                     // bytes that it takes, about
	anchors []map[string]*rule      // the dynamic anchors of each resource
	dynamic bool                    // a rule asks for one
	known   map[*lib.Schema]*rule   // while it is made
	names   map[string]int          // of resources, while it is made
	in      func(url string) string // the resource that a schema lies in, by where it is
}

// source is a schema's own text: the library turns numbers into fractions, and keeps no order.
type source struct{ object map[string]any }

// Validate implements lib.SchemaExt. The library validates nothing with it but schemas.
func (*source) Validate(*lib.ValidatorContext, any) {}

// newSet makes rules of a schema and those that are dynamic anchors.
func newSet(root *lib.Schema, anchors []*lib.Schema, in func(url string) string) *set {
	s := &set{known: map[*lib.Schema]*rule{}, names: map[string]int{}, in: in}
	s.root = s.of(root)
	for _, a := range anchors {
		s.of(a)
	}
	s.rules = len(s.known)
	s.known, s.names = nil, nil
	return s
}

// of answers the rule of a schema; nil has none.
func (s *set) of(schema *lib.Schema) *rule {
	if schema == nil {
		return nil
	}
	if r, ok := s.known[schema]; ok {
		return r
	}
	r := &rule{id: len(s.known), constant: schema.Bool}
	s.known[schema] = r
	s.size += 600
	s.resource(r, schema)
	if r.constant != nil {
		_, fragment, _ := strings.Cut(schema.Location, "#")
		path, _ := url.PathUnescape(fragment) // the library escaped it
		r.place = keywordAt(tokens(path))
		return r
	}
	if len(schema.Extensions) == 0 { // neither an object nor a boolean, where the draft looks for no schema
		r.constant = always.constant
		return r
	}
	text := schema.Extensions[0].(*source).object
	s.anyType(r, schema, text)
	s.inPlace(r, schema)
	r.members, r.items = s.memberRules(schema), s.itemRules(schema)
	r.minLength, r.maxLength = schema.MinLength, schema.MaxLength
	if schema.Pattern != nil {
		r.pattern = schema.Pattern.(*program)
	}
	r.leads = r.ref != nil && len(text) == 1
	return r
}

// resource notes in which resource the schema lies, and its anchor there.
func (s *set) resource(r *rule, schema *lib.Schema) {
	name := s.in(schema.Location)
	if _, ok := s.names[name]; !ok {
		s.names[name] = len(s.anchors)
		s.anchors = append(s.anchors, map[string]*rule{})
	}
	r.resource, r.dynamicAnchor = s.names[name], schema.DynamicAnchor
	if r.dynamicAnchor != "" {
		s.anchors[r.resource][r.dynamicAnchor] = r
	}
}

// anyType sets what the schema asks of values by themselves.
func (s *set) anyType(r *rule, schema *lib.Schema, text map[string]any) {
	if schema.Types != nil {
		names := schema.Types.ToStrings()
		for _, name := range names {
			if k, ok := kinds[name]; ok {
				r.types = append(r.types, k)
			}
		}
		r.integer = slices.Contains(names, "integer")
	}
	if schema.Const != nil {
		r.want = s.values(*schema.Const)
	}
	if schema.Enum != nil {
		r.enum = s.values(schema.Enum.Values...)
	}
	for _, b := range []bound{
		{"exclusiveMaximum", decimal{}, func(c int) bool { return c < 0 }},
		{"exclusiveMinimum", decimal{}, func(c int) bool { return c > 0 }},
		{"maximum", decimal{}, func(c int) bool { return c <= 0 }},
		{"minimum", decimal{}, func(c int) bool { return c >= 0 }},
	} {
		if n, ok := text[b.keyword].(json.Number); ok {
			b.than = number(string(n))
			r.bounds = append(r.bounds, b)
		}
	}
	if n, ok := text["multipleOf"].(json.Number); ok {
		r.multipleOf = newDivisor(number(string(n))) // nil for 0, which the draft does not allow
	}
}

var kinds = map[string]kind{"null": 'n', "boolean": 't', "number": '0', "string": '"', "array": '[', "object": '{'}

func (s *set) values(all ...any) *values {
	v, m := newValues(), &meter{limits: limits{1 << 62, 1 << 62, 0}} // a schema is small
	for _, item := range all {
		raw, err := json.Marshal(item)
		if err != nil {
			panic(err) // it was JSON
		}
		d, err := parse(raw)
		if err != nil {
			panic(err) // as above
		}
		s.size += 100 + len(raw)
		v.add(d, 0, m)
	}
	return v
}

// inPlace sets the schemas that are applied to the same value.
func (s *set) inPlace(r *rule, schema *lib.Schema) {
	r.ref, r.recursive = s.of(schema.Ref), s.of(schema.RecursiveRef)
	if schema.DynamicRef != nil {
		r.dynamic, r.anchor, s.dynamic = s.of(schema.DynamicRef.Ref), schema.DynamicRef.Anchor, true
	}
	r.allOf, r.anyOf, r.oneOf = s.list(schema.AllOf), s.list(schema.AnyOf), s.list(schema.OneOf)
	r.not, r.when, r.then, r.orElse = s.of(schema.Not), s.of(schema.If), s.of(schema.Then), s.of(schema.Else)
}

func (s *set) list(schemas []*lib.Schema) []*rule {
	var rules []*rule
	for _, schema := range schemas {
		rules = append(rules, s.of(schema))
	}
	return rules
}

func (s *set) memberRules(schema *lib.Schema) *memberRules {
	m := &memberRules{
		min: schema.MinProperties, max: schema.MaxProperties, names: s.of(schema.PropertyNames), unevaluated: s.of(schema.UnevaluatedProperties),
		properties: map[string]*rule{}, asked: map[string]int{}, required: schema.Required,
	}
	for name, property := range schema.Properties {
		m.properties[name] = s.of(property)
	}
	for pattern, rule := range schema.PatternProperties {
		m.patterns = append(m.patterns, patternRule{pattern.(*program), s.of(rule)})
	}
	slices.SortFunc(m.patterns, func(a, b patternRule) int { return strings.Compare(a.pattern.pattern, b.pattern.pattern) })
	switch additional := schema.AdditionalProperties.(type) {
	case bool:
		if m.closed = !additional; additional {
			m.additional = always
		}
	case *lib.Schema:
		m.additional = s.of(additional)
	}
	s.dependents(m, schema)
	if m.min == nil && m.max == nil && m.names == nil && len(m.properties)+len(m.patterns)+len(m.asked) == 0 && m.additional == nil && !m.closed &&
		m.unevaluated == nil {
		return nil
	}
	s.size += 64*(len(m.properties)+len(m.patterns)+2*len(m.asked)) + 128*len(m.dependents)
	return m
}

var always = func() *rule { yes := true; return &rule{constant: &yes} }()

// dependents sets what members ask for, and which names are asked about.
func (s *set) dependents(m *memberRules, schema *lib.Schema) {
	for name, rule := range schema.DependentSchemas {
		m.dependents = append(m.dependents, dependent{name: name, rule: s.of(rule)})
	}
	for name, required := range schema.DependentRequired {
		m.dependents = append(m.dependents, dependent{name: name, required: required})
	}
	for name, asked := range schema.Dependencies {
		d := dependent{name: name, older: true}
		switch asked := asked.(type) {
		case []string:
			d.required = asked
		case *lib.Schema:
			d.rule = s.of(asked)
		}
		m.dependents = append(m.dependents, d)
	}
	slices.SortFunc(m.dependents, func(a, b dependent) int { return strings.Compare(a.name, b.name) })
	ask := func(names ...string) {
		for _, name := range names {
			if _, ok := m.asked[name]; !ok {
				m.asked[name] = len(m.asked)
			}
		}
	}
	ask(m.required...)
	for _, d := range m.dependents {
		ask(d.name)
		ask(d.required...)
	}
}

func (s *set) itemRules(schema *lib.Schema) *itemRules {
	i := &itemRules{
		min: schema.MinItems, max: schema.MaxItems, unique: schema.UniqueItems, prefix: s.list(schema.PrefixItems), rest: s.of(schema.Items2020),
		contains: s.of(schema.Contains), minContains: schema.MinContains, maxContains: schema.MaxContains, unevaluated: s.of(schema.UnevaluatedItems),
	}
	if i.min == nil && i.max == nil && !i.unique && len(i.prefix) == 0 && i.rest == nil && i.contains == nil && i.unevaluated == nil {
		return nil
	}
	return i
}
