package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/gorilla/websocket"

	"github.com/scriptorium-dev/scriptorium/graph"
	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/call"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// client is a WebSocket that a test drives message by message.
type client struct {
	*websocket.Conn
	t *testing.T
}

const subprotocol = "graphql-transport-ws"

func (e *edge) dial(protocols ...string) *client {
	e.t.Helper()
	d := websocket.Dialer{Subprotocols: protocols, HandshakeTimeout: patience}
	conn, _, err := d.Dial("ws"+strings.TrimPrefix(e.URL, "http")+"/graphql", nil)
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	return &client{conn, e.t}
}

// open dials and initialises.
func (e *edge) open() *client {
	e.t.Helper()
	c := e.dial(subprotocol)
	c.say(`{"type":"connection_init","payload":{"Authorization":"Bearer good"}}`)
	c.expect(`{"type":"connection_ack"}`)
	return c
}

func (c *client) say(message string) {
	c.t.Helper()
	if err := c.WriteMessage(websocket.TextMessage, []byte(message)); err != nil {
		c.t.Fatal(err)
	}
}

// subscribe sends an operation.
func (c *client) subscribe(id, query string) {
	c.t.Helper()
	c.say(fmt.Sprintf(`{"id":%q,"type":"subscribe","payload":%s}`, id, body(query)))
}

func (c *client) hear() string {
	c.t.Helper()
	_, b, err := c.ReadMessage()
	if err != nil {
		c.t.Fatal(err)
	}
	return string(b)
}

func (c *client) expect(messages ...string) {
	c.t.Helper()
	for _, want := range messages {
		if got := c.hear(); got != want {
			c.t.Fatalf("got %s, want %s", got, want)
		}
	}
}

// expectError expects the protocol's error with a code and a part of its message.
func (c *client) expectError(id, code, says string) {
	c.t.Helper()
	var m struct {
		ID, Type string
		Payload  []problem
	}
	raw := c.hear()
	if err := json.Unmarshal([]byte(raw), &m); err != nil || m.ID != id || m.Type != "error" || len(m.Payload) == 0 ||
		m.Payload[0].Extensions.Code != code || m.Payload[0].Extensions.RequestID == "" || !strings.Contains(m.Payload[0].Message, says) {
		c.t.Fatalf("got %s, want an error %s with %q for %s", raw, code, says, id)
	}
}

// expectClose reads until the socket is closed, and expects the code and a part of its reason.
func (c *client) expectClose(code int, says string) {
	c.t.Helper()
	for {
		_, b, err := c.ReadMessage()
		if err == nil {
			c.t.Logf("before the end: %.60s", b)
			continue
		}
		e, ok := errors.AsType[*websocket.CloseError](err)
		if !ok || e.Code != code || !strings.Contains(e.Text, says) {
			c.t.Fatalf("got %v, want %d with %q", err, code, says)
		}
		return
	}
}

const output = `subscription{callOutput(call:"call_1"){... on OutputChunk{text}}}`

