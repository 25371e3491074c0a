package key_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/key/keytest"
)

// rulesOf reads "+pattern -pattern": permit and deny.
func rulesOf(text string) []*key.ToolRule {
	rules := []*key.ToolRule{}
	for _, word := range strings.Fields(text) {
		effect := key.Permit
		if word[0] == '-' {
			effect = key.Deny
		}
		rules = append(rules, &key.ToolRule{Effect: effect, Pattern: word[1:]})
	}
	return rules
}

func TestS2Policy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rules, name string
		want        bool
	}{
		{"", "script__deck", true}, {"-*", "script__deck", false}, {"+script__deck -*", "script__deck", true}, {"+script__deck -*", "script__decks", false},
		{"-script__*", "script_run", true}, {"-script__d* +script__deck", "script__deck", false}, {"+* -*", "x", true},
	} {
		if key.PermitTool(rulesOf(c.rules), c.name) != c.want {
			t.Errorf("%q on %s: %v", c.rules, c.name, !c.want)
		}
	}
}

// TestS2PolicyGranted: nobody makes a key that is permitted more than the own one.
func TestS2PolicyGranted(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		_, keys := keytest.Services(d)
		v := keytest.Viewer(t, d)
		for _, c := range []struct{ own, wanted, want string }{
			{"", "+a -*", "+a -*"},
			{"-a", "(none)", "-a"},
			{"-a", "-a", "-a"},
			{"-a", "-b -a +*", "-b -a +*"},
			{"+a -*", "-x +a -y -* +z", "-x +a -y -* +z"},
			{"-a", "", "DENIED input.toolRules"},
			{"-a", "+a -a", "DENIED input.toolRules.0"},
			{"-a -b", "-b -a", "DENIED input.toolRules"},
			{"", "-" + strings.Repeat("a", 129), "INVALID input.toolRules.0.pattern"},
			{"", "-a -b.c", "INVALID input.toolRules.1.pattern"},
			{"", strings.Repeat("-a ", 101), "TOO_LARGE input.toolRules"},
		} {
			viewer := *v
			own := *v.Key
			viewer.Key = &own
			own.ToolRules = rulesOf(c.own)
			in := key.CreateInput{Name: "k", Capabilities: []key.Capability{}, ToolRules: rulesOf(c.wanted)}
			if c.wanted == "(none)" {
				in.ToolRules = nil
			}
			p, err := keys.Create(as(t, &viewer), in)
			if err != nil {
				t.Fatal(err)
			}
			if p.Key == nil {
				if got := refused(p.UserErrors); got != c.want {
					t.Errorf("%q from %q: %s", c.wanted, c.own, got)
				}
				continue
			}
			again, err := keys.Authenticate(t.Context(), "Bearer "+*p.Secret)
			if err != nil {
				t.Fatal(err)
			}
			found, err := keys.ByIDs(t.Context(), p.Key.OrganizationID, []string{p.Key.ID})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range again.Key.ToolRules {
				got = append(got, map[key.RuleEffect]string{key.Permit: "+", key.Deny: "-"}[r.Effect]+r.Pattern)
			}
			if strings.Join(got, " ") != c.want || !slices.EqualFunc(found[p.Key.ID].ToolRules, again.Key.ToolRules, func(a, b *key.ToolRule) bool { return *a == *b }) {
				t.Errorf("%q from %q: %q, and %v", c.wanted, c.own, got, fmt.Sprint(found[p.Key.ID].ToolRules))
			}
		}
	})
}
