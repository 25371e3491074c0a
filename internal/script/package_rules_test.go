package script

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/runner"
)

// refusals are the user errors in err, as code and path.
func refusals(t *testing.T, err error) string {
	t.Helper()
	refused, other := fault.Refusals(err)
	if other != nil {
		t.Fatalf("no user error: %v", other)
	}
	var all []string
	for _, r := range refused {
		d := fault.DetailOf(r)
		all = append(all, fmt.Sprint(d.Code, " ", strings.Join(d.Path, ".")))
	}
	return strings.Join(all, ", ")
}

func sourced(paths ...string) []*FileInput {
	files := make([]*FileInput, len(paths))
	empty := ""
	for i, p := range paths {
		files[i] = &FileInput{Path: p, Content: &empty}
	}
	return files
}

func TestS2PathClashes(t *testing.T) {
	t.Parallel()
	for want, lists := range map[string][][]string{
		"":                           {{"a"}, {"a", "b"}, {"a/b", "a/c"}, {"a", "ab"}, {"a/b", "a.b"}, {"a/b/c", "a/bc"}, {"a-b", "a/b"}, {"A", "a"}},
		"INVALID input.files.1.path": {{"a", "a"}, {"a/b", "a/b"}, {"a", "a/b"}, {"a/b", "a"}, {"a", "a/b/c"}, {"a/b/c", "a"}, {"a/b/c", "a/b"}, {"a/b", "a/b/c"}},
		"INVALID input.files.1.path, INVALID input.files.2.path": {{"a", "a", "a/b"}, {"a/b", "a", "a"}},
	} {
		for _, list := range lists {
			if got := refusals(t, checkFiles(sourced(list...))); got != want {
				t.Errorf("%q: %s, want %s", list, got, want)
			}
		}
	}
}

// FuzzS2Path: what is taken can be made below a folder, and is there.
func FuzzS2Path(f *testing.F) {
	for _, seed := range []string{"main.py", "../x", "/a", "a//b", `a\b`, "a/./b", "a/", "報告 ñ😀.txt", "a\x00", "..a", strings.Repeat("d/", 127) + "x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		err := checkPath("input.files.0.path", path)
		if err != nil {
			if got := refusals(t, err); got != "INVALID input.files.0.path" {
				t.Errorf("%q: %s", path, got)
			}
			return
		}
		if !filepath.IsLocal(path) || filepath.Clean(path) != path || utf8.RuneCountInString(path) > MaxPath || !utf8.ValidString(path) {
			t.Errorf("%q is taken", path)
		}
		if err := runner.CheckPackage(runner.Package{Path: runner.Scripts + "/deck/1", Files: []runner.PackageFile{{Path: path}}}); err != nil {
			t.Errorf("%q is taken, and no computer takes it: %v", path, err)
		}
		url := (&VersionFile{VersionID: "ver_1", Path: path}).URL()
		if strings.Count(url, "/") != 4+strings.Count(path, "/") || strings.ContainsAny(url, "?#% "[:2]) {
			t.Errorf("%q has the URL %s", path, url)
		}
	})
}

// FuzzS2PathClashes compares the rule with what a file system does.
func FuzzS2PathClashes(f *testing.F) {
	f.Add("a", "a/b", "c")
	f.Add("a/b/c", "a/b", "a")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		list := []string{a, b, c}
		for _, p := range list {
			if checkPath("input.files.0.path", p) != nil {
				return
			}
		}
		clash := false
		for i, p := range list {
			for j, q := range list {
				clash = clash || i != j && (p == q || strings.HasPrefix(p, q+"/"))
			}
		}
		if refused := checkFiles(sourced(list...)) != nil; refused != clash {
			t.Errorf("%q: refused %v", list, refused)
		}
	})
}

// FuzzS2Entry: what is taken begins with an interpreter and one of the files, which is no option.
func FuzzS2Entry(f *testing.F) {
	f.Add("python3", "main.py", "x")
	f.Add("node", "-c", "\x00")
	f.Fuzz(func(t *testing.T, interpreter, entry, argument string) {
		p := Package{Entrypoint: []string{interpreter, entry, argument}, Files: sourced("main.py", "-c", "a/b")}
		if p.checkEntrypoint() != nil {
			return
		}
		if interpreter != "python3" && interpreter != "node" || entry != "main.py" && entry != "a/b" || strings.ContainsRune(argument, 0) || len(argument) > maxArgument {
			t.Errorf("%q is taken", p.Entrypoint)
		}
	})
}

// FuzzS2Labels: what is taken is kept by a draft as it is.
func FuzzS2Labels(f *testing.F) {
	f.Add("team", "marketing", `{"a":1}`)
	f.Add("", "\x00", "[]")
	f.Fuzz(func(t *testing.T, name, value, metadata string) {
		labels := []*Label{{Name: name, Value: value}, {Name: "another", Value: ""}}
		if checkLabels("input.labels", labels) == nil {
			kept, err := (&Version{labels: labelsJSON(labels)}).keptLabels()
			if err != nil || len(kept) != 2 || *kept[0] != *labels[0] || *kept[1] != *labels[1] || name == "another" {
				t.Errorf("%q=%q is kept as %v (%v)", name, value, kept, err)
			}
		}
		if checkMetadata(json.RawMessage(metadata)) == nil {
			var object map[string]any
			if err := json.Unmarshal([]byte(metadata), &object); err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) || object == nil && err == nil {
				t.Errorf("%q is taken (%v)", metadata, err)
			}
		}
	})
}

// TestS2Manifest: the hash is that of what sha256sum prints in the package's folder.
func TestS2Manifest(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	var files []*VersionFile
	for _, path := range []string{"main.py", "lib/deck.py", "lib-a", "Z", "é", "a b"} {
		content := []byte("content of " + path)
		sum := sha256.Sum256(content)
		files = append(files, &VersionFile{Path: path, SHA256: hex.EncodeToString(sum[:])})
		file := filepath.Join(folder, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, content, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(files, func(a, b *VersionFile) int { return strings.Compare(a.Path, b.Path) })
	command := exec.CommandContext(t.Context(), "sh", "-c", `find . -type f -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum`)
	command.Dir = folder
	printed, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := manifestHash(files), strings.Fields(string(printed))[0]; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
