package main

import (
	"fmt"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/database"
)

// counted answers how many SQL statements a document costs. The second of two runs counts: the first warms what is cached.
func (s *testServer) counted(t *testing.T, secret, query string, variables map[string]any) int64 {
	t.Helper()
	s.must(t, secret, query, variables)
	before := s.statements.Load()
	s.must(t, secret, query, variables)
	return s.statements.Load() - before
}

// TestStatementsDoNotGrow holds lists to one number of SQL statements however long they are.
func TestStatementsDoNotGrow(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{database.SQLite, database.Postgres} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			counts := map[string][]int64{}
			for _, n := range []int{1, 20, 100} {
				s := startServer(t, dialect)
				agent := s.agent(t, s.operator, "many scripts", 100)
				for i := range n {
					s.save(t, s.operator, agent, fmt.Sprintf("script_%d", i), "print()")
				}
				for range n {
					s.save(t, s.operator, agent, "script_0", "print()")
				}
				for i := range n - 1 {
					s.save(t, s.operator, s.agent(t, s.operator, fmt.Sprint("agent ", i), 10), "one", "print()")
				}
				for range n {
					r := s.must(t, s.operator, `mutation($a: ID!) { runCreate(input: {agent: $a}) { run { id } userErrors { message } } }`, map[string]any{"a": agent})
					s.must(t, s.operator, `mutation($r: ID!) { toolCall(input: {run: $r, name: "nope"}) { call { id } userErrors { message } } }`,
						map[string]any{"r": at[string](t, r, "runCreate", "run", "id")})
				}
				for i := range n {
					s.save(t, s.operator, agent, fmt.Sprintf("script_%d", i), "print(2)")
				}
				packages := &shelf{&catalog{s, t, s.operator, ""}}
				many, _ := packages.creates("many_versions", nil)
				for i := range n {
					packages.next(many, source(fmt.Sprint("# version ", i)))
				}
				for i := range n {
					_, version := packages.creates(fmt.Sprintf("package_%d", i), with(draft, source(fmt.Sprint("# ", i)), map[string]any{"labels": []any{map[string]any{"name": "n", "value": fmt.Sprint(i)}}}))
					packages.decide("Publish", version, "")
				}
				for name, query := range map[string]string{
					"packages with their latest versions": `{ scripts(first: 100, filter: {nameContains: "package"}) { totalCount nodes { name labels { name } usedBy { name } owner { ... on Organization { name } } latestVersion { number files { path sha256 } author { ... on ApiKey { name } } approvals { comment by { name } subject { ... on ScriptVersion { number } } } } } } }`,
					"versions of a package":               `{ script(name: "many_versions") { versions(first: 100) { totalCount nodes { number script { name } file(path: "main.py") { size } approvals { decision } } } } }`,
					"scripts with their latest versions":  `query($a: ID!) { agent(id: $a) { scripts(first: 100) { totalCount nodes { name latestVersion { number source author { ... on ApiKey { name } } } } } } }`,
					"the same by edges":                   `query($a: ID!) { agent(id: $a) { scripts(first: 100) { edges { node { name latestVersion { number author { ... on ApiKey { name } } } owner { ... on Agent { name } } } } } } }`,
					"agents with their scripts":           `query($a: ID!) { node(id: $a) { id } agents(first: 100) { totalCount nodes { name secrets { name } scripts(first: 1) { totalCount nodes { name latestVersion { number } } } script(name: "one") { id } } } }`,
					"runs with their snapshots":           `{ runs(first: 100) { nodes { agent { name } tools { name } snapshot { entries { name source } } } } }`,
					"versions with their diffs":           `query($a: ID!) { agent(id: $a) { script(name: "script_0") { versions(first: 100) { nodes { number source diff text: diff(from: 1) } } } } }`,
					"snapshots beside the live scripts":   `{ runs(first: 100) { nodes { snapshot { differences { kind name taken { number } live { number description } } } } } }`,
					"calls without a script":              `{ calls(first: 100) { nodes { text script { name } version { number } run { calls(first: 1) { nodes { text } } } author { name } } } }`,
					"the change log":                      `query($a: ID!) { scriptChangeLog(agent: $a, first: 100) { edges { node { name script { name } version { number } agent { name } author { ... on ApiKey { name } } } } } }`,
				} {
					counts[name] = append(counts[name], s.counted(t, s.operator, query, map[string]any{"a": agent}))
				}
			}
			for name, c := range counts {
				if c[0] != c[1] || c[1] != c[2] {
					t.Errorf("%s: %v statements for 1, 20 and 100", name, c)
				}
				t.Logf("%s: %d statements", name, c[0])
			}
		})
	}
}
