package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/id"
)

// TestS2Draft: until it is published a draft is not there for keys without MANAGEMENT, whatever they ask.
func TestS2Draft(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, worker *shelf) {
		if got := worker.try("deck", draft).refusals(); got != "DENIED input.draft" {
			t.Errorf("without MANAGEMENT: %s", got)
		}
		script, _ := worker.creates("deck", map[string]any{"labels": []any{map[string]any{"name": "a", "value": "1"}}})
		if got := worker.next(script, with(draft, source("x"))).refusals(); got != "DENIED input.draft" {
			t.Errorf("without MANAGEMENT: %s", got)
		}
		events := worker.follow(`subscription { scriptChanges { __typename ... on ScriptChange { action name version { number } } } }`, nil)
		before := worker.all()

		hidden, only := manager.creates("hidden", with(draft, map[string]any{"labels": []any{map[string]any{"name": "b", "value": "2"}}}))
		p := manager.next(script, with(draft, source("a draft"), map[string]any{"description": "Drafted.", "labels": []any{}, "metadata": json.RawMessage(`{"d":1}`)}))
		drafted := at[string](t, p, "version", "id")
		if at[string](t, p, "version", "status") != "DRAFT" || at[map[string]any](t, p, "version")["publishedAt"] != nil || at[float64](t, p, "version", "number") != 2 {
			t.Errorf("%v", p)
		}
		rejected := at[string](t, manager.next(script, with(draft, source("another"))), "version", "id")
		no := manager.decide("Reject", rejected, "no")
		if no.refusals() != "" || at[string](t, no, "approval", "decision") != "REJECTED" {
			t.Errorf("%v", no)
		}

		if after := worker.all(); after != before {
			t.Errorf("drafts changed\n%s to\n%s", before, after)
		}
		ids := []string{hidden, only, drafted, rejected, at[string](t, no, "approval", "id")}
		missing := []string{id.New(id.Script), id.New(id.Version), id.New(id.Version), id.New(id.Version), id.New(id.Approval)}
		for i := range ids {
			query := func(id string) string {
				return worker.send(t, worker.secret, `query($id: ID!, $n: Int!) { node(id: $id) { id } script(name: "hidden") { id } tool(name: "script__hidden") { name }
					tools(names: ["script__*"]) { name version } deck: script(name: "deck") { version(number: $n) { id } } filtered: scripts(filter: {labels: [{name: "b", value: "2"}]}) { totalCount } }`,
					map[string]any{"id": id, "n": i + 2}).body
			}
			if a, b := query(ids[i]), query(missing[i]); a != b || !strings.Contains(a, `"node":null`) {
				t.Errorf("%s reads %s, a missing one %s", ids[i], a, b)
			}
		}
		for name, in := range map[string]map[string]any{
			"scriptVersionCreate": with(pack(nil), map[string]any{"script": hidden}), "scriptDelete": {"script": hidden},
		} {
			if got := worker.do(name, "__typename", in).refusals(); got != "NOT_FOUND input.script" {
				t.Errorf("%s: %s", name, got)
			}
		}
		for _, version := range []int{2, 3, 4} { // pins of a draft, of a rejected one, of none
			p := manager.key("TOOLING", "COMPUTER").do("runCreate", "run { id }", map[string]any{"tools": []any{map[string]any{"name": "script__deck", "version": version}}})
			if got := p.refusals(); got != "NOT_FOUND input.tools.0.version" {
				t.Errorf("pinned %d: %s", version, got)
			}
		}
		if got, want := worker.versions(script), "1"; got != want {
			t.Errorf("worker sees %s", got)
		}
		if got, want := manager.versions(script), "3 DRAFT, 2 DRAFT, 1"; got != want {
			t.Errorf("manager sees %s", got)
		}
		if got := fmt.Sprint(manager.must(t, manager.secret, `{ scripts { totalCount nodes { name latestVersion { number status } } } }`, nil)["scripts"]); got !=
			"map[nodes:[map[latestVersion:map[number:1 status:PUBLISHED] name:deck] map[latestVersion:map[number:1 status:DRAFT] name:hidden]] totalCount:2]" {
			t.Error(got)
		}

		// Published, it is the latest, with its labels and metadata; the one event tells of it.
		yes := manager.decide("Publish", drafted, "looks good")
		if yes.refusals() != "" || fmt.Sprint(yes["approval"].(map[string]any)["decision"], yes["approval"].(map[string]any)["comment"]) != "APPROVEDlooks good" {
			t.Fatal(yes)
		}
		d := worker.must(t, worker.secret, `{ script(name: "deck") { description labels { name } metadata latestVersion { number approvals { decision comment by { name } subject { ... on ScriptVersion { number } } } } } }`, nil)
		if got := fmt.Sprint(d["script"]); got != "map[description:Drafted. labels:[] latestVersion:map[approvals:[map[by:map[name:first key] comment:looks good decision:APPROVED subject:map[number:2]]] number:2] metadata:map[d:1]]" {
			t.Error(got)
		}
		if got := fmt.Sprint(next(t, events)["scriptChanges"]); got != "map[__typename:ScriptChange action:PUBLISH name:deck version:map[number:2]]" {
			t.Errorf("the first event is %s", got)
		}
		// The numbers of drafts are not used again.
		if p := worker.next(script, source("next")); at[float64](t, p, "version", "number") != 4 {
			t.Errorf("%v", p)
		}
	})
}

