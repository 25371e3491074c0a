package jsonschema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Violation says where arguments break their schema first.
type Violation struct {
	Pointer string // JSON Pointer of the argument at fault; of a missing one where it would be
	Keyword string // the rule that it broke
}

// maxShown is how much of a pointer a line tells, in bytes: names are the caller's, and as long as they like.
const maxShown = 400

// Error implements error: it is the line that a model reads, such as `/slides/0/heading: required` or `(root): type`. It is one
// line, and a short one: control characters are escaped as in JSON, and a long pointer ends with `…`.
func (v *Violation) Error() string {
	shown := v.Pointer
	if len(shown) > maxShown {
		cut := maxShown
		for !utf8.RuneStart(shown[cut]) {
			cut--
		}
		shown = shown[:cut] + "…"
	}
	var line strings.Builder
	for _, r := range cmp.Or(shown, "(root)") {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			fmt.Fprintf(&line, `\u%04x`, r)
		} else {
			line.WriteRune(r)
		}
	}
	return line.String() + ": " + v.Keyword
}

// Validate checks arguments, a JSON value, against the schema, and answers a *Violation for the first fault. Text that is no JSON value
// is another error. Where the check would cost too much, the fault is `(root): complexity`.
func (s *Schema) Validate(arguments json.RawMessage) error {
	defer large.turn(len(arguments))()
	root, err := parse(arguments)
	var bound *parseFault
	if errors.As(err, &bound) {
		return &Violation{bound.pointer, cmp.Or(bound.keyword, "depth")}
	}
	if err != nil {
		return fmt.Errorf("arguments are no JSON value: %w", err)
	}
	root.settle()
	r := s.set.run(root, s.limits)
	switch {
	case r.spent:
		return &Violation{"", "complexity"}
	case r.first != nil:
		return &Violation{pointer(root.faultPath(r.first)), r.first.keyword}
	}
	return nil
}
