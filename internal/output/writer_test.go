package output

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/scriptorium-dev/scriptorium/internal/event"
)

// kept reads the chunks of a writer's spool.
func kept(t testing.TB, w *Writer) []Chunk {
	t.Helper()
	var chunks []Chunk
	for {
		events, head, err := w.read(int64(len(chunks)), 50)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			c, err := DecodeChunk(e.Payload)
			if err != nil {
				t.Fatal(err)
			}
			chunks = append(chunks, c)
		}
		if int64(len(chunks)) >= head {
			return chunks
		}
	}
}

// show writes chunks as 1:text for stdout and 2:text for stderr.
func show(chunks []Chunk) string {
	var parts []string
	for _, c := range chunks {
		parts = append(parts, fmt.Sprintf("%d:%s", c.Stream, c.Data))
	}
	return strings.Join(parts, " ")
}

// TestCutting has the clock in hand.
func TestCutting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, single(t, 0), "c")
		expect := func(want string) {
			t.Helper()
			synctest.Wait()
			if got := show(kept(t, w)); got != want {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
		write(t, w, Stdout, "a")
		expect("1:a") // the first byte at once
		write(t, w, Stdout, "b")
		write(t, w, Stdout, "c")
		time.Sleep(flushInterval - 1)
		expect("1:a")
		time.Sleep(1 * time.Nanosecond)
		expect("1:a 1:bc") // 20 ms
		time.Sleep(time.Second)
		write(t, w, Stderr, "d")
		expect("1:a 1:bc 2:d") // at once after silence
		write(t, w, Stdout, "e")
		write(t, w, Stderr, "f")
		expect("1:a 1:bc 2:d 1:e") // the other stream's turn
		write(t, w, Stdout, "g")
		expect("1:a 1:bc 2:d 1:e 2:f")
		time.Sleep(flushInterval)
		expect("1:a 1:bc 2:d 1:e 2:f 1:g")
		if err := w.log.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestHalfCharacters: a chunk never ends inside a character, and what is none is not waited for.
func TestHalfCharacters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, single(t, 0), "c")
		expect := func(want string) {
			t.Helper()
			time.Sleep(2 * flushInterval)
			synctest.Wait()
			if got := show(kept(t, w)); got != want {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
		write(t, w, Stdout, "a\xe2\x82")
		expect("1:a")
		write(t, w, Stderr, "x\xf0\x9f\x98") // each stream has its own
		expect("1:a 2:x")
		write(t, w, Stdout, "\xac!")
		expect("1:a 2:x 1:€!")
		write(t, w, Stderr, "\x80")
		expect("1:a 2:x 1:€! 2:😀")
		write(t, w, Stdout, "\xe0\x80") // begins no character
		expect("1:a 2:x 1:€! 2:😀 1:\xe0\x80")
		write(t, w, Stdout, "\xe2")
		write(t, w, Stderr, "\xe2\x82")
		s := finish(t, w, &row{})
		if s.Chunks != 7 || s.Stdout.Bytes != 8 || s.Stderr.Bytes != 7 || s.Dropped != 0 {
			t.Fatalf("at the end the rest is kept as it is: %+v", s)
		}
		if err := w.log.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestCutAnywhere writes text and noise in pieces of all sizes.
func TestCutAnywhere(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("line – 行 😀\x00\n", 20_000)
	r := rand.New(rand.NewPCG(1, 2))
	for name, p := range map[string][]byte{"text": []byte(text), "noise": noise(1, 300_000)} {
		w := begin(t, single(t, 0), "c")
		for rest := p; len(rest) > 0; {
			n := min(1+r.IntN(1+r.IntN(40_000)), len(rest))
			if err := w.Write(Stdout, rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		s, err := w.Finish(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		offset := int64(0)
		var all []byte
		for _, c := range kept(t, w) {
			if len(c.Data) == 0 || len(c.Data) > MaxChunk || c.Offset != offset {
				t.Fatalf("%s: a chunk of %d bytes at %d, want offset %d", name, len(c.Data), c.Offset, offset)
			}
			if name == "text" && !utf8.Valid(c.Data) {
				t.Fatalf("cut inside a character at %d", c.Offset)
			}
			offset += int64(len(c.Data))
			all = append(all, c.Data...)
		}
		if string(all) != string(p) || s.Stdout.SHA256 != sum(p) || s.Stdout.Written != int64(len(p)) {
			t.Fatalf("%s: other bytes were kept", name)
		}
		if string(s.Stdout.Head) != string(p[:MaxHead]) {
			t.Fatalf("%s: another head", name)
		}
	}
}

// TestBound holds the bound at N and N + 1 bytes, over both streams.
func TestBound(t *testing.T) {
	t.Parallel()
	const bound = 40_000
	for _, test := range []struct {
		stdout, stderr, more int
		out, err, dropped    int64
	}{
		{bound, 0, 0, bound, 0, 0},
		{bound - 1, 1, 0, bound - 1, 1, 0},
		{bound + 1, 0, 0, bound, 0, 1},
		{bound, 1, 0, bound, 0, 1},
		{bound - 10, 11, 5, bound - 10, 10, 6},
		{3 * bound, 50, 7, bound, 0, 2*bound + 57},
	} {
		w := begin(t, single(t, bound), "c")
		write(t, w, Stdout, strings.Repeat("o", test.stdout))
		write(t, w, Stderr, strings.Repeat("e", test.stderr))
		write(t, w, Stdout, strings.Repeat("m", test.more))
		s, err := w.Finish(t.Context())
		if err != nil || s.Dropped != test.dropped {
			t.Fatalf("%+v: %+v, %v", test, s, err)
		}
		if s.Stdout.Bytes > bound || s.Stdout.Bytes+s.Stderr.Bytes > bound || s.Stdout.Bytes < test.out || s.Stderr.Bytes != test.err {
			t.Fatalf("%+v: kept %d and %d", test, s.Stdout.Bytes, s.Stderr.Bytes)
		}
		if s.Stderr.Written != int64(test.stderr) || len(s.Stderr.Head) != test.stderr {
			t.Fatalf("%+v: the head of stderr is not whole though it was dropped: %+v", test, s.Stderr)
		}
	}
	// The bound does not cut a character either.
	w := begin(t, single(t, 4), "c")
	write(t, w, Stdout, "ab😀c")
	if s, err := w.Finish(t.Context()); err != nil || s.Stdout.Bytes != 2 || s.Dropped != 5 {
		t.Fatalf("%+v, %v", s, err)
	}
}

// TestTurns bounds how many chunks a program makes by changing between its streams.
func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, single(t, 0), "c")
		const each = 40_000
		for range each {
			write(t, w, Stdout, "o")
			write(t, w, Stderr, "e")
		}
		s := finish(t, w, &row{})
		if s.Chunks > maxTurns+10 || s.Stdout.Bytes != each || s.Stderr.Bytes != each {
			t.Fatalf("%d chunks, %d and %d bytes", s.Chunks, s.Stdout.Bytes, s.Stderr.Bytes)
		}
		if err := w.log.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestFullDisk: the program goes on, and what could not be kept is counted.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	w := begin(t, single(t, 0), "c")
	write(t, w, Stdout, "kept")
	readOnly, err := os.Open(w.file.Name())
	if err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	writable := w.file
	w.file = readOnly
	w.mu.Unlock()
	defer writable.Close()
	write(t, w, Stderr, "dropped")
	write(t, w, Stdout, strings.Repeat("x", 100_000))
	r := &row{}
	s := finish(t, w, r)
	if s.Stdout.Bytes != 4 || s.Stderr.Bytes != 0 || s.Dropped != 100_007 || string(s.Stderr.Head) != "dropped" {
		t.Fatalf("%+v", s)
	}
	proves(t, everything(t, w.log, "c", r), s)
}

func TestWriterMisuse(t *testing.T) {
	t.Parallel()
	l := single(t, 0)
	w := begin(t, l, "c")
	if _, err := l.Begin("c"); !errors.Is(err, ErrBusy) {
		t.Errorf("a second writer: %v", err)
	}
	if err := l.Delete(t.Context(), "c"); !errors.Is(err, ErrBusy) {
		t.Errorf("deleted while it runs: %v", err)
	}
	for _, bad := range []string{"", "..", "a/b", "a\n", strings.Repeat("a", 101)} {
		if _, err := l.Begin(bad); !errors.Is(err, ErrBadCall) {
			t.Errorf("Begin %q: %v", bad, err)
		}
	}
	r := &row{}
	one, err := w.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	two := finish(t, w, r)
	if one.Blob == "" || fmt.Sprint(one) != fmt.Sprint(two) {
		t.Errorf("a second Finish: %v, %v", one, two)
	}
	if err := w.End(t.Context(), finished); err != nil {
		t.Errorf("a second End: %v", err)
	}
	if err := w.Write(Stdout, []byte("x")); !errors.Is(err, ErrFinished) {
		t.Errorf("Write behind the end: %v", err)
	}
	if left := files(t, l); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := l.Begin("d"); !errors.Is(err, ErrFinished) {
		t.Errorf("Begin behind Close: %v", err)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\x00é": "a\x00é", "\xff\xfe": "\uFFFD\uFFFD", "a\xe2\x82b": "a\uFFFD\uFFFDb", "\xed\xa0\x80": "\uFFFD\uFFFD\uFFFD",
	} {
		if got := (Chunk{Data: []byte(in)}).Text(); got != want {
			t.Errorf("%q reads %q, want %q", in, got, want)
		}
	}
}

func FuzzChunk(f *testing.F) {
	f.Add(Chunk{Stream: Stdout, Offset: 5, Other: 7, At: time.UnixMilli(1), Data: []byte("x")}.appendTo(nil))
	f.Fuzz(func(t *testing.T, payload []byte) {
		c, err := DecodeChunk(payload)
		if err == nil && string(c.appendTo(nil)) != string(payload) {
			t.Fatalf("%x is written %x", payload, c.appendTo(nil))
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	for _, n := range []int{100, 32 << 10} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := single(b, 1<<40)
			w := begin(b, l, "c")
			watch, err := l.options.Bus.Watch(event.OutputTopic("c"))
			if err != nil {
				b.Fatal(err)
			}
			defer watch.Close()
			p := noise(1, n)
			b.SetBytes(int64(n))
			for b.Loop() {
				if err := w.Write(Stdout, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
