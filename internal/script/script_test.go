package script_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/agent/agenttest"
	"github.com/scriptorium-dev/scriptorium/internal/change"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/key/keytest"
	"github.com/scriptorium-dev/scriptorium/internal/page"
	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/internal/script/scripttest"
)

func ptr[T any](v T) *T { return &v }

// world is a database with an agent.
type world struct {
	*scripttest.Services
	ctx    context.Context
	viewer *key.Viewer
	agent  *agent.Agent
}

// each runs f on each database with a new world.
func each(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	databasetest.Each(t, func(t *testing.T, d *database.DB) { f(t, on(t, d)) })
}

// on makes a new world on a database.
func on(t *testing.T, d *database.DB) *world {
	t.Helper()
	viewer := keytest.Viewer(t, d)
	w := &world{Services: scripttest.New(t, d), viewer: viewer, ctx: key.WithViewer(t.Context(), viewer)}
	w.agent = agenttest.New(w.ctx, t, w.Agents)
	return w
}

// save saves and answers the payload, which may be a refusal.
func (w *world) save(t *testing.T, in script.SaveInput) *script.SavePayload {
	t.Helper()
	saved, err := w.Scripts.Save(w.ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

// live answers the names and numbers of the agent's scripts.
func (w *world) live(t *testing.T) []string {
	t.Helper()
	entries, err := w.Scripts.Live(w.ctx, nil, w.viewer.Organization.ID, w.agent.ID)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, fmt.Sprintf("%s@%d", e.Script.Name, e.Version.Number))
	}
	return names
}

// log answers the whole change log.
func (w *world) log(t *testing.T) []*change.Change {
	t.Helper()
	log, err := w.Changes.Log(w.ctx, w.viewer.Organization.ID, nil, page.Args{First: ptr(100)})
	if err != nil {
		t.Fatal(err)
	}
	return log.Nodes()
}

// code answers the codes and paths of refusals.
func code(faults []fault.UserError) string {
	var all []string
	for _, f := range faults {
		var d fault.Detail
		switch e := f.(type) {
		case *fault.PlainUserError:
			d = e.Detail
		case *fault.CapReached:
			d = e.Detail
		case *fault.NameTaken:
			d = e.Detail
		case *fault.SchemaInvalid:
			d = e.Detail
		case *script.VersionConflict:
			d = e.Detail
		}
		all = append(all, string(d.Code)+" "+strings.Join(d.Path, "."))
	}
	return strings.Join(all, ", ")
}

func TestS1Name(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		good := []string{"a", "deck", "a-b_c9", strings.Repeat("n", 63)}
		for _, name := range good {
			if saved := w.save(t, scripttest.Input(w.agent.ID, name)); len(saved.UserErrors) > 0 || saved.Script.Name != name {
				t.Errorf("%q is refused: %v", name, saved.UserErrors)
			}
		}
		before := w.live(t)
		bad := []string{
			"", " ", "deck\n", "\ndeck", "Deck", "dEck", "9deck", "_deck", "-deck", "de ck", "deck\x00", "deck\xff", "dеck", "déck", "deck/x", "../deck",
			strings.Repeat("n", 64), strings.Repeat("n", 100_000),
		}
		for _, name := range bad {
			in := scripttest.Input(w.agent.ID, "deck")
			in.Name = name
			saved := w.save(t, in)
			if code(saved.UserErrors) != "INVALID input.name" || saved.Script != nil || saved.Version != nil || saved.Created != nil || saved.TakesEffect != nil {
				t.Errorf("%.70q: %s", name, code(saved.UserErrors))
			}
			if found, err := w.Scripts.ByName(w.ctx, w.viewer.Organization.ID, []string{w.agent.ID}, name); err != nil || len(found) > 0 {
				t.Errorf("%.70q is found: %v", name, err)
			}
			if deleted, err := w.Scripts.Delete(w.ctx, script.DeleteInput{Agent: w.agent.ID, Name: name}); err != nil || code(deleted.UserErrors) != "NOT_FOUND input.name" {
				t.Errorf("%.70q: %v %v", name, err, deleted)
			}
		}
		if after := w.live(t); !slices.Equal(before, after) || len(w.log(t)) != len(good) {
			t.Errorf("refused names changed %v to %v", before, after)
		}
	})
}

