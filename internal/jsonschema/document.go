package jsonschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	maxDepth       = 200
	maxExponent    = 100_000
	maxExponentSum = 1_000_000
)

// kind is a JSON value's: as jsontext names it, but 't' for both booleans.
type kind = jsontext.Kind

// span is where a text lies in the document's text, or, where it had to be decoded, in its extra text.
type span struct{ start, end uint32 }

// node is a JSON value of a document. It is small on purpose: a mebibyte may hold 700,000 of them.
type node struct {
	text, name span   // of a string or a number, and of a member
	next       uint32 // the node after this one and all in it; 0 while it is read
	size       uint32 // how many members (of a name that comes twice one) or items there are
	kind       kind
	textExtra  bool // where text lies
	nameExtra  bool // where name lies
	shadowed   bool // another member of this name follows: the last one counts
	repeats    bool // a member is shadowed
}

// document is a JSON value with all that it holds, in document order: a node is known by its number, and what a node holds follows it.
type document struct {
	raw   string
	extra string
	nodes []node
}

func (d *document) at(s span, extra bool) string {
	if extra {
		return d.extra[s.start:s.end]
	}
	return d.raw[s.start:s.end]
}

func (d *document) kind(n int) kind   { return d.nodes[n].kind }
func (d *document) size(n int) int    { return int(d.nodes[n].size) }
func (d *document) text(n int) string { return d.at(d.nodes[n].text, d.nodes[n].textExtra) }
func (d *document) name(n int) string { return d.at(d.nodes[n].name, d.nodes[n].nameExtra) }
func (d *document) string(n int) (string, bool) {
	return d.text(n), d.nodes[n].kind == '"'
}

// children are the items or members of a node, with their places among them. A shadowed member is none.
func (d *document) children(n int) iter.Seq2[int, int] {
	return func(yield func(place, child int) bool) {
		place, end := 0, d.end(n)
		for child := n + 1; child < end; child = d.end(child) {
			if d.nodes[child].shadowed {
				continue
			}
			if !yield(place, child) {
				return
			}
			place++
		}
	}
}

// end is the first node that is not in n; all that there is, as long as n is still read.
func (d *document) end(n int) int {
	if d.nodes[n].kind != '{' && d.nodes[n].kind != '[' {
		return n + 1
	}
	if next := d.nodes[n].next; next > 0 {
		return int(next)
	}
	return len(d.nodes)
}

// member answers the member of an object.
func (d *document) member(n int, name string) (child int, ok bool) {
	if d.kind(n) != '{' {
		return 0, false
	}
	for _, child := range d.children(n) {
		if d.name(child) == name {
			return child, true
		}
	}
	return 0, false
}

// twice answers the last name that comes twice in an object.
func (d *document) twice(n int) (name string, ok bool) {
	if !d.nodes[n].repeats {
		return "", false
	}
	shadowed := map[string]bool{}
	for child := n + 1; child < d.end(n); child = d.end(child) {
		if d.nodes[child].shadowed {
			shadowed[d.name(child)] = true
		} else if shadowed[d.name(child)] {
			name, ok = d.name(child), true
		}
	}
	return name, ok
}

// settle takes out the members that others of the same name have replaced, so that nothing passes over them again and again: a check counts what it
// looks at, and they are not looked at.
func (d *document) settle() {
	if !slices.ContainsFunc(d.nodes, func(n node) bool { return n.shadowed }) {
		return
	}
	moved := make([]uint32, len(d.nodes)+1) // by old number
	kept := d.nodes[:0]                     // over those that were moved already
	for n := 0; n < len(moved)-1; {
		moved[n] = uint32(len(kept)) //nolint:gosec // a request has no gigabytes
		if d.nodes[n].shadowed {
			n = d.end(n)
			continue
		}
		kept = append(kept, d.nodes[n])
		n++
	}
	moved[len(moved)-1] = uint32(len(kept)) //nolint:gosec // as above
	for i := range kept {
		kept[i].next, kept[i].repeats = moved[kept[i].next], false
	}
	d.nodes = kept
}

// path answers the names and indexes that lead to a node.
func (d *document) path(n int) []string {
	var path []string
	for at := 0; at != n; {
		child, index := at+1, 0
		for d.end(child) <= n {
			child, index = d.end(child), index+1
		}
		if d.kind(at) == '{' {
			path = append(path, d.name(child))
		} else {
			path = append(path, strconv.Itoa(index))
		}
		at = child
	}
	return path
}

// parseFault is a value that breaks a bound.
type parseFault struct {
	pointer, keyword, reason string
}

// Error implements error.
func (f *parseFault) Error() string { return f.reason }

type parser struct {
	*document
	decoder   *jsontext.Decoder
	decoded   []byte
	depth     int
	exponents int
}

// parse reads one JSON value, as lenient as encoding/json: of a name that comes twice the last one counts, and what is no UTF-8 is read
// as U+FFFD.
func parse(raw json.RawMessage) (*document, error) {
	p := &parser{document: &document{raw: string(raw)}}
	p.decoder = jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	p.nodes = make([]node, 0, atMost(raw))
	if err := p.value(span{}, false); err != nil {
		return nil, err
	}
	if _, err := p.decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	p.extra = string(p.decoded)
	return p.document, nil
}

