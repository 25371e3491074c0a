package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/event/eventtest"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// queueServer is a whole server with flags, whose programs end when the test says so.
type queueServer struct {
	*testServer
	started chan string // calls
	goOn    chan struct{}
}

func onEachWith(t *testing.T, flags []string, f func(t *testing.T, s *queueServer)) {
	t.Helper()
	for _, dialect := range []string{database.SQLite, database.Postgres} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			c, err := parseConfig("serve", append([]string{"--listen", "127.0.0.1:0"}, flags...), func(string) (string, bool) { return "", false }, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			db := databasetest.Config(t, dialect)
			c.DatabaseURL, c.Data = db.URL, t.TempDir()
			if dialect == database.Postgres {
				c.RedisURL, c.redisPrefix = eventtest.Redis(t)
			}
			q := &queueServer{startConfig(t, c), make(chan string), make(chan struct{})}
			q.fake.Add(runnertest.Program{Run: q.program})
			f(t, q)
		})
	}
}

func (q *queueServer) program(ctx context.Context, p *runnertest.Proc) runnertest.Exit {
	id, _ := p.Env("SCRIPTORIUM_CALL_ID")
	select {
	case q.started <- id:
	case <-ctx.Done():
		return runnertest.Exit{Signal: "SIGKILL"}
	}
	select {
	case <-q.goOn:
		return runnertest.Exit{}
	case <-ctx.Done():
		return runnertest.Exit{Signal: "SIGKILL"}
	}
}