func TestSocketCloseCodes(t *testing.T) {
	t.Parallel()
	e := start(t, func(e *edge, c *graph.Config) {
		c.Timing.Init = 300 * time.Millisecond
		e.output = func(ctx context.Context, _ *string) (<-chan call.OutputEvent, error) {
			return make(chan call.OutputEvent), nil
		}
	})
	const init = `{"type":"connection_init","payload":{"Authorization":"Bearer good"}}`
	subscribe := fmt.Sprintf(`{"id":"1","type":"subscribe","payload":%s}`, body(output))
	for _, c := range []struct {
		name     string
		protocol []string
		messages []string
		code     int
		says     string
	}{
		{"no init", nil, nil, 4408, "Connection initialisation timeout"},
		{"init twice", nil, []string{init, init}, 4429, "Too many initialisation requests"},
		{"subscribe before init", nil, []string{subscribe}, 4401, "Unauthorized"},
		{"init without key", nil, []string{`{"type":"connection_init"}`}, 4403, "Forbidden"},
		{"init with a key that is no string", nil, []string{`{"type":"connection_init","payload":{"Authorization":7}}`}, 4403, "Forbidden"},
		{"init with a bad key", nil, []string{`{"type":"connection_init","payload":{"Authorization":"Bearer bad"}}`}, 4403, "Forbidden"},
		{"init with another payload", nil, []string{`{"type":"connection_init","payload":"x"}`}, 4400, "Invalid message"},
		{"another subprotocol", []string{"wamp"}, nil, 4406, "Subprotocol not acceptable"},
		{"the old subprotocol", []string{"graphql-ws"}, []string{init}, 4406, "Subprotocol not acceptable"},
		{"no JSON", nil, []string{init, "hello"}, 4400, "Invalid message"},
		{"no object", nil, []string{init, "[]"}, 4400, "Invalid message"},
		{"no type", nil, []string{init, "{}"}, 4400, "unknown type"},
		{"unknown type", nil, []string{init, `{"type":"iron_maiden"}`}, 4400, "unknown type"},
		{"type no string", nil, []string{init, `{"type":1}`}, 4400, "Invalid message"},
		{"type twice", nil, []string{init, `{"type":"ping","type":"pong"}`}, 4400, "Invalid message"},
		{"id no string", nil, []string{init, `{"id":1,"type":"complete"}`}, 4400, "Invalid message"},
		{"subscribe without id", nil, []string{init, `{"type":"subscribe","payload":{"query":"{__typename}"}}`}, 4400, "Invalid message"},
		{"subscribe with an empty id", nil, []string{init, `{"id":"","type":"subscribe","payload":{"query":"{__typename}"}}`}, 4400, "Invalid message"},
		{"subscribe without payload", nil, []string{init, `{"id":"1","type":"subscribe"}`}, 4400, "Invalid message"},
		{"subscribe without query", nil, []string{init, `{"id":"1","type":"subscribe","payload":{}}`}, 4400, "Invalid message"},
		{"subscribe with a query that is no string", nil, []string{init, `{"id":"1","type":"subscribe","payload":{"query":[]}}`}, 4400, "Invalid message"},
		{"duplicate id", nil, []string{init, subscribe, subscribe}, 4409, "Subscriber for 1 already exists"},
		{"no UTF-8", nil, []string{init, "{\"type\":\"ping\",\"payload\":{\"a\":\"\xff\"}}"}, 4400, "Invalid message: payload.a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.protocol == nil {
				c.protocol = []string{subprotocol}
			}
			s := e.dial(c.protocol...)
			s.t = t
			for _, m := range c.messages {
				s.say(m)
			}
			s.expectClose(c.code, c.says)
		})
	}
	t.Run("no subprotocol", func(t *testing.T) {
		t.Parallel()
		e.dial().expectClose(4406, "Subprotocol not acceptable")
	})
	t.Run("binary", func(t *testing.T) {
		t.Parallel()
		s := e.open()
		_ = s.WriteMessage(websocket.BinaryMessage, []byte("{}"))
		s.expectClose(4400, "text")
	})
}

func TestSocketOrigin(t *testing.T) {
	t.Parallel()
	e := start(t, func(_ *edge, c *graph.Config) { c.AllowedOrigins = []string{"https://app.example"} })
	for origin, status := range map[string]int{"https://app.example": 101, "https://evil.example": 403, e.URL: 101} {
		d := websocket.Dialer{Subprotocols: []string{subprotocol}}
		conn, resp, err := d.Dial("ws"+strings.TrimPrefix(e.URL, "http"), http.Header{"Origin": {origin}})
		if resp == nil || resp.StatusCode != status {
			t.Fatalf("%s: %v %v", origin, resp, err)
		}
		if conn != nil {
			conn.Close()
		}
		resp.Body.Close()
	}
}