// TestS2DraftDecisions: a draft is decided about once, and nothing older than what is published is published.
func TestS2DraftDecisions(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, worker *shelf) {
		script, first := worker.creates("deck", source("1"))
		drafts := make([]string, 4)
		for i := range drafts {
			drafts[i] = at[string](t, manager.next(script, with(draft, source(fmt.Sprint("draft ", i)))), "version", "id")
		}
		agents := worker.agent2()
		_, ofAgent := worker.save(t, worker.secret, agents, "own", "print()")
		manager.decide("Reject", drafts[0], "")
		manager.decide("Publish", drafts[2], "")
		check := manager.all()
		for _, step := range []struct{ verb, version, want string }{
			{"Publish", first, "BAD_STATE"}, {"Reject", first, "BAD_STATE"}, {"Publish", drafts[0], "BAD_STATE"}, {"Reject", drafts[0], "BAD_STATE"}, {"Publish", drafts[2], "BAD_STATE"},
			{"Publish", drafts[1], "BAD_STATE"}, {"Publish", id.New(id.Version), "NOT_FOUND"}, {"Reject", "\x00", "NOT_FOUND"}, {"Publish", ofAgent, "NOT_FOUND"},
		} {
			if got := manager.decide(step.verb, step.version, "").refusals(); got != step.want+" input.version" {
				t.Errorf("%s %s: %s, want %s", step.verb, step.version, got, step.want)
			}
		}
		if got := manager.decide("Publish", drafts[3], strings.Repeat("c", 1001)).refusals(); got != "INVALID input.comment" {
			t.Error(got)
		}
		if after := manager.all(); after != check {
			t.Errorf("what was refused changed %s to %s", check, after)
		}
		if a := worker.send(t, worker.secret, `mutation($v: ID!) { scriptVersionPublish(input: {version: $v}) { version { id } } }`, map[string]any{"v": drafts[3]}); !strings.Contains(a.body, `"code":"DENIED"`) {
			t.Errorf("without MANAGEMENT: %s", a.body)
		}
		// An older one can still be rejected; of twenty decisions about one draft, one counts.
		if got := manager.decide("Reject", drafts[1], "").refusals(); got != "" {
			t.Error(got)
		}
		results := make([]string, 20)
		atOnce(20, func(i int) { results[i] = manager.decide([]string{"Publish", "Reject"}[i%2], drafts[3], "").refusals() })
		won := 0
		for _, r := range results {
			if r == "" {
				won++
			} else if r != "BAD_STATE input.version" {
				t.Error(r)
			}
		}
		d := manager.must(t, manager.secret, `query($v: ID!) { node(id: $v) { ... on ScriptVersion { approvals { decision } } } }`, map[string]any{"v": drafts[3]})
		if len(at[[]any](t, d, "node", "approvals")) != 1 || won != 1 {
			t.Errorf("%d decisions, %v", won, d)
		}
	})
}

