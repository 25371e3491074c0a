package graph_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/graph"
)

// repeat writes n pieces; %d in the format is the number of each.
func repeat(n int, format string) string {
	var b strings.Builder
	for i := range n {
		if strings.Contains(format, "%d") {
			fmt.Fprintf(&b, format, i)
		} else {
			b.WriteString(format)
		}
	}
	return b.String()
}

// nested writes n levels of fields: agents{nodes{…{id}}}, two levels at a time where it can.
func nested(n int) string {
	q := "{" + strings.Repeat("node{node{", 0)
	depth := 0
	for ; depth < n-1; depth++ {
		q += "ofType{"
	}
	return q + "name" + strings.Repeat("}", depth) + "}"
}

// TestLimits holds every limit at N, which passes, and at N + 1, over HTTP and over a socket.
func TestLimits(t *testing.T) {
	t.Parallel()
	e := start(t, nil)
	for _, c := range []struct {
		name   string
		limit  int
		says   string
		query  func(n int) string
		passes bool // at N the request is answered, not only let through to validation
	}{
		{"document", 64 << 10, "length of a document in bytes is limited to 65536", func(n int) string { return "{__typename}" + strings.Repeat(" ", n-12) }, true},
		{"tokens", 4000, "tokens of a document is limited to 4000", func(n int) string { return "{__typename" + strings.Repeat("#\n", n-3) + "}" }, true},
		{"same name", 200, "fields of one response name in a selection set is limited to 200", func(n int) string { return "{" + repeat(n, "__typename ") + "}" }, true},
		{"same name, in fragments", 200, "fields of one response name in a selection set is limited to 200", func(n int) string {
			return "{...a ...b ...{__typename}} fragment a on Query{" + repeat(100, "__typename ") + "} fragment b on Query{" + repeat(n-101, "__typename ") + "}"
		}, true},
		{"aliases", 100, "aliases of a document is limited to 100", func(n int) string { return "{deployment{" + repeat(n, "a%d:version ") + "}}" }, true},
		{"root fields", 20, "root fields of an operation is limited to 20", func(n int) string { return "{" + repeat(n, "a%d:__typename ") + "}" }, true},
		{"root fields, in fragments", 20, "root fields of an operation is limited to 20", func(n int) string {
			return "{...a ...{y:__typename}} fragment a on Query{" + repeat(n-1, "a%d:__typename ") + "}"
		}, true},
		{"depth", 15, "depth of an operation is limited to 15", func(n int) string { return deep(n) }, true},
		{"depth, in fragments", 15, "depth of an operation is limited to 15", func(n int) string {
			return "{runs(first:1){...a}} fragment a on RunConnection" + strings.TrimSuffix(strings.TrimPrefix(deep(n), "{runs(first:1)"), "}")
		}, true},
		{"fragments", 200, "fragments of a document is limited to 200", func(n int) string {
			return "{" + repeat(n, "...f%d ") + "}" + repeat(n, "fragment f%d on Query{__typename}")
		}, true},
		{"directives", 200, "directives of a document is limited to 200", func(n int) string { return "{" + repeat(n, "__typename @include(if:true) ") + "}" }, true},
		{"depth of a value", 200, "depth of a value is limited to 200", func(n int) string {
			return "{agent(id:" + strings.Repeat("[", n) + strings.Repeat("]", n) + "){id}}"
		}, false},
		{"depth of a variable's type", 200, "depth of a variable's type is limited to 200", func(n int) string {
			return "query($a:" + strings.Repeat("[", n) + "Int" + strings.Repeat("]", n) + "){__typename}"
		}, false},
		{"complexity", 10_000, "complexity of an operation is limited to 10000; this one has 10001", complex10k, true},
		{"complexity of ids", 10_000, "complexity of an operation is limited to 10000; this one has 10001", func(n int) string {
			return "{" + repeat(n-1-51*196, "__typename ") + "nodes(ids:[" + repeat(51, `"a" `) + "]){" + repeat(196, "id ") + "}}"
		}, true},
		{"introspection", 15, "depth of introspection is limited to 15", func(n int) string { return `{__type(name:"Agent")` + nested(n-1) + "}" }, true},
		{"introspection, lists", 2, "introspection may nest fields, interfaces, possibleTypes and inputFields at most 2 deep", func(n int) string {
			return `{__type(name:"Agent")` + strings.Repeat("{fields{type", n) + "{name}" + strings.Repeat("}}", n) + "}"
		}, true},
		{"introspection, cost", 4, "introspection is limited to 4 times the standard introspection query", func(n int) string {
			return introspections(t, n)
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := e.open()
			s.t = t
			good, bad := c.query(c.limit), c.query(c.limit+1)
			r := e.ask(good)
			if c.passes && (r.status != 200 || r.code() != "") || r.code() == "LIMIT_EXCEEDED" {
				t.Fatalf("at the limit: %d %.500s", r.status, r.body)
			}
			s.subscribe("1", good)
			if got := s.hear(); c.passes && !strings.HasPrefix(got, `{"id":"1","type":"next"`) || strings.Contains(got, `"code":"LIMIT_EXCEEDED"`) {
				t.Fatalf("at the limit: %.500s", got)
			}
			if c.passes {
				s.expect(`{"id":"1","type":"complete"}`)
			}
			for _, accept := range []string{"application/json", "application/graphql-response+json"} {
				if r := e.ask(bad, "Accept", accept); r.status != 400 || r.code() != "LIMIT_EXCEEDED" || !strings.Contains(r.message(), c.says) {
					t.Fatalf("past the limit: %d %.500s", r.status, r.body)
				}
			}
			s.subscribe("1", bad)
			s.expectError("1", "LIMIT_EXCEEDED", c.says)
		})
	}
}