func TestSocketOperations(t *testing.T) {
	t.Parallel()
	e := start(t, func(e *edge, _ *graph.Config) {
		e.output = texts("a", "b")
		e.agent = func(context.Context, string) (*agent.Agent, error) { return nil, errors.New("broken") }
		e.toolCall = func(context.Context, call.ToolCallInput) (*call.ToolCallPayload, error) {
			return &call.ToolCallPayload{}, nil
		}
	})
	c := e.open()
	c.subscribe("q", "{__typename}")
	c.expect(`{"id":"q","type":"next","payload":{"data":{"__typename":"Query"}}}`, `{"id":"q","type":"complete"}`)
	c.subscribe("q", `mutation{toolCall(input:{name:"x"}){call{id}}}`)
	c.expect(`{"id":"q","type":"next","payload":{"data":{"toolCall":{"call":null}}}}`, `{"id":"q","type":"complete"}`)
	c.subscribe("s", output)
	c.expect(
		`{"id":"s","type":"next","payload":{"data":{"callOutput":{"text":"a"}}}}`,
		`{"id":"s","type":"next","payload":{"data":{"callOutput":{"text":"b"}}}}`,
		`{"id":"s","type":"complete"}`)
	c.subscribe("field", `{agent(id:"a"){id}}`)
	if got := c.hear(); !strings.HasPrefix(got, `{"id":"field","type":"next","payload":{"errors":[{"message":"internal error"`) || !strings.HasSuffix(got, `"data":{"agent":null}}}`) {
		t.Fatal(got)
	}
	c.expect(`{"id":"field","type":"complete"}`)
	c.say(`{"type":"ping","payload":{"a":1}}`)
	c.expect(`{"type":"pong","payload":{"a":1}}`)
	c.say(`{"type":"pong"}`)
	c.say(`{"type":"ping"}`)
	c.expect(`{"type":"pong"}`)
	c.say(`{"type":"complete","id":"unknown"}`)

	// Each of these is an error, no complete follows, and the id is free again.
	for _, m := range []struct{ payload, code, says string }{
		{body("{"), "PARSE_FAILED", "Expected"},
		{body("{nope}"), "VALIDATION_FAILED", "nope"},
		{body("query($a:ID!){agent(id:$a){id}}"), "VALIDATION_FAILED", "variables.a"},
		{body(`subscription{callOutput(call:"call_missing"){__typename}}`), "NOT_FOUND", "no call"},
		{body(`subscription{callOutput(call:"call_1",after:"bad"){__typename}}`), "BAD_CURSOR", "after"},
		{body(`subscription{a:callOutput(call:"call_1"){__typename} b:callOutput(call:"call_1"){__typename}}`), "VALIDATION_FAILED", "one root field"},
		{body(`subscription{callOutput(call:"call_1") @skip(if:true) {__typename}}`), "VALIDATION_FAILED", "@skip"},
		{`{"query":"query($a:ID!){agent(id:$a){id}}","variables":{"a":"\udc00"}}`, "BAD_REQUEST", "variables.a: not valid JSON: a surrogate without its pair at byte"},
		{"{\"query\":\"{__typename}\",\"variables\":{\"a\":\"\xc3\x28\"}}", "BAD_REQUEST", "variables.a: not valid JSON"},
		{`{"query":"{__typename}","variables":[]}`, "BAD_REQUEST", "variables"},
		{`{"query":"{... @defer {__typename}}"}`, "VALIDATION_FAILED", "@defer"},
	} {
		c.say(`{"id":"same","type":"subscribe","payload":` + m.payload + `}`)
		c.expectError("same", m.code, m.says)
	}
	c.subscribe("end", "{__typename}")
	c.expect(`{"id":"end","type":"next","payload":{"data":{"__typename":"Query"}}}`, `{"id":"end","type":"complete"}`)
}