// TestS2DraftName: a draft takes no name from keys that do not see it; the first one that is published has it.
func TestS2DraftName(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, worker *shelf) {
		hidden, hiddenVersion := manager.creates("deck", draft)
		if got := manager.try("deck", draft).refusals() + manager.try("deck", nil).refusals(); got != "NAME_TAKEN input.nameNAME_TAKEN input.name" {
			t.Errorf("manager: %s", got)
		}
		p := worker.try("deck", nil)
		script := at[string](t, p, "script", "id")
		if p.refusals() != "" || at[float64](t, p, "version", "number") != 1 || script == hidden {
			t.Fatalf("worker: %v", p)
		}
		for _, key := range []*shelf{manager, worker} {
			if got := at[string](t, key.must(t, key.secret, `{ script(name: "deck") { id } }`, nil), "script", "id"); got != script {
				t.Errorf("the name is %s", got)
			}
		}
		if got := manager.decide("Publish", hiddenVersion, ""); got.refusals() != "NAME_TAKEN input.version" {
			t.Errorf("published beside it: %v", got)
		}
		if got := manager.next(hidden, source("2")).refusals(); got != "NAME_TAKEN input.script" {
			t.Errorf("a version of it: %s", got)
		}
		worker.must(t, worker.secret, `mutation { agentCreate(input: {name: "a", tools: ["script__deck"]}) { userErrors { message } } }`, nil)
		before := worker.all()
		if got := manager.do("scriptDelete", "deletedId", map[string]any{"script": hidden}).refusals(); got != "" {
			t.Errorf("the drafts alone are deleted: %s", got)
		}
		if after := worker.all(); after != before {
			t.Errorf("that changed %s to %s", before, after)
		}
	})
}

// TestS2DraftApproval: where versions need approval everyone's are drafts, and nobody publishes his own.
func TestS2DraftApproval(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, worker *shelf) {
		script, _ := worker.creates("deck", source("1"))
		manager.needsApproval(true)
		if a := worker.send(t, worker.secret, `mutation($o: ID!) { organizationUpdate(input: {organization: $o, versionsNeedApproval: false}) { organization { id } } }`, map[string]any{"o": id.New(id.Organization)}); !strings.Contains(a.body, `"code":"DENIED"`) {
			t.Errorf("without MANAGEMENT: %s", a.body)
		}
		before := worker.all()
		own := worker.next(script, with(source("2"), map[string]any{"labels": []any{map[string]any{"name": "l", "value": ""}}, "idempotencyKey": "k"}))
		if own.refusals() != "" || !at[bool](t, own, "created") || at[string](t, own, "version", "status") != "DRAFT" || at[string](t, own, "script", "id") != script {
			t.Fatalf("%v", own)
		}
		again := worker.next(script, with(source("2"), map[string]any{"labels": []any{map[string]any{"name": "l", "value": ""}}, "idempotencyKey": "k"}))
		if at[string](t, again, "version", "id") != at[string](t, own, "version", "id") {
			t.Errorf("the equal request: %v", again)
		}
		created := worker.try("fresh", nil)
		twice := worker.try("fresh", nil)
		if created.refusals()+twice.refusals() != "" || at[string](t, created, "script", "id") == at[string](t, twice, "script", "id") {
			t.Errorf("what the worker does not see takes no name: %v %v", created, twice)
		}
		// Labels alone need approval, too.
		if p := worker.next(script, with(source("1"), map[string]any{"labels": []any{map[string]any{"name": "l", "value": ""}}})); at[string](t, p, "version", "status") != "DRAFT" {
			t.Errorf("labels alone: %v", p)
		}
		if after := worker.all(); after != before {
			t.Errorf("drafts changed\n%s to\n%s", before, after)
		}
		mine := at[string](t, manager.next(script, source("manager's")), "version", "id")
		if got := manager.decide("Publish", mine, "").refusals(); got != "DENIED input.version" {
			t.Errorf("his own: %s", got)
		}
		other := manager.key("TOOLING", "MANAGEMENT")
		if p := other.decide("Publish", mine, ""); p.refusals() != "" || at[string](t, p, "version", "status") != "PUBLISHED" {
			t.Errorf("another's: %v", p)
		}
		for i, p := range []payload{created, twice} {
			want := []string{"", "NAME_TAKEN input.version"}[i]
			if got := manager.decide("Publish", at[string](t, p, "version", "id"), "").refusals(); got != want {
				t.Errorf("%d: %s, want %s", i, got, want)
			}
		}
		if got := worker.versions(at[string](t, created, "script", "id")) + " " + worker.versions(at[string](t, twice, "script", "id")); got != "1 none" {
			t.Error(got)
		}
		// Switched off, drafts stay drafts, and whoever may publish may publish his own.
		late := at[string](t, manager.next(script, source("late")), "version", "id")
		manager.needsApproval(false)
		if got := manager.versions(script); !strings.HasPrefix(got, "5 DRAFT, 4, ") {
			t.Errorf("%s", got)
		}
		if got := manager.decide("Publish", late, "").refusals(); got != "" {
			t.Errorf("his own, without the need: %s", got)
		}
		if p := worker.next(script, source("at once")); at[string](t, p, "version", "status") != "PUBLISHED" {
			t.Errorf("%v", p)
		}
	})
}

