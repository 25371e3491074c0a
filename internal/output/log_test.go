package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/blob"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/event"
	"github.com/scriptorium-dev/scriptorium/internal/event/eventtest"
)

// each runs a test on one server with the in-process bus (twice the same), and on two servers with Redis and PostgreSQL.
func each(t *testing.T, test func(t *testing.T, here, there *Log)) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		l := single(t, 0)
		test(t, l, l)
	})
	t.Run("servers", func(t *testing.T) {
		t.Parallel()
		url, prefix := eventtest.Redis(t)
		config := databasetest.Config(t, database.Postgres)
		test(t, server(t, eventtest.NewRedis(t, url, prefix), databaseBlobs(t, config), 0),
			server(t, eventtest.NewRedis(t, url, prefix), databaseBlobs(t, config), 0))
	})
}

// TestDatabaseOnly: two servers share nothing but PostgreSQL. What a call at one printed is read at the other when it has ended.
func TestDatabaseOnly(t *testing.T) {
	t.Parallel()
	config := databasetest.Config(t, database.Postgres)
	alone := func() *Log {
		bus := event.NewMemory()
		t.Cleanup(func() { _ = bus.Close() })
		return server(t, bus, databaseBlobs(t, config), 0)
	}
	here, there := alone(), alone()
	r := &row{}
	w := begin(t, here, "c")
	stdout, stderr := noise(1, 1<<20+7), noise(2, 100)
	write(t, w, Stdout, string(stdout))
	write(t, w, Stderr, string(stderr))
	s := finish(t, w, r)
	if left := files(t, here); len(left) != 0 {
		t.Errorf("the spool is left: %v", left)
	}
	for _, l := range []*Log{here, there} {
		proves(t, everything(t, l, "c", r), s)
		for i, want := range [][]byte{stdout, stderr} {
			got, err := io.ReadAll(l.Raw(t.Context(), "c", Stdout+Stream(i), 42, r.get))
			if err != nil || !bytes.Equal(got, want[42:]) {
				t.Errorf("stream %d: %d bytes from 42 on, %v, or other ones", i+1, len(got), err)
			}
		}
	}
	if err := there.Delete(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	if g := everything(t, here, "c", r); g.gaps != 1 || !g.ended {
		t.Errorf("deleted at the other server: %+v", g)
	}
}

// TestSubscribers: 5 MiB of noise on each stream, subscribers from the start, from the middle, and after the end, on both
// servers; one that stops reading in between.
func TestSubscribers(t *testing.T) {
	each(t, func(t *testing.T, here, there *Log) {
		const size = 5 << 20
		stdout, stderr := noise(1, size), noise(2, size)
		ctx, cancel := context.WithTimeout(t.Context(), 2*eventtest.Patience)
		defer cancel()
		r := &row{}
		var wait sync.WaitGroup
		var mu sync.Mutex
		var all []*got
		subscribe := func(l *Log, after <-chan struct{}) {
			s := open(t, l, "c", r, event.Beginning())
			wait.Go(func() {
				first, err := follow(ctx, s, 1)
				if after != nil {
					<-after
				}
				rest, err2 := follow(ctx, s, -1)
				if err != nil || err2 != nil {
					t.Error(err, err2)
					return
				}
				for i := range rest.data {
					rest.data[i] = append(first.data[i], rest.data[i]...)
				}
				mu.Lock()
				all = append(all, rest)
				mu.Unlock()
			})
		}
		w := begin(t, here, "c")
		slow := make(chan struct{})
		subscribe(here, nil)
		subscribe(there, nil)
		subscribe(there, slow)
		for i := 0; i < size; i += 10_000 {
			if i == size/20_000*10_000 {
				subscribe(here, nil)
				subscribe(there, nil)
			}
			end := min(i+10_000, size)
			if err := errors.Join(w.Write(Stdout, stdout[i:end]), w.Write(Stderr, stderr[i:end])); err != nil {
				t.Fatal(err)
			}
		}
		s := finish(t, w, r)
		close(slow)
		subscribe(here, nil)
		subscribe(there, nil)
		wait.Wait()
		if len(all) != 7 || s.Stdout.SHA256 != sum(stdout) || s.Stderr.SHA256 != sum(stderr) || s.Dropped != 0 {
			t.Fatalf("%d subscribers, %+v", len(all), s.Dropped)
		}
		for _, g := range all {
			proves(t, g, s)
		}
		if left := append(files(t, here), files(t, there)...); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

// TestCursors: chunks have the same bounds, times and cursors live, from the running call, and from the blob, and a subscription
// goes on behind each of them.
func TestCursors(t *testing.T) {
	each(t, func(t *testing.T, here, there *Log) {
		r := &row{}
		w := begin(t, here, "c")
		live := open(t, there, "c", r, event.Beginning())
		const chunks = 150
		for i := range chunks {
			write(t, w, Stream(1+i%2), fmt.Sprintf("piece %d\n", i))
		}
		var seen *got
		resume := func(l *Log, to int) {
			t.Helper()
			for i := range seen.cursors[:chunks-1] {
				at, err := seen.cursors[i].Parse(event.OutputTopic("c"))
				if err != nil {
					t.Fatal(err)
				}
				g, err := follow(t.Context(), open(t, l, "c", r, event.Behind(at)), to-i-1)
				if err != nil {
					t.Fatal(err)
				}
				if n := len(g.chunks); n != chunks-1-i || fmt.Sprint(g.chunks) != fmt.Sprint(seen.chunks[i+1:]) ||
					fmt.Sprint(g.cursors[:n]) != fmt.Sprint(seen.cursors[i+1:chunks]) {
					t.Fatalf("behind chunk %d: %d other chunks", i+1, n)
				}
			}
		}
		var err error
		if seen, err = follow(t.Context(), live, chunks-1); err != nil { // the last piece waits for more, 20 ms
			t.Fatal(err)
		}
		rest, err := follow(t.Context(), live, 1)
		if err != nil {
			t.Fatal(err)
		}
		seen.chunks, seen.cursors = append(seen.chunks, rest.chunks...), append(seen.cursors, rest.cursors...)
		resume(here, chunks)
		resume(there, chunks)
		finish(t, w, r)
		resume(here, chunks+1)
		resume(there, chunks+1)

		end, err := follow(t.Context(), live, -1)
		if err != nil || !end.ended || len(end.chunks) > 0 {
			t.Fatalf("%+v, %v; want the finished event", end, err)
		}
		at, err := end.cursors[0].Parse(event.OutputTopic("c"))
		if err != nil {
			t.Fatal(err)
		}
		g, err := follow(t.Context(), open(t, there, "c", r, event.Behind(at)), -1)
		if err != nil || len(g.cursors) > 0 {
			t.Fatalf("behind the end: %+v, %v", g, err)
		}
	})
}

// TestOneFeed has two streams of one feed, which remembers where it read last.
func TestOneFeed(t *testing.T) {
	each(t, func(t *testing.T, here, there *Log) {
		r := &row{}
		w := begin(t, here, "c")
		for i := range 1000 { // more than the ring has
			write(t, w, Stream(1+i%2), "x")
		}
		s := finish(t, w, r)
		feed := there.Feed("c", r.get)
		for range 2 {
			g, err := follow(t.Context(), eventtest.Open(t, there.options.Bus, feed, event.Beginning(), event.Options{}), -1)
			if err != nil {
				t.Fatal(err)
			}
			proves(t, g, s)
		}
	})
}

func TestNothingPrinted(t *testing.T) {
	each(t, func(t *testing.T, here, there *Log) {
		r := &row{}
		early := open(t, there, "c", r, event.Beginning()) // the call waits in its queue
		w := begin(t, here, "c")
		s := finish(t, w, r)
		g, err := follow(t.Context(), early, -1)
		if err != nil {
			t.Fatal(err)
		}
		proves(t, g, s)
		proves(t, everything(t, there, "c", r), s)
	})
}

func TestRaw(t *testing.T) {
	each(t, func(t *testing.T, here, there *Log) {
		r := &row{}
		read := func(l *Log, s Stream, offset int64) string {
			t.Helper()
			text, err := io.ReadAll(l.Raw(t.Context(), "c", s, offset, r.get))
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		if got := read(there, Stdout, 0); got != "" {
			t.Errorf("before the start: %q", got)
		}
		w := begin(t, here, "c")
		stdout := string(noise(1, 3_000_000))
		write(t, w, Stderr, "E1")
		write(t, w, Stdout, stdout)
		write(t, w, Stderr, "E2")
		check := func(l *Log) {
			t.Helper()
			if got := read(l, Stdout, 0); got != stdout {
				t.Errorf("%d bytes of stdout, want %d", len(got), len(stdout))
			}
			if got := read(l, Stdout, 1_000_001); got != stdout[1_000_001:] {
				t.Errorf("%d bytes from an offset", len(got))
			}
			if got := read(l, Stdout, 3_000_000); got != "" {
				t.Errorf("%d bytes behind the end", len(got))
			}
			if got := read(l, Stderr, 1); got != "1E2" {
				t.Errorf("stderr: %q", got)
			}
		}
		if _, err := follow(t.Context(), open(t, there, "c", r, event.Beginning()), int(head(t, w))); err != nil {
			t.Fatal(err)
		}
		if got := read(there, Stdout, 0); !strings.HasPrefix(stdout, got) || len(got) < 2_900_000 {
			t.Errorf("%d bytes while it runs", len(got))
		}
		finish(t, w, r)
		check(here)
		check(there)
		if err := there.Delete(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(there.Raw(t.Context(), "c", Stdout, 0, r.get)); !errors.Is(err, ErrGone) {
			t.Errorf("deleted output: %v, want ErrGone", err)
		}
	})
}

func head(t testing.TB, w *Writer) int64 {
	t.Helper()
	_, head, err := w.read(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// TestDeleted: the stream of a call whose output is not kept any more has one gap and the end.
func TestDeleted(t *testing.T) {
	each(t, func(t *testing.T, here, there *Log) {
		r := &row{}
		w := begin(t, here, "c")
		write(t, w, Stdout, "text")
		finish(t, w, r)
		here.work.Wait() // the replica has the end, too
		if err := here.Delete(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
		for range 2 { // also the second time: deleting again is no error
			g := everything(t, there, "c", r)
			if g.gaps != 1 || !g.ended || len(g.chunks) != 0 {
				t.Fatalf("%+v", g)
			}
			if err := there.Delete(t.Context(), "c"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestProgress(t *testing.T) {
	each(t, func(t *testing.T, here, there *Log) {
		r := &row{}
		progress := func(l *Log) string {
			t.Helper()
			stdout, stderr, err := l.Progress(t.Context(), "c")
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(stdout, stderr)
		}
		if got := progress(there); got != "0 0" {
			t.Error(got)
		}
		w := begin(t, here, "c")
		s := open(t, there, "c", r, event.Beginning())
		for i, want := range []string{"3 0", "3 5", "6 5"} {
			write(t, w, Stream(1+i%2), []string{"abc", "defgh", "ijk"}[i])
			if _, err := follow(t.Context(), s, 1); err != nil {
				t.Fatal(err)
			}
			if got := progress(here); got != want {
				t.Errorf("here %s, want %s", got, want)
			}
			if got := progress(there); got != want {
				t.Errorf("there %s, want %s", got, want)
			}
		}
	})
}

// TestRedisAway kills Redis while a program prints: the own server's subscribers have all of it at once, the others when it is
// back, while the call still runs.
func TestRedisAway(t *testing.T) {
	t.Parallel()
	redis := eventtest.StartServer(t)
	blobs := memoryBlobs(t)
	here := server(t, eventtest.NewRedis(t, redis.URL, "d"), blobs, 0)
	there := server(t, eventtest.NewRedis(t, redis.URL, "d"), blobs, 0)
	r := &row{}
	w := begin(t, here, "c")
	own, other := open(t, here, "c", r, event.Beginning()), open(t, there, "c", r, event.Beginning())
	takes := func(s *event.Stream, chunks int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), eventtest.Patience)
		defer cancel()
		for taken := 0; taken < chunks; {
			g, err := follow(ctx, s, chunks-taken)
			taken += len(g.chunks)
			if err != nil && (s == own || ctx.Err() != nil) {
				t.Fatal(err)
			}
		}
	}
	prints := func(chunks int) {
		t.Helper()
		for i := range chunks {
			write(t, w, Stream(1+i%2), fmt.Sprintf("line %d\n", i))
		}
		write(t, w, Stdout, strings.Repeat("x", MaxChunk)) // cuts all
	}
	prints(10)
	takes(own, 11)
	takes(other, 11)
	redis.Stop(t)
	prints(10)
	takes(own, 11)
	for range 3 { // long enough for the copier to have failed, too
		if _, err := here.options.Bus.Replica().Append(t.Context(), "other", event.Retention{}, eventtest.Event(1)); err == nil {
			t.Fatal("Append succeeds without Redis")
		}
	}
	redis.Start(t)
	takes(other, 11)
	late := open(t, there, "c", r, event.Beginning()) // from the start, though Redis came back empty
	takes(late, 22)
	redis.Stop(t)
	prints(10)
	s := finish(t, w, r) // the end does not need Redis
	proves(t, everything(t, here, "c", r), s)
	proves(t, everything(t, there, "c", r), s)
	takes(other, 11)
	if g, err := follow(t.Context(), other, -1); err != nil || !g.ended {
		t.Fatalf("%+v, %v", g, err)
	}
}

// TestBlobsAway: the call ends all the same; its output is read from the spool, and gets its blob at the next start.
func TestBlobsAway(t *testing.T) {
	t.Parallel()
	bus := event.NewMemory()
	defer bus.Close()
	broken := memoryBlobs(t)
	_ = broken.Close()
	l := server(t, bus, broken, 0)
	w := begin(t, l, "c")
	text := string(noise(1, 2_000_000))
	write(t, w, Stdout, text)
	s, err := w.Finish(t.Context())
	if err != nil || s.Stdout.Bytes != int64(len(text)) {
		t.Fatalf("%d, %v", s.Stdout.Bytes, err)
	}
	r := &row{}
	r.commit(s)
	if err := w.End(t.Context(), finished); err == nil {
		t.Fatal("the blob cannot have been kept")
	}
	proves(t, everything(t, l, "c", r), s)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	next, err := Open(Options{Dir: l.options.Dir, Bus: bus, Blobs: memoryBlobs(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	err = next.Recover(t.Context(), func(_ context.Context, callID string, s Summary) error {
		if callID != "c" || s.Blob == "" {
			t.Errorf("recovered %s: %+v", callID, s)
		}
		r.commit(s)
		return nil
	})
	if err != nil || len(files(t, next)) > 0 {
		t.Fatal(err, files(t, next))
	}
	proves(t, everything(t, next, "c", r), s)
}

// killed makes a log as a server leaves it that was killed in the middle of a write.
func killed(t testing.TB, callID string, torn int64) (dir string, chunks []Chunk) {
	t.Helper()
	l := single(t, 0)
	w := begin(t, l, callID)
	for i := range 3 {
		write(t, w, Stream(1+i%2), fmt.Sprintf("piece %d", i))
	}
	_ = l.Close()
	path, _ := l.spool(callID)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, max(info.Size()-torn, 0)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	events, err := framesAt(bytes.NewReader(text), mark{}).page(0, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		c, _ := DecodeChunk(e.Payload)
		chunks = append(chunks, c)
	}
	return l.options.Dir, chunks
}

// TestRecover tears the spool at every byte.
func TestRecover(t *testing.T) {
	t.Parallel()
	const whole, frame = 3, frameHeader + chunkHeader + len("piece 0")
	for torn := int64(0); torn <= int64(whole*frame+len(spoolMagic)); torn++ {
		dir, chunks := killed(t, "c", torn)
		if want := max(whole-int((torn+int64(frame)-1)/int64(frame)), 0); len(chunks) != want {
			t.Fatalf("%d bytes torn: %d chunks, want %d", torn, len(chunks), want)
		}
		l := server(t, event.NewMemory(), memoryBlobs(t), 0)
		l.options.Dir = dir
		r := &row{}
		before := open(t, l, "c", r, event.Beginning()) // it reads the spool while the call is not marked yet
		if g, err := follow(t.Context(), before, len(chunks)); err != nil || len(g.chunks) != len(chunks) {
			t.Fatal(g, err)
		}
		failed := errors.New("no database")
		err := l.Recover(t.Context(), func(context.Context, string, Summary) error { return failed })
		if !errors.Is(err, failed) || len(files(t, l)) != 1 {
			t.Fatalf("a failed store: %v, files %v", err, files(t, l))
		}
		var s Summary
		err = l.Recover(t.Context(), func(ctx context.Context, callID string, summary Summary) error {
			s = summary
			r.commit(s)
			return l.Ended(ctx, callID, s, finished)
		})
		if err != nil || len(files(t, l)) != 0 || int(s.Chunks) != len(chunks) {
			t.Fatalf("%d bytes torn: %+v, %v", torn, s, err)
		}
		if g, err := follow(t.Context(), before, -1); err != nil || !g.ended || len(g.chunks) > 0 {
			t.Fatal(g, err)
		}
		g := everything(t, l, "c", r)
		proves(t, g, s)
		if fmt.Sprint(g.chunks) != fmt.Sprint(chunks) {
			t.Fatal("other chunks")
		}
	}
}

// TestRecoverNonsense: what is whole and yet cannot be the next chunk ends the log.
func TestRecoverNonsense(t *testing.T) {
	t.Parallel()
	first := Chunk{Stream: Stdout, Data: []byte("abc")}
	for name, second := range map[string]Chunk{
		"hole":         {Stream: Stdout, Offset: 4, Data: []byte("x")},
		"again":        {Stream: Stdout, Offset: 0, Data: []byte("x")},
		"other stream": {Stream: Stderr, Offset: 3, Data: []byte("x")},
		"no stream":    {Stream: 3, Offset: 3, Data: []byte("x")},
	} {
		text := []byte(spoolMagic)
		for i, c := range []Chunk{first, second} {
			frame, _ := newFrame(int64(i+1), c)
			text = append(text, frame...)
		}
		s, size, err := scan(bytes.NewReader(text))
		if err != nil || s.Chunks != 1 || s.Stdout.Bytes != 3 || size != int64(len(spoolMagic)+frameHeader+chunkHeader+3) {
			t.Errorf("%s: %d chunks, %d bytes, size %d, %v", name, s.Chunks, s.Stdout.Bytes, size, err)
		}
	}
	for at := range frameHeader + chunkHeader + 3 {
		frame, _ := newFrame(1, first)
		frame[at] ^= 0x10
		s, _, err := scan(bytes.NewReader(append([]byte(spoolMagic), frame...)))
		if err != nil || s.Chunks != 0 {
			t.Errorf("a flipped bit in byte %d is not noticed", at)
		}
	}
}

// TestRescue: another server makes the blob of a call whose server is gone, from what Redis has.
func TestRescue(t *testing.T) {
	t.Parallel()
	url, prefix := eventtest.Redis(t)
	blobs := memoryBlobs(t)
	here := server(t, eventtest.NewRedis(t, url, prefix), blobs, 0)
	there := server(t, eventtest.NewRedis(t, url, prefix), blobs, 0)
	w := begin(t, here, "c")
	r := &row{}
	watching := open(t, there, "c", r, event.Beginning())
	for range 100 {
		write(t, w, Stdout, strings.Repeat("o", MaxChunk))
		write(t, w, Stderr, "e")
	}
	write(t, w, Stdout, strings.Repeat("o", MaxChunk))
	n := int(head(t, w))
	before, err := follow(t.Context(), watching, n)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := here.Rescue(t.Context(), "c"); !errors.Is(err, ErrBusy) {
		t.Fatalf("a running call was rescued: %v", err)
	}
	_ = here.Close() // the call is lost

	s, err := there.Rescue(t.Context(), "c")
	if err != nil || int(s.Chunks) != n || s.Blob == "" {
		t.Fatalf("%+v, %v; want %d chunks", s, err, n)
	}
	r.commit(s)
	if err := there.Ended(t.Context(), "c", s, finished); err != nil {
		t.Fatal(err)
	}
	g, err := follow(t.Context(), watching, -1)
	if err != nil {
		t.Fatal(err)
	}
	g.data = before.data
	proves(t, g, s)
	proves(t, everything(t, there, "c", r), s)

	none, err := there.Rescue(t.Context(), "never")
	if err != nil || none.Chunks != 0 || none.Blob != "" || none.Stdout.SHA256 != sum(nil) {
		t.Fatalf("%+v, %v", none, err)
	}
}

// TestLostBeyond: what a reader has seen was lost with its server, and Redis with it; it still learns of the end.
func TestLostBeyond(t *testing.T) {
	t.Parallel()
	l := single(t, 0)
	r := &row{}
	r.commit(Summary{Chunks: 3})
	s := open(t, l, "c", r, event.Behind(event.Position{Epoch: epoch, Offset: 50}))
	g, err := follow(t.Context(), s, -1)
	if err != nil || g.gaps != 1 || !g.ended {
		t.Fatalf("%+v, %v", g, err)
	}
}

func FuzzSpool(f *testing.F) {
	var text []byte
	text = append(text, spoolMagic...)
	for i := range int64(3) {
		frame, _ := newFrame(i+1, Chunk{Stream: Stdout, Offset: 3 * i, Data: []byte("abc"), At: time.UnixMilli(5)})
		text = append(text, frame...)
	}
	f.Add(text)
	f.Add(text[:len(text)-1])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, text []byte) {
		s, size, err := scan(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if size > int64(len(text)) || s.Chunks > 0 && size == 0 || s.Stdout.Bytes+s.Stderr.Bytes > size {
			t.Fatalf("%d bytes of %d, %+v", size, len(text), s)
		}
		again, size2, _ := scan(bytes.NewReader(text[:size]))
		if size2 != size || fmt.Sprint(again) != fmt.Sprint(s) {
			t.Fatal("the whole part reads otherwise")
		}
	})
}

// BenchmarkReplay is a late subscriber's cost: 16 MiB from the blob.
func BenchmarkReplay(b *testing.B) {
	for name, chunk := range map[string]int{"16KiB": MaxChunk, "100B": 100} {
		b.Run(name, func(b *testing.B) {
			blobs, err := blob.Open(filepath.Join(b.TempDir(), "blobs"))
			if err != nil {
				b.Fatal(err)
			}
			defer blobs.Close()
			bus := event.NewMemory()
			defer bus.Close()
			l := server(b, bus, blobs, 0)
			w := begin(b, l, "c")
			w.mu.Lock()
			for range DefaultBound / chunk {
				w.keep(Stdout, make([]byte, chunk))
			}
			w.mu.Unlock()
			r := &row{}
			finish(b, w, r)
			b.SetBytes(DefaultBound)
			for b.Loop() {
				everything(b, l, "c", r)
			}
		})
	}
}

// BenchmarkPrintToSubscriber is the delay from a program's write, after silence, to a subscriber on this and on another server.
func BenchmarkPrintToSubscriber(b *testing.B) {
	for name, connect := range map[string]func(testing.TB) (here, there event.Bus){
		"memory": func(testing.TB) (event.Bus, event.Bus) { m := event.NewMemory(); return m, m },
		"redis": func(t testing.TB) (event.Bus, event.Bus) {
			url, prefix := eventtest.Redis(t)
			return eventtest.NewRedis(t, url, prefix), eventtest.NewRedis(t, url, prefix)
		},
	} {
		b.Run(name, func(b *testing.B) {
			one, two := connect(b)
			blobs := memoryBlobs(b)
			here, there := server(b, one, blobs, 1<<40), server(b, two, blobs, 1<<40)
			w := begin(b, here, "c")
			s := open(b, there, "c", &row{}, event.Beginning())
			line := []byte("a line of output\n")
			for b.Loop() {
				w.mu.Lock()
				w.cutAt = time.Time{} // it was silent
				w.mu.Unlock()
				if err := w.Write(Stdout, line); err != nil {
					b.Fatal(err)
				}
				if _, err := s.Next(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
