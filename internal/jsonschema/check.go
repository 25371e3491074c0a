package jsonschema

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// fault is a broken rule.
type fault struct {
	node    int // what it is about: nodes are numbered in document order
	order   int // among the rules at one place
	keyword string
	member  *string // the fault is this member's, which may be missing
}

func (f *fault) compare(other *fault) int {
	member := func(f *fault) string {
		if f.member == nil {
			return ""
		}
		return *f.member
	}
	return cmp.Or(cmp.Compare(f.node, other.node), cmp.Compare(f.order, other.order), cmp.Compare(f.keyword, other.keyword),
		cmp.Compare(member(f), member(other)))
}

// check is one check of a document. It keeps the first fault only, and no paths.
type check struct {
	*document
	*meter
	machine
	set     *set
	applied []int // by rule: the node that it is being applied to, and 1
	scope   []int // the resources that were entered, the outermost first
	entered []int // by resource: how often
	first   *fault
	cyclic  bool   // a reference leads back to its own schema, and nothing else fits
	inner   *check // for members' names
}

func (s *set) check(d *document, m *meter) *check {
	size := 8 * (s.rules + len(s.anchors))
	m.hold(size)
	return &check{document: d, meter: m, machine: machine{meter: m}, set: s, applied: make([]int, s.rules), entered: make([]int, len(s.anchors))}
}

// result is what a check found.
type result struct {
	first  *fault // nil: the document fits
	spent  bool   // the budget did not last: first means nothing
	cyclic bool
	meter  *meter
}

// run checks the whole document.
func (s *set) run(d *document, l limits) result {
	m := &meter{limits: l}
	r := result{meter: m}
	r.spent = !guarded(func() {
		c := s.check(d, m)
		c.apply(s.root, 0, true, nil)
		r.first, r.cyclic = c.first, c.cyclic
	})
	return r
}

// fault notes a fault if it is the first, and answers false.
func (c *check) fault(report bool, n int, keyword string, member *string) bool {
	if !report {
		return false
	}
	order := slices.Index([]string{"type", "enum", "const", "required", "additionalProperties"}, keyword)
	if order < 0 {
		order = 5
	}
	f := fault{n, order, keyword, member}
	if c.first == nil || f.compare(c.first) < 0 {
		c.first = &f
	}
	return false
}

// marks are which members or items of a value were evaluated, by their places. nil: nobody asks.
type marks []uint64

func (m marks) mark(place int) {
	if m != nil {
		m[place/64] |= 1 << (place % 64)
	}
}

func (m marks) has(place int) bool { return m[place/64]&(1<<(place%64)) != 0 }

// apply says whether a value fits a rule, and notes faults where they are to be reported. What it evaluates is marked in outer.
func (c *check) apply(r *rule, n int, report bool, outer marks) bool {
	for hops := 0; r.leads && !c.set.dynamic; hops++ {
		c.spend(costMember)
		if hops > c.set.rules {
			c.cyclic = true
			return c.fault(report, n, "$ref", nil)
		}
		r = r.ref
	}
	if r.constant != nil {
		c.spend(costApply)
		return *r.constant || c.fault(report, n, r.place, nil)
	}
	if c.applied[r.id] == n+1 {
		c.cyclic = true
		return c.fault(report, n, "$ref", nil)
	}
	c.enter()
	defer c.leave()
	before := c.applied[r.id]
	c.applied[r.id] = n + 1
	if c.set.dynamic {
		c.enterResource(r.resource)
	}
	fits := c.parts(r, n, report, outer)
	if c.set.dynamic {
		c.leaveResource(r.resource)
	}
	c.applied[r.id] = before
	return fits
}

func (c *check) enterResource(resource int) {
	if c.entered[resource]++; c.entered[resource] == 1 {
		c.scope = append(c.scope, resource)
	}
}

func (c *check) leaveResource(resource int) {
	if c.entered[resource]--; c.entered[resource] == 0 {
		c.scope = c.scope[:len(c.scope)-1]
	}
}

// parts applies all of a rule, until what is not reported is known not to fit.
func (c *check) parts(r *rule, n int, report bool, outer marks) bool {
	if !c.byItself(r, n, report) {
		return false
	}
	var own marks
	if outer != nil || r.members != nil && r.members.unevaluated != nil && c.kind(n) == '{' || r.items != nil && r.items.unevaluated != nil && c.kind(n) == '[' {
		size := (c.size(n) + 63) / 64
		c.hold(8 * size)
		defer c.release(8 * size)
		own = make(marks, size)
	}
	fits := c.references(r, n, report, own)
	if fits || report {
		fits = c.byType(r, n, report, own) && fits
	}
	if fits || report {
		fits = c.combined(r, n, report, own) && fits
	}
	if fits || report {
		fits = c.unevaluated(r, n, report, own) && fits
	}
	if fits && outer != nil {
		for i := range own {
			outer[i] |= own[i]
		}
	}
	return fits
}

