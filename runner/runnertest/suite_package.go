package runnertest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/runner"
)

// PackageOf is a package at runner.Scripts/name/number of these files, by path, and what opens them. opened counts how often each was.
func PackageOf(name string, number int, files map[string]string) (p runner.Package, open func(int) (io.ReadCloser, error), opened map[string]int) {
	p.Path = fmt.Sprintf("%s/%s/%d", runner.Scripts, name, number)
	opened = map[string]int{}
	for name, content := range files {
		p.Files = append(p.Files, runner.PackageFile{Path: name, SHA256: sha256.Sum256([]byte(content)), Size: int64(len(content))})
	}
	slices.SortFunc(p.Files, func(a, b runner.PackageFile) int { return strings.Compare(a.Path, b.Path) })
	return p, func(i int) (io.ReadCloser, error) {
		opened[p.Files[i].Path]++
		return io.NopCloser(strings.NewReader(files[p.Files[i].Path])), nil
	}, opened
}

// PackageCall is a call of a program in a package's own folder.
func PackageCall(p runner.Package, argv ...string) runner.Call {
	call := Python("")
	call.Argv, call.Dir, call.Files = argv, p.Path, nil
	return call
}

var suitePackageFiles = map[string]string{
	"main.py": "from lib import words\nprint(words.WORDS, open('data/ñ 😀.txt').read())\n" +
		"try: open('new', 'w')\nexcept OSError as e: print(e.strerror)\n#fake: out of the package data\n#fake: out Permission denied\n",
	"lib/words.py":                 "WORDS = 'of the package'\n",
	"data/ñ 😀.txt":                 "data",
	"data/empty":                   "",
	"deep/er/and/file":             strings.Repeat("x", 100_000),
	"deep/er/and/.scriptorium-new": "a name as any other",
}

// A package's folder holds exactly its files before a call, whatever was done to it.
func suitePackage(t *testing.T, r runner.Runner) {
	c := Start(t, r, runner.Spec{})
	p, open, opened := PackageOf("deck", 3, suitePackageFiles)
	ensure := func(what string, written, removed int, names ...string) {
		t.Helper()
		clear(opened)
		rep, err := c.Package(t.Context(), p, open)
		if err != nil || rep != (runner.PackageReport{Written: written, Removed: removed}) {
			t.Errorf("%s: %+v %v", what, rep, err)
		}
		if len(opened) != written {
			t.Errorf("%s: %v was opened", what, opened)
		}
		for _, n := range names {
			if opened[n] != 1 {
				t.Errorf("%s: %s was not written again, but %v", what, n, opened)
			}
		}
		if rep, err := c.Package(t.Context(), p, open); err != nil || rep != (runner.PackageReport{}) {
			t.Errorf("%s, and once more: %+v %v", what, rep, err)
		}
		if res, out := Run(t, c, PackageCall(p, "python3", "main.py")); res.ExitCode != 0 || out.Stdout.String() != "of the package data\nPermission denied\n" {
			t.Errorf("%s: %+v %q %s", what, res, out.Stdout.String(), out.Stderr.String())
		}
		if got := listing(t, c, p.Path); !slices.Equal(got, suitePackageListing) {
			t.Errorf("%s: it holds %q", what, got)
		}
		if got := listing(t, c, runner.Scripts); !slices.Contains(got, "deck 555 0 0") || !slices.Contains(got, "deck/3 555 0 0") {
			t.Errorf("%s: the packages' folder holds %q", what, got)
		}
	}
	ensure("the first time", len(p.Files), 0)
	ensure("the second time", 0, 0)
	for _, k := range packageChanges(p.Path) {
		if _, err := c.Files(t.Context(), k.changes); err != nil {
			t.Fatalf("%s: %v", k.what, err)
		}
		ensure(k.what, len(k.written), k.removed, k.written...)
	}
	other, openOther, _ := PackageOf("deck", 4, map[string]string{"main.py": "print(4)\n#fake: out 4\n"})
	if rep, err := c.Package(t.Context(), other, openOther); err != nil || rep.Written != 1 {
		t.Errorf("another version: %+v %v", rep, err)
	}
	if _, out := Run(t, c, PackageCall(other, "python3", "main.py")); out.Stdout.String() != "4\n" {
		t.Errorf("another version: %q", out.Stdout.String())
	}
	ensure("beside another version", 0, 0)
}

var suitePackageListing = []string{"data 555 0 0", "data/empty 444 0 0", "data/ñ 😀.txt 444 0 4", "deep 555 0 0", "deep/er 555 0 0",
	"deep/er/and 555 0 0", "deep/er/and/.scriptorium-new 444 0 19", "deep/er/and/file 444 0 100000", "lib 555 0 0", "lib/words.py 444 0 25", "main.py 444 0 -"}

