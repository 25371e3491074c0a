package agenttest

import (
	"context"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
)

// New makes an agent of the viewer's in the context.
func New(ctx context.Context, t testing.TB, agents *agent.Service, change ...func(*agent.CreateInput)) *agent.Agent {
	t.Helper()
	in := agent.CreateInput{Name: "agent of " + t.Name()}
	for _, f := range change {
		f(&in)
	}
	made, err := agents.Create(ctx, in)
	if err != nil || len(made.UserErrors) > 0 {
		t.Fatalf("no agent: %v %v", err, made)
	}
	return made.Agent
}

// MaxScripts gives the new agent a cap.
func MaxScripts(n int) func(*agent.CreateInput) {
	return func(in *agent.CreateInput) { in.MaxScripts = &n }
}

// ConnectedTools gives the new agent connected tools.
func ConnectedTools(names ...string) func(*agent.CreateInput) {
	return func(in *agent.CreateInput) { in.ConnectedTools = names }
}

// Scripting turns the new agent's scripting on or off.
func Scripting(on bool) func(*agent.CreateInput) {
	return func(in *agent.CreateInput) { in.Scripting = &on }
}