// TestS2DraftReplay: an equal request answers a key without MANAGEMENT what it wrote itself, whatever others have drafted since.
func TestS2DraftReplay(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, worker *shelf) {
		manager.needsApproval(true)
		const seen = `{ id description parameters metadata updatedAt labels { name value } latestVersion { number description files { path text } } versions { totalCount nodes { number } } }`
		in := with(pack(nil), map[string]any{"name": "deck", "idempotencyKey": "k"})
		create := func() payload {
			return worker.do("scriptCreate", "script "+seen+" version { id number script "+seen+" }", in)
		}
		first := create()
		script := at[string](t, first, "script", "id")
		if first.refusals() != "" || fmt.Sprint(at[map[string]any](t, first, "script")) != fmt.Sprint(at[map[string]any](t, first, "version", "script")) || at[float64](t, first, "script", "latestVersion", "number") != 1 {
			t.Fatalf("%v", first)
		}
		theirs := at[string](t, manager.next(script, with(source("secret"), map[string]any{"description": "Secret.", "labels": []any{map[string]any{"name": "secret", "value": ""}},
			"metadata": map[string]any{"secret": 1}, "parameters": map[string]any{"type": "object", "properties": map[string]any{"secret": map[string]any{}}}})), "version", "id")
		if again := create(); fmt.Sprint(again) != fmt.Sprint(first) {
			t.Errorf("beside another's draft\n%v and not\n%v", again, first)
		}
		if got := manager.decide("Reject", at[string](t, first, "version", "id"), "no").refusals(); got != "" {
			t.Fatal(got)
		}
		if again := create(); fmt.Sprint(again) != fmt.Sprint(first) {
			t.Errorf("rejected\n%v and not\n%v", again, first)
		}
		if got := manager.key("TOOLING", "MANAGEMENT").decide("Publish", theirs, "").refusals(); got != "" {
			t.Fatal(got)
		}
		if again := create(); at[string](t, again, "script", "latestVersion", "description") != "Secret." || at[float64](t, again, "version", "number") != 1 {
			t.Errorf("the other's is published: %v", again)
		}
	})
}

// TestS2DraftSame: drafts that are the same are written once for who sees them.
func TestS2DraftSame(t *testing.T) {
	t.Parallel()
	onShelf(t, func(t *testing.T, manager, worker *shelf) {
		labels := map[string]any{"labels": []any{map[string]any{"name": "a", "value": "1"}}}
		script, _ := worker.creates("deck", with(source("1"), labels))
		for i, step := range []struct {
			by      *shelf
			changes map[string]any
			want    string // number and whether it was created
		}{
			{manager, with(draft, source("1")), "1 false"},
			{manager, with(draft, source("1"), labels), "1 false"},
			{manager, with(draft, source("1"), map[string]any{"labels": []any{}}), "2 true"},
			{manager, with(draft, source("1"), map[string]any{"labels": []any{}}), "2 false"},
			{manager, with(draft, source("1"), map[string]any{"metadata": json.RawMessage(`{"x":1}`)}), "3 true"},
			{manager, with(draft, source("1"), map[string]any{"metadata": json.RawMessage(`{ "x": 1 }`)}), "3 false"},
			{worker, source("1"), "1 false"},
			{manager, source("1"), "1 false"},
			{worker, source("2"), "4 true"},
		} {
			p := step.by.next(script, step.changes)
			if got := fmt.Sprint(at[float64](t, p, "version", "number"), at[bool](t, p, "created")); got != step.want {
				t.Errorf("step %d: %s, want %s", i, got, step.want)
			}
		}
	})
}