func TestS1Reserved(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.agent = agenttest.New(w.ctx, t, w.Agents, agenttest.ConnectedTools("search", "Web Fetch"))
		cases := map[string]string{
			"manifest": "NAME_RESERVED input.name", "script__x": "NAME_RESERVED input.name", "alias__x": "NAME_RESERVED input.name",
			"script_create": "NAME_TAKEN input.name", "script_list": "NAME_TAKEN input.name", "script_read": "NAME_TAKEN input.name",
			"script_run": "NAME_TAKEN input.name", "script_delete": "NAME_TAKEN input.name", "search": "NAME_TAKEN input.name",
		}
		for name, want := range cases {
			if saved := w.save(t, scripttest.Input(w.agent.ID, name)); code(saved.UserErrors) != want {
				t.Errorf("%s: %q", name, code(saved.UserErrors))
			}
		}
		taken := w.save(t, scripttest.Input(w.agent.ID, "search")).UserErrors[0].(*fault.NameTaken)
		if taken.TakenBy != "a connected tool" {
			t.Errorf("takenBy %q", taken.TakenBy)
		}
		if len(w.live(t)) != 0 || len(w.log(t)) != 0 {
			t.Error("a refused name was written")
		}
		for _, name := range []string{"script_runner", "manifests", "script_", "alias_"} {
			w.Save(w.ctx, t, w.agent.ID, name)
		}
	})
}

// TestS1ReservedLater: the connected tool comes after the script.
func TestS1ReservedLater(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.Save(w.ctx, t, w.agent.ID, "deck")
		gone := w.Save(w.ctx, t, w.agent.ID, "gone").Script.Name
		if _, err := w.Scripts.Delete(w.ctx, script.DeleteInput{Agent: w.agent.ID, Name: gone}); err != nil {
			t.Fatal(err)
		}
		refused, err := w.Agents.Update(w.ctx, agent.UpdateInput{Agent: w.agent.ID, Name: ptr("renamed"), ConnectedTools: []string{"search", "deck"}})
		if err != nil || code(refused.UserErrors) != "NAME_TAKEN input.connectedTools.1" {
			t.Fatalf("%v %v", err, refused)
		}
		found, err := w.Agents.ByIDs(w.ctx, w.viewer.Organization.ID, []string{w.agent.ID})
		if err != nil || found[w.agent.ID].Name != w.agent.Name || len(found[w.agent.ID].ConnectedTools) != 0 {
			t.Fatalf("a refused update was written: %v %v", err, found)
		}
		fine, err := w.Agents.Update(w.ctx, agent.UpdateInput{Agent: w.agent.ID, ConnectedTools: []string{"search", "gone"}})
		if err != nil || len(fine.UserErrors) > 0 {
			t.Fatalf("%v %v", err, fine)
		}
		if saved := w.save(t, scripttest.Input(w.agent.ID, "gone")); code(saved.UserErrors) != "NAME_TAKEN input.name" {
			t.Fatalf("%s", code(saved.UserErrors))
		}
	})
}

func TestS1Desc(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		cases := map[string]string{
			strings.Repeat("ä", 400): "", "a\nb": "", strings.Repeat("ä", 401): "INVALID input.description", "": "INVALID input.description",
			" \t\n\u3000": "INVALID input.description", "a\x00": "INVALID input.description", "a\xff": "INVALID input.description",
		}
		for description, want := range cases {
			in := scripttest.Input(w.agent.ID, "deck")
			in.Description = description
			saved := w.save(t, in)
			if code(saved.UserErrors) != want || want == "" && saved.Script.Description != description {
				t.Errorf("%.20q: %s", description, code(saved.UserErrors))
			}
		}
	})
}

