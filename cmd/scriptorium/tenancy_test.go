package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/schema"
)

// idKinds says what kind of id each ID argument and ID input field of the schema takes. The walk fails for one that is not here, and
// for a row here that the schema does not have.
var idKinds = map[string][]id.Kind{
	"node.id":                                {id.Organization, id.Key, id.Agent, id.Script, id.Version, id.Run, id.Snapshot, id.Call, id.Change, id.Approval, id.File},
	"nodes.ids":                              {id.Organization, id.Key, id.Agent, id.Script, id.Version, id.Run, id.Snapshot, id.Call, id.Change, id.Approval, id.File},
	"file.id":                                {id.File},
	"fileDelete.input.file":                  {id.File},
	"agent.id":                               {id.Agent},
	"run.id":                                 {id.Run},
	"call.id":                                {id.Call},
	"scriptChangeLog.agent":                  {id.Agent},
	"runs.agent":                             {id.Agent},
	"calls.filter.run":                       {id.Run},
	"calls.filter.agent":                     {id.Agent},
	"calls.filter.script":                    {id.Script},
	"scriptDelete.input.script":              {id.Script},
	"scriptCreate.input.files.fileId":        {id.File},
	"scriptVersionCreate.input.script":       {id.Script},
	"scriptVersionCreate.input.files.fileId": {id.File},
	"scriptVersionPublish.input.version":     {id.Version},
	"scriptVersionReject.input.version":      {id.Version},
	"organizationUpdate.input.organization":  {id.Organization},
	"organizationCreate.input.parent":        {id.Organization},
	"keyCreate.input.organization":           {id.Organization},
	"keyRevoke.input.key":                    {id.Key},
	"agentUpdate.input.agent":                {id.Agent},
	"agentDelete.input.agent":                {id.Agent},
	"agentSecretSet.input.agent":             {id.Agent},
	"agentSecretDelete.input.agent":          {id.Agent},
	"agentScriptSave.input.agent":            {id.Agent},
	"agentScriptDelete.input.agent":          {id.Agent},
	"agentScriptClear.input.agent":           {id.Agent},
	"agentScriptRestore.input.version":       {id.Version},
	"recipeApply.input.agent":                {id.Agent},
	"runCreate.input.agent":                  {id.Agent},
	"runCreate.input.attachments":            {id.File},
	"runGenerationStart.input.run":           {id.Run},
	"runFinish.input.run":                    {id.Run},
	"toolCall.input.run":                     {id.Run},
	"callCancel.input.call":                  {id.Call},
	"scriptChanges.agent":                    {id.Agent},
	"callOutput.call":                        {id.Call},
}

// noIDs are the root fields that take no id at all.
var noIDs = []string{"viewer", "tool", "tools", "script", "scripts", "files", "fileUpload", "agents", "deployment", "agentCreate"}

// idRoutes are the HTTP routes with an id in their path.
var idRoutes = map[string]id.Kind{
	"/calls/%s/output?stream=STDOUT": id.Call, "/files/%s": id.File, "/versions/%s/files/main.py": draftKind,
}

// plainValues are values for what else is required, by the last part of the path.
type plainValues map[string]any

// plain are the values in an organization that has this script of its own.
func plain(script string) plainValues {
	return plainValues{"script": script, "name": "a_name", "description": "a description", "source": "print()", "value": "a value", "capabilities": []any{"TOOLING"},
		"path": "main.py", "entrypoint": []any{"python3", "main.py"}, "files": []any{map[string]any{"path": "main.py", "content": "print()"}}}
}

// pathIDs are the paths that need another id than foreign's of its kind: of a script of the organization, and of a draft of it.
var pathIDs = map[string]id.Kind{
	"scriptDelete.input.script": packageKind, "scriptVersionCreate.input.script": packageKind,
	"scriptVersionPublish.input.version": draftKind, "scriptVersionReject.input.version": draftKind,
}

// Names in foreign's answer of what is no kind of its own.
const packageKind, draftKind id.Kind = "package", "draft"

// foreign makes one of everything in an organization and answers the ids by kind.
func (s *testServer) foreign(t *testing.T) map[id.Kind]string {
	t.Helper()
	secret := s.organization(t, "the other one")
	v := s.must(t, secret, `{ viewer { organization { id } key { id } } }`, nil)
	agent := s.agent(t, secret, "theirs", 10)
	script, version := s.save(t, secret, agent, "theirs", "print()")
	shelf := &shelf{&catalog{s, t, secret, ""}}
	pkg, first := shelf.creates("theirs", draft)
	approved := shelf.decide("Publish", first, "")
	drafted := shelf.next(pkg, with(draft, source("2")))
	change := s.must(t, secret, `{ scriptChangeLog { nodes { id } } }`, nil)
	r := s.must(t, secret, `mutation($a: ID!) { runCreate(input: {agent: $a}) { run { id snapshot { id } } userErrors { message } } }`, map[string]any{"a": agent})
	run := at[string](t, r, "runCreate", "run", "id")
	c := s.must(t, secret, `mutation($r: ID!) { toolCall(input: {run: $r, name: "theirs"}) { call { id status } userErrors { message } } }`, map[string]any{"r": run})
	return map[id.Kind]string{
		id.File: shelf.upload("theirs"), id.Approval: at[string](t, approved, "approval", "id"), packageKind: pkg, draftKind: at[string](t, drafted, "version", "id"),
		id.Organization: at[string](t, v, "viewer", "organization", "id"), id.Key: at[string](t, v, "viewer", "key", "id"),
		id.Agent: agent, id.Script: script, id.Version: version, id.Run: run, id.Call: at[string](t, c, "toolCall", "call", "id"),
		id.Change: at[string](t, change, "scriptChangeLog", "nodes", 0, "id"), id.Snapshot: at[string](t, r, "runCreate", "run", "snapshot", "id"),
	}
}

