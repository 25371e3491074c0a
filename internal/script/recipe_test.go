package script_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/agent/agenttest"
	"github.com/scriptorium-dev/scriptorium/internal/change"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/key/keytest"
	"github.com/scriptorium-dev/scriptorium/internal/script"
)

// recipe is one of scripts with these names.
func recipe(agentID string, names ...string) script.RecipeInput {
	in := script.RecipeInput{Agent: agentID}
	for _, name := range names {
		in.Scripts = append(in.Scripts, &script.Content{Name: name, Description: "Prints " + name + ".", Source: "print()"})
	}
	return in
}

func (w *world) apply(t *testing.T, in script.RecipeInput) *script.RecipePayload {
	t.Helper()
	p, err := w.Scripts.ApplyRecipe(w.ctx, in)
	if err != nil || (p.Scripts == nil) != (len(p.UserErrors) > 0) {
		t.Fatal(p, err)
	}
	return p
}

func TestS1Recipe(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.agent = agenttest.New(w.ctx, t, w.Agents, agenttest.MaxScripts(3))
		w.Save(w.ctx, t, w.agent.ID, "b")
		p := w.apply(t, recipe(w.agent.ID, "c", "b", "a"))
		if got := w.live(t); !slices.Equal(got, []string{"a@1", "b@2", "c@1"}) || len(p.Scripts) != 3 || p.Scripts[1].Name != "b" || p.Scripts[1].LatestNumber != 2 {
			t.Fatalf("%v, answered %+v", got, p.Scripts)
		}
		var told []string
		for _, c := range w.log(t)[1:] {
			told = append(told, string(c.Action)+" "+*c.Name)
		}
		if !slices.Equal(told, []string{"CREATE c", "CREATE b", "CREATE a"}) || len(w.Above.SavedVersions()) != 4 {
			t.Errorf("changes %v, written through %d", told, len(w.Above.SavedVersions()))
		}
		// At the cap: replacing is fine, one name more is not, and then nothing is written.
		if p := w.apply(t, recipe(w.agent.ID, "a", "b")); len(p.Scripts) != 2 {
			t.Errorf("replacing at the cap: %v", p.UserErrors)
		}
		before, changes := w.live(t), len(w.log(t))
		refused := w.apply(t, recipe(w.agent.ID, "a", "d", "b"))
		if code(refused.UserErrors) != "CAP_REACHED input.scripts" || refused.UserErrors[0].Error() != "this agent is limited to 3 scripts" {
			t.Errorf("past the cap: %v", refused.UserErrors)
		}
		// Above a lowered cap, too.
		if p, err := w.Agents.Update(w.ctx, agent.UpdateInput{Agent: w.agent.ID, MaxScripts: ptr(1)}); err != nil || len(p.UserErrors) > 0 {
			t.Fatal(p, err)
		}
		if p := w.apply(t, recipe(w.agent.ID, "d")); code(p.UserErrors) != "CAP_REACHED input.scripts" || p.UserErrors[0].(*fault.CapReached).Limit != 1 {
			t.Errorf("above a lowered cap: %v", p.UserErrors)
		}
		if after := w.live(t); !slices.Equal(before, after) || len(w.log(t)) != changes {
			t.Errorf("refused recipes changed %v to %v", before, after)
		}
		if p := w.apply(t, recipe(w.agent.ID, "a")); len(p.Scripts) != 1 {
			t.Errorf("replacing above a lowered cap: %v", p.UserErrors)
		}
	})
}

