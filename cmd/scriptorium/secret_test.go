package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

const setSecret = `mutation($a: ID!, $n: String!, $v: String!) { agentSecretSet(input: {agent: $a, name: $n, description: "opens the shop", value: $v}) {
	agent { id secrets { name description } } secret { name description } created userErrors { code message path } } }`

// set sets an agent's secret.
func (s *testServer) set(t *testing.T, agent, name, value string) map[string]any {
	t.Helper()
	return s.must(t, s.operator, setSecret, map[string]any{"a": agent, "n": name, "v": value})
}

// printed runs a call of a script in a new run with an environment, to its end, and answers the call and the raw bytes of its streams.
func (s *testServer) printed(t *testing.T, agent, script string, environment map[string]any) (call map[string]any, stdout, stderr string) {
	t.Helper()
	r := s.must(t, s.operator, `mutation($a: ID!, $e: JSON) { runCreate(input: {agent: $a, environment: $e}) { run { id } userErrors { message } } }`,
		map[string]any{"a": agent, "e": environment})
	c := s.must(t, s.operator, `mutation($r: ID!, $n: String!) { toolCall(input: {run: $r, name: $n}) { userErrors { message } call {
		id status text stdout stderr output { stdoutBytes stdoutSha256 stderrBytes stderrSha256 } } } }`,
		map[string]any{"r": at[string](t, r, "runCreate", "run", "id"), "n": script})
	call = at[map[string]any](t, c, "toolCall", "call")
	raw := func(stream string) string {
		a := s.serve(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/calls/"+at[string](t, call, "id")+"/output?stream="+stream, nil), s.operator)
		if a.status != http.StatusOK {
			t.Fatalf("the output of %s: %d %s", script, a.status, a.body)
		}
		return a.body
	}
	return call, raw("STDOUT"), raw("STDERR")
}

// streamed are the chunks of a call's output, as a subscriber over SSE gets them.
func (s *testServer) streamed(t *testing.T, callID string) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/graphql", strings.NewReader(
		`{"query":"subscription { callOutput(call: \"`+callID+`\") { __typename ... on OutputChunk { stream offset text data } } }"}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	return s.serve(r, s.operator).body
}

func TestS1Secret(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *testServer) {
		const value = "s3cret-äöü\nof two lines"
		agent := s.agent(t, s.operator, "shopper", 10)
		s.set(t, agent, "SHOP_TOKEN", "to be replaced")
		d := s.set(t, agent, "SHOP_TOKEN", value)
		s.set(t, agent, "PIN", "12345") // too short to be masked
		if got := fmt.Sprint(at[any](t, d, "agentSecretSet")); got != "map[agent:map[id:"+agent+" secrets:[map[description:opens the shop name:SHOP_TOKEN]]] created:false secret:map[description:opens the shop name:SHOP_TOKEN] userErrors:[]]" {
			t.Errorf("set answers %s", got)
		}
		s.save(t, s.operator, agent, "prints", "#fake: out begin\n#fake: env SHOP_TOKEN\n#fake: env PIN\n#fake: env OTHER\n")
		call, stdout, stderr := s.printed(t, agent, "prints", map[string]any{"SHOP_TOKEN": "of the run", "OTHER": "of the run, too"})
		const want = "begin\n***\n12345\nof the run, too\n"
		if stdout != want || stderr != "" || at[string](t, call, "stdout") != want || at[string](t, call, "text") != "exit_code: 0\nstdout:\n"+want+"stderr:\n\n" {
			t.Errorf("printed %q %q, %v", stdout, stderr, call)
		}
		if got := at[string](t, call, "output", "stdoutBytes"); got != fmt.Sprint(len(want)) {
			t.Errorf("%s bytes, want %d", got, len(want))
		}
		if sum := sha256.Sum256([]byte(want)); at[string](t, call, "output", "stdoutSha256") != hex.EncodeToString(sum[:]) {
			t.Error("the hash is not that of the masked output")
		}
		id := at[string](t, call, "id")
		if events := s.streamed(t, id); !strings.Contains(events, `***`) || strings.Contains(events, "s3cret") || !strings.Contains(events, "CallFinished") {
			t.Errorf("streamed %s", events)
		}
		if found := s.find(t, value); len(found) > 0 {
			t.Errorf("the value is in the clear in %v", found)
		}
		if found := s.find(t, "opens the shop"); len(found) == 0 {
			t.Error("the description, which is stored as it is, was not found: nothing is looked for")
		}

		s.must(t, s.operator, `mutation($a: ID!) { agentSecretDelete(input: {agent: $a, name: "SHOP_TOKEN"}) { agent { secrets { name } } deletedId userErrors { message } } }`,
			map[string]any{"a": agent})
		if _, stdout, _ := s.printed(t, agent, "prints", nil); stdout != "begin\n(unset)\n12345\n(unset)\n" {
			t.Errorf("without it: %q", stdout)
		}
		s.must(t, s.operator, `mutation($a: ID!) { agentDelete(input: {agent: $a}) { deletedId userErrors { message } } }`, map[string]any{"a": agent})
		var rows int
		if err := s.db.SQL().QueryRowContext(t.Context(), "SELECT count(*) FROM secrets").Scan(&rows); err != nil || rows != 0 {
			t.Errorf("%d secrets of the deleted agent are left, %v", rows, err)
		}
	})
}

// TestS1SecretInPieces: however a value is printed, no piece of it is kept.
func TestS1SecretInPieces(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *testServer) {
		const long, inner = "outer-value-with-inner-value-in-it", "inner-value"
		agent := s.agent(t, s.operator, "printer", 10)
		s.set(t, agent, "LONG", long)
		s.set(t, agent, "INNER", inner)
		s.set(t, agent, "NEXT", "value-in-another")
		text := strings.Repeat("x", 16<<10-10) + long + "|" + inner + inner + "|inner-value-in-another|outer-value-with-inner"
		want := strings.Repeat("x", 16<<10-10) + "***|******|***|outer-value-with-inner"
		for _, size := range []int{1, 3, 1000, len(text)} {
			source := fmt.Sprintf("print in pieces of %d", size)
			s.fake.Add(runnertest.Program{Match: runnertest.Source(source), Run: func(_ context.Context, p *runnertest.Proc) runnertest.Exit {
				for rest := text; len(rest) > 0; rest = rest[min(size, len(rest)):] {
					for _, w := range []io.Writer{p.Stdout, p.Stderr} {
						if _, err := io.WriteString(w, rest[:min(size, len(rest))]); err != nil {
							return runnertest.Exit{Code: 1}
						}
					}
				}
				return runnertest.Exit{}
			}})
			s.save(t, s.operator, agent, "prints", source)
			call, stdout, stderr := s.printed(t, agent, "prints", nil)
			if stdout != want || stderr != want || at[string](t, call, "status") != "SUCCEEDED" {
				t.Errorf("pieces of %d: %s, %q, %q", size, call["status"], tail(stdout), tail(stderr))
			}
			if strings.Contains(fmt.Sprint(call), "value-in") || strings.Contains(s.streamed(t, at[string](t, call, "id")), "value-in") {
				t.Errorf("pieces of %d: the value is in %v", size, call)
			}
		}
	})
}

func tail(s string) string { return s[max(0, len(s)-100):] }

// find answers where in the database and in the data folder a value stands as it is.
func (s *testServer) find(t *testing.T, value string) (found []string) {
	t.Helper()
	for _, table := range s.tables(t) {
		rows, err := s.db.SQL().QueryContext(t.Context(), `SELECT * FROM "`+table+`"`)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			for i, v := range values {
				if b, ok := v.([]byte); ok && bytes.Contains(b, []byte(value)) || !ok && strings.Contains(fmt.Sprint(v), value) {
					found = append(found, table+"."+columns[i])
				}
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	err := filepath.WalkDir(s.config.Data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // it went while it was looked at
		}
		if b, err := os.ReadFile(path); err == nil && bytes.Contains(b, []byte(value)) {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (s *testServer) tables(t *testing.T) (tables []string) {
	t.Helper()
	query := "SELECT name FROM sqlite_master WHERE type = 'table'"
	if s.config.DatabaseURL != "" {
		query = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
	}
	rows, err := s.db.SQL().QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		tables = append(tables, name)
	}
	if err := rows.Err(); err != nil || len(tables) < 10 {
		t.Fatalf("%v: %v", tables, err)
	}
	return tables
}

// TestS1SecretRefusals: what is refused changes nothing, and no answer repeats the value.
func TestS1SecretRefusals(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *testServer) {
		agent := s.agent(t, s.operator, "shopper", 10)
		for _, c := range []struct{ name, value, code string }{
			{"token", "the-value", "INVALID"}, {"TOKEN\n", "the-value", "INVALID"}, {"PYTHONPATH", "the-value", "NAME_RESERVED"},
			{"SCRIPTORIUM_X", "the-value", "NAME_RESERVED"}, {"TOKEN", "", "INVALID"}, {"TOKEN", "the-value\x00", "INVALID"},
			{"TOKEN", "the-value" + strings.Repeat("x", 32<<10), "TOO_LARGE"},
		} {
			a := s.send(t, s.operator, setSecret, map[string]any{"a": agent, "n": c.name, "v": c.value})
			if !strings.Contains(a.body, `"code":"`+c.code+`"`) || !strings.Contains(a.body, `"secret":null`) || strings.Contains(a.body, "the-value") {
				t.Errorf("%q: %s", c.name, a.body)
			}
		}
		d := s.must(t, s.operator, `query($a: ID!) { agent(id: $a) { secrets { name } } }`, map[string]any{"a": agent})
		if secrets := at[[]any](t, d, "agent", "secrets"); len(secrets) != 0 {
			t.Errorf("set: %v", secrets)
		}
		if a := s.send(t, s.operator, `query($a: ID!) { agent(id: $a) { secrets { name value } } }`, map[string]any{"a": agent}); !strings.Contains(a.body, "VALIDATION_FAILED") {
			t.Errorf("a value can be asked for: %s", a.body)
		}
	})
}

// TestS1SecretKeyAtTheStart: a server whose key does not open the secrets refuses to start, and says what to do.
func TestS1SecretKeyAtTheStart(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{database.SQLite, database.Postgres} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, dialect)
			agent := s.agent(t, s.operator, "shopper", 10)
			s.set(t, agent, "TOKEN", "the-value")
			if err := s.stop(context.Background()); err != nil {
				t.Fatal(err)
			}
			kept, err := os.ReadFile(s.path("secrets.key"))
			if err != nil {
				t.Fatal(err)
			}
			starts := func(given string) error {
				c := *s.config
				c.SecretsKey = given
				again := &server{config: &c, log: slog.New(slog.DiscardHandler), runner: runnertest.NewFake()}
				if err := again.start(t.Context()); err != nil {
					return err
				}
				return again.stop(t.Context())
			}
			other := filepath.Join(t.TempDir(), "other.key")
			if err := os.WriteFile(other, []byte("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := starts(other); err == nil || !strings.HasPrefix(err.Error(), "--secrets-key (key ") || !strings.Contains(err.Error(), "does not open all") {
				t.Errorf("with another key: %v", err)
			}
			if err := starts("no key"); err == nil || !strings.Contains(err.Error(), "neither a file that can be read nor 32 bytes in base64") {
				t.Errorf("with none: %v", err)
			}
			if err := os.Rename(s.path("secrets.key"), s.path("moved.key")); err != nil {
				t.Fatal(err)
			}
			if err := starts(""); err == nil || !strings.Contains(err.Error(), s.path("secrets.key")+" is missing") {
				t.Errorf("without the file: %v", err)
			}
			for _, given := range []string{s.path("moved.key"), strings.TrimSpace(string(kept))} {
				if err := starts(given); err != nil {
					t.Errorf("with the key in another place: %v", err)
				}
			}
			var out, errs bytes.Buffer
			if err := execute(t.Context(), []string{"forget-secrets", "--data", s.config.Data, "--database-url", s.config.DatabaseURL, "--secrets-key", other}, &out, &errs); err != nil || out.String() != "Secrets removed: 1\n" {
				t.Errorf("forget-secrets: %v, %s%s", err, out.String(), errs.String())
			}
			if err := starts(other); err != nil {
				t.Errorf("then: %v", err)
			}
		})
	}
}