func TestSocketComplete(t *testing.T) {
	t.Parallel()
	source, ended := make(chan call.OutputEvent), make(chan struct{})
	e := start(t, func(e *edge, _ *graph.Config) {
		e.output = func(ctx context.Context, _ *string) (<-chan call.OutputEvent, error) {
			context.AfterFunc(ctx, func() { close(ended) })
			return source, nil
		}
	})
	c := e.open()
	c.subscribe("1", output)
	source <- chunk("c1", "a")
	c.expect(`{"id":"1","type":"next","payload":{"data":{"callOutput":{"text":"a"}}}}`)
	c.say(`{"type":"complete","id":"1"}`)
	within(t, "the source's context", ended)
	c.subscribe("1", "{__typename}") // the id is free at once, and nothing of the old operation comes
	c.expect(`{"id":"1","type":"next","payload":{"data":{"__typename":"Query"}}}`, `{"id":"1","type":"complete"}`)
}

func TestSocketDrops(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	e := start(t, func(e *edge, _ *graph.Config) { e.output = waiting(ended) })
	c := e.open()
	c.subscribe("1", output)
	c.say(`{"type":"ping"}`)
	c.expect(`{"type":"pong"}`)
	c.UnderlyingConn().Close()
	within(t, "the source's context", ended)
}

func TestSocketBreaks(t *testing.T) {
	t.Parallel()
	e := start(t, func(e *edge, _ *graph.Config) {
		e.output = func(ctx context.Context, _ *string) (<-chan call.OutputEvent, error) {
			out := make(chan call.OutputEvent, 1)
			out <- chunk("c1", "a")
			graph.BreakStream(ctx, fault.NewProblem(fault.Unavailable, "the stream cannot be read now"))
			close(out)
			return out, nil
		}
	})
	c := e.open()
	c.subscribe("1", output)
	c.expect(`{"id":"1","type":"next","payload":{"data":{"callOutput":{"text":"a"}}}}`)
	c.expectError("1", "UNAVAILABLE", "cannot be read")
}

func TestSocketKeyRevoked(t *testing.T) {
	t.Parallel()
	for name, say := range map[string]string{"at the next operation": `{"id":"2","type":"subscribe","payload":{"query":"{__typename}"}}`, "while it is open": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ended := make(chan struct{})
			e := start(t, func(e *edge, c *graph.Config) {
				e.output = waiting(ended)
				if say == "" {
					c.Timing.Recheck = 20 * time.Millisecond
				}
			})
			c := e.open()
			c.subscribe("1", output)
			c.say(`{"type":"ping"}`)
			c.expect(`{"type":"pong"}`)
			e.revoke()
			if say != "" {
				c.say(say)
			}
			c.expectClose(4403, "Forbidden")
			within(t, "the source's context", ended)
		})
	}
}

func TestSocketKeyCannotBeTold(t *testing.T) {
	t.Parallel()
	e := start(t, func(e *edge, c *graph.Config) { c.Timing.Recheck = 10 * time.Millisecond })
	c := e.open()
	e.mu.Lock()
	e.dark = true
	e.mu.Unlock()
	c.subscribe("1", "{__typename}")
	c.expectError("1", "UNAVAILABLE", "looked up") // the socket stays
	d := e.dial(subprotocol)
	d.say(`{"type":"connection_init","payload":{"Authorization":"Bearer good"}}`)
	d.expectClose(1013, "looked up")
}

func TestSocketShutdown(t *testing.T) {
	t.Parallel()
	ended, reached, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
	e := start(t, func(e *edge, _ *graph.Config) {
		e.output = waiting(ended)
		e.agent = func(context.Context, string) (*agent.Agent, error) {
			close(reached)
			<-release
			return nil, nil
		}
	})
	idle, busy := e.open(), e.open()
	busy.subscribe("s", output)
	busy.subscribe("q", `{agent(id:"a"){id}}`)
	within(t, "the resolver", reached)
	stopped := make(chan error, 1)
	go func() { stopped <- e.handler.Shutdown(t.Context()) }()
	idle.expectClose(1012, "Service restart")
	within(t, "the source's context", ended)
	close(release)
	busy.expect(`{"id":"q","type":"next","payload":{"data":{"agent":null}}}`, `{"id":"q","type":"complete"}`)
	busy.expectClose(1012, "Service restart")
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
}