func TestS1RecipeRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.agent = agenttest.New(w.ctx, t, w.Agents, agenttest.ConnectedTools("search"))
		many := make([]string, agent.MaxMaxScripts+1)
		for i := range many {
			many[i] = fmt.Sprint("s", i)
		}
		blank := recipe(w.agent.ID, "fine", "Bad")
		blank.Scripts[0].Description, blank.Scripts[1].Source = " ", ""
		schema := recipe(w.agent.ID, "fine", "other")
		schema.Scripts[1].Parameters = []byte(`{"type":"array"}`)
		long := recipe(w.agent.ID, "a")
		long.IdempotencyKey = ptr(strings.Repeat("k", 256))
		for name, c := range map[string]struct {
			in   script.RecipeInput
			want string
		}{
			"none":      {recipe(w.agent.ID), "INVALID input.scripts"},
			"too many":  {recipe(w.agent.ID, many...), "INVALID input.scripts"},
			"twice":     {recipe(w.agent.ID, "a", "b", "a"), "INVALID input.scripts.2.name"},
			"contents":  {blank, "INVALID input.scripts.0.description, INVALID input.scripts.1.name, INVALID input.scripts.1.source"},
			"schema":    {schema, "SCHEMA_INVALID input.scripts.1.parameters"},
			"names":     {recipe(w.agent.ID, "a", "manifest", "script__x"), "NAME_RESERVED input.scripts.1.name, NAME_RESERVED input.scripts.2.name"},
			"taken":     {recipe(w.agent.ID, "a", "search", "script_run"), "NAME_TAKEN input.scripts.1.name, NAME_TAKEN input.scripts.2.name"},
			"key":       {long, "INVALID input.idempotencyKey"},
			"no agent":  {recipe("agt_00000000000000000000000000", "a"), "NOT_FOUND input.agent"},
			"odd agent": {recipe("\x00", "a"), "NOT_FOUND input.agent"},
		} {
			if p := w.apply(t, c.in); code(p.UserErrors) != c.want {
				t.Errorf("%s: %s", name, code(p.UserErrors))
			}
		}
		if len(w.live(t)) != 0 || len(w.log(t)) != 0 {
			t.Errorf("refused recipes wrote %v", w.live(t))
		}
		other := keytest.Viewer(t, w.DB)
		if p, err := w.Scripts.ApplyRecipe(key.WithViewer(t.Context(), other), recipe(w.agent.ID, "a")); err != nil || code(p.UserErrors) != "NOT_FOUND input.agent" {
			t.Errorf("another organization's agent: %v %v", p, err)
		}
	})
}

// TestRecipeOnce: equal requests at once apply it once; parallel recipes never pass the cap, and each is there whole or not at all.
func TestRecipeOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		in := recipe(w.agent.ID, "a", "b")
		in.IdempotencyKey = ptr("k")
		parallel(20, func(int) {
			if p, err := w.Scripts.ApplyRecipe(w.ctx, in); err != nil || len(p.Scripts) != 2 || p.Scripts[0].Name != "a" || p.Scripts[1].LatestNumber != 1 {
				t.Errorf("%v %+v", err, p)
			}
		})
		if got := w.live(t); !slices.Equal(got, []string{"a@1", "b@1"}) {
			t.Errorf("live: %v", got)
		}
		in.Scripts[1].Source = "print(2)"
		if p := w.apply(t, in); code(p.UserErrors) != "IDEMPOTENCY_MISMATCH input.idempotencyKey" {
			t.Errorf("another input: %v", p.UserErrors)
		}
		var mu sync.Mutex
		applied := 0
		parallel(10, func(i int) { // of 8 that are left each wants 3
			p, err := w.Scripts.ApplyRecipe(w.ctx, recipe(w.agent.ID, fmt.Sprint("x", i), fmt.Sprint("y", i), fmt.Sprint("z", i)))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if len(p.Scripts) == 3 {
				applied++
			}
		})
		if applied != 2 || len(w.live(t)) != 8 || len(w.log(t)) != 8 {
			t.Errorf("%d applied, %v", applied, w.live(t))
		}
	})
}