func TestS1Src(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		cases := map[string]string{
			"x": "", "print('ü')\r\n\n": "", strings.Repeat("#", 1_000_000): "", strings.Repeat("#", 1_000_001): "TOO_LARGE input.source",
			"": "INVALID input.source", " \n\t": "INVALID input.source", "x\x00": "INVALID input.source", "x\xed\xa0\x80": "INVALID input.source",
		}
		for source, want := range cases {
			in := scripttest.Input(w.agent.ID, "deck")
			in.Source = source
			saved := w.save(t, in)
			if code(saved.UserErrors) != want {
				t.Fatalf("%.20q: %s", source, code(saved.UserErrors))
			}
			if want != "" {
				continue
			}
			found, err := w.Scripts.VersionsByIDs(w.ctx, w.viewer.Organization.ID, []string{saved.Version.ID})
			if err != nil || found[saved.Version.ID].Source != source {
				t.Fatalf("%.20q is not what was kept: %v", source, err)
			}
		}
		saved := w.Save(w.ctx, t, w.agent.ID, "abc", scripttest.Source("abc"))
		if saved.Version.SourceHash != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
			t.Errorf("sourceHash %s", saved.Version.SourceHash)
		}
	})
}

func TestS1Params(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		schema := `{ "type":"object", "properties":{"b":{"maximum":1.0},"a":{"const":"\u0000"}}, "x":9007199254740993 }`
		saved := w.Save(w.ctx, t, w.agent.ID, "deck", scripttest.Parameters(schema))
		found, err := w.Scripts.ByIDs(w.ctx, w.viewer.Organization.ID, []string{saved.Script.ID})
		if err != nil || string(found[saved.Script.ID].Parameters) != schema || string(saved.Version.Parameters) != schema {
			t.Fatalf("%v: %s", err, found[saved.Script.ID].Parameters)
		}
		for _, none := range []json.RawMessage{nil, json.RawMessage("null"), json.RawMessage(" null ")} {
			in := scripttest.Input(w.agent.ID, "deck")
			in.Parameters = none
			saved := w.save(t, in)
			found, err := w.Scripts.ByIDs(w.ctx, w.viewer.Organization.ID, []string{saved.Script.ID})
			if err != nil || found[saved.Script.ID].Parameters != nil || saved.Version.Parameters != nil {
				t.Fatalf("%q: %v %v", none, err, saved.UserErrors)
			}
		}
		before := w.live(t)
		for _, bad := range []string{"{}", "true", `{"type":"object","anyOf":[]}`, `{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`} {
			in := scripttest.Input(w.agent.ID, "deck")
			in.Parameters = json.RawMessage(bad)
			if saved := w.save(t, in); code(saved.UserErrors) != "SCHEMA_INVALID input.parameters" {
				t.Errorf("%s: %s", bad, code(saved.UserErrors))
			}
		}
		in := scripttest.Input(w.agent.ID, "deck")
		in.Parameters = json.RawMessage(`{"type":"object","properties":{"a":{"pattern":"("}}}`)
		invalid := w.save(t, in).UserErrors[0].(*fault.SchemaInvalid)
		if invalid.Pointer != "/properties/a/pattern" || invalid.Keyword != "pattern" {
			t.Errorf("%+v", invalid)
		}
		if after := w.live(t); !slices.Equal(before, after) {
			t.Errorf("refused schemas changed %v to %v", before, after)
		}
	})
}

func TestS1Replace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.agent = agenttest.New(w.ctx, t, w.Agents, agenttest.MaxScripts(1))
		first := w.Save(w.ctx, t, w.agent.ID, "deck")
		second := w.Save(w.ctx, t, w.agent.ID, "deck", scripttest.Source("print(2)"))
		if !*first.Created || *second.Created || first.Script.ID != second.Script.ID || second.Version.Number != 2 || second.Script.LatestNumber != 2 {
			t.Fatalf("%+v, then %+v", first, second)
		}
		same := w.Save(w.ctx, t, w.agent.ID, "deck", scripttest.Source("print(2)"))
		if same.Version.Number != 3 {
			t.Errorf("the same again is version %d, not 3", same.Version.Number)
		}
		found, err := w.Scripts.VersionByNumber(w.ctx, w.viewer.Organization.ID, []string{first.Script.ID}, 1)
		if err != nil || found[first.Script.ID].Source != first.Version.Source || found[first.Script.ID].Author.KeyID != w.viewer.Key.ID {
			t.Errorf("version 1: %v %+v", err, found[first.Script.ID])
		}
		if saved := w.Above.SavedVersions(); len(saved) != 3 || saved[2].ID != same.Version.ID {
			t.Errorf("written through: %v", saved)
		}
	})
}

