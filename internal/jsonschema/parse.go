package jsonschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	maxDepth       = 200
	maxExponent    = 100_000
	maxExponentSum = 1_000_000
)

// node is a JSON value that remembers the order of its members.
type node struct {
	value   any            // as the validator wants it: map[string]any, []any, string, json.Number, bool, nil
	members []member       // of an object, in document order; of a name that comes twice, the last one counts
	index   map[string]int // of members, by name
	items   []*node        // of an array
	twice   string         // a member's name that comes twice
	repeats bool
}

type member struct {
	name string
	node *node
}

// at answers the value at a path of names and indexes, nil where there is none.
func (n *node) at(token string) (child *node, place int) {
	if i, ok := n.index[token]; ok {
		return n.members[i].node, i
	}
	if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(n.items) {
		return n.items[i], i
	}
	return nil, 0
}

// count is how many values there are in n, with itself.
func (n *node) count() int {
	count := 1
	for _, m := range n.members {
		count += m.node.count()
	}
	for _, item := range n.items {
		count += item.count()
	}
	return count
}

// parseFault is a value that breaks a bound.
type parseFault struct {
	pointer, keyword, reason string
}

// Error implements error.
func (f *parseFault) Error() string { return f.reason }

type parser struct {
	decoder   *json.Decoder
	path      []string
	exponents int
}

// parse reads one JSON value.
func parse(raw json.RawMessage) (*node, error) {
	p := &parser{decoder: json.NewDecoder(bytes.NewReader(raw))}
	p.decoder.UseNumber()
	n, err := p.value()
	if err != nil {
		return nil, err
	}
	if _, err := p.decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return n, nil
}

func (p *parser) value() (*node, error) {
	token, err := p.decoder.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		if len(p.path) == maxDepth {
			return nil, &parseFault{p.pointer(), "", fmt.Sprintf("more than %d levels deep", maxDepth)}
		}
		if t == '{' {
			return p.object()
		}
		return p.array()
	case json.Number:
		return &node{value: t}, p.number(string(t))
	}
	return &node{value: token}, nil
}

func (p *parser) object() (*node, error) {
	n := &node{index: map[string]int{}}
	values := map[string]any{}
	for p.decoder.More() {
		token, err := p.decoder.Token()
		if err != nil {
			return nil, err
		}
		name := token.(string) // the decoder lets nothing else pass
		p.path = append(p.path, name)
		child, err := p.value()
		if err != nil {
			return nil, err
		}
		p.path = p.path[:len(p.path)-1]
		if _, ok := n.index[name]; ok {
			n.twice, n.repeats = name, true
		}
		n.index[name] = len(n.members)
		n.members = append(n.members, member{name, child})
		values[name] = child.value
	}
	n.value = values
	_, err := p.decoder.Token()
	return n, err
}

func (p *parser) array() (*node, error) {
	n := &node{}
	values := []any{}
	for p.decoder.More() {
		p.path = append(p.path, strconv.Itoa(len(n.items)))
		child, err := p.value()
		if err != nil {
			return nil, err
		}
		p.path = p.path[:len(p.path)-1]
		n.items = append(n.items, child)
		values = append(values, child.value)
	}
	n.value = values
	_, err := p.decoder.Token()
	return n, err
}

// number bounds exponents: an exact number of 1e100000 has 100,000 digits.
func (p *parser) number(text string) error {
	at := strings.IndexAny(text, "eE")
	if at < 0 {
		return nil
	}
	exponent, err := strconv.Atoi(text[at+1:])
	if err != nil || exponent > maxExponent || exponent < -maxExponent {
		return &parseFault{p.pointer(), "exponent", fmt.Sprintf("an exponent past ±%d", maxExponent)}
	}
	if p.exponents += max(exponent, -exponent); p.exponents > maxExponentSum {
		return &parseFault{p.pointer(), "exponent", fmt.Sprintf("exponents of more than %d in all", maxExponentSum)}
	}
	return nil
}

func (p *parser) pointer() string { return pointer(p.path) }

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
