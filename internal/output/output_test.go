package output

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/scriptorium-dev/scriptorium/internal/blob"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/blobbucket"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/event"
	"github.com/scriptorium-dev/scriptorium/internal/event/eventtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is one server's log on a bus and a blob store.
func server(t testing.TB, bus event.Bus, blobs *blob.Store, bound int64) *Log {
	t.Helper()
	l, err := Open(Options{Dir: filepath.Join(t.TempDir(), "spool"), Bus: bus, Blobs: blobs, Bound: bound})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func memoryBlobs(t testing.TB) *blob.Store {
	t.Helper()
	s, err := blob.Open("mem://")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// databaseBlobs is one server's store in a database that it shares with others.
func databaseBlobs(t testing.TB, config database.Config) *blob.Store {
	t.Helper()
	s := blob.New(blobbucket.Open(databasetest.Open(t, config), t.TempDir()))
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func single(t testing.TB, bound int64) *Log {
	t.Helper()
	bus := event.NewMemory()
	t.Cleanup(func() { _ = bus.Close() })
	return server(t, bus, memoryBlobs(t), bound)
}

// row is a call's row, as the call's own package has it.
type row struct{ status atomic.Pointer[Status] }

func (r *row) get(context.Context) (Status, error) {
	if s := r.status.Load(); s != nil {
		return *s, nil
	}
	return Status{}, nil
}

var finished = []byte("the call's own")

func (r *row) commit(s Summary) {
	r.status.Store(&Status{Ended: true, Chunks: s.Chunks, Blob: s.Blob, Finished: finished})
}

// finish ends a call as its own package does.
func finish(t testing.TB, w *Writer, r *row) Summary {
	t.Helper()
	s, err := w.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	r.commit(s)
	if err := w.End(context.Background(), finished); err != nil {
		t.Fatal(err)
	}
	return s
}

func begin(t testing.TB, l *Log, callID string) *Writer {
	t.Helper()
	w, err := l.Begin(callID)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func write(t testing.TB, w *Writer, s Stream, text string) {
	t.Helper()
	if err := w.Write(s, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// got is what a subscriber has received.
type got struct {
	data    [2][]byte
	chunks  []Chunk
	cursors []event.Cursor
	gaps    int
	ended   bool
}

// follow takes from a stream to its end, or so many chunks, and checks what every subscriber may rely on.
func follow(ctx context.Context, s *event.Stream, chunks int) (*got, error) {
	g := &got{}
	next := map[Stream]int64{}
	for chunks < 0 || len(g.chunks) < chunks {
		item, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			return g, nil
		}
		if err != nil {
			return g, err
		}
		if g.ended {
			return g, errors.New("an item behind the finished event")
		}
		g.cursors = append(g.cursors, item.Cursor)
		switch {
		case item.Gap != "":
			g.gaps++
			continue
		case item.Event.Last:
			if g.ended = true; !bytes.Equal(item.Event.Payload, finished) {
				return g, errors.New("another finished event")
			}
			continue
		}
		c, err := DecodeChunk(item.Event.Payload)
		if err != nil {
			return g, err
		}
		if want, known := next[c.Stream]; known && c.Offset != want {
			return g, fmt.Errorf("stream %d goes on at %d, want %d", c.Stream, c.Offset, want)
		}
		next[c.Stream], next[c.Stream.other()] = c.Offset+int64(len(c.Data)), c.Other
		g.data[c.Stream-Stdout] = append(g.data[c.Stream-Stdout], c.Data...)
		g.chunks = append(g.chunks, c)
	}
	return g, nil
}

func open(t testing.TB, l *Log, callID string, r *row, start event.Start) *event.Stream {
	t.Helper()
	return eventtest.Open(t, l.options.Bus, l.Feed(callID, r.get), start, event.Options{})
}

func everything(t testing.TB, l *Log, callID string, r *row) *got {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), eventtest.Patience)
	defer cancel()
	g, err := follow(ctx, open(t, l, callID, r, event.Beginning()), -1)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func sum(p []byte) string {
	s := sha256.Sum256(p)
	return hex.EncodeToString(s[:])
}

func proves(t testing.TB, g *got, s Summary) {
	t.Helper()
	if !g.ended || g.gaps > 0 {
		t.Fatalf("ended %v, gaps %d", g.ended, g.gaps)
	}
	for i, total := range []Total{s.Stdout, s.Stderr} {
		if int64(len(g.data[i])) != total.Bytes || sum(g.data[i]) != total.SHA256 {
			t.Fatalf("stream %d: %d bytes came, want %d, or other ones", i+1, len(g.data[i]), total.Bytes)
		}
	}
}

// noise is random bytes, the same for a seed.
func noise(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(7, seed))
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

func files(t testing.TB, l *Log) []string {
	t.Helper()
	entries, err := os.ReadDir(l.options.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
