package text_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/text"
)

func TestPatterns(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]bool{
		"script__*": true, "*": true, "**": true, "deck": true, "A-9_": true, "": false, "a b": false, "a\n": false, "ä": false, "a.b": false, "a?": false,
		strings.Repeat("*", 128): true, strings.Repeat("a", 129): false,
	} {
		if text.ValidPattern(pattern) != want {
			t.Errorf("ValidPattern(%q) = %v", pattern, !want)
		}
	}
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"script__*", "script__deck", true}, {"script__*", "script__", true}, {"script__*", "script_run", false}, {"deck", "deck", true}, {"deck", "decks", false},
		{"*deck", "script__deck", true}, {"*_*k", "script__deck", true}, {"a*a", "a", false}, {"a*a", "aa", true}, {"a*b*c", "abc", true}, {"a*b*c", "acb", false},
		{"*", "", true}, {"*a*b*", "xbxaxb", true}, {"ab*ab", "ab", false}, {"ab*ab", "abab", true}, {"*ab*ab", "ab", false}, {"a*ab*b", "aab", false},
		{strings.Repeat("*a", 60) + "*b", strings.Repeat("a", 4000), false},
	} {
		if text.Fits(c.pattern, c.name) != c.want {
			t.Errorf("Fits(%q, %.40q) = %v", c.pattern, c.name, !c.want)
		}
	}
	if text.IsPattern("deck") || !text.IsPattern("d*") {
		t.Error("what a pattern is")
	}
}

// FuzzFits compares with a regular expression.
func FuzzFits(f *testing.F) {
	f.Add("a*b*c", "abbc")
	f.Add("**", "x")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if !text.ValidPattern(pattern) || strings.Contains(name, "\n") || !regexp.MustCompile(`\A[a-z_*-]*\z`).MatchString(name) {
			return
		}
		want := regexp.MustCompile(`\A` + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `.*`) + `\z`).MatchString(name)
		if text.Fits(pattern, name) != want {
			t.Errorf("Fits(%q, %q) = %v", pattern, name, !want)
		}
	})
}
