package graph_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/scriptorium-dev/scriptorium/graph"
	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/call"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

func TestMediaTypesAndStatuses(t *testing.T) {
	t.Parallel()
	e := start(t, nil)
	const typename, unparsed, invalid = "{__typename}", "{", "{nope}"
	for _, c := range []struct {
		name, accept, query string
		status              int
		media, code         string
	}{
		{"new", "application/graphql-response+json", typename, 200, "application/graphql-response+json", ""},
		{"old", "application/json", typename, 200, "application/json", ""},
		{"any", "*/*", typename, 200, "application/json", ""},
		{"left out", "", typename, 200, "application/json", ""},
		{"first of equals", "application/graphql-response+json, application/json", typename, 200, "application/graphql-response+json", ""},
		{"weights", "application/json;q=0.5, application/graphql-response+json;q=0.9", typename, 200, "application/graphql-response+json", ""},
		{"a browser's urql", "application/graphql-response+json, application/json, text/event-stream, multipart/mixed", typename, 200, "application/graphql-response+json", ""},
		{"none of ours", "text/html", typename, 406, "application/json", "BAD_REQUEST"},
		{"unparsed, new", "application/graphql-response+json", unparsed, 400, "application/graphql-response+json", "PARSE_FAILED"},
		{"unparsed, old", "application/json", unparsed, 200, "application/json", "PARSE_FAILED"},
		{"invalid, new", "application/graphql-response+json", invalid, 400, "application/graphql-response+json", "VALIDATION_FAILED"},
		{"invalid, old", "application/json", invalid, 200, "application/json", "VALIDATION_FAILED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := e.ask(c.query, "Accept", c.accept)
			if r.status != c.status || r.code() != c.code || r.header.Get("Content-Type") != c.media+"; charset=utf-8" {
				t.Fatalf("%d %s %s", r.status, r.header.Get("Content-Type"), r.body)
			}
			if c.code != "" && r.Data != nil {
				t.Fatalf("data beside a request error: %s", r.body)
			}
			if c.code != "" && (r.Errors[0].Extensions.RequestID == "" || r.Errors[0].Extensions.RequestID != r.header.Get("X-Request-Id")) {
				t.Fatalf("requestId: %s, header %q", r.body, r.header.Get("X-Request-Id"))
			}
		})
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	e := start(t, nil)
	for _, c := range []struct {
		name, body, contentType string
		status                  int
		code, says              string
	}{
		{"empty", "", "application/json", 400, "BAD_REQUEST", "JSON"},
		{"no JSON", "hello", "application/json", 400, "BAD_REQUEST", "JSON"},
		{"more than one value", `{"query":"{__typename}"} {}`, "application/json", 400, "BAD_REQUEST", "follows"},
		{"a batch", `[{"query":"{__typename}"}]`, "application/json", 400, "BAD_REQUEST", "object"},
		{"no query", `{}`, "application/json", 400, "BAD_REQUEST", "query is missing"},
		{"query null", `{"query":null}`, "application/json", 400, "BAD_REQUEST", "query is missing"},
		{"query no string", `{"query":{}}`, "application/json", 400, "BAD_REQUEST", "query must be a string"},
		{"operationName no string", `{"query":"{__typename}","operationName":1}`, "application/json", 400, "BAD_REQUEST", "operationName"},
		{"variables no object", `{"query":"{__typename}","variables":"{}"}`, "application/json", 400, "BAD_REQUEST", "variables"},
		{"extensions no object", `{"query":"{__typename}","extensions":[]}`, "application/json", 400, "BAD_REQUEST", "extensions"},
		{"query twice", `{"query":"{__typename}","query":"{x}"}`, "application/json", 400, "BAD_REQUEST", "query comes twice"},
		{"no UTF-8", "{\"query\":\"{__typename} # \xff\"}", "application/json", 400, "BAD_REQUEST", "query: not valid JSON: "},
		{"lone surrogate", `{"query":"query($a:ID!){agent(id:$a){id}}","variables":{"a":"x\ud800"}}`, "application/json", 400, "BAD_REQUEST", "variables.a: not valid JSON: a surrogate without its pair at byte 62"},
		{"no content type", `{"query":"{__typename}"}`, "", 415, "BAD_REQUEST", "Content-Type"},
		{"a form", "query={__typename}", "application/x-www-form-urlencoded", 415, "BAD_REQUEST", "Content-Type"},
		{"text, as a foreign page could send it", `{"query":"{__typename}"}`, "text/plain", 415, "BAD_REQUEST", "Content-Type"},
		{"another charset", `{"query":"{__typename}"}`, "application/json; charset=latin1", 415, "BAD_REQUEST", "UTF-8"},
		{"utf-8", `{"query":"{__typename}"}`, "application/json; charset=UTF-8", 200, "", ""},
		{"nulls", `{"query":"{__typename}","operationName":null,"variables":null,"extensions":null,"other":1}`, "application/json", 200, "", ""},
		{"no such operation", `{"query":"query a{__typename}","operationName":"b"}`, "application/json", 400, "VALIDATION_FAILED", "operationName"},
		{"which operation", `{"query":"query a{__typename} query b{__typename}"}`, "application/json", 400, "VALIDATION_FAILED", "operationName is missing"},
		{"no operation", `{"query":"fragment f on Query{__typename}"}`, "application/json", 400, "VALIDATION_FAILED", "no operation"},
		{"variable missing", `{"query":"query($a:ID!){agent(id:$a){id}}"}`, "application/json", 400, "VALIDATION_FAILED", "variables.a"},
		{"null condition", `{"query":"query($a:Boolean=true){__typename @skip(if:$a)}","variables":{"a":null}}`, "application/json", 400, "VALIDATION_FAILED", "@skip"},
		{"a number too large", `{"query":"{agents(first:99999999999999999999){nodes{id}}}"}`, "application/json", 400, "VALIDATION_FAILED", "too large for a document"},
		{"@defer", `{"query":"{... @defer {__typename}}"}`, "application/json", 400, "VALIDATION_FAILED", "@defer"},
		{"@stream", `{"query":"{nodes(ids:[]) @stream {id}}"}`, "application/json", 400, "VALIDATION_FAILED", "@stream"},
		{"a subscription", `{"query":"subscription{callOutput(call:\"c\"){__typename}}"}`, "application/json", 400, "BAD_REQUEST", "WebSocket"},
		{"a fragment circle", `{"query":"{...a} fragment a on Query{...b} fragment b on Query{...a}"}`, "application/json", 400, "VALIDATION_FAILED", "itself"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := e.send(http.MethodPost, "/graphql", c.body, "Content-Type", c.contentType)
			if r.status != c.status || r.code() != c.code || !strings.Contains(r.message(), c.says) {
				t.Fatalf("%d %s", r.status, r.body)
			}
		})
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	e := start(t, nil)
	get := func(pairs ...string) reply {
		q := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			q.Set(pairs[i], pairs[i+1])
		}
		return e.send(http.MethodGet, "/graphql?"+q.Encode(), "")
	}
	if r := get("query", "query a($i:ID!){agent(id:$i){id}} query b{deployment{version limits}}", "operationName", "b", "variables", `{"i":"x"}`, "extensions", "{}"); r.status != 200 ||
		string(r.Data) != `{"deployment":{"version":"1.2.3","limits":{"b":1.0,"a":"<&>"}}}` {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if r := get("query", `mutation{toolCall(input:{name:"x"}){call{id}}}`); r.status != 405 || r.header.Get("Allow") != "POST" || r.code() != "BAD_REQUEST" {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if r := get("query", "{__typename}", "variables", "[]"); r.status != 400 || r.code() != "BAD_REQUEST" {
		t.Fatalf("%d %s", r.status, r.body)
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodHead} {
		if r := e.send(method, "/graphql", ""); r.status != 405 || r.header.Get("Allow") == "" {
			t.Fatalf("%s: %d %s", method, r.status, r.body)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	e := start(t, nil)
	for _, c := range []struct {
		name, query, key string
		status           int
		code             string
	}{
		{"none for __typename", "{__typename}", "", 200, ""},
		{"none for introspection", `{__schema{queryType{name}} __type(name:"Agent"){name}}`, "", 200, ""},
		{"none for anything else", "{__typename deployment{version}}", "", 401, "UNAUTHENTICATED"},
		{"none, hidden in a fragment", "{...f} fragment f on Query{... {d:deployment{version}}}", "", 401, "UNAUTHENTICATED"},
		{"bad, whatever is asked", "{__typename}", "Bearer bad", 401, "UNAUTHENTICATED"},
		{"good", "{deployment{version}}", goodKey, 200, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, accept := range []string{"application/json", "application/graphql-response+json"} {
				r := e.ask(c.query, "Authorization", c.key, "Accept", accept)
				if r.status != c.status || r.code() != c.code || (c.code != "") != (r.header.Get("WWW-Authenticate") != "") {
					t.Fatalf("%d %s", r.status, r.body)
				}
			}
		})
	}
}

func TestErrorsOfResolvers(t *testing.T) {
	t.Parallel()
	gone := errors.New("dial secret detail")
	e := start(t, func(e *edge, c *graph.Config) {
		c.Unreachable = func(err error) bool { return errors.Is(err, gone) }
		e.agent = func(ctx context.Context, id string) (*agent.Agent, error) {
			switch id {
			case "gone":
				return nil, fmt.Errorf("read: %w", gone)
			case "panic":
				panic("secret detail")
			case "broken":
				return nil, errors.New("secret detail")
			case "denied":
				return nil, fault.NewProblem(fault.Denied, "the key lacks TOOLING")
			case "dark":
				return nil, fault.NewProblem(fault.Unavailable, "the database cannot be reached").Because(errors.New("dial"))
			case "invalid":
				return nil, fault.Plain(fault.Invalid, "id", "id is no id")
			}
			return nil, nil
		}
	})
	for id, want := range map[string]string{
		"panic": "INTERNAL internal error", "broken": "INTERNAL internal error", "denied": "DENIED the key lacks TOOLING",
		"dark": "UNAVAILABLE the database cannot be reached", "gone": "UNAVAILABLE the database cannot be reached: try again in a moment", "invalid": "BAD_REQUEST id is no id",
	} {
		r := e.ask(`{a:agent(id:"` + id + `"){id} __typename}`)
		if r.status != 200 || r.code()+" "+r.message() != want || string(r.Data) != `{"a":null,"__typename":"Query"}` || r.Errors[0].Path[0] != "a" {
			t.Fatalf("%s: %d %s", id, r.status, r.body)
		}
		if n := strings.Count(e.logs.String(), r.header.Get("X-Request-Id")); strings.Contains("panic broken dark gone", id) != (n == 1) || n > 1 {
			t.Fatalf("%s: logged %d times:\n%s", id, n, e.logs)
		}
	}
	if !strings.Contains(e.logs.String(), "secret detail") || !strings.Contains(e.logs.String(), "edge_test.go") {
		t.Fatalf("the log lacks the panic or its stack:\n%s", e.logs)
	}
}

func TestUnavailableIsAStatus(t *testing.T) {
	t.Parallel()
	e := start(t, func(e *edge, _ *graph.Config) { e.dark = true })
	if r := e.ask("{__typename}"); r.status != 503 || r.code() != "UNAVAILABLE" || strings.Contains(r.body, "no database") {
		t.Fatalf("%d %s", r.status, r.body)
	}
}

func TestTimeLimit(t *testing.T) {
	t.Parallel()
	e := start(t, func(e *edge, c *graph.Config) {
		c.Limits.Time = 50 * time.Millisecond
		c.Timeout = func(oc *graphql.OperationContext) time.Duration {
			if graph.Selects(oc, "deployment") {
				return patience
			}
			return 0
		}
		e.agent = func(ctx context.Context, id string) (*agent.Agent, error) {
			if d, ok := ctx.Deadline(); ok && time.Until(d) > time.Second {
				return nil, nil
			}
			<-ctx.Done()
			return nil, errors.New("interrupted (9)") // as drivers say it
		}
	})
	if r := e.ask(`{agent(id:"a"){id}}`); r.status != 200 || r.code() != "TIMEOUT" {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if r := e.send(http.MethodPost, "/", body(`{agent(id:"a"){id} ...d} fragment d on Query{d:deployment{version}}`)); r.status != 200 || r.code() != "" {
		t.Fatalf("%d %s", r.status, r.body)
	}
}

func TestClientLeaves(t *testing.T) {
	t.Parallel()
	type seen struct{ deadline, cancelled bool }
	reached, result, release := make(chan struct{}, 2), make(chan seen, 2), make(chan struct{})
	e := start(t, func(e *edge, _ *graph.Config) {
		e.agent = func(ctx context.Context, _ string) (*agent.Agent, error) {
			reached <- struct{}{}
			<-ctx.Done()
			result <- seen{cancelled: true}
			return nil, ctx.Err()
		}
		e.toolCall = func(ctx context.Context, _ call.ToolCallInput) (*call.ToolCallPayload, error) {
			reached <- struct{}{}
			<-release
			_, has := ctx.Deadline()
			result <- seen{deadline: has, cancelled: ctx.Err() != nil}
			return &call.ToolCallPayload{}, nil
		}
	})
	leave := func(query string) {
		ctx, cancel := context.WithCancel(t.Context())
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, strings.NewReader(body(query)))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", goodKey)
		go func() {
			<-reached
			cancel()
		}()
		if resp, err := e.Client().Do(req); err == nil {
			resp.Body.Close()
			t.Fatal("answered")
		}
	}
	leave(`{agent(id:"a"){id}}`)
	if got := <-result; !got.cancelled {
		t.Fatal("a query goes on without its client")
	}
	leave(`mutation{toolCall(input:{name:"x"}){call{id}}}`)
	close(release)
	if got := <-result; got.cancelled || !got.deadline {
		t.Fatalf("a mutation ends with its client, or never: %+v", got)
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	e := start(t, func(_ *edge, c *graph.Config) { c.AllowedOrigins = []string{"https://app.example"} })
	for origin, allowed := range map[string]bool{"https://app.example": true, "https://evil.example": false, e.URL: true, "null": false} {
		r := e.ask("{__typename}", "Origin", origin)
		if r.status != 200 || (r.header.Get("Access-Control-Allow-Origin") == origin) != allowed {
			t.Fatalf("%s: %d %v", origin, r.status, r.header)
		}
		r = e.send(http.MethodOptions, "/graphql", "", "Origin", origin, "Access-Control-Request-Method", "POST", "Authorization", "")
		if r.status != 204 || strings.Contains(r.header.Get("Access-Control-Allow-Headers"), "Authorization") != allowed {
			t.Fatalf("preflight of %s: %d %v", origin, r.status, r.header)
		}
	}
}

func TestShutdownWaitsForOperations(t *testing.T) {
	t.Parallel()
	reached, release := make(chan struct{}), make(chan struct{})
	e := start(t, func(e *edge, _ *graph.Config) {
		e.agent = func(context.Context, string) (*agent.Agent, error) {
			close(reached)
			<-release
			return nil, nil
		}
	})
	answered, stopped := make(chan reply, 1), make(chan error, 1)
	go func() { answered <- e.ask(`{agent(id:"a"){id}}`) }()
	within(t, "the resolver", reached)
	go func() { stopped <- e.handler.Shutdown(t.Context()) }()
	for r := e.ask("{__typename}"); r.status != 503; r = e.ask("{__typename}") {
		if r.status != 200 {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	select {
	case err := <-stopped:
		t.Fatalf("did not wait: %v", err)
	default:
	}
	close(release)
	if r := <-answered; r.status != 200 || r.code() != "" {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
}

func TestShutdownEndsWhatTakesTooLong(t *testing.T) {
	t.Parallel()
	reached := make(chan struct{})
	e := start(t, func(e *edge, _ *graph.Config) {
		e.toolCall = func(ctx context.Context, _ call.ToolCallInput) (*call.ToolCallPayload, error) {
			close(reached)
			<-ctx.Done()
			return nil, ctx.Err()
		}
	})
	answered := make(chan reply, 1)
	go func() { answered <- e.ask(`mutation{toolCall(input:{name:"x"}){call{id}}}`) }()
	within(t, "the resolver", reached)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.handler.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if r := <-answered; r.status != 503 || r.code() != "UNAVAILABLE" {
		t.Fatalf("%d %s", r.status, r.body)
	}
}
