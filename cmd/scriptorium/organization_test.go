package main

import (
	"fmt"
	"testing"
)

// TestOrganizationUpdate: the own organization with MANAGEMENT, any with the operator's key; what is left out stays.
func TestOrganizationUpdate(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, _ *shelf) {
		own := at[string](t, manager.must(t, manager.secret, `{ viewer { organization { id } } }`, nil), "viewer", "organization", "id")
		update := func(by *shelf, changes map[string]any) string {
			t.Helper()
			p := by.do("organizationUpdate", "organization { id name versionsNeedApproval }", with(map[string]any{"organization": own}, changes))
			if p["organization"] == nil {
				return p.refusals()
			}
			o := p["organization"].(map[string]any)
			return fmt.Sprintf("%v %v %v", o["id"] == own, o["name"], o["versionsNeedApproval"])
		}
		operator := &shelf{&catalog{manager.testServer, t, manager.operator, ""}}
		another := &shelf{&catalog{manager.testServer, t, manager.organization(t, "another"), ""}}
		for i, step := range []struct {
			by      *shelf
			changes map[string]any
			want    string
		}{
			{manager, nil, "true one with scripts false"},
			{manager, map[string]any{"name": "renamed"}, "true renamed false"},
			{operator, map[string]any{"versionsNeedApproval": true}, "true renamed true"},
			{manager, map[string]any{"name": nil, "versionsNeedApproval": nil}, "true renamed true"},
			{manager, map[string]any{"name": " "}, "INVALID input.name"},
			{another, map[string]any{"name": "theirs"}, "NOT_FOUND input.organization"},
			{operator, map[string]any{"organization": "x\x00"}, "NOT_FOUND input.organization"},
			{manager, map[string]any{"versionsNeedApproval": false}, "true renamed false"},
		} {
			if got := update(step.by, step.changes); got != step.want {
				t.Errorf("step %d: %s, want %s", i, got, step.want)
			}
		}
	})
}