// A version keeps whether it asks for interpreters of its own; the next one says it anew.
func TestFreshInterpreter(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		saved := w.Save(w.ctx, t, w.agent.ID, "deck")
		for i, asked := range []*bool{ptr(true), ptr(false), nil} {
			next := w.Save(w.ctx, t, w.agent.ID, "deck", func(in *script.SaveInput) { in.FreshInterpreter = asked })
			want := asked != nil && *asked
			read, err := w.Scripts.VersionsByIDs(w.ctx, w.viewer.Organization.ID, []string{next.Version.ID})
			if err != nil || next.Version.FreshInterpreter != want || read[next.Version.ID].FreshInterpreter != want {
				t.Errorf("save %d: %v, read %v %v, want %v", i, next.Version.FreshInterpreter, read[next.Version.ID], err, want)
			}
		}
		if saved.Version.FreshInterpreter {
			t.Error("a version asks for it that was not to")
		}
	})
}

func TestS1Cap(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		for i := range 9 {
			w.Save(w.ctx, t, w.agent.ID, fmt.Sprintf("s%d", i))
		}
		var mu sync.Mutex
		var saved, capped int
		parallel(20, func(i int) {
			payload, err := w.Scripts.Save(w.ctx, scripttest.Input(w.agent.ID, fmt.Sprintf("n%d", i)))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if len(payload.UserErrors) == 0 {
				saved++
				return
			}
			limit, ok := payload.UserErrors[0].(*fault.CapReached)
			if !ok || limit.Limit != 10 || limit.Message != "this agent is limited to 10 scripts" {
				t.Errorf("refused otherwise: %v", payload.UserErrors)
			}
			capped++
		})
		if saved != 1 || capped != 19 || len(w.live(t)) != 10 || len(w.log(t)) != 10 {
			t.Errorf("%d saved, %d refused, %d there, %d changes", saved, capped, len(w.live(t)), len(w.log(t)))
		}
	})
}

func TestS1Caplow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.Save(w.ctx, t, w.agent.ID, "one")
		w.Save(w.ctx, t, w.agent.ID, "two")
		lowered, err := w.Agents.Update(w.ctx, agent.UpdateInput{Agent: w.agent.ID, MaxScripts: ptr(1)})
		if err != nil || len(lowered.UserErrors) > 0 || lowered.Agent.MaxScripts != 1 {
			t.Fatalf("%v %v", err, lowered)
		}
		if saved := w.save(t, scripttest.Input(w.agent.ID, "three")); code(saved.UserErrors) != "CAP_REACHED input.name" {
			t.Errorf("a new one: %s", code(saved.UserErrors))
		}
		if saved := w.Save(w.ctx, t, w.agent.ID, "two"); saved.Version.Number != 2 {
			t.Errorf("a replacement: %v", saved)
		}
		if deleted, err := w.Scripts.Delete(w.ctx, script.DeleteInput{Agent: w.agent.ID, Name: "one"}); err != nil || len(deleted.UserErrors) > 0 {
			t.Fatalf("%v %v", err, deleted)
		}
		if saved := w.save(t, scripttest.Input(w.agent.ID, "three")); code(saved.UserErrors) != "CAP_REACHED input.name" {
			t.Errorf("still at the cap: %s", code(saved.UserErrors))
		}
	})
}

