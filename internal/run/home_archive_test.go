package run

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// archiveOf is an archive with these entries.
func archiveOf(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	packed := gzip.NewWriter(&b)
	w := tar.NewWriter(packed)
	for _, h := range headers {
		h.Format = tar.FormatGNU
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(bytes.Repeat([]byte("x"), int(h.Size))); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), packed.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A home that is packed and unpacked holds what the agent made, and nothing that is root's.
func TestHomeArchive(t *testing.T) {
	t.Parallel()
	f := runnertest.NewFake()
	defer f.Close(t.Context()) //nolint:errcheck // a fake's
	c := runnertest.Start(t, f, runner.Spec{})
	own := func(op runner.FileOp, path, what string, mode uint32) runner.FileChange {
		return runner.FileChange{Op: op, Path: "/home/a/" + path, Content: []byte(what), Target: what, Mode: mode, UID: runner.ScriptUser, GID: runner.ScriptUser}
	}
	strange := "nämé \n\xff\x01"
	if _, err := c.Files(t.Context(), append(homeFolders("/home/a"),
		ScriptFile("/home/a", "managed", "print()"),
		own(runner.FileWrite, "notes.txt", "remember", 0o640), own(runner.FileMkdir, "data", "", 0o750), own(runner.FileWrite, "data/"+strange, "", 0o755),
		own(runner.FileLink, "link", "/etc/passwd", 0o777), own(runner.FileWrite, "scripts/own.py", "mine", 0o644),
	)); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	n, err := packHome(t.Context(), c, "/home/a", &b)
	if err != nil || n != (homeCounts{files: 5, bytes: 12}) {
		t.Fatalf("%+v %v", n, err)
	}
	var got []runner.FileChange
	if err := unpackHome("/home/b", &b, func(cs []runner.FileChange) error { got = append(got, cs...); return nil }); err != nil {
		t.Fatal(err)
	}
	want := append(show(homeFolders("/home/b")), "mkdir /home/b/data 750 1000 []", "write /home/b/data/"+strange+" 755 1000 []",
		"link /home/b/link 777 1000 []", "write /home/b/notes.txt 640 1000 remember[]", "write /home/b/scripts/own.py 644 1000 mine[]")
	if g := strings.Join(show(got), "|"); g != strings.Join(want, "|") {
		t.Errorf("%q", g)
	}
	if got[4].Target != "/etc/passwd" {
		t.Errorf("%+v", got[4])
	}
}

// An archive that leads out of the home, holds what is not kept, or passes the bounds is refused.
func TestHomeArchiveRefused(t *testing.T) {
	t.Parallel()
	file := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644} }
	many := make([]tar.Header, MaxHomeEntries+1)
	for i := range many {
		many[i] = file("f")
	}
	for name, a := range map[string][]byte{
		"nothing":          nil,
		"no archive":       []byte("hello"),
		"cut off":          archiveOf(t, file("a"))[:20],
		"above":            archiveOf(t, file("../x")),
		"above later":      archiveOf(t, file("a/../../x")),
		"absolute":         archiveOf(t, file("/etc/x")),
		"the home itself":  archiveOf(t, tar.Header{Name: "./", Typeflag: tar.TypeDir}),
		"a hard link":      archiveOf(t, tar.Header{Name: "a", Typeflag: tar.TypeLink, Linkname: "b"}),
		"a device":         archiveOf(t, tar.Header{Name: "a", Typeflag: tar.TypeChar}),
		"a FIFO":           archiveOf(t, tar.Header{Name: "a", Typeflag: tar.TypeFifo}),
		"a link to no one": archiveOf(t, tar.Header{Name: "a", Typeflag: tar.TypeSymlink}),
		"too large":        archiveOf(t, tar.Header{Name: "a", Typeflag: tar.TypeReg, Size: MaxHomeFileBytes + 1}),
		"too many":         archiveOf(t, many...),
	} {
		err := unpackHome("/home/a", bytes.NewReader(a), func([]runner.FileChange) error { return nil })
		if !errors.Is(err, errBadArchive) {
			t.Errorf("%s: %v", name, err)
		}
	}
	setuid := archiveOf(t, tar.Header{Name: "a", Typeflag: tar.TypeReg, Mode: 0o6755})
	var got []runner.FileChange
	if err := unpackHome("/home/a", bytes.NewReader(setuid), func(cs []runner.FileChange) error { got = cs; return nil }); err != nil || got[2].Mode != 0o755 {
		t.Errorf("%v %+v", err, got)
	}
}

// Whatever an archive holds, its changes stay in the home and within what a computer takes.
func FuzzHomeArchive(f *testing.F) {
	f.Add(archiveOf(f, tar.Header{Name: "a", Typeflag: tar.TypeReg, Mode: 0o644, Size: 3}, tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "a"}))
	f.Add(archiveOf(f, tar.Header{Name: "d/", Typeflag: tar.TypeDir, Mode: 0o7777}))
	f.Fuzz(func(t *testing.T, b []byte) {
		// As it is, and as the inside of a good gzip.
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(b)
		_ = w.Close()
		for _, r := range []io.Reader{bytes.NewReader(b), &packed} {
			_ = unpackHome("/home/a", r, func(cs []runner.FileChange) error {
				if err := runner.CheckFiles(cs); err != nil {
					t.Error(err)
				}
				for _, c := range cs {
					if c.Path != "/home/a" && !strings.HasPrefix(c.Path, "/home/a/") {
						t.Errorf("%q", c.Path)
					}
				}
				return nil
			})
		}
	})
}