type packageChange struct {
	what    string
	changes []runner.FileChange
	written []string
	removed int
}

// packageChanges are what somebody may have done who was root.
func packageChanges(at string) []packageChange {
	write := func(name, content string, mode uint32, uid int) runner.FileChange {
		return runner.FileChange{Op: runner.FileWrite, Path: path.Join(at, name), Mode: mode, UID: uid, GID: uid, Content: []byte(content)}
	}
	remove := func(name string) runner.FileChange {
		return runner.FileChange{Op: runner.FileRemove, Path: path.Join(at, name)}
	}
	mkdir := func(name string, mode uint32, uid int) runner.FileChange {
		return runner.FileChange{Op: runner.FileMkdir, Path: path.Join(at, name), Mode: mode, UID: uid, GID: uid}
	}
	link := func(name, target string) runner.FileChange {
		return runner.FileChange{Op: runner.FileLink, Path: path.Join(at, name), Target: target}
	}
	words := suitePackageFiles["lib/words.py"]
	return []packageChange{
		{"a changed file", []runner.FileChange{write("lib/words.py", strings.Replace(words, "of the", "of one", 1), 0o444, 0)}, []string{"lib/words.py"}, 0},
		{"a longer file", []runner.FileChange{write("lib/words.py", words+"\n", 0o444, 0)}, []string{"lib/words.py"}, 0},
		{"a shorter file", []runner.FileChange{write("lib/words.py", words[:3], 0o444, 0)}, []string{"lib/words.py"}, 0},
		{"an empty file that is not", []runner.FileChange{write("data/empty", "x", 0o444, 0)}, []string{"data/empty"}, 0},
		{"a file's mode", []runner.FileChange{write("lib/words.py", words, 0o644, 0)}, []string{"lib/words.py"}, 0},
		{"a file's owner", []runner.FileChange{write("lib/words.py", words, 0o444, runner.ScriptUser)}, []string{"lib/words.py"}, 0},
		{"a removed file", []runner.FileChange{remove("data/empty")}, []string{"data/empty"}, 0},
		{"an added file", []runner.FileChange{write("lib/more.py", "x", 0o444, 0)}, nil, 1},
		{"added folders", []runner.FileChange{write("a/b/c/d", "x", 0o444, 0), mkdir("lib/__pycache__", 0o777, runner.ScriptUser)}, nil, 2},
		{"a removed folder", []runner.FileChange{remove("data")}, []string{"data/empty", "data/ñ 😀.txt"}, 0},
		{"a file where a folder goes", []runner.FileChange{write("data", "x", 0o444, 0)}, []string{"data/empty", "data/ñ 😀.txt"}, 0},
		{"a folder where a file goes", []runner.FileChange{write("main.py/x/y", "x", 0o444, 0)}, []string{"main.py"}, 0},
		{"a link where a file goes", []runner.FileChange{write("../other", words, 0o444, 0), link("lib/words.py", "../../other")}, []string{"lib/words.py"}, 0},
		{"a link where a folder goes", []runner.FileChange{write("../other/words.py", words, 0o444, 0), link("lib", "../other")}, []string{"lib/words.py"}, 0},
		{"a link that is added", []runner.FileChange{link("more", "/etc/passwd")}, nil, 1},
		{"a folder's mode", []runner.FileChange{mkdir("lib", 0o777, 0)}, nil, 0},
		{"a folder's owner", []runner.FileChange{mkdir("lib", 0o555, runner.ScriptUser)}, nil, 0},
		{"the package's own folder's mode", []runner.FileChange{mkdir("../3", 0o1777, runner.ScriptUser)}, nil, 0},
		{"the mode of the folder above", []runner.FileChange{mkdir("../../deck", 0o777, runner.ScriptUser)}, nil, 0},
		{"all of it", []runner.FileChange{{Op: runner.FileRemove, Path: at}}, []string{"main.py", "lib/words.py", "data/empty", "data/ñ 😀.txt", "deep/er/and/file", "deep/er/and/.scriptorium-new"}, 0},
	}
}

