package secret

import "strings"

const (
	// MinMasked is the length of the shortest value that is masked, in bytes: a shorter one would be found everywhere.
	MinMasked = 6
	// Masked is what stands for a value in output.
	Masked = "***"
)

// Mask finds values in bytes, all at once (Aho-Corasick), each byte in time that does not grow with the values. It does not change: calls and
// streams may share it. It takes some 24 bytes of memory for each byte of the values.
//
// What is masked is every place where a value stands, whatever other values it holds or is a part of: places that overlap are masked as one, and each
// of the others becomes Masked.
type Mask struct {
	nodes []node
	first [256]int32 // the root's children; 0 is none
}

// node is the beginning of at least one value: the bytes on the way from the root to it.
type node struct {
	child, sibling int32 // 0 is none
	fail           int32 // the longest end of these bytes that is a node, too
	depth          int32 // how many bytes
	found          int32 // the longest value that these bytes end with; 0 is none
	byte           byte
}

// NewMask makes the mask of values; nil where none of them is long enough. A value with space around it is also found without that.
func NewMask(values []string) *Mask {
	m := &Mask{nodes: make([]node, 1)}
	for _, v := range values {
		m.add(v)
		m.add(strings.TrimSpace(v))
	}
	if len(m.nodes) == 1 {
		return nil
	}
	m.link()
	return m
}

func (m *Mask) add(value string) {
	if len(value) < MinMasked {
		return
	}
	at := int32(0)
	for i := range len(value) {
		next := m.child(at, value[i])
		if next == 0 {
			next = int32(len(m.nodes))
			m.nodes = append(m.nodes, node{sibling: m.nodes[at].child, depth: int32(i + 1), byte: value[i]})
			if m.nodes[at].child = next; at == 0 {
				m.first[value[i]] = next
			}
		}
		at = next
	}
	m.nodes[at].found = m.nodes[at].depth
}

// child is the node that a byte leads to from a node; 0 where there is none.
func (m *Mask) child(at int32, b byte) int32 {
	if at == 0 {
		return m.first[b]
	}
	for c := m.nodes[at].child; c != 0; c = m.nodes[c].sibling {
		if m.nodes[c].byte == b {
			return c
		}
	}
	return 0
}

// next is where a byte leads, over shorter ends where need be.
func (m *Mask) next(at int32, b byte) int32 {
	for {
		if c := m.child(at, b); c != 0 || at == 0 {
			return c
		}
		at = m.nodes[at].fail
	}
}

// link sets what each node falls back to, the short ones first.
func (m *Mask) link() {
	queue := make([]int32, 0, len(m.nodes))
	for _, c := range m.first {
		if c != 0 {
			queue = append(queue, c)
		}
	}
	for i := 0; i < len(queue); i++ {
		at := queue[i]
		n := &m.nodes[at]
		if n.found == 0 {
			n.found = m.nodes[n.fail].found
		}
		for c := n.child; c != 0; c = m.nodes[c].sibling {
			m.nodes[c].fail = m.next(n.fail, m.nodes[c].byte)
			queue = append(queue, c)
		}
	}
}

// Bytes masks something that is whole.
func (m *Mask) Bytes(p []byte) []byte {
	if m == nil {
		return p
	}
	s := masker{mask: m}
	return s.release(s.write(nil, p))
}

// masker masks one stream, in any pieces. What it answers together does not depend on them, if release is called at the end only.
type masker struct {
	mask    *Mask
	at      int32  // the node of the bytes that came last
	read    int64  // how many bytes came
	held    []byte // the last of them, which wait
	hidden  []span // where values stand among those, in order, apart
	covered int64  // up to where a value stands whose Masked is out
}

// span is a part of the stream.
type span struct{ from, to int64 }

// waiting is how many bytes wait for what comes next: they begin a value, or are one that may be a part of another.
func (s *masker) waiting() int { return len(s.held) }

// write takes bytes, and appends to out what is certain by now.
func (s *masker) write(out, p []byte) []byte {
	for len(p) > 0 {
		if s.at == 0 { // nothing waits
			n := 0
			for n < len(p) && s.mask.first[p[n]] == 0 {
				n++
			}
			out, p = append(out, p[:n]...), p[n:]
			if s.read += int64(n); len(p) == 0 {
				break
			}
		}
		s.at = s.mask.next(s.at, p[0])
		s.held, p = append(s.held, p[0]), p[1:]
		s.read++
		now := &s.mask.nodes[s.at]
		if now.found > 0 {
			s.hide(s.read - int64(now.found))
		}
		out = s.settle(out, s.read-int64(now.depth))
	}
	return out
}

// hide notes that a value stands from a place to the last byte that came.
func (s *masker) hide(from int64) {
	if from < s.covered { // it overlaps one that is out
		s.covered, s.hidden = s.read, s.hidden[:0]
		return
	}
	from = max(from, s.read-int64(len(s.held))) // what is out is out
	for n := len(s.hidden); n > 0 && s.hidden[n-1].to > from; n-- {
		from, s.hidden = min(from, s.hidden[n-1].from), s.hidden[:n-1]
	}
	s.hidden = append(s.hidden, span{from, s.read})
}

// settle appends what stands before a place, which no value to come can reach.
func (s *masker) settle(out []byte, before int64) []byte {
	base := s.read - int64(len(s.held))
	for base < before {
		end, show := before, true
		switch {
		case base < s.covered:
			end, show = min(before, s.covered), false
		case len(s.hidden) > 0 && s.hidden[0].from == base:
			out = append(out, Masked...)
			s.covered, s.hidden = s.hidden[0].to, s.hidden[1:]
			continue
		case len(s.hidden) > 0:
			end = min(before, s.hidden[0].from)
		}
		n := int(end - base)
		if show {
			out = append(out, s.held[:n]...)
		}
		s.held, base = s.held[n:], end
	}
	if len(s.held) == 0 {
		s.held = nil
	}
	return out
}

// release appends what waits. The rest of a value whose beginning was released is still masked when it comes.
func (s *masker) release(out []byte) []byte { return s.settle(out, s.read) }