// starts waits for the start of the next program, which must be this call's.
func (q *queueServer) starts(t *testing.T, callID string) {
	t.Helper()
	select {
	case id := <-q.started:
		if id != callID {
			t.Fatalf("%s has started, not %s", id, callID)
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("%s has not started", callID)
	}
}

func (q *queueServer) end(t *testing.T) {
	t.Helper()
	select {
	case q.goOn <- struct{}{}:
	case <-time.After(30 * time.Second):
		t.Fatal("no program runs")
	}
}

// begin calls the script work in a run without waiting, and answers the call with its place in the queue.
func (q *queueServer) begin(t *testing.T, secret, runID string) (c struct {
	ID, Status, ErrorCode, Text string
	QueuePosition               *int
},
) {
	t.Helper()
	d := q.must(t, secret, `mutation($r: ID!) { toolCall(input: {run: $r, name: "work", wait: false}) { call { id status errorCode text queuePosition } userErrors { message } } }`,
		map[string]any{"r": runID})
	b, err := json.Marshal(at[any](t, d, "toolCall", "call"))
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// places reads the places of all the organization's calls that wait or run, in the order in which they were accepted: "-" where one has none.
func (q *queueServer) places(t *testing.T, secret string) string {
	t.Helper()
	d := q.must(t, secret, `{ calls(last: 100, filter: {status: [QUEUED, RUNNING]}) { nodes { id queuePosition } } }`, nil)
	var out []string
	for _, n := range at[[]any](t, d, "calls", "nodes") {
		if p, ok := n.(map[string]any)["queuePosition"].(float64); ok {
			out = append(out, fmt.Sprint(p))
		} else {
			out = append(out, "-")
		}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 { // newest first in the list
		out[i], out[j] = out[j], out[i]
	}
	return strings.Join(out, " ")
}

// TestQueue: more calls than computers wait in a fair, bounded queue, whose places can be read and left.
func TestQueue(t *testing.T) {
	t.Parallel()
	onEachWith(t, []string{"--computers", "1", "--queue", "4"}, func(t *testing.T, q *queueServer) {
		many, few := q.organization(t, "many"), q.organization(t, "few")
		begin := map[string]func() string{}
		for _, secret := range []string{many, few} {
			agent := q.agent(t, secret, "agent", 1)
			q.save(t, secret, agent, "work", "print()")
			begin[secret] = func() string {
				t.Helper()
				c := q.begin(t, secret, q.run(t, secret, agent))
				if c.Status != "QUEUED" {
					t.Fatalf("a call is %s: %s", c.Status, c.Text)
				}
				return c.ID
			}
		}
		d := q.must(t, many, `{ deployment { limits } }`, nil)
		for name, want := range map[string]float64{"computers": 1, "queuedCalls": 4, "queuedCallsOfRun": 100, "queueSeconds": 900} {
			if got := at[float64](t, d, "deployment", "limits", name); got != want {
				t.Errorf("the limit %s is %v", name, got)
			}
		}

		running := begin[many]()
		q.starts(t, running)
		ids := []string{begin[many](), begin[many](), begin[many](), begin[many]()}
		if got := q.places(t, many); got != "- 1 2 3 4" {
			t.Errorf("places: %s", got)
		}
		agent := q.agent(t, many, "another", 1)
		q.save(t, many, agent, "work", "print()")
		past := q.run(t, many, agent)
		if c := q.begin(t, many, past); c.Status != "REFUSED" || c.ErrorCode != "COMPUTER_UNAVAILABLE" || c.Text != "No computer could be made for this call." || c.QueuePosition != nil {
			t.Errorf("a call past the bound: %+v", c)
		}
		other := begin[few]()
		if got := q.places(t, few); got != "1" {
			t.Errorf("the other organization's place: %s", got)
		}
		if got := q.places(t, many); got != "- 2 3 4 5" {
			t.Errorf("places: %s", got)
		}
		d = q.must(t, many, `mutation($c: ID!) { callCancel(input: {call: $c}) { call { status queuePosition evidence { reason } } userErrors { message } } }`, map[string]any{"c": ids[1]})
		if c := at[map[string]any](t, d, "callCancel", "call"); c["status"] != "CANCELLED" || c["queuePosition"] != nil || at[string](t, c, "evidence", "reason") != "CANCELLED" {
			t.Errorf("a call that was cancelled while it waited: %v", c)
		}
		if got := q.places(t, many); got != "- 2 3 4" {
			t.Errorf("places: %s", got)
		}
		if c := q.begin(t, many, past); c.Status != "QUEUED" || c.QueuePosition == nil || *c.QueuePosition != 2 { // its agent has had no turn yet
			t.Errorf("a call in the place that became free: %+v", c)
		} else {
			ids[1] = c.ID
		}
		for _, id := range []string{other, ids[1], ids[0], ids[2], ids[3]} {
			q.end(t)
			q.starts(t, id)
		}
		q.end(t)
		for secret, ids := range map[string][]string{many: append(ids, running), few: {other}} {
			for _, id := range ids {
				q.until(t, secret, id, isStatus("SUCCEEDED"))
			}
		}
	})
}

// TestTwentyCallsAtOnce: with two computers, calls in twenty runs that are made at once and waited for all come to their end.
func TestTwentyCallsAtOnce(t *testing.T) {
	t.Parallel()
	onEachWith(t, []string{"--computers", "2"}, func(t *testing.T, q *queueServer) {
		secret := q.organization(t, "twenty")
		agent := q.agent(t, secret, "agent", 1)
		q.save(t, secret, agent, "work", "print()")
		answers := make(chan answer)
		for range 20 {
			r := q.run(t, secret, agent)
			go func() {
				answers <- q.send(t, secret, `mutation($r: ID!) { toolCall(input: {run: $r, name: "work"}) { call { status queuePosition } } }`, map[string]any{"r": r})
			}()
		}
		done := make(chan struct{})
		defer close(done)
		go func() {
			for {
				select {
				case <-q.started:
				case q.goOn <- struct{}{}:
				case <-done:
					return
				}
			}
		}()
		for range 20 {
			if a := <-answers; a.status != 200 || !strings.Contains(a.body, `"call":{"status":"SUCCEEDED","queuePosition":null}`) {
				t.Errorf("%d %s", a.status, a.body)
			}
		}
	})
}
