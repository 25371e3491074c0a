package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/event/eventtest"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testServer is a whole server in this process, on fake computers.
type testServer struct {
	*server
	fake       *runnertest.Fake
	operator   string // its secret
	statements atomic.Int64
}

// onEach runs a test against a whole server on SQLite with the bus inside the process, and on PostgreSQL with Redis.
func onEach(t *testing.T, f func(t *testing.T, s *testServer)) {
	t.Helper()
	for _, dialect := range []string{database.SQLite, database.Postgres} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			f(t, startServer(t, dialect))
		})
	}
}

func startServer(t *testing.T, dialect string) *testServer {
	t.Helper()
	return startConfig(t, testConfig(t, dialect))
}

// testConfig is the configuration of a server of the test's own on the dialect.
func testConfig(t *testing.T, dialect string) *config {
	t.Helper()
	c, err := parseConfig("serve", []string{"--listen", "127.0.0.1:0"}, func(string) (string, bool) { return "", false }, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	db := databasetest.Config(t, dialect)
	c.DatabaseURL, c.Data = db.URL, db.Data
	if c.Data == "" {
		c.Data = t.TempDir()
	}
	if dialect == database.Postgres {
		c.RedisURL, c.redisPrefix = eventtest.Redis(t)
	}
	return c
}

func startConfig(t *testing.T, c *config) *testServer {
	t.Helper()
	return startFake(t, c, runnertest.NewFake())
}

func startFake(t *testing.T, c *config, fake *runnertest.Fake) *testServer {
	t.Helper()
	s := &testServer{fake: fake}
	c.maskWait = time.Minute
	c.onStatement = func(ctx context.Context, _ string) {
		if _, err := key.From(ctx); err == nil { // a request's, not the background's
			s.statements.Add(1)
		}
	}
	var r runner.Runner = s.fake
	s.server = &server{config: c, log: slog.New(slog.DiscardHandler), runner: r}
	s.begin(t)
	return s
}

// begin starts the server and stops it when the test ends.
func (s *testServer) begin(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	if secret, err := os.ReadFile(s.path("admin.key")); err == nil {
		s.operator = strings.TrimSpace(string(secret))
	}
}

// answer is what came back, with nothing left out.
type answer struct {
	status int
	body   string
}

// send sends a document; secret may be empty.
func (s *testServer) send(t *testing.T, secret, query string, variables map[string]any) answer {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/graphql", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return s.serve(r, secret)
}

func (s *testServer) serve(r *http.Request, secret string) answer {
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return answer{w.Code, w.Body.String()}
}

// must sends a document and answers its data; errors and userErrors end the test.
func (s *testServer) must(t *testing.T, secret, query string, variables map[string]any) map[string]any {
	t.Helper()
	a := s.send(t, secret, query, variables)
	var out struct {
		Data   map[string]any
		Errors []any
	}
	if err := json.Unmarshal([]byte(a.body), &out); err != nil || a.status != http.StatusOK || len(out.Errors) > 0 {
		t.Fatalf("%s\nanswers %d %s", query, a.status, a.body)
	}
	for name, field := range out.Data {
		if payload, ok := field.(map[string]any); ok {
			if users, ok := payload["userErrors"].([]any); ok && len(users) > 0 {
				t.Fatalf("%s is refused: %v", name, users)
			}
		}
	}
	return out.Data
}

// at walks into decoded JSON: at(data, "agentCreate", "agent", "id").
func at[T any](t *testing.T, v any, path ...any) T {
	t.Helper()
	for _, p := range path {
		if of, ok := v.(payload); ok {
			v = map[string]any(of)
		}
		switch p := p.(type) {
		case string:
			m, ok := v.(map[string]any)
			if !ok {
				t.Fatalf("no object at %v of %v", p, path)
			}
			v = m[p]
		case int:
			l, ok := v.([]any)
			if !ok || len(l) <= p {
				t.Fatalf("no item %d at %v", p, path)
			}
			v = l[p]
		}
	}
	out, ok := v.(T)
	if !ok {
		t.Fatalf("at %v is %v (%T)", path, v, v)
	}
	return out
}

// organization makes an organization and answers the secret of its first key.
func (s *testServer) organization(t *testing.T, name string) (secret string) {
	t.Helper()
	d := s.must(t, s.operator, `mutation($n: String!) { organizationCreate(input: {name: $n}) { secret userErrors { message } } }`, map[string]any{"n": name})
	return at[string](t, d, "organizationCreate", "secret")
}

// agent makes an agent and answers its id.
func (s *testServer) agent(t *testing.T, secret, name string, maxScripts int) string {
	t.Helper()
	d := s.must(t, secret, `mutation($n: String!, $m: Int) { agentCreate(input: {name: $n, maxScripts: $m}) { agent { id } userErrors { message } } }`,
		map[string]any{"n": name, "m": maxScripts})
	return at[string](t, d, "agentCreate", "agent", "id")
}

// save saves a script with parameters and answers its id and its version's.
func (s *testServer) save(t *testing.T, secret, agent, name, source string) (script, version string) {
	t.Helper()
	d := s.must(t, secret, `mutation($i: AgentScriptSaveInput!) { agentScriptSave(input: $i) { script { id } version { id } userErrors { message } } }`,
		map[string]any{"i": map[string]any{"agent": agent, "name": name, "description": "says something", "source": source, "parameters": map[string]any{"type": "object"}}})
	return at[string](t, d, "agentScriptSave", "script", "id"), at[string](t, d, "agentScriptSave", "version", "id")
}

func TestServerIsReady(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *testServer) {
		for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/playground/": 200, "/nowhere": 404, "/calls/call_0/output": 401} {
			if a := s.serve(httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil), ""); a.status != want {
				t.Errorf("GET %s answers %d %s, want %d", path, a.status, a.body, want)
			}
		}
	})
}