// walk finds every path to an ID below an argument or input field.
func walk(s *ast.Schema, path string, typ *ast.Type, seen []string, found func(path string, list bool)) {
	name := typ.Name()
	switch def := s.Types[name]; {
	case name == "ID":
		found(path, typ.Elem != nil)
	case def.Kind == ast.InputObject && !slices.Contains(seen, name):
		for _, f := range def.Fields {
			walk(s, path+"."+f.Name, f.Type, append(seen, name), found)
		}
	}
}

// fill builds the value of an argument or input field with value at the path to, and what else is required beside it.
func (plain plainValues) fill(t *testing.T, s *ast.Schema, path string, typ *ast.Type, to string, value any) any {
	t.Helper()
	if path == to {
		if typ.Elem != nil {
			return []any{value}
		}
		return value
	}
	def := s.Types[typ.Name()]
	v, ok := plain[path[strings.LastIndex(path, ".")+1:]]
	if def.Kind == ast.InputObject && (!ok || strings.HasPrefix(to, path+".")) {
		out := map[string]any{}
		for _, f := range def.Fields {
			p := path + "." + f.Name
			if (f.Type.NonNull && f.DefaultValue == nil) || to == p || strings.HasPrefix(to, p+".") {
				out[f.Name] = plain.fill(t, s, p, f.Type, to, value)
			}
		}
		if typ.Elem != nil {
			return []any{out}
		}
		return out
	}
	if !ok {
		t.Fatalf("%s needs a value in plain", path)
	}
	return v
}

// selection asks for everything of a type, down to the given depth, that needs no argument.
func selection(s *ast.Schema, typ *ast.Type, depth int) string {
	def := s.Types[typ.Name()]
	switch def.Kind {
	case ast.Union, ast.Interface:
		var b strings.Builder
		b.WriteString("{ __typename")
		for i, member := range s.GetPossibleTypes(def) {
			fmt.Fprintf(&b, " ... on %s { %s }", member.Name, fields(s, member, 0, fmt.Sprintf("m%d_", i)))
		}
		return b.String() + " }"
	case ast.Object:
		return "{ " + fields(s, def, depth-1, "") + " }"
	}
	return ""
}

// differing are the fields whose types differ between the kinds of nodes: together they need aliases.
var differing = []string{"name", "run", "script", "status", "tools"}

// fields selects the fields of an object; differing ones of a union's members under an alias with a prefix.
func fields(s *ast.Schema, def *ast.Definition, depth int, prefix string) string {
	all := []string{"__typename"}
	for _, f := range def.Fields {
		needsArgument := slices.ContainsFunc(f.Arguments, func(a *ast.ArgumentDefinition) bool { return a.Type.NonNull && a.DefaultValue == nil })
		composite := !s.Types[f.Type.Name()].IsLeafType()
		if strings.HasPrefix(f.Name, "__") || needsArgument || composite && depth <= 0 {
			continue
		}
		alias := ""
		if prefix != "" && slices.Contains(differing, f.Name) {
			alias = prefix + f.Name + ": "
		}
		all = append(all, alias+f.Name+" "+selection(s, f.Type, depth))
	}
	return strings.Join(all, " ")
}

var requestIDs = regexp.MustCompile(`"requestId":"[^"]*"`)

// masked is an answer without what differs from request to request.
func (a answer) masked() string {
	return fmt.Sprint(a.status, " ", requestIDs.ReplaceAllString(a.body, `"requestId":"…"`))
}

