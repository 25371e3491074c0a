package graph_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/graph"
	"github.com/scriptorium-dev/scriptorium/internal/call"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// frame is an event as it came.
type frame struct{ event, id, data string }

// events is an event stream that a test reads.
type events struct {
	t     *testing.T
	resp  *http.Response
	lines *bufio.Reader
	leave context.CancelFunc
}

// stream opens an event stream; headers are pairs.
func (e *edge) stream(method, query string, headers ...string) *events {
	e.t.Helper()
	target, content := e.URL, body(query)
	if method == http.MethodGet {
		target, content = e.URL+"?query="+url.QueryEscape(query), ""
	}
	ctx, cancel := context.WithTimeout(e.t.Context(), patience)
	e.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(content))
	if err != nil {
		e.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Authorization", goodKey)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := e.Client().Do(req)
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { resp.Body.Close() })
	return &events{t: e.t, resp: resp, lines: bufio.NewReader(resp.Body), leave: cancel}
}

// next answers the next event, or none at the end.
func (s *events) next() frame {
	s.t.Helper()
	f, _ := s.read()
	return f
}

// read answers the next event, and how many comments came before it.
func (s *events) read() (f frame, comments int) {
	s.t.Helper()
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return frame{}, comments
		}
		line = strings.TrimSuffix(line, "\n")
		switch name, value, _ := strings.Cut(line, ": "); {
		case line == "" && f.event != "":
			return f, comments
		case strings.HasPrefix(line, ":"):
			comments++
		case name == "event":
			f.event = value
		case name == "id":
			f.id = value
		case name == "data":
			f.data += value
		}
	}
}

func (s *events) expect(frames ...frame) {
	s.t.Helper()
	for _, want := range frames {
		if got := s.next(); got != want {
			s.t.Fatalf("got %+v, want %+v", got, want)
		}
	}
}

// expectEnd expects that nothing more comes.
func (s *events) expectEnd() {
	s.t.Helper()
	if got := s.next(); got != (frame{}) {
		s.t.Fatalf("got %+v behind the end", got)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	e := start(t, func(e *edge, _ *graph.Config) {
		e.output = texts("a\n", "b")
		e.toolCall = func(context.Context, call.ToolCallInput) (*call.ToolCallPayload, error) {
			return &call.ToolCallPayload{}, nil
		}
	})
	complete := frame{event: "complete"}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		for _, query := range []string{
			output,
			`subscription{...f} fragment f on Subscription{callOutput(call:"call_1"){...g}} fragment g on OutputChunk{text}`,
		} {
			s := e.stream(method, query)
			if s.resp.StatusCode != 200 || s.resp.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" || s.resp.Header.Get("Cache-Control") != "no-store" {
				t.Fatalf("%d %v", s.resp.StatusCode, s.resp.Header)
			}
			s.expect(
				frame{"next", "c1", `{"data":{"callOutput":{"text":"a\n"}}}`},
				frame{"next", "c2", `{"data":{"callOutput":{"text":"b"}}}`}, complete)
			s.expectEnd()
		}
	}
	s := e.stream(http.MethodPost, `subscription{x:callOutput(call:"call_1"){__typename ... on OutputChunk{cursor c:cursor} ... on StreamGap{cursor}}}`)
	s.expect(frame{"next", "c1", `{"data":{"x":{"__typename":"OutputChunk","cursor":"c1","c":"c1"}}}`})
	s.leave()
	s = e.stream(http.MethodPost, `{deployment{limits}}`)
	s.expect(frame{"next", "", `{"data":{"deployment":{"limits":{"b":1.0,"a":"<&>"}}}}`}, complete)
	s.expectEnd()
	s = e.stream(http.MethodPost, `mutation{toolCall(input:{name:"x"}){call{id}}}`)
	s.expect(frame{"next", "", `{"data":{"toolCall":{"call":null}}}`}, complete)
	s.expectEnd()
	// A client that takes both gets a query as JSON and a subscription as events.
	s = e.stream(http.MethodPost, output, "Accept", "application/json, text/event-stream")
	s.expect(frame{"next", "c1", `{"data":{"callOutput":{"text":"a\n"}}}`})
	s.leave()
	if r := e.ask("{__typename}", "Accept", "application/json, text/event-stream"); r.header.Get("Content-Type") != "application/json; charset=utf-8" {
		t.Fatal(r.header)
	}
}