func TestServerKeepsOthersOutOfItsFolder(t *testing.T) {
	t.Parallel()
	s := startServer(t, database.SQLite)
	other := *s.config
	second := &server{config: &other, log: slog.New(slog.DiscardHandler), runner: runnertest.NewFake()}
	if err := second.start(t.Context()); err == nil || !strings.Contains(err.Error(), "in use by another server") {
		t.Errorf("a second server on the same folder: %v", err)
	}
}

func TestServerPrintsUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"nonsense"}, {"serve", "--nonsense"}, {"serve", "--listen", "x"}} {
		var errs bytes.Buffer
		if err := execute(t.Context(), args, io.Discard, &errs); err == nil || errs.Len() == 0 {
			t.Errorf("execute(%v) = %v, and says %q", args, err, errs.String())
		}
	}
	var out bytes.Buffer
	if err := execute(t.Context(), []string{"version"}, &out, io.Discard); err != nil || strings.TrimSpace(out.String()) != version {
		t.Errorf("version prints %q, %v", out.String(), err)
	}
	if err := execute(t.Context(), []string{"serve", "--check-config"}, &out, io.Discard); err != nil {
		t.Error(err)
	}
}

// TestOutputOfOtherOrigins lets pages of the allowed origins read raw output, and no others.
func TestOutputOfOtherOrigins(t *testing.T) {
	t.Parallel()
	c, err := parseConfig("serve", []string{"--listen", "127.0.0.1:0", "--data", t.TempDir(), "--allowed-origins", "https://app.example"}, func(string) (string, bool) { return "", false }, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	s := startConfig(t, c)
	for _, method := range []string{http.MethodGet, http.MethodOptions} {
		for origin, want := range map[string]string{"https://app.example": "https://app.example", "https://evil.example": ""} {
			r := httptest.NewRequestWithContext(t.Context(), method, "/calls/call_0/output?stream=STDOUT", nil)
			r.Header.Set("Origin", origin)
			r.Header.Set("Access-Control-Request-Method", http.MethodGet)
			w := httptest.NewRecorder()
			s.handler.ServeHTTP(w, r)
			if got := w.Header().Get("Access-Control-Allow-Origin"); got != want || method == http.MethodOptions && w.Code != http.StatusNoContent {
				t.Errorf("%s from %s: %d, allowed %q", method, origin, w.Code, got)
			}
		}
	}
}