// TestTenancy walks every ID argument, ID input field and route with another organization's ids: the answer is, byte for byte, what an id
// gets that does not exist.
func TestTenancy(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *testServer) {
		public, err := schema.Load()
		if err != nil {
			t.Fatal(err)
		}
		theirs := s.foreign(t)
		// One key of an own organization, and the operator's, who may name other organizations in two places.
		own := s.organization(t, "mine")
		ownScript, _ := (&shelf{&catalog{s, t, own, ""}}).creates("mine", nil)
		values := plain(ownScript)
		seen := map[string]bool{}
		for operation, root := range map[string]*ast.Definition{"query": public.Query, "mutation": public.Mutation, "subscription": public.Subscription} {
			for _, field := range root.Fields {
				if strings.HasPrefix(field.Name, "__") {
					continue
				}
				before := len(seen)
				for _, arg := range field.Arguments {
					walk(public, field.Name+"."+arg.Name, arg.Type, nil, func(path string, _ bool) {
						seen[path] = true
						kinds, ok := idKinds[path]
						if !ok {
							t.Errorf("%s takes an id, and has no case in idKinds", path)
						}
						for _, kind := range kinds {
							its := kind
							if named, ok := pathIDs[path]; ok {
								its = named
							}
							s.compare(t, values, public, operation, field, path, own, theirs[its], id.New(kind))
						}
					})
				}
				if len(seen) == before && !slices.Contains(noIDs, field.Name) {
					t.Errorf("%s takes no id: say so in noIDs", field.Name)
				}
			}
		}
		for path := range idKinds {
			if !seen[path] {
				t.Errorf("%s in idKinds is not in the schema", path)
			}
		}
		for route, kind := range idRoutes {
			get := func(nodeID string) answer {
				return s.serve(httptest.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf(route, nodeID), nil), own)
			}
			if a, b := get(theirs[kind]), get(id.New(kind)); a.masked() != b.masked() || a.status != http.StatusNotFound {
				t.Errorf("%s: another's %s, missing %s", route, a.masked(), b.masked())
			}
		}
		s.untouched(t, theirs)
	})
}

// compare sends one field twice, with a foreign and with a missing id.
func (s *testServer) compare(t *testing.T, plain plainValues, public *ast.Schema, operation string, field *ast.FieldDefinition, path, secret, theirs, missing string) {
	t.Helper()
	get := func(nodeID string) answer {
		variables, declared, passed := map[string]any{}, []string{}, []string{}
		for _, arg := range field.Arguments {
			p := field.Name + "." + arg.Name
			if p != path && !strings.HasPrefix(path, p+".") && (!arg.Type.NonNull || arg.DefaultValue != nil) {
				continue
			}
			variables[arg.Name] = plain.fill(t, public, p, arg.Type, path, nodeID)
			declared = append(declared, "$"+arg.Name+": "+arg.Type.String())
			passed = append(passed, arg.Name+": $"+arg.Name)
		}
		query := fmt.Sprintf("%s(%s) { %s(%s) %s }", operation, strings.Join(declared, ", "), field.Name, strings.Join(passed, ", "), selection(public, field.Type, 2))
		if operation == "subscription" {
			return s.firstOf(t, secret, query, variables)
		}
		return s.send(t, secret, query, variables)
	}
	a, b := get(theirs), get(missing)
	if a.masked() != b.masked() {
		t.Errorf("%s: another's\n%s\nmissing\n%s", path, a.masked(), b.masked())
	}
	if strings.Contains(a.body, "VALIDATION_FAILED") || strings.Contains(a.body, "INTERNAL") || strings.Contains(a.body, "LIMIT_EXCEEDED") {
		t.Errorf("%s: the case does not get as far as the rule: %s", path, a.body)
	}
	if theirs != "" && strings.Contains(a.body, theirs) {
		t.Errorf("%s: the answer holds the other's id", path)
	}
}

// firstOf answers what a subscription over SSE gets that cannot begin.
func (s *testServer) firstOf(t *testing.T, secret, query string, variables map[string]any) answer {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // one that begins after all would not end
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/graphql", strings.NewReader(string(body)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	a := s.serve(r, secret)
	if !strings.Contains(a.body, "NOT_FOUND") {
		t.Errorf("%s answers %d %s", query, a.status, a.body)
	}
	return a
}

// untouched looks whether the other organization has everything as it was.
func (s *testServer) untouched(t *testing.T, theirs map[id.Kind]string) {
	t.Helper()
	for kind, table := range map[id.Kind]string{id.Agent: "agents", id.Script: "scripts", packageKind: "scripts"} {
		var n int
		row := s.db.SQL().QueryRowContext(t.Context(), "SELECT count(*) FROM "+table+" WHERE id = $1 AND deleted_at IS NULL", theirs[kind])
		if err := row.Scan(&n); err != nil || n != 1 {
			t.Errorf("the other's %s is gone (%v)", kind, err)
		}
	}
	if err := s.db.SQL().QueryRowContext(t.Context(), "SELECT id FROM files WHERE id = $1", theirs[id.File]).Scan(new(string)); err != nil {
		t.Errorf("the other's file is gone (%v)", err)
	}
	var drafts int
	row := s.db.SQL().QueryRowContext(t.Context(), "SELECT count(*) FROM versions WHERE id = $1 AND published_at IS NULL AND rejected_at IS NULL", theirs[draftKind])
	if err := row.Scan(&drafts); err != nil || drafts != 1 {
		t.Errorf("the other's draft is decided about (%v)", err)
	}
	var status string
	if err := s.db.SQL().QueryRowContext(t.Context(), "SELECT status FROM runs WHERE id = $1", theirs[id.Run]).Scan(&status); err != nil || status != "OPEN" {
		t.Errorf("the other's run is %q (%v)", status, err)
	}
}
