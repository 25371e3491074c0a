package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/scriptorium-dev/scriptorium/graph"
	"github.com/scriptorium-dev/scriptorium/graph/generated"
	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/call"
	"github.com/scriptorium-dev/scriptorium/internal/deployment"
	"github.com/scriptorium-dev/scriptorium/internal/event"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/logtest"
	"github.com/scriptorium-dev/scriptorium/internal/page"
	"github.com/scriptorium-dev/scriptorium/internal/run"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of a test.
const patience = 20 * time.Second

// edge is a server with the real schema and resolvers that tests steer. Resolvers that are not set here are never reached.
type edge struct {
	*httptest.Server
	t       *testing.T
	handler *graph.Handler
	logs    *logtest.Log

	mu      sync.Mutex
	revoked bool
	dark    bool // keys cannot be looked up

	// output is callOutput's source.
	output func(ctx context.Context, after *string) (<-chan call.OutputEvent, error)
	// agent answers the query agent.
	agent func(ctx context.Context, id string) (*agent.Agent, error)
	// toolCall answers the mutation.
	toolCall func(ctx context.Context, input call.ToolCallInput) (*call.ToolCallPayload, error)
}

// start serves the edge; change, where it is not nil, changes the configuration.
func start(t *testing.T, change func(*edge, *graph.Config)) *edge {
	t.Helper()
	e := &edge{t: t, logs: &logtest.Log{}}
	c := graph.Config{
		Schema:       generated.NewExecutableSchema(generated.Config{Resolvers: root{e: e}}),
		Authenticate: e.authenticate,
		Logger:       e.logs.Logger(),
	}
	if change != nil {
		change(e, &c)
	}
	e.handler = graph.New(c)
	e.Server = httptest.NewServer(e.handler)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := e.handler.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		e.Client().CloseIdleConnections()
		e.Close()
	})
	return e
}

const goodKey = "Bearer good"

func (e *edge) authenticate(ctx context.Context, authorization string) (context.Context, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.dark {
		return ctx, fault.NewProblem(fault.Unavailable, "keys cannot be looked up now").Because(errors.New("no database"))
	}
	if authorization != goodKey || e.revoked {
		return ctx, fault.NewProblem(fault.Unauthenticated, "the key is not valid")
	}
	return ctx, nil
}

func (e *edge) revoke() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.revoked = true
}

// root holds the resolvers; what is not overridden panics when it is reached.
type root struct {
	generated.ResolverRoot
	e *edge
}

func (r root) Query() generated.QueryResolver               { return query{e: r.e} }
func (r root) Mutation() generated.MutationResolver         { return mutation{e: r.e} }
func (r root) Subscription() generated.SubscriptionResolver { return subscription{e: r.e} }

type query struct {
	generated.QueryResolver
	e *edge
}

func (q query) Deployment(context.Context) (*deployment.Deployment, error) {
	return &deployment.Deployment{Version: "1.2.3", Limits: json.RawMessage(`{"b":1.0,"a":"<&>"}`)}, nil
}

func (q query) Nodes(_ context.Context, ids []string) ([]id.Node, error) {
	return make([]id.Node, len(ids)), nil
}

func (q query) Agent(ctx context.Context, id string) (*agent.Agent, error) {
	if q.e.agent != nil {
		return q.e.agent(ctx, id)
	}
	return nil, nil
}

func (q query) Agents(context.Context, *int, *string, *int, *string) (*page.Connection[*agent.Agent], error) {
	return &page.Connection[*agent.Agent]{}, nil
}

func (q query) Runs(context.Context, *int, *string, *int, *string, *string) (*page.Connection[*run.Run], error) {
	return &page.Connection[*run.Run]{}, nil
}

type mutation struct {
	generated.MutationResolver
	e *edge
}

func (m mutation) ToolCall(ctx context.Context, input call.ToolCallInput) (*call.ToolCallPayload, error) {
	return m.e.toolCall(ctx, input)
}

type subscription struct {
	generated.SubscriptionResolver
	e *edge
}

func (s subscription) CallOutput(ctx context.Context, call string, after *string) (<-chan call.OutputEvent, error) {
	if call == "call_missing" {
		return nil, fault.NewProblem(fault.Missing, "there is no call of this id")
	}
	if after != nil && *after == "bad" {
		return nil, fault.NewProblem(fault.BadCursor, "after is no cursor of this stream")
	}
	return s.e.output(ctx, after)
}

// chunk is an event with the cursor and text given.
func chunk(cursor, text string) *call.OutputChunk {
	return &call.OutputChunk{Cursor: event.Cursor(cursor), CallID: "call_1", Stream: "STDOUT", Text: text, Data: []byte(text), At: time.Unix(0, 0)}
}

// texts is a source that sends these texts and ends; cursors are c1, c2, …
func texts(all ...string) func(context.Context, *string) (<-chan call.OutputEvent, error) {
	return func(ctx context.Context, _ *string) (<-chan call.OutputEvent, error) {
		out := make(chan call.OutputEvent)
		go func() {
			defer close(out)
			for i, text := range all {
				select {
				case out <- chunk("c"+string(rune('1'+i)), text):
				case <-ctx.Done():
					return
				}
			}
		}()
		return out, nil
	}
}

// waiting is a source that never has an event; it closes ended when its context ends.
func waiting(ended chan<- struct{}) func(context.Context, *string) (<-chan call.OutputEvent, error) {
	return func(ctx context.Context, _ *string) (<-chan call.OutputEvent, error) {
		out := make(chan call.OutputEvent)
		go func() {
			<-ctx.Done()
			close(out)
			close(ended)
		}()
		return out, nil
	}
}

// reply is an answer over HTTP.
type reply struct {
	status int
	header http.Header
	body   string
	Data   json.RawMessage
	Errors []problem
}

type problem struct {
	Message    string
	Path       []any
	Locations  []struct{ Line, Column int }
	Extensions struct{ Code, RequestID string }
}

func (r reply) code() string {
	if len(r.Errors) == 0 {
		return ""
	}
	return r.Errors[0].Extensions.Code
}

func (r reply) message() string {
	if len(r.Errors) == 0 {
		return ""
	}
	return r.Errors[0].Message
}

// send makes a request; headers are pairs, and Accept and Authorization have defaults that "" takes away.
func (e *edge) send(method, target, body string, headers ...string) reply {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, e.URL+target, strings.NewReader(body))
	if err != nil {
		e.t.Fatal(err)
	}
	req.Header.Set("Accept", "application/graphql-response+json")
	req.Header.Set("Authorization", goodKey)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if req.Header.Del(headers[i]); headers[i+1] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	resp, err := e.Client().Do(req)
	if err != nil {
		e.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		e.t.Fatal(err)
	}
	r := reply{status: resp.StatusCode, header: resp.Header, body: string(b)}
	if strings.Contains(resp.Header.Get("Content-Type"), "json") && method != http.MethodHead {
		if err := json.Unmarshal(b, &r); err != nil {
			e.t.Fatalf("no JSON: %v: %s", err, b)
		}
	}
	return r
}

// ask posts a query.
func (e *edge) ask(query string, headers ...string) reply {
	e.t.Helper()
	return e.send(http.MethodPost, "/graphql", body(query), headers...)
}

func body(query string) string {
	b, _ := json.Marshal(map[string]string{"query": query})
	return string(b)
}

// within waits for a channel to be closed.
func within(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatalf("waited too long: %s", what)
	}
}
