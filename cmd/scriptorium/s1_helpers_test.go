package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// catalog is a whole server with an agent, asked as a client does.
type catalog struct {
	*testServer
	t             *testing.T
	secret, agent string
}

// onCatalog runs a test on both deployments with a new agent.
func onCatalog(t *testing.T, f func(t *testing.T, c *catalog)) {
	t.Helper()
	onEach(t, func(t *testing.T, s *testServer) {
		f(t, &catalog{s, t, s.operator, s.agent(t, s.operator, "agent", 10)})
	})
}

const refusalFields = `userErrors { __typename code message path ... on CapReached { limit } ... on NameTaken { takenBy }
	... on SchemaInvalid { pointer keyword } ... on VersionConflict { current { number } } ... on ScriptInUse { agents { name } } ... on PackageNotApproved { package } }`

// payload is what a mutation answers.
type payload map[string]any

// do sends a mutation and answers its payload, refused or not. It may be called from several goroutines.
func (c *catalog) do(mutation, selection string, input map[string]any) payload {
	c.t.Helper()
	query := fmt.Sprintf("mutation($input: %sInput!) { %s(input: $input) { %s %s } }", strings.ToUpper(mutation[:1])+mutation[1:], mutation, selection, refusalFields)
	a := c.send(c.t, c.secret, query, map[string]any{"input": input})
	var out struct{ Data map[string]payload }
	if err := json.Unmarshal([]byte(a.body), &out); err != nil || a.status != http.StatusOK || out.Data[mutation] == nil {
		c.t.Errorf("%s answers %d %s", mutation, a.status, a.body)
		return payload{}
	}
	return out.Data[mutation]
}

// refusals are the payload's user errors, as code and path.
func (p payload) refusals() string {
	var all []string
	for _, e := range p.errors() {
		var path []string
		for _, part := range e["path"].([]any) {
			path = append(path, part.(string))
		}
		all = append(all, fmt.Sprint(e["code"], " ", strings.Join(path, ".")))
	}
	return strings.Join(all, ", ")
}

func (p payload) errors() (all []map[string]any) {
	list, _ := p["userErrors"].([]any)
	for _, e := range list {
		all = append(all, e.(map[string]any))
	}
	return all
}

// content is a script's input, with changes: nil takes a member out.
func (c *catalog) content(name string, changes map[string]any) map[string]any {
	in := map[string]any{"agent": c.agent, "name": name, "description": "Does " + name + ".", "source": "#fake: out " + name + "\n"}
	for k, v := range changes {
		in[k] = v
	}
	return in
}

const savedFields = `script { id name displayPath } version { id number source sourceHash description parameters } created takesEffect`

// try saves a script, and answers the payload, refused or not.
func (c *catalog) try(name string, changes map[string]any) payload {
	c.t.Helper()
	return c.do("agentScriptSave", savedFields, c.content(name, changes))
}

// has saves a script, which must not be refused.
func (c *catalog) has(name string, changes map[string]any) payload {
	c.t.Helper()
	p := c.try(name, changes)
	if len(p.errors()) > 0 {
		c.t.Fatalf("%s is refused: %v", name, p["userErrors"])
	}
	return p
}

// remove deletes a script.
func (c *catalog) remove(name string) payload {
	c.t.Helper()
	return c.do("agentScriptDelete", "deletedId", map[string]any{"agent": c.agent, "name": name})
}

// update changes the agent, which must not be refused.
func (c *catalog) update(changes map[string]any) {
	c.t.Helper()
	changes["agent"] = c.agent
	if p := c.do("agentUpdate", "agent { id }", changes); len(p.errors()) > 0 {
		c.t.Fatal(p)
	}
}

// ask sends a query about the agent, as $a, and walks into its answer.
func ask[T any](c *catalog, query string, path ...any) T {
	c.t.Helper()
	return at[T](c.t, c.must(c.t, c.secret, "query($a: ID!) { "+query+" }", map[string]any{"a": c.agent}), path...)
}

