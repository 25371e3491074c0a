package script_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/change"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// Only an agent that the organization has or had can be followed.
func TestS1EventOfAgent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithTimeout(w.ctx, 20*time.Second)
		defer cancel()
		org := w.viewer.Organization.ID
		for _, c := range []struct{ name, org, agent string }{
			{"unknown", org, "agt_nope"}, {"empty", org, ""}, {"of another kind", org, org}, {"another organization's", "org_other", w.agent.ID},
		} {
			_, err := w.Scripts.Watch(ctx, c.org, &c.agent, nil)
			if p, ok := errors.AsType[*fault.Problem](err); !ok || p.Code != fault.Missing {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		start, err := w.Changes.Head(ctx, org)
		if err != nil {
			t.Fatal(err)
		}
		after := string(start)
		w.Save(w.ctx, t, w.agent.ID, "deck")
		if p, err := w.Agents.Delete(w.ctx, agent.DeleteInput{Agent: w.agent.ID}); err != nil || len(p.UserErrors) > 0 {
			t.Fatalf("%v %v", p, err)
		}
		items, err := w.Scripts.Watch(ctx, org, &w.agent.ID, &after)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []change.Action{change.Create, change.Clear} {
			c, ok := (<-items).(*change.Change)
			if !ok || c.Action != want || *c.AgentID != w.agent.ID {
				t.Fatalf("%+v instead of %s", c, want)
			}
		}
	})
}
