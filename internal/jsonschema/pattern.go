package jsonschema

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

const (
	// maxProgram is how many instructions the patterns of a schema may have in all; `a{1000}` has a thousand.
	maxProgram = 50_000
	// maxReading is how much work the patterns of a schema may be to read, in units of some 20 ns: see reading.
	maxReading = 2_000_000
)

// patterns are the patterns of one schema, compiled once each.
type patterns struct {
	programs map[string]*program
	size     int // instructions of all
	reading  int
	runes    int // of all classes
}

// program is a compiled pattern.
type program struct {
	pattern  string
	prog     *syntax.Prog
	anchored bool // it matches at the text's beginning only
}

// String implements lib.Regexp.
func (p *program) String() string { return p.pattern }

// MatchString implements lib.Regexp. It is not for arguments: match is.
func (p *program) MatchString(text string) bool {
	return (&machine{meter: &meter{limits: usual}}).match(p, text)
}

// tooMuch is a pattern that is too large, by itself or with those before it.
type tooMuch struct{ reason string }

// Error implements error.
func (t *tooMuch) Error() string { return t.reason }

// compile reads a pattern. Each of its steps costs little or is bounded by the one before.
func (p *patterns) compile(pattern string) (*program, error) {
	if known, ok := p.programs[pattern]; ok {
		return known, nil
	}
	if p.reading += reading(pattern); p.reading > maxReading {
		return nil, &tooMuch{"the patterns of a schema have too many classes (\\p…, or ranges with (?i))"}
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if p.size += instructions(re) + 2; p.size > maxProgram {
		return nil, &tooMuch{fmt.Sprintf("the patterns of a schema have at most %d instructions in all: a{1000} has 1000", maxProgram)}
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, err
	}
	for _, i := range prog.Inst {
		p.runes += len(i.Rune)
	}
	compiled := &program{pattern, prog, prog.StartCond()&syntax.EmptyBeginText != 0}
	if p.programs == nil {
		p.programs = map[string]*program{}
	}
	p.programs[pattern] = compiled
	return compiled, nil
}

// reading tells how much work a pattern may be to read at most, by its text: a class of Unicode's is made of up to some 1,400 characters,
// and a range that ignores case is gone through one by one, unless it is of ASCII.
func reading(pattern string) int {
	const class, fold, ascii = 1_400, 125_000, 128
	work := len(pattern) + class*(strings.Count(pattern, `\p`)+strings.Count(pattern, `\P`))
	if !strings.Contains(pattern, "(?") || !strings.Contains(pattern, "i") {
		return work
	}
	for i := 1; i+1 < len(pattern); i++ {
		switch {
		case pattern[i] != '-':
		case pattern[i+1] != '\\' && pattern[i+1] < utf8.RuneSelf:
			work += ascii
		default:
			work += fold
		}
	}
	return work
}

// instructions tells how many instructions there will be at most, before they are made.
func instructions(re *syntax.Regexp) int {
	sum := 0
	for _, sub := range re.Sub {
		sum = min(sum+instructions(sub), maxProgram+1)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return max(len(re.Rune), 1)
	case syntax.OpConcat:
		return max(sum, 1)
	case syntax.OpAlternate:
		return sum + len(re.Sub)
	case syntax.OpCapture, syntax.OpStar: // x* may become (x+)?
		return sum + 2
	case syntax.OpRepeat: // each repeat past the least is optional
		if re.Max < 0 {
			return min(sum*max(re.Min, 1)+2, maxProgram+1)
		}
		return min(max(sum*re.Max+re.Max-re.Min, 1), maxProgram+1)
	}
	return sum + 1
}

// machine runs programs, and counts each instruction that it looks at: package regexp cannot be stopped. It follows all ways through a
// program at once, so that a text is read once.
type machine struct {
	*meter
	now, next threads
	held      int
}

// threads is a set of instructions (a sparse set: to empty it costs nothing).
type threads struct{ dense, sparse []uint32 }

func (t *threads) add(pc uint32) (added bool) {
	if i := t.sparse[pc]; int(i) < len(t.dense) && t.dense[i] == pc {
		return false
	}
	t.sparse[pc] = uint32(len(t.dense)) //nolint:gosec // there are fewer than maxProgram
	t.dense = append(t.dense, pc)
	return true
}

// reserve makes room for a program.
func (m *machine) reserve(size int) {
	if len(m.now.sparse) >= size {
		return
	}
	m.release(m.held)
	m.held = size * 16
	m.hold(m.held)
	for _, t := range []*threads{&m.now, &m.next} {
		*t = threads{make([]uint32, 0, size), make([]uint32, size)}
	}
}

// match says whether the pattern matches anywhere in the text.
func (m *machine) match(p *program, text string) bool {
	m.reserve(len(p.prog.Inst))
	m.now.dense = m.now.dense[:0]
	before, at := rune(-1), 0
	for {
		r, width := rune(-1), 0
		if at < len(text) {
			r, width = utf8.DecodeRuneInString(text[at:])
		}
		context := syntax.EmptyOpContext(before, r)
		if at == 0 || !p.anchored {
			m.now.add(uint32(p.prog.Start)) //nolint:gosec // as above
		}
		if m.follow(p.prog, context) {
			return true
		}
		if width == 0 || p.anchored && len(m.now.dense) == 0 {
			m.spend(1)
			return false
		}
		m.step(p.prog, r)
		before, at = r, at+width
	}
}

// follow adds all that is reached without a character, and says whether that is a match.
func (m *machine) follow(prog *syntax.Prog, context syntax.EmptyOp) bool {
	for i := 0; i < len(m.now.dense); i++ { // it grows
		inst := &prog.Inst[m.now.dense[i]]
		switch inst.Op {
		case syntax.InstMatch:
			m.spend(i + 1)
			return true
		case syntax.InstAlt, syntax.InstAltMatch:
			m.now.add(inst.Out)
			m.now.add(inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			m.now.add(inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^context == 0 {
				m.now.add(inst.Out)
			}
		}
	}
	m.spend(2 + 2*len(m.now.dense))
	return false
}

// step reads a character.
func (m *machine) step(prog *syntax.Prog, r rune) {
	m.next.dense = m.next.dense[:0]
	for _, pc := range m.now.dense {
		inst := &prog.Inst[pc]
		switch inst.Op {
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if inst.MatchRune(r) {
				m.next.add(inst.Out)
			}
		}
	}
	m.now, m.next = m.next, m.now
}
