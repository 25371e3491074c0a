package text

import (
	"regexp"
	"slices"
	"strings"
)

// MaxVariable is the longest name of an environment variable that a client sets, in characters, which are bytes.
const MaxVariable = 255

var variableName = regexp.MustCompile(`\A[A-Z_][A-Z0-9_]*\z`)

// Variables that a client cannot set, since every call gets them from the server, or since they change what an interpreter loads.
var (
	reservedVariables = []string{"PATH", "HOME", "LANG", "TZ"}
	reservedPrefixes  = []string{"PYTHON", "NODE_", "LD_", "ARTIFIC_", "GUILDS_", "SCRIPTORIUM_"}
)

// ValidVariable says whether an environment variable that a client sets can have the name.
func ValidVariable(name string) bool {
	return len(name) <= MaxVariable && variableName.MatchString(name)
}

// ReservedVariable says whether the environment variable is the server's to set.
func ReservedVariable(name string) bool {
	return slices.Contains(reservedVariables, name) ||
		slices.ContainsFunc(reservedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}
