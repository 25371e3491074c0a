package script

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/text"
)

// Bounds of a package.
const (
	// MaxPackageName is the longest name: with script__ in front it is as long as the names of model APIs may be.
	MaxPackageName = 56
	// MaxPath is the longest path of a file, in characters (S2-path); maxSegment the longest part of one, in bytes.
	MaxPath    = 255
	maxSegment = 255
)

// ValidPackageName says whether an organization's script can have the name.
func ValidPackageName(name string) bool { return len(name) <= MaxPackageName && ValidName(name) }

// checkPath holds the rules about one file's path: S2-path.
func checkPath(at, path string) error {
	if err := text.Storable(at, path); err != nil {
		return err
	}
	why := ""
	switch {
	case path == "":
		why = "is empty"
	case utf8.RuneCountInString(path) > MaxPath:
		return fault.Plain(fault.Invalid, at, "%s is longer than %d characters", at, MaxPath)
	case strings.HasPrefix(path, "/"):
		why = "begins with /: paths are relative"
	case strings.HasSuffix(path, "/"):
		why = "ends with /"
	case strings.ContainsRune(path, '\\'):
		why = `holds a backslash`
	case strings.ContainsFunc(path, unicode.IsControl):
		why = "holds a control character"
	}
	for _, segment := range strings.Split(path, "/") {
		switch {
		case why != "":
		case segment == "":
			why = "has nothing between two /"
		case segment == "." || segment == "..":
			why = "has the part " + segment
		case len(segment) > maxSegment:
			why = "has a part of more than 255 bytes"
		}
	}
	if why != "" {
		return fault.Plain(fault.Invalid, at, "%s %s", at, why)
	}
	return nil
}