// live are the agent's scripts with their numbers, and how many changes there were.
func (c *catalog) live() string {
	c.t.Helper()
	d := c.must(c.t, c.secret, `query($a: ID!) { agent(id: $a) { scripts(first: 100) { nodes { name latestVersion { number } } } history { totalCount } } }`, map[string]any{"a": c.agent})
	var names []string
	for _, n := range at[[]any](c.t, d, "agent", "scripts", "nodes") {
		names = append(names, fmt.Sprintf("%s@%v", at[string](c.t, n, "name"), at[float64](c.t, n, "latestVersion", "number")))
	}
	return fmt.Sprintf("%s (%v changes)", strings.Join(names, " "), at[float64](c.t, d, "agent", "history", "totalCount"))
}

// unchanged answers a check that the catalog is as it is now.
func (c *catalog) unchanged() (check func()) {
	before := c.live()
	return func() {
		c.t.Helper()
		if after := c.live(); after != before {
			c.t.Errorf("what was refused changed %s to %s", before, after)
		}
	}
}

// newRun makes a run of the agent.
func (c *catalog) newRun() string {
	c.t.Helper()
	return c.run(c.t, c.secret, c.agent)
}

const toolFields = `call { id status errorCode text stdout script { id name } version { number source } }`

// tool calls a tool and answers the call when it has ended.
func (c *catalog) tool(run, name string, arguments any) map[string]any {
	c.t.Helper()
	p := c.do("toolCall", toolFields, map[string]any{"run": run, "name": name, "arguments": arguments})
	call, ok := p["call"].(map[string]any)
	if !ok {
		c.t.Fatalf("%s: %v", name, p["userErrors"])
	}
	return call
}

// prints calls script_run and answers what the script printed; where it did not run, the error code.
func (c *catalog) prints(run, name string) string {
	c.t.Helper()
	call := c.tool(run, "script_run", map[string]any{"name": name})
	if call["errorCode"] != nil {
		return call["errorCode"].(string)
	}
	return call["stdout"].(string)
}

// toolNames are what a run offers.
func (c *catalog) toolNames(run string) string {
	c.t.Helper()
	d := c.must(c.t, c.secret, `query($r: ID!) { run(id: $r) { tools { name } } }`, map[string]any{"r": run})
	var names []string
	for _, n := range at[[]any](c.t, d, "run", "tools") {
		names = append(names, at[string](c.t, n, "name"))
	}
	return strings.Join(names, " ")
}

const five = "script_create script_list script_read script_run script_delete"

// follow subscribes over server-sent events, and answers each event's data until the test ends.
func (c *catalog) follow(subscription string, variables map[string]any) <-chan map[string]any {
	c.t.Helper()
	web := httptest.NewServer(c.handler)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	body, err := json.Marshal(map[string]any{"query": subscription, "variables": variables})
	if err != nil {
		c.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, web.URL+"/graphql", bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.secret)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	client := &http.Client{Transport: &http.Transport{}}
	answer, err := client.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	events := make(chan map[string]any)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(events)
		lines := bufio.NewScanner(answer.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var event struct{ Data map[string]any }
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok || json.Unmarshal([]byte(data), &event) != nil || event.Data == nil {
				continue
			}
			select {
			case events <- event.Data:
			case <-ctx.Done():
				return
			}
		}
	})
	c.t.Cleanup(func() {
		cancel()
		_ = answer.Body.Close()
		reader.Wait()
		client.CloseIdleConnections()
		web.Close()
	})
	return events
}

// next answers the next event.
func next(t *testing.T, events <-chan map[string]any) map[string]any {
	t.Helper()
	select {
	case e, ok := <-events:
		if !ok {
			t.Fatal("the stream has ended")
		}
		return e
	case <-time.After(30 * time.Second):
		t.Fatal("no event came")
	}
	return nil
}

// atOnce runs f n times at once, and waits.
func atOnce(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}