// byItself checks type, const and enum. What breaks one of them breaks no other rule of the schema.
func (c *check) byItself(r *rule, n int, report bool) bool {
	k := c.kind(n)
	if len(r.types) > 0 || r.integer {
		fits := slices.Contains(r.types, k)
		if !fits && r.integer && k == '0' {
			c.look(len(c.text(n)))
			fits = number(c.text(n)).whole()
		}
		if !fits {
			return c.fault(report, n, "type", nil)
		}
	}
	if r.want != nil && !r.want.has(c.document, n, c.meter) {
		return c.fault(report, n, "const", nil)
	}
	if r.enum != nil && !r.enum.has(c.document, n, c.meter) {
		return c.fault(report, n, "enum", nil)
	}
	return true
}

// references follows $ref and $dynamicRef.
func (c *check) references(r *rule, n int, report bool, own marks) bool {
	fits := r.ref == nil || c.apply(r.ref, n, report, own)
	if r.recursive != nil && (fits || report) {
		fits = c.apply(r.recursive, n, report, own) && fits
	}
	if r.dynamic == nil || !fits && !report {
		return fits
	}
	target := r.dynamic
	if r.anchor != "" && target.dynamicAnchor == r.anchor {
		for i, resource := range c.scope {
			if found := c.set.anchors[resource][r.anchor]; found != nil {
				target = found
				c.spend(i)
				break
			}
		}
	}
	return c.apply(target, n, report, own) && fits
}

func (c *check) byType(r *rule, n int, report bool, own marks) bool {
	switch c.kind(n) {
	case '{':
		return r.members == nil || c.object(r.members, n, report, own)
	case '[':
		return r.items == nil || c.array(r.items, n, report, own)
	case '"':
		return c.length(r, n, report) && c.matches(r, n, report) // pattern is after maxLength and minLength
	case '0':
		return c.compared(r, n, report)
	}
	return true
}

func (c *check) length(r *rule, n int, report bool) bool {
	if r.minLength == nil && r.maxLength == nil {
		return true
	}
	text := c.text(n)
	c.spend(len(text) / 2)
	length, fits := utf8.RuneCountInString(text), true
	if r.maxLength != nil && length > *r.maxLength {
		fits = c.fault(report, n, "maxLength", nil)
	}
	if r.minLength != nil && length < *r.minLength {
		fits = c.fault(report, n, "minLength", nil)
	}
	return fits
}

func (c *check) matches(r *rule, n int, report bool) bool {
	return r.pattern == nil || c.match(r.pattern, c.text(n)) || c.fault(report, n, "pattern", nil)
}

func (c *check) compared(r *rule, n int, report bool) bool {
	if len(r.bounds) == 0 && r.multipleOf == nil {
		return true
	}
	c.spend(costNumber + len(c.text(n))/4)
	value, fits := number(c.text(n)), true
	for _, b := range r.bounds {
		c.look(len(value.digits))
		if !b.fits(value.compare(b.than)) {
			fits = c.fault(report, n, b.keyword, nil)
		}
	}
	if r.multipleOf != nil && !r.multipleOf.divides(value, c.meter) {
		fits = c.fault(report, n, "multipleOf", nil)
	}
	return fits
}

// count checks how many there are of something.
func (c *check) count(n, count int, least, most *int, minKeyword, maxKeyword string, report bool) bool {
	fits := true
	if least != nil && count < *least {
		fits = c.fault(report, n, minKeyword, nil)
	}
	if most != nil && count > *most {
		fits = c.fault(report, n, maxKeyword, nil)
	}
	return fits
}

// object checks the members of an object.
func (c *check) object(m *memberRules, n int, report bool, own marks) bool {
	fits := c.count(n, c.size(n), m.min, m.max, "minProperties", "maxProperties", report)
	held := (len(m.asked) + 63) / 64
	c.hold(8 * held)
	defer c.release(8 * held)
	there := make(marks, held)
	extra := (*string)(nil) // the first that additionalProperties forbids
	for place, child := range c.children(n) {
		if !fits && !report {
			return false
		}
		name := c.name(child)
		c.spend(costMember)
		c.look(len(name))
		if i, ok := m.asked[name]; ok {
			there.mark(i)
		}
		found, ok := c.member(m, name, child, report)
		switch {
		case found:
			own.mark(place)
		case m.closed && extra == nil:
			extra = &name
		}
		fits = ok && fits
		if m.names != nil && !c.named(m.names, child) {
			fits = c.fault(report, n, "propertyNames", &name)
		}
	}
	if extra != nil {
		fits = c.fault(report, n, "additionalProperties", extra)
	}
	return c.asked(m, n, report, own, there) && fits
}

// member checks a member's value, and says whether there was a rule for it.
func (c *check) member(m *memberRules, name string, child int, report bool) (found, fits bool) {
	fits = true
	if property := m.properties[name]; property != nil {
		found, fits = true, c.apply(property, child, report, nil)
	}
	for _, p := range m.patterns {
		if c.match(p.pattern, name) {
			found, fits = true, c.apply(p.rule, child, report, nil) && fits
		}
	}
	if !found && m.additional != nil {
		found, fits = true, c.apply(m.additional, child, report, nil)
	}
	return found, fits
}