func TestEventsRefused(t *testing.T) {
	t.Parallel()
	e := start(t, nil)
	for query, code := range map[string]string{
		"{": "PARSE_FAILED", "subscription{nope}": "VALIDATION_FAILED",
		`subscription{callOutput(call:"call_missing"){__typename}}`:                           "NOT_FOUND",
		`subscription{callOutput(call:"call_1",after:"bad"){__typename}}`:                     "BAD_CURSOR",
		`subscription($a:ID!){callOutput(call:$a){__typename}}`:                               "VALIDATION_FAILED",
		"{" + strings.Repeat("__typename ", 201) + "}":                                        "LIMIT_EXCEEDED",
		`subscription{a:callOutput(call:"a"){__typename} b:callOutput(call:"a"){__typename}}`: "VALIDATION_FAILED",
	} {
		s := e.stream(http.MethodPost, query)
		f := s.next()
		if s.resp.StatusCode != 200 || f.event != "next" || !strings.Contains(f.data, `"code":"`+code+`"`) || strings.Contains(f.data, `"data"`) {
			t.Fatalf("%s: %d %+v", query, s.resp.StatusCode, f)
		}
		s.expect(frame{event: "complete"})
		s.expectEnd()
	}
	if s := e.stream(http.MethodPost, output, "Authorization", "Bearer bad"); s.resp.StatusCode != 401 {
		t.Fatal(s.resp.Status)
	}
	if s := e.stream(http.MethodPost, output, "Authorization", ""); s.resp.StatusCode != 401 {
		t.Fatal(s.resp.Status)
	}
	if r := e.send(http.MethodPost, "/", "{", "Accept", "text/event-stream"); r.status != 400 || r.code() != "BAD_REQUEST" {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if s := e.stream(http.MethodGet, `mutation{toolCall(input:{name:"x"}){call{id}}}`); s.resp.StatusCode != 405 {
		t.Fatal(s.resp.Status)
	}
}

func TestEventsResume(t *testing.T) {
	t.Parallel()
	after := make(chan string, 1)
	e := start(t, func(e *edge, _ *graph.Config) {
		source := texts("a")
		e.output = func(ctx context.Context, c *string) (<-chan call.OutputEvent, error) {
			if c == nil {
				after <- "none"
			} else {
				after <- *c
			}
			return source(ctx, c)
		}
	})
	for _, c := range []struct{ query, lastEventID, want string }{
		{`subscription{callOutput(call:"call_1"){__typename}}`, "", "none"},
		{`subscription{callOutput(call:"call_1"){__typename}}`, "x7", "x7"},
		{`subscription{callOutput(call:"call_1",after:"x1"){__typename}}`, "", "x1"},
		{`subscription{callOutput(call:"call_1",after:"x1"){__typename}}`, "x7", "x7"},
		{`subscription($a:Cursor="x1"){callOutput(call:"call_1",after:$a){__typename}}`, "x7", "x7"},
		{`subscription($a:Cursor="x1"){...f} fragment f on Subscription{o:callOutput(call:"call_1",after:$a){__typename}}`, "x7", "x7"},
	} {
		s := e.stream(http.MethodPost, c.query, "Last-Event-ID", c.lastEventID)
		if got := <-after; got != c.want {
			t.Fatalf("%s behind %q: after = %q", c.query, c.lastEventID, got)
		}
		if f := s.next(); f.id != "c1" {
			t.Fatalf("%+v", f)
		}
		s.expect(frame{event: "complete"})
	}
	s := e.stream(http.MethodPost, output, "Last-Event-ID", "bad")
	if f := s.next(); !strings.Contains(f.data, "BAD_CURSOR") {
		t.Fatalf("%+v", f)
	}
}

func TestEventsEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*edge, *events){
		"the client leaves":  func(_ *edge, s *events) { s.leave() },
		"the server stops":   func(e *edge, _ *events) { go e.handler.Shutdown(e.t.Context()) }, //nolint:errcheck // Cleanup checks it
		"the key is revoked": func(e *edge, _ *events) { e.revoke() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ended := make(chan struct{})
			e := start(t, func(e *edge, c *graph.Config) {
				e.output = waiting(ended)
				c.Timing.Recheck = 20 * time.Millisecond
				c.Timing.KeepAlive = 10 * time.Millisecond
			})
			s := e.stream(http.MethodPost, output)
			for range 3 { // it lives while nothing happens
				if line, err := s.lines.ReadString('\n'); err != nil || line != ":\n" && line != "\n" {
					t.Fatalf("%q %v", line, err)
				}
			}
			end(e, s)
			within(t, "the source's context", ended)
			rest, _ := io.ReadAll(s.lines)
			if strings.Contains(string(rest), "complete") {
				t.Fatalf("the stream says that it is complete: %s", rest)
			}
		})
	}
}

func TestEventsBreak(t *testing.T) {
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
	s := e.stream(http.MethodPost, output)
	s.expect(frame{"next", "c1", `{"data":{"callOutput":{"text":"a"}}}`})
	s.expectEnd() // not complete: the client comes back with Last-Event-ID
}

func TestEventsSlowReader(t *testing.T) {
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
	conn, err := net.Dial("tcp", e.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	req, _ := http.NewRequest(http.MethodGet, e.URL+"/?query="+url.QueryEscape(output), nil)
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Authorization", goodKey)
	if err := req.Write(conn); err != nil {
		t.Fatal(err)
	}
	within(t, "the operation of a reader that stopped", ended)
	if n := taken.Load() * (64 << 10); n > 16<<20 {
		t.Fatalf("%d bytes were taken for a reader that does not read", n)
	}
}