func TestS1UniqueContiguous(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var numbers []int
		scripts, created := map[string]bool{}, 0
		parallel(20, func(int) {
			payload, err := w.Scripts.Save(w.ctx, scripttest.Input(w.agent.ID, "deck"))
			if err != nil || len(payload.UserErrors) > 0 {
				t.Errorf("%v %v", err, payload)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			numbers = append(numbers, payload.Version.Number)
			scripts[payload.Script.ID] = true
			if *payload.Created {
				created++
			}
		})
		slices.Sort(numbers)
		if len(scripts) != 1 || created != 1 || len(numbers) != 20 || numbers[0] != 1 || numbers[19] != 20 || len(slices.Compact(numbers)) != 20 {
			t.Errorf("%d scripts, %d created, versions %v", len(scripts), created, numbers)
		}
		if live := w.live(t); !slices.Equal(live, []string{"deck@20"}) {
			t.Errorf("live: %v", live)
		}
	})
}

func TestSaveOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		in := scripttest.Input(w.agent.ID, "deck")
		in.IdempotencyKey = ptr("k")
		w.Above.Snap("deck")
		var mu sync.Mutex
		versions := map[string]bool{}
		parallel(20, func(int) {
			payload, err := w.Scripts.Save(w.ctx, in)
			if err != nil || len(payload.UserErrors) > 0 || !*payload.Created || *payload.TakesEffect != script.NextRun {
				t.Errorf("%v %+v", err, payload)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			versions[payload.Version.ID+payload.Script.ID] = true
		})
		if len(versions) != 1 || !slices.Equal(w.live(t), []string{"deck@1"}) || len(w.log(t)) != 1 || len(w.Above.SavedVersions()) != 1 {
			t.Fatalf("%d answers, %v, %d changes, %d written through", len(versions), w.live(t), len(w.log(t)), len(w.Above.SavedVersions()))
		}
		other := in
		other.Source = "print(3)"
		if saved := w.save(t, other); code(saved.UserErrors) != "IDEMPOTENCY_MISMATCH input.idempotencyKey" {
			t.Errorf("another input: %s", code(saved.UserErrors))
		}
		if _, err := w.Scripts.Delete(w.ctx, script.DeleteInput{Agent: w.agent.ID, Name: "deck"}); err != nil {
			t.Fatal(err)
		}
		if saved := w.save(t, in); len(saved.UserErrors) > 0 || !versions[saved.Version.ID+saved.Script.ID] {
			t.Errorf("after its deletion: %v", saved.UserErrors)
		}
	})
}

// TestSaveOnceRefused: a refusal is not kept.
func TestSaveOnceRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		in := scripttest.Input(w.agent.ID, "deck")
		in.IdempotencyKey, in.ExpectedVersion = ptr("k"), ptr(1)
		if saved := w.save(t, in); code(saved.UserErrors) != "VERSION_CONFLICT input.expectedVersion" {
			t.Fatalf("%s", code(saved.UserErrors))
		}
		w.Save(w.ctx, t, w.agent.ID, "deck")
		if saved := w.save(t, in); len(saved.UserErrors) > 0 || saved.Version.Number != 2 {
			t.Fatalf("%s", code(saved.UserErrors))
		}
	})
}

func TestExpectedVersion(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		try := func(expected int) *script.SavePayload {
			in := scripttest.Input(w.agent.ID, "deck")
			in.ExpectedVersion = &expected
			return w.save(t, in)
		}
		conflict := func(p *script.SavePayload) *script.Version {
			t.Helper()
			if code(p.UserErrors) != "VERSION_CONFLICT input.expectedVersion" {
				t.Fatalf("%s", code(p.UserErrors))
			}
			return p.UserErrors[0].(*script.VersionConflict).Current
		}
		if code(try(-1).UserErrors) != "INVALID input.expectedVersion" {
			t.Error("-1 passes")
		}
		if current := conflict(try(1)); current != nil {
			t.Errorf("current %v", current)
		}
		if made := try(0); len(made.UserErrors) > 0 || made.Version.Number != 1 {
			t.Fatalf("%v", made.UserErrors)
		}
		if current := conflict(try(0)); current.Number != 1 {
			t.Errorf("current %d", current.Number)
		}
		if made := try(1); len(made.UserErrors) > 0 || made.Version.Number != 2 {
			t.Fatalf("%v", made.UserErrors)
		}
		var mu sync.Mutex
		won := 0
		parallel(10, func(int) {
			in := scripttest.Input(w.agent.ID, "deck")
			in.ExpectedVersion = ptr(2)
			if p, err := w.Scripts.Save(w.ctx, in); err != nil {
				t.Error(err)
			} else if len(p.UserErrors) == 0 {
				mu.Lock()
				won++
				mu.Unlock()
			}
		})
		if won != 1 {
			t.Errorf("%d of 10 replaced version 2", won)
		}
	})
}

