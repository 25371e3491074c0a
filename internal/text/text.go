package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// MaxLabel is the longest name for people, in characters.
const MaxLabel = 200

// Storable refuses what the database cannot hold as text: invalid UTF-8 and U+0000.
func Storable(path, s string) error {
	if !utf8.ValidString(s) {
		return fault.Plain(fault.Invalid, path, "%s is not valid UTF-8", path)
	}
	if strings.ContainsRune(s, 0) {
		return fault.Plain(fault.Invalid, path, "%s holds U+0000, which cannot be stored", path)
	}
	return nil
}

// Label checks a name for people: 1 to MaxLabel characters, not blank, no control characters.
func Label(path, s string) error {
	if err := Storable(path, s); err != nil {
		return err
	}
	return Short(path, s, MaxLabel)
}

// Short checks a text of one line: 1 to limit characters, not blank, no control characters.
func Short(path, s string, limit int) error {
	if err := Filled(path, s, limit); err != nil {
		return err
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return fault.Plain(fault.Invalid, path, "%s holds a control character", path)
	}
	return nil
}

// Filled checks that a text is storable, not blank, and has at most limit characters.
func Filled(path, s string, limit int) error {
	if err := Storable(path, s); err != nil {
		return err
	}
	if strings.TrimFunc(s, unicode.IsSpace) == "" {
		return fault.Plain(fault.Invalid, path, "%s is blank", path)
	}
	if utf8.RuneCountInString(s) > limit {
		return fault.Plain(fault.Invalid, path, "%s is longer than %d characters", path, limit)
	}
	return nil
}