// listing tells a folder's entries with their modes and owners, and sizes of files but for the program's.
func listing(t testing.TB, c runner.Computer, folder string) (list []string) {
	t.Helper()
	_, err := c.Read(t.Context(), runner.Read{Path: folder, Recursive: true, MaxEntries: 1000}, func(e runner.Entry, _ io.Reader) error {
		size := fmt.Sprint(e.Size)
		if e.Type == runner.EntryFolder {
			size = "0"
		}
		if e.Path == "main.py" {
			size = "-"
		}
		list = append(list, fmt.Sprintf("%s %o %d %s", e.Path, e.Mode, e.UID, size))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// What is given as a file's content is looked at before any of it is on the computer.
func suitePackageDamaged(t *testing.T, r runner.Runner) {
	c := Start(t, r, runner.Spec{})
	files := map[string]string{"a.py": "print(1)", "main.py": "print('main')\n#fake: out main\n"}
	p, open, _ := PackageOf("damaged", 1, files)
	broken := errors.New("the storage is broken")
	given := func(content string, err error) func(int) (io.ReadCloser, error) {
		return func(i int) (io.ReadCloser, error) {
			if p.Files[i].Path != "main.py" {
				return open(i)
			}
			return io.NopCloser(io.MultiReader(strings.NewReader(content), failing{err})), nil
		}
	}
	for name, k := range map[string]struct {
		open func(int) (io.ReadCloser, error)
		want error
	}{
		"another content": {given(strings.ToUpper(files["main.py"]), io.EOF), runner.ErrDamaged},
		"a short one":     {given(files["main.py"][1:], io.EOF), runner.ErrDamaged},
		"a long one":      {given(files["main.py"]+"x", io.EOF), runner.ErrDamaged},
		"an error within": {given("pr", broken), broken},
		"one at the end":  {given(files["main.py"], broken), broken},
		"none":            {func(int) (io.ReadCloser, error) { return nil, broken }, broken},
	} {
		_, err := c.Package(t.Context(), p, k.open)
		if !errors.Is(err, k.want) || (k.want == runner.ErrDamaged && !strings.Contains(err.Error(), "main.py")) {
			t.Errorf("%s: %v", name, err)
		}
		if got := listing(t, c, p.Path); slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "main.py") }) {
			t.Errorf("%s: it was written: %q", name, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := c.Package(ctx, p, func(i int) (io.ReadCloser, error) { cancel(); return io.NopCloser(bytes.NewReader(nil)), ctx.Err() }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if rep, err := c.Package(t.Context(), p, open); err != nil || rep.Written == 0 {
		t.Errorf("at last: %+v %v", rep, err)
	}
	if _, out := Run(t, c, PackageCall(p, "python3", "main.py")); out.Stdout.String() != "main\n" {
		t.Errorf("%q", out.Stdout.String())
	}
}

// failing is a reader that has nothing but an error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func suitePackageInvalid(t *testing.T, r runner.Runner) {
	c := Start(t, r, runner.Spec{})
	never := func(int) (io.ReadCloser, error) { t.Error("it was opened"); return nil, io.EOF }
	file := func(names ...string) (p runner.Package) {
		p.Path = runner.Scripts + "/a/1"
		for _, n := range names {
			p.Files = append(p.Files, runner.PackageFile{Path: n})
		}
		return p
	}
	for i, p := range []runner.Package{
		{Path: runner.Scripts}, {Path: runner.Scripts + "/a"}, {Path: runner.Scripts + "/a/1/2"}, {Path: "/workspace/a/1"}, {Path: runner.Scripts + "/../a/1"},
		{Path: runner.Scripts + "/a/1/"}, {Path: runner.Scripts + "/a/\x00"}, {Path: runner.Scripts + "/a/" + strings.Repeat("n", 256)},
		file(""), file("/a"), file("../a"), file(".."), file("."), file("a/"), file("a//b"), file("a/../b"), file("./a"), file("a\x00"), file("a", "a"),
		file("a", "a/b"), file("a/b/c", "a/b"), file("d/" + strings.Repeat("n", 256)), file(strings.Repeat("d/", 300) + "f"), file(strings.Repeat("dddddddd/", 255) + strings.Repeat("n", 255) + strings.Repeat("/dd", 300)),
		{Path: runner.Scripts + "/a/1", Files: []runner.PackageFile{{Path: "a", Size: -1}}},
	} {
		if _, err := c.Package(t.Context(), p, never); !errors.Is(err, runner.ErrInvalid) {
			t.Errorf("%d: %v", i, err)
		}
	}
	large := file("a", "b")
	large.Files[0].Size, large.Files[1].Size = runner.MaxPackageBytes, 1
	for _, p := range []runner.Package{large, {Path: large.Path, Files: make([]runner.PackageFile, runner.MaxPackageFiles+1)}} {
		if _, err := c.Package(t.Context(), p, never); !errors.Is(err, runner.ErrTooLarge) {
			t.Errorf("%v", err)
		}
	}
	if rep, err := c.Package(t.Context(), file(), never); err != nil || rep != (runner.PackageReport{}) {
		t.Errorf("an empty one: %+v %v", rep, err)
	}
}
