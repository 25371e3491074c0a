package architecture_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/scriptorium-dev/scriptorium/"

// file is one Go source of the module.
type file struct {
	path    string // from the module's root, with slashes
	dir     string
	imports []string
	syntax  *ast.File
}

func (f file) test() bool { return strings.HasSuffix(f.path, "_test.go") }

// forTests says whether the file is only part of tests: a test, or a package that helps them.
func (f file) forTests() bool {
	return f.test() || strings.HasSuffix(f.dir, "test") || f.dir == "internal/testservice" || strings.Contains(f.dir, "test/") || strings.HasPrefix(f.dir, "e2e")
}

// files reads every Go file of the module but the generated storage code.
func files(t *testing.T) []file {
	t.Helper()
	root := filepath.Join("..", "..")
	var all []file
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if slices.Contains([]string{"ent/db", "node_modules", ".git", "bin", "data", "tools"}, rel) || d.Name() == "node_modules" || d.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return err
		}
		f := file{path: rel, dir: path.Dir(rel), syntax: syntax}
		for _, i := range syntax.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			f.imports = append(f.imports, name)
		}
		all = append(all, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("only %d files found", len(all))
	}
	return all
}

// layers are the packages in the order of who may import whom: a package imports only those of the lines before its own. What a
// lower one needs of a higher one is an interface of its own, fulfilled by the higher one and joined in cmd.
var layers = [][]string{
	{"internal/fault", "internal/id", "internal/lifecycle", "internal/jsonschema", "runner", "runner/runnertest", "schema", "ent/schema"},
	{"internal/page", "internal/text", "internal/upload", "internal/event", "internal/blob", "internal/doctor", "runner/gvisor"},
	{"graph/scalar"},
	{"ent/db", "ent/migrate"},
	{"internal/database"},
	{"internal/batch", "internal/database/blobbucket"},
	{"internal/output", "internal/organization"},
	{"internal/key"},
	{"internal/deployment", "internal/change", "internal/idempotency", "internal/file"},
	{"internal/artifact"},
	{"internal/agent"},
	{"internal/secret"},
	{"internal/script"},
	{"internal/approval"},
	{"internal/tool"},
	{"internal/run"},
	{"internal/call"},
	{"graph/generated", "graph/input"},
	{"graph/playground", "graph"},
	{"resolvers"},
	{"cmd/scriptorium", "cmd/runsc"},
}

func layerOf(dir string) int {
	for i, l := range layers {
		for _, p := range l {
			if dir == p || (p == "ent/db" && strings.HasPrefix(dir, "ent/db/")) {
				return i
			}
		}
	}
	return -1
}

func TestImportsGoOneWay(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if f.forTests() || strings.HasPrefix(f.dir, "ent") || f.dir == "internal/architecture" {
			continue
		}
		own := layerOf(f.dir)
		if own < 0 {
			t.Errorf("%s: its package is in no layer", f.path)
			continue
		}
		for _, i := range f.imports {
			dir, ours := strings.CutPrefix(i, module)
			if !ours || dir == f.dir {
				continue
			}
			if l := layerOf(dir); l < 0 || l > own || (l == own && !strings.HasPrefix(dir, f.dir)) {
				t.Errorf("%s imports %s, which is not below it", f.path, dir)
			}
		}
	}
}

func TestOneFileForOneLibrary(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if f.forTests() {
			continue
		}
		for _, i := range f.imports {
			allowed := true
			switch {
			case strings.HasPrefix(i, module+"ent/db"):
				allowed = strings.HasSuffix(f.path, "_store.go") || f.dir == "internal/database" || strings.HasPrefix(f.dir, "ent/")
			case strings.HasPrefix(i, "github.com/redis/"):
				allowed = f.path == "internal/event/redis.go"
			case i == "github.com/gorilla/websocket":
				allowed = f.path == "graph/websocket.go"
			case strings.HasPrefix(i, "gvisor.dev/"):
				allowed = f.dir == "runner/gvisor" || f.dir == "cmd/runsc"
			}
			if !allowed {
				t.Errorf("%s may not import %s", f.path, i)
			}
		}
	}
}

// TestProcessesAreStartedByTheRunnerOnly lists every use of what starts a process. A script must never run on the host.
func TestProcessesAreStartedByTheRunnerOnly(t *testing.T) {
	t.Parallel()
	starters := map[string][]string{
		"os/exec":               nil, // any use
		"os":                    {"StartProcess"},
		"syscall":               {"Exec", "ForkExec", "StartProcess", "RawSyscall", "RawSyscall6"},
		"golang.org/x/sys/unix": {"Exec", "RawSyscall", "RawSyscall6"},
	}
	for _, f := range files(t) {
		if f.forTests() || strings.HasPrefix(f.dir, "runner") {
			continue
		}
		for _, i := range f.imports {
			names, watched := starters[i]
			if !watched {
				continue
			}
			if names == nil {
				t.Errorf("%s imports %s", f.path, i)
			}
			for _, n := range names {
				if uses(f.syntax, path.Base(i), n) {
					t.Errorf("%s uses %s.%s", f.path, i, n)
				}
			}
		}
	}
}

// uses says whether the file has the selector pkg.name.
func uses(f *ast.File, pkg, name string) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == pkg && s.Sel.Name == name {
				found = true
			}
		}
		return !found
	})
	return found
}

func TestEveryPackageHasADoc(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, f := range files(t) {
		if f.test() || seen[f.dir] || strings.HasPrefix(f.dir, "ent/db") {
			continue
		}
		seen[f.dir] = true
		text, err := os.ReadFile(filepath.Join("..", "..", f.dir, "doc.go"))
		switch {
		case err != nil && f.syntax.Name.Name == "main":
			if !documented(t, f.dir) {
				t.Errorf("%s: no file says what the program is for", f.dir)
			}
		case err != nil && f.dir == "ent":
		case err != nil:
			t.Errorf("%s has no doc.go", f.dir)
		case f.syntax.Name.Name != "main" && !strings.Contains(string(text), "// Package "):
			t.Errorf("%s/doc.go does not say what the package is", f.dir)
		}
	}
}

// documented says whether a program's package has a comment.
func documented(t *testing.T, dir string) bool {
	t.Helper()
	for _, f := range files(t) {
		if f.dir == dir && f.syntax.Doc != nil {
			return true
		}
	}
	return false
}

func TestEveryDomainTypeIsBound(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(filepath.Join("..", "..", "graph", "model")); err == nil {
		t.Error("graph/model exists: bind its types to types under internal in gqlgen.yml")
	}
}

func TestEveryWordHasItsFiles(t *testing.T) {
	t.Parallel()
	words, err := filepath.Glob(filepath.Join("..", "..", "schema", "*.graphql"))
	if err != nil || len(words) == 0 {
		t.Fatal(err)
	}
	for _, w := range words {
		name := strings.TrimSuffix(filepath.Base(w), ".graphql")
		if name == "directives" {
			continue
		}
		if _, err := os.Stat(filepath.Join("..", "..", "resolvers", name+".go")); err != nil {
			text, err := os.ReadFile(w)
			if err != nil || strings.Contains(string(text), "extend type") {
				t.Errorf("schema/%s.graphql has no resolvers/%s.go", name, name)
			}
		}
	}
}
