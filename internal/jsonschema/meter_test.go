package jsonschema

import (
	"encoding/json"
	"errors"
	"math/big"
	"regexp"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// TestGate: as many large texts at once as there is room for, and small ones at any time.
func TestGate(t *testing.T) {
	t.Parallel()
	g := make(gate, 2)
	first, second := g.turn(small+1), g.turn(1<<20)
	g.turn(small)()
	third := make(chan struct{})
	go func() {
		defer close(third)
		g.turn(small + 1)()
	}()
	select {
	case g <- struct{}{}:
		t.Fatal("there is room for a third")
	default:
	}
	first()
	<-third
	second()
	if len(g) != 0 {
		t.Fatalf("%d are never done", len(g))
	}
}

// TestMeter: what is held counts until it is released, and too much of anything ends the work.
func TestMeter(t *testing.T) {
	t.Parallel()
	m := &meter{limits: limits{steps: 1000, memory: 100, frames: 2}}
	if !guarded(func() {
		m.hold(60)
		m.release(60)
		m.hold(100)
		m.release(100)
		m.enter()
		m.enter()
		m.leave()
		m.enter()
	}) {
		t.Fatal("no room for what fits")
	}
	if m.peak != 100 || m.frames != 2 || m.memory != 0 {
		t.Fatalf("%+v", m)
	}
	for name, work := range map[string]func(){
		"memory": func() { m.hold(101) },
		"frames": func() { m.enter() },
		"steps":  func() { m.spend(1000) },
	} {
		if guarded(work) {
			t.Errorf("no bound for %s", name)
		}
	}
}

// TestReadsOnce: the parser's memory is known before, and an object of one name again and again is no worse than another.
func TestReadsOnce(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"[" + strings.Repeat("[],", 50_000) + "1]", "{" + strings.Repeat(`"k":1,`, 200_000) + `"k":2}`, `{"a":"` + strings.Repeat(`\\,[{`, 1000) + `"}`, "1", `[1,{"a":[2,{}]},"\",["]`,
	} {
		d, err := parse(json.RawMessage(text))
		if err != nil {
			t.Fatal(err)
		}
		if most := atMost([]byte(text)); len(d.nodes) > most || cap(d.nodes) != most {
			t.Fatalf("%.20s…: %d values of %d, with room for %d", text, len(d.nodes), most, cap(d.nodes))
		}
	}
}

// FuzzParse: the parser reads what encoding/json reads, and each value is where its path leads.
func FuzzParse(f *testing.F) {
	f.Add(`{"a":[1,{"b":"x\u00e9","a":null}],"a":{"c":-1.5e3}}`)
	f.Add(`{"1":1,"2":2,"3":3,"4":4,"5":5,"6":6,"7":7,"8":8,"9":9,"1":0,"9":[]}`)
	f.Add("[\"\xff\",\"\\ud800\",true,false]")
	f.Add(`{"a" 1}`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parse(json.RawMessage(text))
		var bound *parseFault
		if valid := json.Valid([]byte(text)); valid != (err == nil) && !errors.As(err, &bound) {
			t.Fatalf("parse(%q) = %v, and valid is %t", text, err, valid)
		}
		if err != nil {
			return
		}
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		var want any
		if err := decoder.Decode(&want); err != nil {
			t.Fatal(err)
		}
		compareJSON(t, d, 0, want)
		w := &walker{document: d}
		for n := range d.nodes {
			if shadowed(d, n) {
				continue
			}
			at := 0
			for _, token := range d.path(n) {
				at = w.child(at, token)
			}
			if at != n {
				t.Fatalf("%q: the path of %d, %q, leads to %d", text, n, d.path(n), at)
			}
		}
	})
}

// shadowed says whether a value lies in a member that does not count.
func shadowed(d *document, n int) bool {
	for around := range n + 1 {
		if d.nodes[around].shadowed && d.end(around) > n {
			return true
		}
	}
	return false
}

