package text_test

import (
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/text"
)

func TestRules(t *testing.T) {
	t.Parallel()
	cases := []struct {
		text                     string
		storable, filled, labels bool
	}{
		{"", true, false, false},
		{" \u00a0\n\u3000", true, false, false},
		{"a", true, true, true},
		{" a ", true, true, true},
		{"a\nb", true, true, false},
		{"a\u0085b", true, true, false},
		{"a\x00", false, false, false},
		{"a\xff", false, false, false},
		{"a\xed\xa0\x80", false, false, false},
		{strings.Repeat("ä", 200), true, true, true},
		{strings.Repeat("ä", 201), true, false, false},
	}
	for _, c := range cases {
		got := []bool{text.Storable("input.x", c.text) == nil, text.Filled("input.x", c.text, 200) == nil, text.Label("input.x", c.text) == nil}
		if got[0] != c.storable || got[1] != c.filled || got[2] != c.labels {
			t.Errorf("%.20q: %v", c.text, got)
		}
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"A": true, "_": true, "API_KEY_2": true, strings.Repeat("A", 255): true, strings.Repeat("A", 256): false, "": false, "a": false, "2A": false, "A-B": false,
		"A\n": false, "A=": false, "А": false, "A\x00": false, " A": false,
	} {
		if text.ValidVariable(name) != want {
			t.Errorf("ValidVariable(%q) = %v", name, !want)
		}
	}
	for name, want := range map[string]bool{
		"PATH": true, "HOME": true, "LANG": true, "TZ": true, "PYTHON": true, "PYTHONPATH": true, "NODE_OPTIONS": true, "LD_PRELOAD": true, "ARTIFIC_ARGUMENTS": true,
		"GUILDS_SCRIPT_ARGS": true, "SCRIPTORIUM_RUN_ID": true, "PATHS": false, "NODE": false, "LD": false, "API_KEY": false, "_PATH": false,
	} {
		if text.ReservedVariable(name) != want {
			t.Errorf("ReservedVariable(%q) = %v", name, !want)
		}
	}
}