func TestS1Editnext(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.Above.Snap("deck")
		if saved := w.Save(w.ctx, t, w.agent.ID, "deck"); *saved.TakesEffect != script.NextRun {
			t.Errorf("snapshotted: %s", *saved.TakesEffect)
		}
		if saved := w.Save(w.ctx, t, w.agent.ID, "other"); *saved.TakesEffect != script.Now {
			t.Errorf("not snapshotted: %s", *saved.TakesEffect)
		}
	})
}

func TestS1Delnow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		first := w.Save(w.ctx, t, w.agent.ID, "deck")
		w.Save(w.ctx, t, w.agent.ID, "deck")
		broken := errors.New("runs cannot be told")
		w.Above.Fail(broken)
		if _, err := w.Scripts.Delete(w.ctx, script.DeleteInput{Agent: w.agent.ID, Name: "deck"}); !errors.Is(err, broken) {
			t.Fatalf("Delete = %v", err)
		}
		if !slices.Equal(w.live(t), []string{"deck@2"}) || len(w.log(t)) != 2 || len(w.Above.Removed()) != 0 {
			t.Fatal("what was rolled back is seen")
		}
		w.Above.Fail(nil)
		deleted, err := w.Scripts.Delete(w.ctx, script.DeleteInput{Agent: w.agent.ID, Name: "deck"})
		if err != nil || len(deleted.UserErrors) > 0 || *deleted.DeletedID != first.Script.ID {
			t.Fatalf("%v %v", err, deleted)
		}
		if removed := w.Above.Removed(); len(removed) != 1 || removed[0].Name != "deck" || removed[0].DeletedAt == nil {
			t.Errorf("told of %v", removed)
		}
		again, err := w.Scripts.Delete(w.ctx, script.DeleteInput{Agent: w.agent.ID, Name: "deck"})
		if err != nil || code(again.UserErrors) != "NOT_FOUND input.name" {
			t.Errorf("%v %v", err, again)
		}
		kept, err := w.Scripts.KeptByIDs(w.ctx, w.viewer.Organization.ID, []string{first.Script.ID})
		if err != nil || kept[first.Script.ID].DeletedAt == nil {
			t.Errorf("history lost the script: %v", err)
		}
		if found, err := w.Scripts.ByIDs(w.ctx, w.viewer.Organization.ID, []string{first.Script.ID}); err != nil || len(found) > 0 {
			t.Errorf("the script is still there: %v", err)
		}
		recreated := w.Save(w.ctx, t, w.agent.ID, "deck")
		if recreated.Script.ID == first.Script.ID || recreated.Version.Number != 1 || !*recreated.Created {
			t.Errorf("created again: %+v", recreated)
		}
	})
}

func TestS1Clear(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		empty, err := w.Scripts.Clear(w.ctx, script.ClearInput{Agent: w.agent.ID})
		if err != nil || len(empty.UserErrors) > 0 || empty.DeletedIDs == nil || len(empty.DeletedIDs) != 0 || len(w.log(t)) != 0 {
			t.Fatalf("%v %v", err, empty)
		}
		a, b := w.Save(w.ctx, t, w.agent.ID, "a").Script.ID, w.Save(w.ctx, t, w.agent.ID, "b").Script.ID
		other := agenttest.New(w.ctx, t, w.Agents)
		w.Save(w.ctx, t, other.ID, "c")
		cleared, err := w.Scripts.Clear(w.ctx, script.ClearInput{Agent: w.agent.ID})
		if err != nil || !slices.Equal(cleared.DeletedIDs, []string{a, b}) || len(w.live(t)) != 0 || len(w.Above.Removed()) != 2 {
			t.Fatalf("%v %v", err, cleared)
		}
		last := w.log(t)[3]
		if last.Action != change.Clear || *last.AgentID != w.agent.ID || last.Name != nil || last.ScriptID != nil {
			t.Errorf("%+v", last)
		}
		w.agent = other
		if !slices.Equal(w.live(t), []string{"c@1"}) {
			t.Error("another agent's script is gone")
		}
	})
}

