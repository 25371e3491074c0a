package call_test

import (
	"strings"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/call"
	"github.com/scriptorium-dev/scriptorium/internal/call/calltest"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/logtest"
	"github.com/scriptorium-dev/scriptorium/internal/page"
	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

func newFake() *runnertest.Fake { return runnertest.NewFake() }

// describe is a user error's code and path, and its reason where it has one.
func describe(u fault.UserError) string {
	switch e := u.(type) {
	case *fault.PlainUserError:
		return string(e.Code) + " " + strings.Join(e.Path, " ")
	case *fault.NotConfigured:
		return string(e.Code) + " " + strings.Join(e.Path, " ") + " " + e.ReasonCode
	}
	return u.Error()
}

func first(n int) page.Args { return page.Args{First: &n} }

func env(c runner.Call, name string) (string, bool) {
	for _, e := range c.Env {
		if k, v, _ := strings.Cut(e, "="); k == name {
			return v, true
		}
	}
	return "", false
}

// wait waits until a program has come to `wait name`.
func (w *world) wait(t *testing.T, fake *runnertest.Fake, name string) {
	t.Helper()
	select {
	case <-fake.Arrived(name):
	case <-time.After(calltest.Patience):
		t.Fatalf("no program came to wait %s", name)
	}
}

// busyFor is a while in which something that must not happen would have happened.
func busyFor() <-chan time.Time { return time.After(100 * time.Millisecond) }

// setScripting turns the agent's scripting on or off.
func (w *world) setScripting(t *testing.T, on bool) {
	t.Helper()
	p, err := w.Agents.Update(w.ctx, agent.UpdateInput{Agent: w.agent, Scripting: &on})
	if err != nil || p.Agent == nil {
		t.Fatal(p, err)
	}
}

// sayLost fails unless there is one line for each of the calls, and none for others, that says that it is lost.
func sayLost(t *testing.T, log *logtest.Log, calls ...*call.Call) {
	t.Helper()
	calltest.Eventually(t, "the log says that the calls are lost", func() bool { return strings.Count(log.String(), "a call is lost") >= len(calls) })
	for _, c := range calls {
		if strings.Count(log.String(), `msg="a call is lost" call=`+c.ID+" run="+*c.RunID+" error=") != 1 {
			t.Errorf("of %s the log says %s", c.ID, log.String())
		}
	}
	if n := strings.Count(log.String(), "a call is lost"); n != len(calls) {
		t.Errorf("of %d lost calls the log says %s", len(calls), log.String())
	}
}