// atMost tells how many values there may be, so that they are kept without room to spare.
func atMost(raw []byte) int {
	count, quoted := 1, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == ',' || c == '[' || c == '{'):
			count++
		}
	}
	return count
}

func (p *parser) value(name span, extra bool) error {
	n := len(p.nodes)
	p.nodes = append(p.nodes, node{name: name, nameExtra: extra, kind: p.decoder.PeekKind()})
	switch p.kind(n) {
	case '{', '[':
		if p.depth == maxDepth {
			return &parseFault{p.pointer(n), "", fmt.Sprintf("more than %d levels deep", maxDepth)}
		}
		p.depth++
		if err := p.composite(n); err != nil {
			return err
		}
		p.depth--
		p.nodes[n].next = uint32(len(p.nodes)) //nolint:gosec // a request has no gigabytes
	case '"':
		text, extra, err := p.quoted()
		p.nodes[n].text, p.nodes[n].textExtra = text, extra
		return err
	default:
		value, err := p.decoder.ReadValue()
		if err != nil {
			return err
		}
		p.nodes[n].text = p.here(len(value), 0)
		switch p.kind(n) {
		case '0':
			return p.number(n, string(value))
		case 'f':
			p.nodes[n].kind = 't'
		}
	}
	return nil
}

// here is the span of what was just read, without so many bytes at each side.
func (p *parser) here(length, less int) span {
	end := int(p.decoder.InputOffset())
	return span{uint32(end - length + less), uint32(end - less)} //nolint:gosec // a request has no gigabytes
}

// quoted reads a string, and says whether it had to be decoded.
func (p *parser) quoted() (text span, extra bool, err error) {
	value, err := p.decoder.ReadValue()
	if err != nil {
		return span{}, false, err
	}
	if bytes.IndexByte(value, '\\') < 0 && utf8.Valid(value) {
		return p.here(len(value), 1), false, nil
	}
	start := len(p.decoded)
	p.decoded, _ = jsontext.AppendUnquote(p.decoded, value)       // what is no UTF-8 is an error, and read all the same
	return span{uint32(start), uint32(len(p.decoded))}, true, nil //nolint:gosec // as above
}

// spelled is a member's name while the document is read.
func (p *parser) spelled(n int) string {
	if m := p.nodes[n]; m.nameExtra {
		return string(p.decoded[m.name.start:m.name.end])
	}
	return p.name(n)
}

// composite reads an array or an object.
func (p *parser) composite(n int) error {
	if _, err := p.decoder.ReadToken(); err != nil {
		return err
	}
	var last lastNames
	for p.decoder.PeekKind() != '}' && p.decoder.PeekKind() != ']' {
		var name span
		var extra bool
		if p.kind(n) == '{' {
			if p.decoder.PeekKind() != '"' {
				return errors.New("a member has no name")
			}
			var err error
			if name, extra, err = p.quoted(); err != nil {
				return err
			}
		}
		child := len(p.nodes)
		if err := p.value(name, extra); err != nil {
			return err
		}
		p.nodes[n].size++
		if p.kind(n) != '{' {
			continue
		}
		if before, ok := last.put(p, child); ok {
			p.nodes[before].shadowed, p.nodes[n].repeats = true, true
			p.nodes[n].size--
		}
	}
	_, err := p.decoder.ReadToken()
	return err
}

// fewNames is up to how many names are looked through one by one.
const fewNames = 8

// lastNames are the last members of each name in an object, while it is read.
type lastNames struct {
	few  []int
	many map[string]int
}

// put answers the member that had the same name until now.
func (l *lastNames) put(p *parser, child int) (before int, found bool) {
	name := p.spelled(child)
	if l.many != nil {
		before, found = l.many[name]
		l.many[name] = child
		return before, found
	}
	for i, other := range l.few {
		if p.spelled(other) == name {
			l.few[i] = child
			return other, true
		}
	}
	if l.few = append(l.few, child); len(l.few) > fewNames {
		l.many = map[string]int{}
		for _, other := range l.few {
			l.many[p.spelled(other)] = other
		}
	}
	return 0, false
}

// number bounds exponents: an exact number of 1e100000 has 100,000 digits.
func (p *parser) number(n int, text string) error {
	at := strings.IndexAny(text, "eE")
	if at < 0 {
		return nil
	}
	exponent, err := strconv.Atoi(text[at+1:])
	if err != nil || exponent > maxExponent || exponent < -maxExponent {
		return &parseFault{p.pointer(n), "exponent", fmt.Sprintf("an exponent past ±%d", maxExponent)}
	}
	if p.exponents += max(exponent, -exponent); p.exponents > maxExponentSum {
		return &parseFault{p.pointer(n), "exponent", fmt.Sprintf("exponents of more than %d in all", maxExponentSum)}
	}
	return nil
}

// pointer answers where a node lies while the document is read.
func (p *parser) pointer(n int) string {
	p.extra = string(p.decoded)
	return pointer(p.path(n))
}

var escapes = strings.NewReplacer("~", "~0", "/", "~1")

// pointer makes a JSON Pointer; "" is the root.
func pointer(path []string) string {
	var b strings.Builder
	for _, token := range path {
		b.WriteByte('/')
		b.WriteString(escapes.Replace(token))
	}
	return b.String()
}

// faultPath answers what a fault is about.
func (d *document) faultPath(f *fault) []string {
	path := d.path(f.node)
	if f.member != nil {
		path = append(path, *f.member)
	}
	return path
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