func TestS1HistRestore(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		in := script.SaveInput{Agent: w.agent.ID, Name: "deck", Description: "First.", Source: "print(1)", Parameters: []byte(`{"type": "object"}`), FreshInterpreter: ptr(true)}
		first := w.save(t, in)
		second := w.Save(w.ctx, t, w.agent.ID, "deck")
		restore := func(in script.RestoreInput) *script.RestorePayload {
			t.Helper()
			p, err := w.Scripts.Restore(w.ctx, in)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		w.Above.Snap("deck")
		p := restore(script.RestoreInput{Version: first.Version.ID, ExpectedVersion: ptr(2), IdempotencyKey: ptr("k")})
		if len(p.UserErrors) > 0 || p.Script.ID != first.Script.ID || p.Version.Number != 3 || *p.Created || *p.TakesEffect != script.NextRun ||
			p.Version.Source != "print(1)" || p.Version.Description != "First." || string(p.Version.Parameters) != `{"type": "object"}` ||
			!p.Version.FreshInterpreter || p.Version.SourceHash != first.Version.SourceHash || p.Version.Author.KeyID != w.viewer.Key.ID {
			t.Fatalf("%+v %v", p.Version, p.UserErrors)
		}
		if again := restore(script.RestoreInput{Version: first.Version.ID, ExpectedVersion: ptr(2), IdempotencyKey: ptr("k")}); again.Version.ID != p.Version.ID {
			t.Errorf("the same request again: %v", again.UserErrors)
		}
		if log := w.log(t); len(log) != 3 || log[2].Action != change.Create || *log[2].VersionID != p.Version.ID {
			t.Errorf("log: %+v", log)
		}
		for _, c := range []struct {
			want string
			in   script.RestoreInput
		}{
			{"VERSION_CONFLICT input.expectedVersion", script.RestoreInput{Version: second.Version.ID, ExpectedVersion: ptr(2)}},
			{"INVALID input.expectedVersion", script.RestoreInput{Version: second.Version.ID, ExpectedVersion: ptr(-1)}},
			{"IDEMPOTENCY_MISMATCH input.idempotencyKey", script.RestoreInput{Version: second.Version.ID, IdempotencyKey: ptr("k")}},
			{"NOT_FOUND input.version", script.RestoreInput{Version: "ver_\x00"}},
			{"NOT_FOUND input.version", script.RestoreInput{Version: first.Script.ID}},
		} {
			if p := restore(c.in); code(p.UserErrors) != c.want || p.Script != nil {
				t.Errorf("%+v: %s, want %s", c.in, code(p.UserErrors), c.want)
			}
		}
		other := keytest.Viewer(t, w.DB)
		if p, err := w.Scripts.Restore(key.WithViewer(t.Context(), other), script.RestoreInput{Version: first.Version.ID}); err != nil || code(p.UserErrors) != "NOT_FOUND input.version" {
			t.Errorf("another organization's: %v %v", p, err)
		}
		w.restoreDeleted(t, first.Version.ID, restore)
	})
}

// restoreDeleted brings a script back that was deleted: as a new one, under the rules for one.
func (w *world) restoreDeleted(t *testing.T, versionID string, restore func(script.RestoreInput) *script.RestorePayload) {
	t.Helper()
	if p, err := w.Scripts.Delete(w.ctx, script.DeleteInput{Agent: w.agent.ID, Name: "deck"}); err != nil || len(p.UserErrors) > 0 {
		t.Fatal(p, err)
	}
	update := func(in agent.UpdateInput) {
		t.Helper()
		in.Agent = w.agent.ID
		if p, err := w.Agents.Update(w.ctx, in); err != nil || len(p.UserErrors) > 0 {
			t.Fatal(p, err)
		}
	}
	update(agent.UpdateInput{ConnectedTools: []string{"deck"}})
	if p := restore(script.RestoreInput{Version: versionID}); code(p.UserErrors) != "NAME_TAKEN input.version" {
		t.Errorf("its name is taken: %v", p.UserErrors)
	}
	w.Save(w.ctx, t, w.agent.ID, "other")
	update(agent.UpdateInput{ConnectedTools: []string{}, MaxScripts: ptr(1)})
	if p := restore(script.RestoreInput{Version: versionID}); code(p.UserErrors) != "CAP_REACHED input.version" {
		t.Errorf("at the cap: %v", p.UserErrors)
	}
	update(agent.UpdateInput{MaxScripts: ptr(2)})
	p := restore(script.RestoreInput{Version: versionID, ExpectedVersion: ptr(0)})
	if len(p.UserErrors) > 0 || !*p.Created || p.Version.Number != 1 || p.Version.Source != "print(1)" || p.Script.Name != "deck" {
		t.Fatalf("after its deletion: %+v %v", p.Version, p.UserErrors)
	}
	if gone, err := w.Agents.Delete(w.ctx, agent.DeleteInput{Agent: w.agent.ID}); err != nil || len(gone.UserErrors) > 0 {
		t.Fatal(gone, err)
	}
	if p := restore(script.RestoreInput{Version: versionID}); code(p.UserErrors) != "NOT_FOUND input.version" {
		t.Errorf("its agent is deleted: %v", p.UserErrors)
	}
}
