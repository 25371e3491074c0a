package run

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// waitingRuns reads "A1 A1 B2": runs of organization A's agent 1, and of organization B's agent 2, named by their places.
func waitingRuns(text string) (refs []Ref) {
	for i, f := range strings.Fields(text) {
		refs = append(refs, Ref{OrganizationID: f[:1], AgentID: f[1:], RunID: fmt.Sprint(i)})
	}
	return refs
}

// inOrder is what order answers, as the runs' organizations, agents and places.
func inOrder(t *turns, refs []Ref) string {
	var text []string
	for _, i := range t.order(refs, len(refs)) {
		text = append(text, refs[i].OrganizationID+refs[i].AgentID+":"+refs[i].RunID)
	}
	return strings.Join(text, " ")
}

func TestTurns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ took, waiting, want string }{
		{"", "", ""},
		{"", "A1 A1 A1", "A1:0 A1:1 A1:2"},
		{"", "A1 A1 A1 B1", "A1:0 B1:3 A1:1 A1:2"},
		{"A1", "A1 A1 A1 B1", "B1:3 A1:0 A1:1 A1:2"},
		{"A1 B1", "B1 A1", "A1:1 B1:0"},
		{"A1 B1", "B1 A1 B1 A1", "A1:1 B1:0 A1:3 B1:2"},
		{"A1 B1", "A1 B1 C1", "C1:2 A1:0 B1:1"},
		{"A1", "A1 A1 A2 A1 A3", "A2:2 A3:4 A1:0 A1:1 A1:3"},
		{"A1 A2 A3", "A3 A2 A1 B9", "B9:3 A1:2 A2:1 A3:0"},
		{"", "A1 A2 B1 B1 A1 B2", "A1:0 B1:2 A2:1 B2:5 A1:4 B1:3"},
	} {
		var turns turns
		for _, r := range waitingRuns(c.took) {
			turns.took(r)
		}
		if got := inOrder(&turns, waitingRuns(c.waiting)); got != c.want {
			t.Errorf("%q took, %q wait: %q, not %q", c.took, c.waiting, got, c.want)
		}
	}
}

// TestTurnsAreFair: whatever waits, an organization with runs waits for no more computers than there are organizations, an agent for no more
// of its organization's than that has agents, and the order that is foretold is the order that comes.
func TestTurnsAreFair(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		var refs []Ref
		for i := range 200 {
			o := min(r.IntN(8), r.IntN(8)) // some have many more than others
			refs = append(refs, Ref{fmt.Sprint(o), fmt.Sprint(r.IntN(4)), fmt.Sprint(i)})
		}
		var turns turns
		for range r.IntN(10) {
			turns.took(refs[r.IntN(len(refs))])
		}
		foretold := turns.order(refs, len(refs))
		waiting := slices.Clone(refs)
		waits := map[turnKey]int{} // how many others were given one since it was this one's turn
		for n, i := range foretold {
			now := turns.order(waiting, 1)[0]
			given := waiting[now]
			if given != refs[i] {
				t.Fatalf("computer %d: %v, and %v was foretold", n, given, refs[i])
			}
			waiting = slices.Delete(waiting, now, now+1)
			turns.took(given)
			organizations, agents := map[turnKey]bool{}, map[turnKey]bool{}
			for _, w := range waiting {
				organizations[organizationKey(w)] = true
				if w.OrganizationID == given.OrganizationID {
					agents[agentKey(w)] = true
				}
			}
			for k := range organizations {
				if waits[k]++; waits[k] > 8 {
					t.Fatalf("organization %s waits for %d computers", k.organizationID, waits[k])
				}
			}
			for k := range agents {
				if waits[k]++; waits[k] > 4 {
					t.Fatalf("agent %v waits for %d computers of its organization", k, waits[k])
				}
			}
			delete(waits, organizationKey(given))
			delete(waits, agentKey(given))
		}
	}
}

func TestTurnsForget(t *testing.T) {
	t.Parallel()
	var turns turns
	for i := range 10 * rememberedTurns {
		turns.took(Ref{fmt.Sprint(i), "1", ""})
	}
	if len(turns.last) > 4*rememberedTurns+2 {
		t.Errorf("%d are remembered", len(turns.last))
	}
	if got := inOrder(&turns, []Ref{{fmt.Sprint(10*rememberedTurns - 1), "1", "late"}, {"0", "1", "first"}}); !strings.HasPrefix(got, "01:first") {
		t.Errorf("who was given one long ago: %s", got)
	}
}
