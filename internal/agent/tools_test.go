package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/idempotency"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/key/keytest"
)

// withPackage writes a script of the viewer's organization.
func withPackage(t *testing.T, d *database.DB, v *key.Viewer, name string, published bool) {
	t.Helper()
	err := d.InTx(t.Context(), func(ctx context.Context, tx *database.Tx) error {
		return tx.Ent().Script.Create().SetID(id.New(id.Script)).SetOrganizationID(v.Organization.ID).SetName(name).SetLatestVersionID("ver_x").SetLatestNumber(1).
			SetPublished(published).SetCreatedAt(database.Now()).SetUpdatedAt(database.Now()).Exec(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestS2Toolset: an agent names scripts of its organization, and patterns.
func TestS2Toolset(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		v, other := keytest.Viewer(t, d), keytest.Viewer(t, d)
		for _, name := range []string{"deck", "sheet", "hidden"} {
			withPackage(t, d, v, name, name != "hidden")
		}
		withPackage(t, d, other, "theirs", true)
		limited := *v
		own := *v.Key
		own.ToolRules = []*key.ToolRule{{Effect: key.Deny, Pattern: "script__d*"}}
		limited.Key = &own
		agents := agent.NewService(d, idempotency.NewService(d))
		many := make([]string, 101)
		for i := range many {
			many[i] = fmt.Sprintf("a%d*", i)
		}
		for _, c := range []struct {
			by    *key.Viewer
			tools []string
			want  string
		}{
			{v, nil, ""}, {v, []string{"script__deck", "script__*", "nothing*"}, ""}, {&limited, []string{"script__sheet", "*"}, ""},
			{v, []string{"script__deck", "script__nope"}, "NOT_FOUND input.tools.1"}, {v, []string{"script__hidden"}, "NOT_FOUND input.tools.0"},
			{v, []string{"script__theirs"}, "NOT_FOUND input.tools.0"}, {v, []string{"deck"}, "NOT_FOUND input.tools.0"}, {v, []string{"script_run"}, "NOT_FOUND input.tools.0"},
			{v, []string{"script__"}, "NOT_FOUND input.tools.0"}, {&limited, []string{"script__deck"}, "NOT_FOUND input.tools.0"},
			{v, []string{"script__*", "script__*"}, "INVALID input.tools.1"}, {v, []string{"script__deck\n"}, "INVALID input.tools.0"}, {v, many, "TOO_LARGE input.tools"},
		} {
			p, err := agents.Create(as(t, c.by), agent.CreateInput{Name: "a", Tools: c.tools})
			if err != nil {
				t.Fatal(err)
			}
			if got := refused(p.UserErrors); got != c.want {
				t.Errorf("%q: %s", c.tools, got)
			}
			if p.Agent != nil && strings.Join(p.Agent.Tools, " ") != strings.Join(c.tools, " ") {
				t.Errorf("%q: %q", c.tools, p.Agent.Tools)
			}
		}
		p, err := agents.Create(as(t, v), agent.CreateInput{Name: "b", Tools: []string{"script__deck"}})
		if err != nil || p.Agent == nil {
			t.Fatal(err, p)
		}
		update := func(by *key.Viewer, want string, tools ...string) {
			t.Helper()
			u, err := agents.Update(as(t, by), agent.UpdateInput{Agent: p.Agent.ID, Tools: tools})
			if err != nil || refused(u.UserErrors) != want {
				t.Errorf("%v %q", err, u.UserErrors)
			}
		}
		update(&limited, "", "script__sheet", "script__deck") // which it had
		update(v, "NOT_FOUND input.tools.0", "script__nope")
		u, err := agents.Update(as(t, v), agent.UpdateInput{Agent: p.Agent.ID})
		if err != nil || strings.Join(u.Agent.Tools, " ") != "script__sheet script__deck" {
			t.Errorf("%v %v", err, u.Agent)
		}
		naming, err := agents.Naming(t.Context(), d.SQL(), v.Organization.ID, []string{"script__deck", "script__sheet", "script__none"})
		if err != nil || len(naming["script__deck"]) != 2 || len(naming["script__sheet"]) != 2 || len(naming["script__none"]) != 0 {
			t.Errorf("%v %v", err, naming)
		}
		if got := naming["script__deck"][1]; got.ID != p.Agent.ID || got.Name != "b" || !got.CreatedAt.Equal(p.Agent.CreatedAt) || len(got.Tools) != 2 || !got.Scripting {
			t.Errorf("%+v", got)
		}
		update(v, "")
	})
}

func as(t *testing.T, v *key.Viewer) context.Context { return key.WithViewer(t.Context(), v) }
