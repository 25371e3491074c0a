package key

import (
	"errors"
	"fmt"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/text"
)

// RuleEffect says what a rule does with a tool (SDL: RuleEffect).
type RuleEffect string

// The effects.
const (
	Permit RuleEffect = "PERMIT"
	Deny   RuleEffect = "DENY"
)

// MaxToolRules is how many rules a key has at most.
const MaxToolRules = 100

// ToolRule is a rule over the names of tools (SDL: ToolRule).
type ToolRule struct {
	Effect  RuleEffect `json:"effect"`
	Pattern string     `json:"pattern"`
}

// PermitTool says whether rules, in their order, let a tool of this name be offered and called: the first rule whose pattern fits the name decides;
// where none does, they do (S2-policy).
func PermitTool(rules []*ToolRule, name string) bool {
	for _, r := range rules {
		if text.Fits(r.Pattern, name) {
			return r.Effect == Permit
		}
	}
	return true
}

// PermitsTool says whether the viewer's key may be offered and may call a tool of this name (S2-policy).
func (v *Viewer) PermitsTool(name string) bool { return PermitTool(v.Key.ToolRules, name) }

// grantableRules checks rules against the viewer's, which are also the default. A key's rules are those of the key that makes it, in their order;
// behind them there can be any, and in front of and among them such that deny: so the new key is permitted nothing that the other one is not.
func grantableRules(v *Viewer, wanted []*ToolRule) ([]*ToolRule, error) {
	const path = "input.toolRules"
	own := v.Key.ToolRules
	if wanted == nil {
		return own, nil
	}
	if len(wanted) > MaxToolRules {
		return nil, fault.Plain(fault.TooLarge, path, "%s has %d rules; %d are allowed", path, len(wanted), MaxToolRules)
	}
	var faults []error
	kept := 0 // so many of the own rules are there
	for i, r := range wanted {
		at := fmt.Sprintf("%s.%d", path, i)
		switch {
		case !text.ValidPattern(r.Pattern):
			faults = append(faults, fault.Plain(fault.Invalid, at+".pattern", "%s.pattern must be 1 to %d letters, digits, _, - and *", at, text.MaxPattern))
		case r.Effect != Permit && r.Effect != Deny:
			faults = append(faults, fault.Plain(fault.Invalid, at+".effect", "%s.effect is neither PERMIT nor DENY", at))
		case kept < len(own) && *r == *own[kept]:
			kept++
		case kept < len(own) && r.Effect == Permit:
			faults = append(faults, fault.Plain(fault.Forbidden, at, "%s permits %s in front of rules of your key, which has to keep them in their order", at, r.Pattern))
		}
		if len(faults) == 10 {
			break // enough is said
		}
	}
	if len(faults) == 0 && kept < len(own) {
		faults = append(faults, fault.Plain(fault.Forbidden, path, "%s lacks the rule of your key that says %s %s", path, own[kept].Effect, own[kept].Pattern))
	}
	return wanted, errors.Join(faults...)
}
