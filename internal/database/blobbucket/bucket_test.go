package blobbucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
)

var plain = &blob.WriterOptions{ContentType: "application/octet-stream"}

func open(t *testing.T, d *database.DB) *blob.Bucket {
	t.Helper()
	b := Open(d, t.TempDir())
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// noise is random bytes, the same for a seed.
func noise(seed uint64, n int) []byte {
	p := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed)}).Read(p)
	return p
}

func put(t *testing.T, b *blob.Bucket, name string, content []byte) {
	t.Helper()
	if err := b.WriteAll(t.Context(), name, content, plain); err != nil {
		t.Fatal(err)
	}
}

// count asks how many rows there are.
func count(t *testing.T, d *database.DB, table string) (n int) {
	t.Helper()
	if err := d.SQL().QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestRanges reads every kind of range around the bounds of pieces.
func TestRanges(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		b := open(t, d)
		for _, size := range []int{0, 1, pieceSize - 1, pieceSize, pieceSize + 1, 3 * pieceSize, 3*pieceSize + 7} {
			content := noise(1, size)
			name := fmt.Sprint("blob/", size)
			put(t, b, name, content)
			for _, offset := range []int{0, 1, pieceSize - 1, pieceSize, pieceSize + 1, 2 * pieceSize, size, size + 1, MaxSize + 1} {
				for _, length := range []int{-1, 0, 1, pieceSize - 1, pieceSize, pieceSize + 1, 2*pieceSize + 1, MaxSize + 1} {
					want := content[min(offset, size):]
					if length >= 0 {
						want = want[:min(length, len(want))]
					}
					r, err := b.NewRangeReader(t.Context(), name, int64(offset), int64(length), nil)
					if err != nil {
						t.Fatal(err)
					}
					got, err := io.ReadAll(r)
					if err != nil || !bytes.Equal(got, want) || r.Size() != int64(size) {
						t.Errorf("%d bytes of %d from %d: %d came, %v, or other ones; want %d", length, size, offset, len(got), err, len(want))
					}
					_ = r.Close()
				}
			}
		}
	})
}

// TestPieces: no row holds more than a piece, and no rows are left of what was replaced or deleted.
func TestPieces(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		b := open(t, d)
		put(t, b, "a", noise(1, 5*pieceSize))
		put(t, b, "b", noise(2, pieceSize))
		if n := count(t, d, "blob_pieces"); n != 6 {
			t.Errorf("%d pieces, want 6", n)
		}
		var longest int
		if err := d.SQL().QueryRowContext(t.Context(), "SELECT max(length(content)) FROM blob_pieces").Scan(&longest); err != nil || longest != pieceSize {
			t.Errorf("the longest piece has %d bytes, %v", longest, err)
		}
		put(t, b, "a", noise(3, 2*pieceSize+1))
		if err := b.Copy(t.Context(), "a", "a", nil); err != nil {
			t.Error(err)
		}
		if blobs, n := count(t, d, "blobs"), count(t, d, "blob_pieces"); blobs != 2 || n != 4 {
			t.Errorf("%d blobs of %d pieces, want 2 of 4", blobs, n)
		}
		for _, name := range []string{"a", "b"} {
			if err := b.Delete(t.Context(), name); err != nil {
				t.Error(err)
			}
		}
		if blobs, n := count(t, d, "blobs"), count(t, d, "blob_pieces"); blobs+n != 0 {
			t.Errorf("%d blobs and %d pieces are left", blobs, n)
		}
	})
}

// TestOneStatement: a small blob is read with one statement, a large one with one a piece.
func TestOneStatement(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		b := open(t, d)
		for pieces := 1; pieces <= 3; pieces++ {
			put(t, b, "a", noise(1, pieces*pieceSize))
			c := databasetest.Count(t, d)
			if _, err := b.ReadAll(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			if n := c.Take(); n != pieces {
				t.Errorf("%d pieces were read with %d statements", pieces, n)
			}
		}
	})
}

// TestChangedWhileRead: a reader never mixes two contents, even of the same size.
func TestChangedWhileRead(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		b := open(t, d)
		changes := map[string]func() error{
			"written anew": func() error { return b.WriteAll(t.Context(), "a", noise(2, 3*pieceSize), plain) },
			"deleted":      func() error { return b.Delete(t.Context(), "a") },
			"deleted and written": func() error {
				return errors.Join(b.Delete(t.Context(), "a"), b.WriteAll(t.Context(), "a", noise(2, 3*pieceSize), plain))
			},
		}
		for name, change := range changes {
			content := noise(1, 3*pieceSize)
			put(t, b, "a", content)
			r, err := b.NewReader(t.Context(), "a", nil)
			if err != nil {
				t.Fatal(err)
			}
			head := make([]byte, 10)
			if _, err := io.ReadFull(r, head); err != nil {
				t.Fatal(err)
			}
			if err := change(); err != nil {
				t.Fatal(err)
			}
			rest, err := io.ReadAll(r)
			if !errors.Is(err, errChanged) || gcerrors.Code(err) != gcerrors.FailedPrecondition {
				t.Errorf("%s: %v, want errChanged", name, err)
			}
			if !bytes.HasPrefix(content, append(head, rest...)) {
				t.Errorf("%s: bytes of both contents came", name)
			}
			_ = r.Close()
		}
	})
}

