package main

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
)

// shelf is an organization with its scripts, as one of its keys sees it.
type shelf struct {
	*catalog
}

// onShelf runs a test on both deployments with a new organization: manager's key has every capability, worker's TOOLING and FILES.
func onShelf(t *testing.T, f func(t *testing.T, manager, worker *shelf)) {
	t.Helper()
	onEach(t, func(t *testing.T, s *testServer) {
		manager := &shelf{&catalog{s, t, s.organization(t, "one with scripts"), ""}}
		f(t, manager, manager.key("TOOLING", "FILES"))
	})
}

// key makes a key of the organization, and answers what it sees.
func (s *shelf) key(capabilities ...string) *shelf {
	s.t.Helper()
	d := s.must(s.t, s.secret, `mutation($c: [Capability!]!) { keyCreate(input: {name: "another", capabilities: $c}) { secret userErrors { message } } }`,
		map[string]any{"c": capabilities})
	return &shelf{&catalog{s.testServer, s.t, at[string](s.t, d, "keyCreate", "secret"), ""}}
}

// needsApproval switches the organization's approvals.
func (s *shelf) needsApproval(on bool) {
	s.t.Helper()
	own := s.must(s.t, s.secret, `{ viewer { organization { id } } }`, nil)
	p := s.do("organizationUpdate", "organization { versionsNeedApproval }", map[string]any{"organization": at[string](s.t, own, "viewer", "organization", "id"), "versionsNeedApproval": on})
	if at[bool](s.t, p, "organization", "versionsNeedApproval") != on {
		s.t.Fatal(p)
	}
}

func textFile(path, content string) map[string]any {
	return map[string]any{"path": path, "content": content}
}

// pack is a package, with changes: nil takes a member out.
func pack(changes map[string]any) map[string]any {
	in := map[string]any{
		"description": "Makes a deck.", "entrypoint": []any{"python3", "main.py"},
		"files": []any{textFile("main.py", "print('deck')\n"), textFile("lib/deck.py", "pages = 1\n")},
	}
	for k, v := range changes {
		if v == nil {
			delete(in, k)
			continue
		}
		in[k] = v
	}
	return in
}

const versionFields = `version { id number status sourceHash description publishedAt files { path size sha256 url } }`

// try creates a script, and answers the payload, refused or not.
func (s *shelf) try(name string, changes map[string]any) payload {
	s.t.Helper()
	in := pack(changes)
	in["name"] = name
	return s.do("scriptCreate", "script { id name } "+versionFields, in)
}

// creates creates a script, which must not be refused, and answers its id and its version's.
func (s *shelf) creates(name string, changes map[string]any) (script, version string) {
	s.t.Helper()
	p := s.try(name, changes)
	if len(p.errors()) > 0 {
		s.t.Fatalf("%s is refused: %v", name, p["userErrors"])
	}
	return at[string](s.t, p, "script", "id"), at[string](s.t, p, "version", "id")
}

// next writes the next version, and answers the payload, refused or not.
func (s *shelf) next(script string, changes map[string]any) payload {
	s.t.Helper()
	in := pack(changes)
	in["script"] = script
	return s.do("scriptVersionCreate", "script { id } "+versionFields+" created", in)
}

// source changes the entry file's text.
func source(text string) map[string]any {
	return map[string]any{"files": []any{textFile("main.py", text)}}
}

// with puts changes together.
func with(changes ...map[string]any) map[string]any {
	all := map[string]any{}
	for _, c := range changes {
		maps.Copy(all, c)
	}
	return all
}

var draft = map[string]any{"draft": true}

// decide publishes or rejects a version, and answers the payload.
func (s *shelf) decide(verb, version, comment string) payload {
	s.t.Helper()
	return s.do("scriptVersion"+verb, "version { id status } approval { id decision comment by { name } }", map[string]any{"version": version, "comment": comment})
}

// all is all that the key sees of the organization's scripts: one text, equal for equal views.
func (s *shelf) all() string {
	s.t.Helper()
	a := s.send(s.t, s.secret, `{ scripts(first: 20) { totalCount edges { cursor node { id name description parameters labels { name value } metadata createdAt updatedAt usedBy { id }
		latestVersion { number source approvals { decision } } versions(first: 10) { totalCount nodes { id number status description publishedAt } } } } }
		byChange: scripts(first: 100, orderBy: UPDATED_AT) { nodes { name } }
		scriptChangeLog { totalCount nodes { id action name script { id } version { number } } } }`, nil)
	if a.status != http.StatusOK || strings.Contains(a.body, `"errors"`) {
		s.t.Fatal(a)
	}
	return a.body
}

// versions are the numbers of the script's versions that the key sees.
func (s *shelf) versions(script string) string {
	s.t.Helper()
	d := s.must(s.t, s.secret, `query($s: ID!) { node(id: $s) { ... on Script { versions(first: 100) { nodes { number status } } } } }`, map[string]any{"s": script})
	if d["node"] == nil {
		return "none"
	}
	var all []string
	for _, n := range at[[]any](s.t, d, "node", "versions", "nodes") {
		all = append(all, strings.TrimSuffix(fmt.Sprint(at[float64](s.t, n, "number"), " ", n.(map[string]any)["status"]), " PUBLISHED"))
	}
	return strings.Join(all, ", ")
}

// upload uploads a file by a multipart request.
func (s *shelf) upload(content string) string {
	s.t.Helper()
	a := s.serve(multipartRequest(s.t, uploadOperations, `{"0": ["variables.file"]}`, sentFile{"0", "upload.bin", "", content}), s.secret)
	_, rest, found := strings.Cut(a.body, `"id":"`)
	file, _, _ := strings.Cut(rest, `"`)
	if a.status != http.StatusOK || !found {
		s.t.Fatalf("an upload is answered %d %s", a.status, a.body)
	}
	return file
}

// forget deletes an upload.
func (s *shelf) forget(file string) {
	s.t.Helper()
	if p := s.do("fileDelete", "deletedId", map[string]any{"file": file}); at[string](s.t, p, "deletedId") != file {
		s.t.Fatal(p)
	}
}