func TestSocketPings(t *testing.T) {
	t.Parallel()
	e := start(t, func(_ *edge, c *graph.Config) { c.Timing.Ping = 50 * time.Millisecond })
	c := e.open()
	pings := make(chan struct{}, 100)
	answer := c.PingHandler()
	c.SetPingHandler(func(s string) error {
		pings <- struct{}{}
		return answer(s)
	})
	go func() { _, _, _ = c.ReadMessage() }()
	for range 6 { // longer than a peer that does not answer is kept
		select {
		case <-pings:
		case <-time.After(patience):
			t.Fatal("no ping")
		}
	}
	dead := e.open()
	dead.SetPingHandler(func(string) error { return nil }) // never answers
	dead.expectClose(4413, "pings")
}

// endless is a source without an end; it counts the events that were taken from it.
func endless(taken *atomic.Int64, size int) func(context.Context, *string) (<-chan call.OutputEvent, error) {
	text := strings.Repeat("x", size)
	return func(ctx context.Context, _ *string) (<-chan call.OutputEvent, error) {
		out := make(chan call.OutputEvent)
		go func() {
			defer close(out)
			for {
				select {
				case out <- chunk("c", text):
					taken.Add(1)
				case <-ctx.Done():
					return
				}
			}
		}()
		return out, nil
	}
}

// TestSocketSlowReader shows that a reader that stops costs what the kernel and the queue hold, and no more, and finds its code when it looks again.
func TestSocketSlowReader(t *testing.T) {
	t.Parallel()
	var taken atomic.Int64
	ended := make(chan struct{})
	e := start(t, func(e *edge, c *graph.Config) {
		c.Timing.Slow = 300 * time.Millisecond
		source := endless(&taken, 64<<10)
		e.output = func(ctx context.Context, after *string) (<-chan call.OutputEvent, error) {
			context.AfterFunc(ctx, func() { close(ended) })
			return source(ctx, after)
		}
	})
	c := e.open()
	c.subscribe("1", output)
	within(t, "the operation of a reader that stopped", ended)
	if n := taken.Load() * (64 << 10); n > 16<<20 {
		t.Fatalf("%d bytes were taken for a reader that does not read", n)
	}
	c.expectClose(4413, "Slow reader")
}

// TestSocketBackpressure shows that the source of a socket that is not read is not asked for more than the queue and the kernel hold, while
// another socket goes on.
func TestSocketBackpressure(t *testing.T) {
	t.Parallel()
	var taken atomic.Int64
	e := start(t, func(e *edge, _ *graph.Config) { e.output = endless(&taken, 64<<10) })
	stuck, other := e.open(), e.open()
	stuck.subscribe("1", output)
	for last := int64(-1); taken.Load() != last; { // until it takes no more
		last = taken.Load()
		other.subscribe("q", "{__typename}")
		other.expect(`{"id":"q","type":"next","payload":{"data":{"__typename":"Query"}}}`, `{"id":"q","type":"complete"}`)
		deadline := time.Now().Add(200 * time.Millisecond)
		for time.Now().Before(deadline) && taken.Load() == last {
			other.say(`{"type":"ping"}`)
			other.expect(`{"type":"pong"}`)
		}
	}
	if n := taken.Load() * (64 << 10); n > 16<<20 {
		t.Fatalf("%d bytes were taken", n)
	}
	before := taken.Load()
	for range 64 { // as it reads, so the source is asked
		stuck.hear()
	}
	for deadline := time.Now().Add(patience); taken.Load() == before; {
		if time.Now().After(deadline) {
			t.Fatal("the source is not asked again")
		}
		stuck.hear()
	}
}

