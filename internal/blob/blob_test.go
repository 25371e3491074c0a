package blob_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"

	"github.com/scriptorium-dev/scriptorium/internal/blob"
	"github.com/scriptorium-dev/scriptorium/internal/database/blobbucket"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// each runs a test on every kind of bucket.
func each(t *testing.T, test func(t *testing.T, s *blob.Store)) {
	t.Parallel()
	for name, location := range map[string]string{
		"memory": "mem://", "folder": filepath.Join(t.TempDir(), "a", "b"), "file URL": "file://" + t.TempDir(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t, location))
		})
	}
	for _, dialect := range databasetest.Dialects {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := blob.New(blobbucket.Open(databasetest.New(t, dialect), t.TempDir()))
			t.Cleanup(func() { _ = s.Close() })
			test(t, s)
		})
	}
}

func open(t *testing.T, location string) *blob.Store {
	t.Helper()
	s, err := blob.Open(location)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func read(t *testing.T, r io.ReadCloser, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPut(t *testing.T) {
	each(t, func(t *testing.T, s *blob.Store) {
		text := "a\x00b\xff" + strings.Repeat("0123456789", 100_000)
		sum := sha256.Sum256([]byte(text))
		want := blob.Ref{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(text))}
		var wait sync.WaitGroup
		for range 10 { // equal bytes at the same time
			wait.Go(func() {
				if ref, err := s.Put(t.Context(), strings.NewReader(text), want.Size); err != nil || ref != want {
					t.Errorf("got %v, %v; want %v", ref, err, want)
				}
			})
		}
		wait.Wait()
		r, err := s.Open(t.Context(), want.SHA256, 0, -1)
		if read(t, r, err) != text {
			t.Error("other bytes come back")
		}
		r, err = s.Open(t.Context(), want.SHA256, 4, 12)
		if got := read(t, r, err); got != "012345678901" {
			t.Errorf("a range: %q", got)
		}
		for range 2 {
			if err := s.Delete(t.Context(), want.SHA256); err != nil {
				t.Error(err)
			}
		}
		if _, err := s.Open(t.Context(), want.SHA256, 0, -1); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("deleted bytes: %v, want ErrNotFound", err)
		}
	})
}

func TestEmpty(t *testing.T) {
	each(t, func(t *testing.T, s *blob.Store) {
		ref, err := s.Put(t.Context(), strings.NewReader(""), 0)
		if err != nil || ref.Size != 0 {
			t.Fatal(ref, err)
		}
		r, err := s.Open(t.Context(), ref.SHA256, 0, -1)
		if got := read(t, r, err); got != "" {
			t.Errorf("got %q", got)
		}
	})
}

func TestLimit(t *testing.T) {
	each(t, func(t *testing.T, s *blob.Store) {
		if _, err := s.Put(t.Context(), strings.NewReader("12345"), 5); err != nil {
			t.Errorf("at the limit: %v", err)
		}
		if _, err := s.Put(t.Context(), strings.NewReader("123456"), 5); !errors.Is(err, blob.ErrTooLarge) {
			t.Errorf("over the limit: %v", err)
		}
		if _, err := s.PutNamed(t.Context(), "output/1", strings.NewReader("12345"), 5); err != nil {
			t.Errorf("at the limit: %v", err)
		}
		if _, err := s.PutNamed(t.Context(), "output/1", strings.NewReader("123456"), 5); !errors.Is(err, blob.ErrTooLarge) {
			t.Errorf("over the limit: %v", err)
		}
		r, err := s.OpenNamed(t.Context(), "output/1", 0, -1)
		if got := read(t, r, err); got != "12345" {
			t.Errorf("a failed write left %q", got)
		}
	})
}

func TestNamed(t *testing.T) {
	each(t, func(t *testing.T, s *blob.Store) {
		for _, text := range []string{"first", "the second"} {
			if n, err := s.PutNamed(t.Context(), "output/Call_-1", strings.NewReader(text), 100); err != nil || n != int64(len(text)) {
				t.Fatal(n, err)
			}
			r, err := s.OpenNamed(t.Context(), "output/Call_-1", 0, -1)
			if got := read(t, r, err); got != text {
				t.Errorf("got %q, want %q", got, text)
			}
		}
		for range 2 {
			if err := s.DeleteNamed(t.Context(), "output/Call_-1"); err != nil {
				t.Error(err)
			}
		}
		if _, err := s.OpenNamed(t.Context(), "output/Call_-1", 0, -1); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("got %v, want ErrNotFound", err)
		}
	})
}

// TestHalfWritten has readers that break: nothing is kept, in the folder nothing is left.
func TestHalfWritten(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, folder)
	broken := errors.New("broken")
	half := func() io.Reader {
		return io.MultiReader(bytes.NewReader(make([]byte, 100_000)), iotest.ErrReader(broken))
	}
	if _, err := s.Put(t.Context(), half(), 1<<20); !errors.Is(err, broken) {
		t.Errorf("Put: %v", err)
	}
	if _, err := s.PutNamed(t.Context(), "output/1", half(), 1<<20); !errors.Is(err, broken) {
		t.Errorf("PutNamed: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.PutNamed(ended, "output/1", strings.NewReader("x"), 1<<20); err == nil {
		t.Error("written though the context had ended")
	}
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			t.Errorf("left behind: %s", path)
		}
		return err
	})
}

func TestBadKeys(t *testing.T) {
	each(t, func(t *testing.T, s *blob.Store) {
		for _, bad := range []string{"", "abc", strings.Repeat("A", 64), strings.Repeat("a", 64) + "\n", "../" + strings.Repeat("a", 61)} {
			if _, err := s.Open(t.Context(), bad, 0, -1); !errors.Is(err, blob.ErrBadKey) {
				t.Errorf("Open %q: %v", bad, err)
			}
			if err := s.Delete(t.Context(), bad); !errors.Is(err, blob.ErrBadKey) {
				t.Errorf("Delete %q: %v", bad, err)
			}
		}
		for _, bad := range []string{"", "output", "output/", "output/..", "output/a/b", "../a", "output/a\n", "Output/a"} {
			if _, err := s.PutNamed(t.Context(), bad, strings.NewReader(""), 1); !errors.Is(err, blob.ErrBadKey) {
				t.Errorf("PutNamed %q: %v", bad, err)
			}
			if _, err := s.OpenNamed(t.Context(), bad, 0, -1); !errors.Is(err, blob.ErrBadKey) {
				t.Errorf("OpenNamed %q: %v", bad, err)
			}
			if err := s.DeleteNamed(t.Context(), bad); !errors.Is(err, blob.ErrBadKey) {
				t.Errorf("DeleteNamed %q: %v", bad, err)
			}
		}
	})
}

func TestOpen(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "s3://bucket", "file://host/folder", "file:///tmp?x=1", "file://%zz", file} {
		if _, err := blob.Open(bad); err == nil {
			t.Errorf("%q was opened", bad)
		}
	}
}
