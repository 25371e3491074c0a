package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/text"
)

// Bounds of an agent.
const (
	// DefaultMaxScripts is how many scripts an agent may keep if nobody says (S1-cap).
	DefaultMaxScripts = 10
	// MaxMaxScripts is the highest cap: what a run's snapshot, its list of tools and the home of a machine are built for.
	MaxMaxScripts = 1000
	// MaxConnectedTools is how many connected tools an agent names at most.
	MaxConnectedTools = 500
	// MaxToolName is the longest name of a connected tool, in characters.
	MaxToolName = 128
)

// nativeTools are the system's own tools (S1-five): nothing else has their names.
var nativeTools = []string{"script_create", "script_list", "script_read", "script_run", "script_delete"}

// reservedPrefixes begin the names under which an organization's scripts and aliases are offered.
var reservedPrefixes = []string{"script__", "alias__"}

// IsNativeTool says whether one of the system's own tools has the name.
func IsNativeTool(name string) bool { return slices.Contains(nativeTools, name) }

// ReservedPrefix answers the reserved prefix that the name begins with, or "".
func ReservedPrefix(name string) string {
	for _, p := range reservedPrefixes {
		if strings.HasPrefix(name, p) {
			return p
		}
	}
	return ""
}

// checkMaxScripts holds the rule S1-cap: a positive whole number.
func checkMaxScripts(n *int) error {
	const path = "input.maxScripts"
	if n != nil && (*n < 1 || *n > MaxMaxScripts) {
		return fault.Plain(fault.Invalid, path, "%s must be from 1 to %d", path, MaxMaxScripts)
	}
	return nil
}

// checkConnectedTools checks the names of connected tools by themselves; whether scripts have them is a matter of the transaction.
func checkConnectedTools(names []string) error {
	if len(names) > MaxConnectedTools {
		return fault.Plain(fault.Invalid, "input.connectedTools", "input.connectedTools has more than %d names", MaxConnectedTools)
	}
	seen := make(map[string]bool, len(names))
	for i, name := range names {
		path := toolPath(i)
		if err := text.Short(path, name, MaxToolName); err != nil {
			return err
		}
		if seen[name] {
			return fault.Plain(fault.Invalid, path, "%s repeats %s", path, name)
		}
		seen[name] = true
		if IsNativeTool(name) {
			return nameTaken(path, name, "the tool "+name)
		}
		if p := ReservedPrefix(name); p != "" {
			return fault.Plain(fault.Reserved, path, "%s begins with %s, which is kept for the system", path, p)
		}
	}
	return nil
}

func toolPath(i int) string { return fmt.Sprintf("input.connectedTools.%d", i) }

func nameTaken(path, name, by string) error {
	return &fault.NameTaken{Detail: fault.NewDetail(fault.Taken, path, "%s: %s is the name of %s", path, name, by), TakenBy: by}
}
