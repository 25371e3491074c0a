package text

import "strings"

// MaxPattern is the longest pattern over names of tools, in characters, which are bytes. A tool's name has at most 64.
const MaxPattern = 128

// ValidPattern says whether a pattern over names of tools is one: 1 to MaxPattern letters, digits, _, - and *, each of which stands for any
// number of characters.
func ValidPattern(pattern string) bool {
	if pattern == "" || len(pattern) > MaxPattern {
		return false
	}
	for _, c := range []byte(pattern) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '_' && c != '-' && c != '*' {
			return false
		}
	}
	return true
}

// IsPattern says whether a name stands for others: it holds a *.
func IsPattern(name string) bool { return strings.Contains(name, "*") }

// Fits says whether a pattern stands for the whole name. It never looks at a part of the name twice: what a * in front of the last one takes is the
// shortest that there is.
func Fits(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	rest := name[len(first) : len(name)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return true
}