// named checks a member's name, as a value of its own.
func (c *check) named(r *rule, child int) bool {
	if c.inner == nil {
		c.inner = c.set.check(&document{raw: c.raw, extra: c.extra, nodes: make([]node, 1)}, c.meter)
	}
	c.inner.nodes[0] = node{text: c.nodes[child].name, textExtra: c.nodes[child].nameExtra, kind: '"'}
	return c.inner.apply(r, 0, false, nil)
}

// asked checks the names that must be there, and what members ask for.
func (c *check) asked(m *memberRules, n int, report bool, own, there marks) bool {
	fits := c.present(m, n, "required", m.required, report, there)
	for _, d := range m.dependents {
		if !fits && !report {
			return false
		}
		c.spend(costMember)
		switch {
		case !there.has(m.asked[d.name]):
		case d.rule != nil:
			fits = c.apply(d.rule, n, report, own) && fits
		case d.older:
			fits = (c.present(m, n, "", d.required, false, there) || c.fault(report, n, "dependency", nil)) && fits
		default:
			fits = c.present(m, n, "dependentRequired", d.required, report, there) && fits
		}
	}
	return fits
}

func (c *check) present(m *memberRules, n int, keyword string, names []string, report bool, there marks) bool {
	for i, name := range names {
		c.look(len(name))
		if !there.has(m.asked[name]) {
			return c.fault(report, n, keyword, &names[i])
		}
	}
	return true
}

// array checks the items of an array.
func (c *check) array(i *itemRules, n int, report bool, own marks) bool {
	fits := c.count(n, c.size(n), i.min, i.max, "minItems", "maxItems", report)
	if i.unique && !c.unique(n, c.meter) {
		fits = c.fault(report, n, "uniqueItems", nil)
	}
	if len(i.prefix) == 0 && i.rest == nil && i.contains == nil {
		return fits
	}
	contained := 0
	for place, child := range c.children(n) {
		if !fits && !report {
			return false
		}
		item := i.rest
		if place < len(i.prefix) {
			item = i.prefix[place]
		}
		c.spend(1)
		if item != nil {
			own.mark(place)
			fits = c.apply(item, child, report, nil) && fits
		}
		if i.contains != nil && c.apply(i.contains, child, false, nil) {
			own.mark(place)
			contained++
		}
	}
	return c.contained(i, n, contained, report) && fits
}

func (c *check) contained(i *itemRules, n, contained int, report bool) bool {
	if i.contains == nil {
		return true
	}
	if i.minContains == nil && contained == 0 {
		return c.fault(report, n, "contains", nil) // and there are no more than maxContains
	}
	return c.count(n, contained, i.minContains, i.maxContains, "minContains", "maxContains", report)
}

// combined checks not, allOf, anyOf, oneOf and if. Alternatives are one fault: their parts are none.
func (c *check) combined(r *rule, n int, report bool, own marks) bool {
	fits := true
	if r.not != nil && c.probe(r.not, n, nil) {
		fits = c.fault(report, n, "not", nil)
	}
	for _, part := range r.allOf {
		if !fits && !report {
			return false
		}
		fits = c.apply(part, n, report, own) && fits
	}
	if len(r.anyOf) > 0 && (fits || report) && c.fitting(r.anyOf, n, own, own == nil, len(r.anyOf)) == 0 {
		fits = c.fault(report, n, "anyOf", nil)
	}
	if len(r.oneOf) > 0 && (fits || report) && c.fitting(r.oneOf, n, own, false, 2) != 1 {
		fits = c.fault(report, n, "oneOf", nil)
	}
	if r.when == nil || !fits && !report {
		return fits
	}
	branch := r.orElse
	if c.probe(r.when, n, own) {
		branch = r.then
	}
	return (branch == nil || c.apply(branch, n, report, own)) && fits
}

// fitting counts the alternatives that fit, up to most, or one if one is enough.
func (c *check) fitting(alternatives []*rule, n int, own marks, one bool, most int) int {
	count, cyclic := 0, c.cyclic
	for _, a := range alternatives {
		if c.apply(a, n, false, own) {
			count++
		}
		if count == most || one && count == 1 {
			break
		}
	}
	if count > 0 {
		c.cyclic = cyclic
	}
	return count
}

// probe applies a rule where it is no fault not to fit.
func (c *check) probe(r *rule, n int, own marks) bool {
	cyclic := c.cyclic
	fits := c.apply(r, n, false, own)
	c.cyclic = cyclic
	return fits
}

// unevaluated checks what no rule was for.
func (c *check) unevaluated(r *rule, n int, report bool, own marks) bool {
	var rest *rule
	switch c.kind(n) {
	case '{':
		if r.members != nil {
			rest = r.members.unevaluated
		}
	case '[':
		if r.items != nil {
			rest = r.items.unevaluated
		}
	}
	if rest == nil {
		return true
	}
	fits := true
	for place, child := range c.children(n) {
		c.spend(1)
		if own.has(place) {
			continue
		}
		own.mark(place)
		if fits = c.apply(rest, child, report, nil) && fits; !fits && !report {
			return false
		}
	}
	return fits
}