func TestS1Event(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		saved := w.Save(w.ctx, t, w.agent.ID, "deck")
		call := id.New(id.Call)
		w.Save(change.WithAuthor(w.ctx, change.Author{CallID: call}), t, w.agent.ID, "deck")
		if _, err := w.Scripts.Delete(w.ctx, script.DeleteInput{Agent: w.agent.ID, Name: "deck"}); err != nil {
			t.Fatal(err)
		}
		log := w.log(t)
		if len(log) != 3 || log[0].Action != change.Create || *log[0].VersionID != saved.Version.ID || log[1].Author != (change.Author{CallID: call}) ||
			log[2].Action != change.Delete || *log[2].ScriptID != saved.Script.ID || *log[2].Name != "deck" || log[2].VersionID != nil {
			t.Fatalf("%+v", log)
		}
		for i, c := range log {
			if c.Offset != int64(i+1) || *c.AgentID != w.agent.ID {
				t.Errorf("change %d: %+v", i, c)
			}
		}
	})
}

// TestAgentDelete: an agent's scripts go with it, and stay in history.
func TestAgentDelete(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		saved := w.Save(w.ctx, t, w.agent.ID, "deck")
		deleted, err := w.Agents.Delete(w.ctx, agent.DeleteInput{Agent: w.agent.ID})
		if err != nil || len(deleted.UserErrors) > 0 || *deleted.DeletedID != w.agent.ID {
			t.Fatalf("%v %v", err, deleted)
		}
		if len(w.live(t)) != 0 || len(w.Above.Removed()) != 1 || w.log(t)[1].Action != change.Clear {
			t.Errorf("left: %v, told of %v, log %v", w.live(t), w.Above.Removed(), w.log(t))
		}
		if found, err := w.Scripts.VersionsByIDs(w.ctx, w.viewer.Organization.ID, []string{saved.Version.ID}); err != nil || len(found) != 1 {
			t.Errorf("the version is gone: %v", err)
		}
		if saved := w.save(t, scripttest.Input(w.agent.ID, "deck")); code(saved.UserErrors) != "NOT_FOUND input.agent" {
			t.Errorf("saving: %s", code(saved.UserErrors))
		}
	})
}

// TestRaces: saves, deletions, clears and cap changes side by side leave a state that the log tells.
func TestRaces(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		parallel(24, func(i int) {
			var err error
			switch i % 4 {
			case 0, 1:
				_, err = w.Scripts.Save(w.ctx, scripttest.Input(w.agent.ID, fmt.Sprintf("n%d", i%3)))
			case 2:
				_, err = w.Scripts.Delete(w.ctx, script.DeleteInput{Agent: w.agent.ID, Name: fmt.Sprintf("n%d", i%3)})
			case 3:
				_, err = w.Scripts.Clear(w.ctx, script.ClearInput{Agent: w.agent.ID})
			}
			if err != nil {
				t.Error(err)
			}
		})
		told := map[string]bool{}
		for _, c := range w.log(t) {
			switch c.Action {
			case change.Create:
				told[*c.Name] = true
			case change.Delete:
				delete(told, *c.Name)
			case change.Clear:
				clear(told)
			}
		}
		live := w.live(t)
		if len(live) != len(told) {
			t.Errorf("there are %v, the log tells of %v", live, told)
		}
	})
}

// parallel runs f n times at once, and waits.
func parallel(n int, f func(i int)) {
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	all.Wait()
}