func compareJSON(t *testing.T, d *document, n int, want any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		if d.kind(n) != '{' || d.size(n) != len(want) {
			t.Fatalf("%d is %v with %d members, want %v", n, d.kind(n), d.size(n), want)
		}
		for _, child := range d.children(n) {
			compareJSON(t, d, child, want[d.name(child)])
		}
	case []any:
		if d.kind(n) != '[' || d.size(n) != len(want) {
			t.Fatalf("%d is %v with %d items, want %v", n, d.kind(n), d.size(n), want)
		}
		for i, child := range d.children(n) {
			compareJSON(t, d, child, want[i])
		}
	case string:
		if text, ok := d.string(n); !ok || text != want {
			t.Fatalf("%d is %q, want %q", n, text, want)
		}
	case json.Number:
		if d.kind(n) != '0' || d.text(n) != string(want) {
			t.Fatalf("%d is %q, want %s", n, d.text(n), want)
		}
	case bool:
		if d.kind(n) != 't' || (d.text(n) == "true") != want {
			t.Fatalf("%d is %q, want %t", n, d.text(n), want)
		}
	default:
		if d.kind(n) != 'n' {
			t.Fatalf("%d is %q, want null", n, d.text(n))
		}
	}
}

// FuzzPattern: a pattern matches what package regexp has it match, and no program is larger than was told.
func FuzzPattern(f *testing.F) {
	for _, pattern := range []string{
		`^a*b$`, `(a|b)+?c{2,3}`, `\bx\B`, `(?i)K[α-ω]`, `(?m)^x$`, `(?s).`, `[^\n]`, `\p{L}+`, `^$`, `a{0}`, `(^a|b$)`, `\A\z`, `()*`, `(?:a{2,}|(b{3}){2}){0,4}`, `\Cx`, `[[:^word:]]`,
	} {
		f.Add(pattern, "aabkx\nKΩ é\xff b")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		p := &patterns{}
		program, err := p.compile(pattern)
		var large *tooMuch
		if errors.As(err, &large) {
			return
		}
		re, known := regexp.Compile(pattern)
		if (known == nil) != (err == nil) {
			t.Fatalf("compile(%q) = %v, and package regexp's is %v", pattern, err, known)
		}
		if err != nil {
			return
		}
		if len(program.prog.Inst) > p.size {
			t.Fatalf("%q has %d instructions, and %d were told", pattern, len(program.prog.Inst), p.size)
		}
		if len(program.prog.Inst)*(len(text)+1) > maxSteps/4 {
			return
		}
		m := &machine{meter: &meter{limits: usual}}
		for range 2 { // a machine is used again
			if got := m.match(program, text); got != re.MatchString(text) {
				t.Fatalf("%q matches %q: %t", pattern, text, got)
			}
		}
	})
}

// FuzzDecimal: numbers compare and divide as exact fractions do.
func FuzzDecimal(f *testing.F) {
	f.Add("0.10", "1e-1")
	f.Add("-0", "0e9")
	f.Add("-12.50e2", "-1250")
	f.Add("99999999999999999999999", "3")
	f.Add("1e40", "0.0025")
	f.Fuzz(func(t *testing.T, a, b string) {
		numbers := [2]decimal{}
		fractions := [2]*big.Rat{}
		for i, text := range []string{a, b} {
			d, err := parse(json.RawMessage(text))
			if err != nil || d.kind(0) != '0' || len(text) > 100 {
				return
			}
			if numbers[i] = number(d.text(0)); numbers[i].exponent > 1000 || numbers[i].exponent < -1000 {
				return
			}
			fractions[i], _ = new(big.Rat).SetString(d.text(0))
		}
		if got, want := numbers[0].compare(numbers[1]), fractions[0].Cmp(fractions[1]); got*want < 0 || (got == 0) != (want == 0) {
			t.Fatalf("%s and %s compare as %d, want %d", a, b, got, want)
		}
		if same := numbers[0].key() == numbers[1].key(); same != (fractions[0].Cmp(fractions[1]) == 0) {
			t.Fatalf("%s and %s are the same: %t", a, b, same)
		}
		if numbers[0].whole() != fractions[0].IsInt() {
			t.Fatalf("%s is whole: %t", a, numbers[0].whole())
		}
		if fractions[1].Sign() > 0 {
			got := newDivisor(numbers[1]).divides(numbers[0], &meter{limits: usual})
			if want := new(big.Rat).Quo(fractions[0], fractions[1]).IsInt(); got != want {
				t.Fatalf("%s is a multiple of %s: %t", a, b, got)
			}
		}
	})
}