// TestManyWriters of one name, on two servers: each reader sees one of the contents, whole, and one of them is left.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	config := databasetest.Config(t, database.Postgres)
	here, there := databasetest.Open(t, config), databasetest.Open(t, config)
	buckets := []*blob.Bucket{open(t, here), open(t, there)}
	const writers = 12
	contents := make([][]byte, writers)
	for i := range contents {
		contents[i] = noise(uint64(i), i*pieceSize/4+1)
	}
	known := func(p []byte) bool {
		return slices.ContainsFunc(contents, func(c []byte) bool { return bytes.Equal(c, p) })
	}
	put(t, buckets[0], "a", contents[0])
	var work sync.WaitGroup
	for i := range writers {
		work.Go(func() {
			b := buckets[i%2]
			if i%4 == 3 {
				if err := b.Delete(t.Context(), "a"); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
					t.Error(err)
				}
			}
			if err := b.WriteAll(t.Context(), "a", contents[i], plain); err != nil {
				t.Error(err)
			}
		})
		work.Go(func() {
			p, err := buckets[(i+1)%2].ReadAll(t.Context(), "a")
			if err != nil && !errors.Is(err, errChanged) && gcerrors.Code(err) != gcerrors.NotFound {
				t.Error(err)
			}
			if err == nil && !known(p) {
				t.Error("a reader saw what nobody wrote")
			}
		})
	}
	work.Wait()
	for _, b := range buckets {
		p, err := b.ReadAll(t.Context(), "a")
		if err != nil || !known(p) {
			t.Errorf("left: %d bytes that nobody wrote, %v", len(p), err)
		}
		if blobs, n := count(t, here, "blobs"), count(t, here, "blob_pieces"); blobs != 1 || n != (len(p)+pieceSize-1)/pieceSize {
			t.Errorf("left: %d blobs of %d pieces", blobs, n)
		}
	}
}

// TestNotWritten: what cannot be written leaves nothing, neither rows nor files.
func TestNotWritten(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		folder := t.TempDir()
		b := Open(d, folder)
		defer b.Close() //nolint:errcheck // it has nothing to close
		for what, test := range map[string]struct {
			name string
			opts blob.WriterOptions
			code gcerrors.ErrorCode
		}{
			"no name":         {"", *plain, gcerrors.InvalidArgument},
			"a long name":     {strings.Repeat("n", MaxName+1), *plain, gcerrors.InvalidArgument},
			"many attributes": {"a", blob.WriterOptions{ContentType: "a/b", Metadata: map[string]string{"k": strings.Repeat("v", maxAttributes)}}, gcerrors.InvalidArgument},
		} {
			if err := b.WriteAll(t.Context(), test.name, nil, &test.opts); gcerrors.Code(err) != test.code {
				t.Errorf("%s: %v, want code %v", what, err, test.code)
			}
		}
		put(t, b, strings.Repeat("n", MaxName), nil)
		if err := b.Copy(t.Context(), strings.Repeat("n", MaxName+1), strings.Repeat("n", MaxName), nil); gcerrors.Code(err) != gcerrors.InvalidArgument {
			t.Errorf("copied to a long name: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		w, err := b.NewWriter(ctx, "a", plain)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(noise(1, 2*pieceSize)); err != nil {
			t.Fatal(err)
		}
		cancel()
		if _, err := w.Write([]byte("x")); !errors.Is(err, context.Canceled) {
			t.Errorf("written after the context's end: %v", err)
		}
		if err := w.Close(); !errors.Is(err, context.Canceled) {
			t.Errorf("closed after the context's end: %v", err)
		}
		if n := count(t, d, "blobs"); n != 1 {
			t.Errorf("%d blobs, want the one with the longest name", n)
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("files are left: %v, %v", left, err)
		}
	})
}

// TestTooLarge does not write a gigabyte: it begins near the limit.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	w, err := bucket{nil, t.TempDir()}.NewTypedWriter(t.Context(), "a", "a/b", &driver.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ours := w.(*writer)
	defer ours.file.Close() //nolint:errcheck // nothing is kept
	ours.size = MaxSize - 3
	if _, err := w.Write([]byte("123")); err != nil {
		t.Errorf("up to the limit: %v", err)
	}
	if _, err := w.Write([]byte("4")); !errors.Is(err, errTooLarge) || (bucket{}).ErrorCode(err) != gcerrors.ResourceExhausted {
		t.Errorf("past the limit: %v", err)
	}
}

// TestOrder: lists go by bytes, whatever the database's locale is, on pages of every size.
func TestOrder(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		b := open(t, d)
		names := []string{"A", "B/1", "B/2", "B0", "Z", "_", "a", "b/\x00", "b/c/d", "ä", "☺/x", "\U0010ffff", "\U0010ffff/y"}
		slices.Sort(names)
		for _, n := range names {
			put(t, b, n, []byte(n))
		}
		folders := []string{"A", "B/", "B0", "Z", "_", "a", "b/", "ä", "☺/", "\U0010ffff", "\U0010ffff/"}
		for size := 1; size <= len(names)+1; size++ {
			for delimiter, want := range map[string][]string{"": names, "/": folders} {
				if got := list(t, b, size, &blob.ListOptions{Delimiter: delimiter}); !slices.Equal(got, want) {
					t.Errorf("pages of %d, delimiter %q: %q, want %q", size, delimiter, got, want)
				}
			}
			if got := list(t, b, size, &blob.ListOptions{Prefix: "b/"}); !slices.Equal(got, []string{"b/\x00", "b/c/d"}) {
				t.Errorf("pages of %d below b/: %q", size, got)
			}
		}
	})
}

func list(t *testing.T, b *blob.Bucket, size int, opts *blob.ListOptions) (names []string) {
	t.Helper()
	token := blob.FirstPageToken
	for {
		page, next, err := b.ListPage(t.Context(), token, size, opts)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) > size {
			t.Fatalf("a page of %d has %d entries", size, len(page))
		}
		for _, o := range page {
			names = append(names, o.Key)
		}
		if len(next) == 0 {
			return names
		}
		token = next
	}
}
