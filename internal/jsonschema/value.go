package jsonschema

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// decimal is an exact number: 0.digits × 10^exponent. It has one form for each number, and no work on it grows faster than its text.
type decimal struct {
	negative bool
	digits   string // neither begins nor ends with 0; "" is zero
	exponent int
}

// number reads a JSON number.
func number(text string) decimal {
	var d decimal
	text, d.negative = strings.CutPrefix(text, "-")
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		d.exponent, _ = strconv.Atoi(text[at+1:]) // parse has read it before
		text = text[:at]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	d.digits, d.exponent = whole+fraction, d.exponent+len(whole)
	trimmed := strings.TrimLeft(d.digits, "0")
	d.exponent -= len(d.digits) - len(trimmed)
	if d.digits = strings.TrimRight(trimmed, "0"); d.digits == "" {
		return decimal{}
	}
	return d
}

func (d decimal) compare(other decimal) int {
	switch {
	case d.negative && !other.negative:
		return -1
	case other.negative && !d.negative:
		return 1
	}
	size := cmp.Compare(d.exponent, other.exponent)
	if d.digits == "" || other.digits == "" {
		size = len(d.digits) - len(other.digits)
	}
	if size == 0 {
		size = strings.Compare(d.digits, other.digits)
	}
	if d.negative {
		return -size
	}
	return size
}

func (d decimal) whole() bool { return len(d.digits) <= d.exponent || d.digits == "" }

// key is one text for each number.
func (d decimal) key() string {
	if d.negative {
		return "-" + d.digits + "e" + strconv.Itoa(d.exponent)
	}
	return d.digits + "e" + strconv.Itoa(d.exponent)
}

// divisor is a number that others shall be multiples of.
type divisor struct {
	digits *big.Int // without zeros at the end
	shift  int      // it is digits × 10^shift
}

func newDivisor(d decimal) *divisor {
	if d.digits == "" {
		return nil
	}
	digits, _ := new(big.Int).SetString(d.digits, 10)
	return &divisor{digits, d.exponent - len(d.digits)}
}

// divides says whether the number is a multiple. Digits are read and divided in quadratic time, and so are they counted.
func (v *divisor) divides(d decimal, m *meter) bool {
	if d.digits == "" {
		return true
	}
	shift := d.exponent - len(d.digits) - v.shift
	if shift < 0 { // d's digits do not end with 0
		return false
	}
	words, own := 1+len(d.digits)/19, len(v.digits.Bits())
	m.spend(words*(words+own)/4 + own*own*4 + 50)
	m.hold(3 * 8 * (words + 2*own))
	defer m.release(3 * 8 * (words + 2*own))
	rest, _ := new(big.Int).SetString(d.digits, 10)
	rest.Rem(rest, v.digits)
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(shift)), v.digits)
	return rest.Rem(rest.Mul(rest, ten), v.digits).Sign() == 0
}

// digest stands for a value: equal values have equal ones, and only they.
type digest [16]byte

// digest computes a value's.
func (d *document) digest(n int, m *meter) digest {
	m.spend(costDigest)
	h := sha256.New()
	write := func(tag byte, text string) {
		m.look(len(text))
		var head [9]byte
		head[0] = tag
		binary.BigEndian.PutUint64(head[1:], uint64(len(text)))
		h.Write(head[:])
		h.Write([]byte(text))
	}
	switch tag := byte(d.kind(n)); tag {
	case '[':
		write(tag, "")
		for _, child := range d.children(n) {
			inner := d.digest(child, m)
			h.Write(inner[:])
		}
	case '{':
		write(tag, "")
		size := d.size(n)
		m.hold(48 * size)
		members := make([]int, 0, size)
		for _, child := range d.children(n) {
			members = append(members, child)
		}
		slices.SortFunc(members, func(a, b int) int {
			m.look(min(len(d.name(a)), len(d.name(b))))
			return strings.Compare(d.name(a), d.name(b))
		})
		for _, child := range members {
			write('"', d.name(child))
			inner := d.digest(child, m)
			h.Write(inner[:])
		}
		m.release(48 * size)
	case '0':
		m.spend(costNumber + len(d.text(n))/4)
		write(tag, number(d.text(n)).key())
	default:
		write(tag, d.text(n))
	}
	return digest(h.Sum(nil)[:16])
}

// unique says whether no two items are equal.
func (d *document) unique(n int, m *meter) bool {
	size := d.size(n)
	m.hold(36 * size)
	defer m.release(36 * size)
	seen := make(map[digest]struct{}, size)
	for _, child := range d.children(n) {
		key := d.digest(child, m)
		if _, ok := seen[key]; ok {
			return false
		}
		seen[key] = struct{}{}
	}
	return true
}

// values is a set of values. To look one up costs no more than to read it, however many there are.
type values struct {
	texts      map[string]struct{} // strings
	scalars    map[string]struct{} // numbers' keys, and true, false and null
	composites map[kind]map[digest]struct{}
}

func newValues() *values {
	return &values{map[string]struct{}{}, map[string]struct{}{}, map[kind]map[digest]struct{}{}}
}

func (v *values) add(d *document, n int, m *meter) {
	switch k := d.kind(n); k {
	case '"':
		v.texts[d.text(n)] = struct{}{}
	case '0':
		v.scalars[number(d.text(n)).key()] = struct{}{}
	case '[', '{':
		if v.composites[k] == nil {
			v.composites[k] = map[digest]struct{}{}
		}
		v.composites[k][d.digest(n, m)] = struct{}{}
	default:
		v.scalars[d.text(n)] = struct{}{}
	}
}

func (v *values) has(d *document, n int, m *meter) (ok bool) {
	m.look(len(d.text(n)))
	switch k := d.kind(n); k {
	case '"':
		_, ok = v.texts[d.text(n)]
	case '0':
		m.spend(costNumber + len(d.text(n))/4)
		_, ok = v.scalars[number(d.text(n)).key()]
	case '[', '{':
		if known := v.composites[k]; known != nil {
			_, ok = known[d.digest(n, m)]
		}
	default:
		_, ok = v.scalars[d.text(n)]
	}
	return ok
}