// TestAtOnce: checks of one schema take no turns, and share nothing that they write.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	schema, err := Compile(json.RawMessage(`{"type":"object","propertyNames":{"pattern":"^[ab]"},"properties":{"a":{"$dynamicRef":"#t"}},` +
		`"$defs":{"t":{"$dynamicAnchor":"t","items":{"$dynamicRef":"#t"},"pattern":"^x+$","enum":["x","xx",["x"],["y"]]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				for arguments, want := range map[string]string{`{"a":["x"]}`: "", `{"a":["y"]}`: "/a/0: enum", `{"c":1}`: "/c: propertyNames"} {
					got := ""
					if err := schema.Validate(json.RawMessage(arguments)); err != nil {
						got = err.Error()
					}
					if got != want {
						t.Errorf("Validate(%s) = %q, want %q", arguments, got, want)
					}
				}
			}
		})
	}
	all.Wait()
}

// TestReading: what makes a pattern much to read is seen in its text.
func TestReading(t *testing.T) {
	t.Parallel()
	for pattern, least := range map[string]int{
		`\pL\PN`: 2800, `(?i)[a-\x{1e900}]`: 125_000, "(?i)[a-é]": 125_000, `(?si:[a-z-9])`: 256, `(?i)[\x00-z]`: 128,
	} {
		if got := reading(pattern); got < least || got > least+100+utf8.RuneCountInString(pattern) && least < 125_000 {
			t.Errorf("reading(%q) = %d, want %d", pattern, got, least)
		}
	}
}

// TestSettle: of members of one name the last is left, with all in it, and a check meets no other.
func TestSettle(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a":1,"b":[1,{"c":2}],"d":{}}`: `{"a":1,"b":[1,{"c":2}],"d":{}}`,
		`{"a":1,"a":2}`:                  `{"a":2}`,
		`{"a":{"b":[1,2,3],"b":{"c":1,"c":[]}},"x":[{"y":1,"y":"z"}],"a":3}`:  `{"x":[{"y":"z"}],"a":3}`,
		`[{"a":[[1]],"b":1,"a":{"k":1,"k":{"l":[1,2]},"m":3}},{"e":1,"e":1}]`: `[{"b":1,"a":{"k":{"l":[1,2]},"m":3}},{"e":1}]`,
		`{"p":{` + strings.Repeat(`"":[0,{"":1,"":2}],`, 1000) + `"x":0}}`:    `{"p":{"":[0,{"":2}],"x":0}}`,
	} {
		got, err := parse(json.RawMessage(text))
		if err != nil {
			t.Fatal(err)
		}
		alone, err := parse(json.RawMessage(want))
		if err != nil {
			t.Fatal(err)
		}
		got.settle()
		if shown(got, 0) != shown(alone, 0) || shown(got, 0) != want || len(got.nodes) != len(alone.nodes) {
			t.Errorf("%.100s is\n%s, %d nodes, and not\n%s, %d nodes", text, shown(got, 0), len(got.nodes), shown(alone, 0), len(alone.nodes))
		}
	}
}

// shown is what a node holds, as its document tells it.
func shown(d *document, n int) string {
	var parts []string
	for place, child := range d.children(n) {
		part := shown(d, child)
		if d.kind(n) == '{' {
			part = `"` + d.name(child) + `":` + part
		}
		if parts = append(parts, part); place+1 != len(parts) {
			return "another place"
		}
	}
	switch inner := strings.Join(parts, ","); {
	case len(parts) != d.size(n) && (d.kind(n) == '{' || d.kind(n) == '['):
		return "another size"
	case d.kind(n) == '{':
		return "{" + inner + "}"
	case d.kind(n) == '[':
		return "[" + inner + "]"
	case d.kind(n) == '"':
		return `"` + d.text(n) + `"`
	}
	return d.text(n)
}
