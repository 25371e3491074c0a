package graph

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/graph/generated"
	"github.com/scriptorium-dev/scriptorium/internal/upload"
)

// bare is a handler without resolvers: what is fuzzed is done before any of them is called.
func bare() *Handler {
	return New(Config{
		Schema:       generated.NewExecutableSchema(generated.Config{}),
		Authenticate: func(ctx context.Context, _ string) (context.Context, error) { return ctx, nil },
		Logger:       slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
}

// FuzzRequest holds that any body is either refused with a message, or ready to be executed, and that neither takes long.
func FuzzRequest(f *testing.F) {
	introspection, err := os.ReadFile("introspection.graphql")
	if err != nil {
		f.Fatal(err)
	}
	for _, query := range []string{
		string(introspection), "{__typename}", "{...a} fragment a on Query{...a}", `query($a:ID!,$b:[Int!]=[1]){agent(id:$a){id}}`,
		`mutation{toolCall(input:{name:"x",arguments:{a:1.0,b:[$c]}}){call{id}}}`, `subscription{callOutput(call:"c",after:"x"){__typename}}`,
		"{agents(first:100){nodes @include(if:true){... on Agent{scripts(last:3){nodes{id}}}}}}", `"""` + "\x00", "#\n{",
	} {
		b, _ := json.Marshal(map[string]any{"query": query, "variables": map[string]any{"a": "x", "b": []int{1}}})
		f.Add(b)
	}
	f.Add([]byte(`{"query":"{a}","query":1,"variables":{"a":"\ud800"}}`))
	h := bare()
	f.Fuzz(func(t *testing.T, body []byte) {
		begin := time.Now()
		if err := h.try(body); err != nil && err.Error() == "" {
			t.Fatal("refused without a message")
		}
		if took := time.Since(begin); took > 10*time.Second {
			t.Fatalf("took %v", took)
		}
	})
}

// try does what every transport does with a request before it is executed.
func (h *Handler) try(body []byte) error {
	req, err := parseRequest(body)
	if err != nil {
		return err
	}
	doc, op, errs := h.choose(req, caller{known: true})
	if errs != nil {
		return errs
	}
	if op.Operation == "subscription" {
		doc, op = resumable(h.schema.Schema(), doc, op, "c1")
	}
	if _, errs = h.prepare(context.Background(), req, doc, op); errs != nil {
		return errs
	}
	return nil
}

// FuzzEnvelope holds that what is taken for a message says the same when it is written again.
func FuzzEnvelope(f *testing.F) {
	for _, m := range []string{`{"type":"ping"}`, `{"id":"a\u0000","type":"subscribe","payload":{"query":"{a}"}}`, `{"type":"ping","payload":null}`, "[]", `{"id":"\ud800"}`} {
		f.Add([]byte(m))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, ok := parseEnvelope(b)
		if !ok {
			return
		}
		kind, _ := json.Marshal(m.kind)
		again, ok := parseEnvelope(compose(strings.Trim(string(kind), `"`), m.id, m.payload))
		if !ok || again.id != m.id || again.kind != m.kind || string(again.payload) != string(m.payload) {
			t.Fatalf("%q is %+v, written again %+v", b, m, again)
		}
	})
}

func TestTakeCursor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ data, rest, cursor string }{
		{`{"o":{"text":"a","__cursor":"c1"}}`, `{"o":{"text":"a"}}`, "c1"},
		{`{"o":{"__cursor":"c1"}}`, `{"o":{}}`, "c1"},
		{`{"o":{"j":{"__cursor":"x"},"__cursor":"c1"}}`, `{"o":{"j":{"__cursor":"x"}}}`, "c1"},
		{`{"o":{"text":"\"__cursor\":\"x\"}}","__cursor":"a\"b"}}`, `{"o":{"text":"\"__cursor\":\"x\"}}"}}`, `a"b`},
		{`{"o":null}`, `{"o":null}`, ""},
		{`null`, `null`, ""},
		{``, ``, ""},
		{`{"o":{"j":{"__cursor":"x"}}}`, `{"o":{"j":{"__cursor":"x"}}}`, ""},
		{`{"o":{"__cursor":null}}`, `{"o":{}}`, ""},
	} {
		if rest, cursor := takeCursor([]byte(c.data)); string(rest) != c.rest || cursor != c.cursor {
			t.Errorf("%s: %s, %q", c.data, rest, cursor)
		}
	}
}

func TestDocumentCacheIsBounded(t *testing.T) {
	t.Parallel()
	h := bare()
	h.documents = newDocumentCache(100)
	for _, text := range []string{"{a:__typename}", "{b:__typename}", "{c:__typename}" + strings.Repeat(" ", 60), "{a:__typename}", "{d:__typename}" + strings.Repeat(" ", 100)} {
		if _, errs := h.check(text); errs != nil {
			t.Fatal(errs)
		}
	}
	c := h.documents
	if c.bytes > 100 || len(c.byKey) != c.order.Len() || c.get("{a:__typename}") == nil || c.get("{d:__typename}"+strings.Repeat(" ", 100)) != nil {
		t.Fatalf("%d bytes, %d documents", c.bytes, c.order.Len())
	}
}

// FuzzMultipart holds that files come to the places that map names, where there was null, and that every other byte of the variables stays.
func FuzzMultipart(f *testing.F) {
	f.Add([]byte(`{"0": ["variables.file"]}`), []byte(`{"file": null}`))
	f.Add([]byte(`{"0": ["variables.a.0", "variables.a.1"], "1": ["variables.b.c"]}`), []byte(`{"a": [null, null], "b": {"c":null,"d":1.0}}`))
	f.Add([]byte(`{"0": ["variables.a~/b"]}`), []byte(`{"a~/b": null}`))
	f.Add([]byte(`{"0": ["variables."]}`), []byte(`{"": null}`))
	f.Add([]byte(`{"0": ["variables.a", "variables.a"]}`), []byte(`{"a": null, "a": null}`))
	f.Add([]byte(`{"\ud800": ["variables.a"]}`), []byte(`[null]`))
	f.Fuzz(func(t *testing.T, places, variables []byte) {
		paths, refused := readPlaces(places)
		if refused != nil {
			if refused.Message == "" {
				t.Fatal("refused without a message")
			}
			return
		}
		m := &multipartRequest{req: &request{}, places: paths, uploads: map[string]*upload.Upload{}}
		if err := m.req.setObject("variables", variables); err != nil {
			return
		}
		before := string(m.req.variables)
		for part := range paths {
			m.uploads[part] = &upload.Upload{}
		}
		if err := m.place(); err != nil {
			return
		}
		after := string(m.req.variables)
		for name := range m.uploads {
			after = strings.ReplaceAll(after, `"`+name+`"`, "null")
		}
		if after != before || !json.Valid(m.req.variables) || len(m.uploads) != len(paths) {
			t.Fatalf("%s with %s became %s", before, places, m.req.variables)
		}
	})
}