func TestSocketOperationLimit(t *testing.T) {
	t.Parallel()
	e := start(t, func(e *edge, c *graph.Config) {
		c.Limits.SocketOperations = 3
		e.output = func(context.Context, *string) (<-chan call.OutputEvent, error) {
			return make(chan call.OutputEvent), nil
		}
	})
	c := e.open()
	for i := range 3 {
		c.subscribe(fmt.Sprint(i), output)
	}
	c.subscribe("3", output)
	c.expectError("3", "LIMIT_EXCEEDED", "on a socket is limited to 3")
}

func TestSocketPayloadLimit(t *testing.T) {
	t.Parallel()
	payload := body(output)
	e := start(t, func(e *edge, c *graph.Config) {
		c.Limits.SocketPayload = 2 * len(payload)
		e.output = func(ctx context.Context, _ *string) (<-chan call.OutputEvent, error) {
			out := make(chan call.OutputEvent)
			context.AfterFunc(ctx, func() { close(out) })
			return out, nil
		}
	})
	c := e.open()
	c.subscribe("1", output)
	c.subscribe("2", output)
	c.subscribe("3", "{__typename}")
	c.expectError("3", "LIMIT_EXCEEDED", fmt.Sprintf("on a socket is limited to %d", 2*len(payload)))
	c.say(`{"type":"complete","id":"1"}`)
	for { // it is given back when the operation has ended
		c.subscribe("3", "{__typename}")
		if strings.Contains(c.hear(), `"next"`) {
			return
		}
	}
}

func TestSocketPanics(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"Bearer init", "Bearer run"} {
		var calls atomic.Int64
		e := start(t, func(e *edge, c *graph.Config) {
			c.Authenticate = func(ctx context.Context, authorization string) (context.Context, error) {
				if calls.Add(1) == 1 && authorization == "Bearer run" {
					return ctx, nil
				}
				panic("secret detail")
			}
		})
		c := e.dial(subprotocol)
		c.say(`{"type":"connection_init","payload":{"Authorization":"` + when + `"}}`)
		if when == "Bearer init" {
			c.expectClose(1013, "internal error")
		} else {
			c.expect(`{"type":"connection_ack"}`)
			c.subscribe("1", "{__typename}")
			c.expectError("1", "INTERNAL", "internal error")
		}
		if !strings.Contains(e.logs.String(), "secret detail") {
			t.Fatal(e.logs)
		}
	}
}

// TestPanicInTheEdge shows that a mistake of the edge's own, or of what it is given, ends a request or a socket, not the process.
func TestPanicInTheEdge(t *testing.T) {
	t.Parallel()
	e := start(t, func(e *edge, c *graph.Config) {
		c.Timeout = func(*graphql.OperationContext) time.Duration { panic("secret detail") }
	})
	c := e.open()
	c.subscribe("1", "{__typename}")
	c.expectClose(4500, "internal error")
	for _, accept := range []string{"application/json", "text/event-stream"} {
		if r := e.ask("{__typename}", "Accept", accept); r.status != 500 || r.code() != "INTERNAL" {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	if n := strings.Count(e.logs.String(), "secret detail"); n != 3 {
		t.Fatalf("logged %d times", n)
	}
}

func TestSocketMessageLimit(t *testing.T) {
	t.Parallel()
	e := start(t, nil)
	c := e.open()
	message := func(size int) string {
		m := fmt.Sprintf(`{"id":"1","type":"subscribe","payload":%s}`, body("{__typename}"))
		return m + strings.Repeat(" ", size-len(m))
	}
	c.say(message(1 << 20))
	c.expect(`{"id":"1","type":"next","payload":{"data":{"__typename":"Query"}}}`, `{"id":"1","type":"complete"}`)
	c.say(message(1<<20 + 1))
	c.expectClose(1009, "LIMIT_EXCEEDED: a message is limited to 1048576 bytes")
}
