package playground_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
	"go.uber.org/goleak"

	"github.com/scriptorium-dev/scriptorium/graph/generated"
	"github.com/scriptorium-dev/scriptorium/graph/playground"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var handler = sync.OnceValue(func() http.Handler { return playground.Handler("/graphql") })

func get(t *testing.T, method, target string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	handler().ServeHTTP(w, r)
	return w.Result()
}

func text(t *testing.T, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestPage shows that the page and everything it names come from here.
func TestPage(t *testing.T) {
	t.Parallel()
	resp := get(t, http.MethodGet, "http://example.org/playground")
	page := text(t, resp.Body)
	if resp.StatusCode != 200 || !strings.Contains(page, `content="/graphql"`) {
		t.Fatalf("%d %s", resp.StatusCode, page)
	}
	for _, part := range []string{"default-src 'none'", "script-src 'self';", "connect-src 'self' ws://example.org wss://example.org;", "frame-ancestors 'none'"} {
		if policy := resp.Header.Get("Content-Security-Policy"); !strings.Contains(policy, part) {
			t.Fatalf("the policy lacks %s: %s", part, policy)
		}
	}
	named := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(named) != 3 {
		t.Fatal(named)
	}
	for _, n := range append(named, []string{"", "/playground/example.graphql"}, []string{"", "/playground/LICENSES.txt"}) {
		if strings.HasPrefix(n[1], "data:") {
			continue
		}
		plain, zipped := get(t, http.MethodGet, n[1]), get(t, http.MethodGet, n[1], "Accept-Encoding", "gzip")
		z, err := gzip.NewReader(zipped.Body)
		if err != nil {
			t.Fatal(n[1], err)
		}
		if body := text(t, plain.Body); plain.StatusCode != 200 || body == "" || body != text(t, z) || plain.Header.Get("Content-Type") == "" {
			t.Fatalf("%s: %d %v", n[1], plain.StatusCode, plain.Header)
		}
		again := get(t, http.MethodGet, n[1], "If-None-Match", plain.Header.Get("ETag"))
		if again.StatusCode != 304 {
			t.Fatal(n[1], again.Status)
		}
	}
	if r := get(t, http.MethodGet, "/playground/index.html"); r.StatusCode != 404 {
		t.Fatal(r.Status)
	}
	if r := get(t, http.MethodPost, "/playground"); r.StatusCode != 405 {
		t.Fatal(r.Status)
	}
}

// TestNothingFromElsewhere shows that styles load nothing from other machines.
func TestNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	css, err := os.ReadFile("assets/playground.css")
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range regexp.MustCompile(`url\(["']?([^)"']{0,20})|@import`).FindAllSubmatch(css, -1) {
		if !bytes.HasPrefix(u[1], []byte("data:")) {
			t.Fatalf("%s", u[0])
		}
	}
}

// TestExample holds the example valid for the schema.
func TestExample(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("example.graphql")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := parser.ParseQuery(&ast.Source{Name: "example.graphql", Input: string(example)})
	if err != nil {
		t.Fatal(err)
	}
	schema := generated.NewExecutableSchema(generated.Config{}).Schema()
	if errs := validator.ValidateWithRules(schema, doc, rules.NewDefaultRules()); len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, op := range doc.Operations {
		if op.Name == "" {
			t.Fatal("an operation without a name cannot be chosen")
		}
	}
}