// deep is a query of exactly n levels of fields: of what comes in runs, since nothing there costs anything.
func deep(n int) string {
	q := "{runs(first:1)"
	for depth := 1; depth < n-1; depth++ {
		q += []string{"{nodes", "{agent", "{runs(first:1)"}[(depth-1)%3]
	}
	return q + "{__typename" + strings.Repeat("}", n)
}

// complex10k is a query that costs exactly n.
func complex10k(n int) string {
	// agents: 1, and 100 times what is in it.
	inner := (n - 1) / 100
	return "{" + repeat(n-1-100*inner, "__typename ") + "agents(first:100){" + repeat(inner, "__typename ") + "}}"
}

// introspections asks for the standard introspection n times.
func introspections(t *testing.T, n int) string {
	b, err := os.ReadFile("introspection.graphql")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	begin, end := strings.Index(text, "__schema"), strings.Index(text, "fragment FullType")
	selection := strings.TrimSuffix(strings.TrimSpace(text[begin:end]), "}")
	return "{" + repeat(n, "a%d:"+selection) + "}" + text[end:]
}

func TestStandardIntrospection(t *testing.T) {
	t.Parallel()
	e := start(t, nil)
	b, err := os.ReadFile("introspection.graphql")
	if err != nil {
		t.Fatal(err)
	}
	r := e.ask(string(b), "Authorization", "")
	if r.status != 200 || r.code() != "" || !strings.Contains(string(r.Data), `"OutputChunk"`) {
		t.Fatalf("%d %.300s", r.status, r.body)
	}
}

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	e := start(t, nil)
	padded := func(n int) string { return body("{__typename}") + strings.Repeat(" ", n-len(body("{__typename}"))) }
	if r := e.send(http.MethodPost, "/", padded(1<<20)); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	for _, accept := range []string{"application/json", "text/event-stream"} {
		r := e.send(http.MethodPost, "/", padded(1<<20+1), "Accept", accept)
		if r.status != 413 || r.code() != "LIMIT_EXCEEDED" || !strings.Contains(r.message(), "a body in bytes is limited to 1048576") {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
}

func TestComplexityCountsVariables(t *testing.T) {
	t.Parallel()
	e := start(t, nil)
	// Each page is 1 and its size times 3: 1 + n*(1 + 51*… ) would be hard to read, so one level is enough here.
	query := "query($n:Int,$m:Int=100){agents(first:$n){nodes{scripts(last:$m){totalCount}}}}"
	for variables, ok := range map[string]bool{`{"n":98}`: true, `{"n":99}`: false, `{"n":100,"m":50}`: true, `{"n":null,"m":null}`: true, `{}`: true} {
		r := e.send(http.MethodPost, "/", fmt.Sprintf(`{"query":%s,"variables":%s}`, quoted(query), variables))
		if (r.code() == "LIMIT_EXCEEDED") == ok {
			t.Fatalf("%s: %d %s", variables, r.status, r.body)
		}
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// TestCostlyDocuments shows that documents made to take time are refused, or answered, in little.
func TestCostlyDocuments(t *testing.T) {
	t.Parallel()
	e := start(t, nil)
	doubling := func(n int, field string) string {
		q := "{...f0}"
		for i := range n {
			q += fmt.Sprintf("fragment f%d on Query{...f%d ...f%d}", i, i+1, i+1)
		}
		return q + fmt.Sprintf("fragment f%d on Query{%s}", n, field)
	}
	for name, query := range map[string]string{
		"300 levels":                        "{agents" + strings.Repeat("{nodes", 300) + "{id" + strings.Repeat("}", 302),
		"300 levels of introspection":       "{__schema{types" + strings.Repeat("{ofType", 300) + "{name" + strings.Repeat("}", 303),
		"2000 open braces":                  strings.Repeat("{a", 1999),
		"fragments that double":             doubling(199, "agents(first:100){nodes{id}}"),
		"one field in many fragments":       "{" + repeat(190, "...f%d ") + "}" + repeat(190, "fragment f%d on Query{agents{nodes{id name}}}"),
		"many unknown fields":               "{deployment{" + repeat(1900, "versian%d ") + "}}",
		"a long unknown field":              "{" + strings.Repeat("agent", 13000) + "}",
		"fields of equal names":             "{agents{" + repeat(60, "nodes{"+repeat(20, "id ")+"}") + "}}",
		"fragments that meet":               "{agents{nodes{" + repeat(60, "...f%d ") + "}}}" + repeat(60, "fragment f%d on Agent{"+"scripts{nodes{id name}}"+"}"),
		"cheap: introspection that doubles": doubling(199, "__schema{types{name}}"),
		"cheap: wide introspection":         "{__schema{types{fields{type{fields{args{type{enumValues{name}}}}}}}}}",
		"a chain of fragments":              "{...f0}" + chain(198),
		"directives":                        "{__typename " + repeat(199, "@skip(if:false) ") + "}",
		"a deep list":                       "{agent(id:" + strings.Repeat("[", 1990) + strings.Repeat("]", 1990) + "){id}}",
		"a deep object":                     "mutation{toolCall(input:{name:\"x\",arguments:" + strings.Repeat("{a:", 990) + "1" + strings.Repeat("}", 990) + "}){call{id}}}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			r := e.ask(query)
			took := time.Since(begin)
			t.Logf("%v: %d %.200s", took, r.status, r.body)
			if took > 5*time.Second { // hundredths of it on an idle machine
				t.Fatalf("took %v: %d %.200s", took, r.status, r.body)
			}
			if strings.HasPrefix(name, "cheap: ") {
				if r.status != 200 || len(r.body) > 1<<20 {
					t.Fatalf("%d %d bytes: %.300s", r.status, len(r.body), r.body)
				}
				return
			}
			if r.status != 400 || !strings.Contains("LIMIT_EXCEEDED VALIDATION_FAILED PARSE_FAILED", r.code()) || len(r.Errors) > 50 || len(r.body) > 200<<10 {
				t.Fatalf("%d %.300s", r.status, r.body)
			}
			s := e.open()
			s.t = t
			s.subscribe("1", query)
			s.expectError("1", r.code(), "")
		})
	}
}

// chain is n fragments, each of which spreads the next, with many fields.
func chain(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "fragment f%d on Query{...f%d agents{nodes{id name}}}", i, i+1)
	}
	fmt.Fprintf(&b, "fragment f%d on Query{nope}", n)
	return b.String()
}

func TestLimitsHaveDefaults(t *testing.T) {
	t.Parallel()
	e := start(t, func(_ *edge, c *graph.Config) { c.Limits = graph.Limits{Depth: 2} })
	if r := e.ask("{agents{nodes{id}}}"); r.code() != "LIMIT_EXCEEDED" {
		t.Fatal(r.body)
	}
	if r := e.ask("{" + repeat(21, "a%d:__typename ") + "}"); r.code() != "LIMIT_EXCEEDED" {
		t.Fatal(r.body)
	}
}

func TestNumbersInDocuments(t *testing.T) {
	t.Parallel()
	e := start(t, nil)
	for number, fine := range map[string]bool{"9007199254740993": true, "1e308": true, "1e400": false, "-1e400": false, strings.Repeat("9", 30): false} {
		r := e.ask(`mutation { agentScriptSave(input: {agent: "a", name: "a", description: "a", source: "a", parameters: {a: [` + number + `]}}) { userErrors { code } } }`)
		named := strings.Contains(string(r.body), "the number "+number+" is too large for a document: a JSON value may hold it as a variable")
		if named == fine || !fine && r.code() != "VALIDATION_FAILED" {
			t.Errorf("%s: %s", number, r.body)
		}
	}
}
