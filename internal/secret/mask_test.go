package secret

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// masked is what a mask of values makes of a text, by the plainest means: every place of every value, those that overlap as one.
func masked(values []string, text string) string {
	hidden, begins := make([]bool, len(text)), make([]bool, len(text)+1)
	for i := range begins {
		begins[i] = true // a new place may begin here: no value reaches over it
	}
	for _, v := range values {
		for _, v := range []string{v, strings.TrimSpace(v)} {
			for at := 0; len(v) >= MinMasked && at+len(v) <= len(text); at++ {
				if text[at:at+len(v)] != v {
					continue
				}
				for i := range len(v) {
					if hidden[at+i] = true; i > 0 {
						begins[at+i] = false
					}
				}
			}
		}
	}
	var out strings.Builder
	for i := range len(text) {
		switch {
		case !hidden[i]:
			out.WriteByte(text[i])
		case begins[i]:
			out.WriteString(Masked)
		}
	}
	return out.String()
}

// pieces masks a text that comes in pieces, which end where cuts say.
func pieces(m *Mask, text string, cuts []byte) string {
	if m == nil {
		return text
	}
	s := masker{mask: m}
	var out []byte
	for _, c := range cuts {
		n := min(int(c)%9, len(text))
		out, text = s.write(out, []byte(text[:n])), text[n:]
	}
	return string(s.release(s.write(out, []byte(text))))
}

func TestS1SecretMask(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789abcdef", 2000) + "!"
	for name, c := range map[string]struct {
		values     []string
		text, want string
	}{
		"alone":                  {[]string{"s3cret-value"}, "s3cret-value", "***"},
		"in a line":              {[]string{"s3cret"}, "key=s3cret;\n", "key=***;\n"},
		"twice, side by side":    {[]string{"s3cret"}, "s3crets3cret", "******"},
		"five bytes":             {[]string{"short"}, "short", "short"},
		"six bytes":              {[]string{"shorts"}, "shorts", "***"},
		"six bytes, three runes": {[]string{"äöü"}, "<äöü>", "<***>"},
		"only a beginning":       {[]string{"s3cret-value"}, "s3cret-valu", "s3cret-valu"},
		"a beginning, then it":   {[]string{"aaaaab"}, "aaaaaaaab", "aaa***"},
		"one holds another":      {[]string{"outer-inner-outer", "inner-"}, "outer-inner-outer, inner-, outer-inner-oute!", "***, ***, outer-***oute!"},
		"one begins another":     {[]string{"abcdef", "abcdefghi"}, "abcdefghi abcdefgh abcdef", "*** ***gh ***"},
		"one ends another":       {[]string{"123abcdef", "abcdef"}, "123abcdef 23abcdef", "*** 23***"},
		"two overlap":            {[]string{"abcdef", "defghi"}, "abcdefghi abcdefdefghi", "*** ******"},
		"three overlap":          {[]string{"abcdef", "defghi", "ghijkl"}, "xabcdefghijklx", "x***x"},
		"it overlaps itself":     {[]string{"aaaaaa"}, strings.Repeat("a", 20), "***"},
		"multi-line":             {[]string{"-----BEGIN\nabc\n-----END\n"}, "k:\n-----BEGIN\nabc\n-----END\n!", "k:\n***!"},
		"without space around":   {[]string{"  token-1 \n"}, "[token-1] [  token-1 \n]", "[***] [***]"},
		"NUL and no UTF-8":       {[]string{"value-\xff"}, "\x00value-\xff\x00", "\x00***\x00"},
		"long":                   {[]string{long}, "<" + long + long[:100], "<***" + long[:100]},
		"the same value twice":   {[]string{"s3cret", "s3cret"}, "s3cret", "***"},
		"stars":                  {[]string{"******"}, "*******", "***"},
		"no values":              {nil, "anything", "anything"},
	} {
		m := NewMask(c.values)
		if got := string(m.Bytes([]byte(c.text))); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if plain := masked(c.values, c.text); len(c.text) < 1000 && plain != c.want {
			t.Errorf("%s: the reference says %q, want %q", name, plain, c.want)
		}
		for size := 1; size <= 8; size++ { // one byte at a time, two …
			if got := pieces(m, c.text, bytes.Repeat([]byte{byte(size)}, len(c.text))); got != c.want {
				t.Errorf("%s in pieces of %d: %q, want %q", name, size, got, c.want)
			}
		}
	}
}

// TestS1SecretMaskRandom compares with the reference over small alphabets, where values overlap in every way.
func TestS1SecretMaskRandom(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "ab "[r.IntN(3)]
		}
		return string(b)
	}
	for range 20_000 {
		values := make([]string, r.IntN(5))
		for i := range values {
			values[i] = word(4 + r.IntN(9))
		}
		text := word(r.IntN(60))
		if len(values) > 0 && r.IntN(2) == 0 {
			text += values[0] + word(r.IntN(4)) + values[len(values)-1]
		}
		cuts := []byte(word(r.IntN(80)))
		if got, want := pieces(NewMask(values), text, cuts), masked(values, text); got != want {
			t.Fatalf("%q in %q: %q, want %q", values, text, got, want)
		}
	}
}

func FuzzMask(f *testing.F) {
	f.Add("s3cret-value\nvalue-2\nlue-2 ", "x s3cret-value-2 y", []byte{1, 2, 3, 4})
	f.Add("aaaaaa\naaaaaaab", "aaaaaaaaaaaaaaab", []byte{7, 0, 1})
	f.Add("abcdef\ndefghi\ncdefgh", "abcdefghi", []byte{})
	f.Fuzz(func(t *testing.T, lines, text string, cuts []byte) {
		if len(lines)+len(text) > 4096 {
			return
		}
		values := strings.Split(lines, "\n")
		if len(values) > 64 {
			return
		}
		if got, want := pieces(NewMask(values), text, cuts), masked(values, text); got != want {
			t.Fatalf("%q in %q: %q, want %q", values, text, got, want)
		}
	})
}

// A beginning that was let out cannot be had back, but the rest of the value is still masked.
func TestMaskAfterRelease(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []string
		pieces []string // what was waiting is let out between them
		want   string
	}{
		{[]string{"s3cret-value"}, []string{"s3c", "ret-value!"}, "s3c***!"},
		{[]string{"s3cret-value"}, []string{"s3c", "ret-", "value!"}, "s3cret-***!"},
		{[]string{"s3cret-value"}, []string{"s3c", "ret-", "else!"}, "s3cret-else!"},
		{[]string{"abcdefgh", "bcdefg"}, []string{"abcdefg", "h!"}, "a***!"},
		{[]string{"abcdefgh", "bcdefg"}, []string{"abcdefg", "i!"}, "a***i!"},
		{[]string{"abcdefghijkl", "ghijkl"}, []string{"abcdef", "ghijkl!"}, "abcdef***!"},
		{[]string{"aaaaaa"}, []string{"aaa", "aaaaaaa", "b"}, "aaa***b"},
	} {
		s := masker{mask: NewMask(c.values)}
		var out []byte
		for _, p := range c.pieces {
			out = s.release(s.write(out, []byte(p)))
		}
		if string(out) != c.want {
			t.Errorf("%q in %q: %q, want %q", c.values, c.pieces, out, c.want)
		}
	}
}

// What waits, and the work for a byte, are bounded however badly values and output fit each other.
func TestMaskIsBounded(t *testing.T) {
	t.Parallel()
	values := []string{strings.Repeat("a", MaxValue)}
	for i := range MaxSecrets - 1 {
		values = append(values, strings.Repeat("a", MaxValue/MaxSecrets-1-i%7)+fmt.Sprintf("%c", rune(' '+i)))
	}
	m := NewMask(values)
	for _, text := range []string{strings.Repeat("a", 4<<20), strings.Repeat(strings.Repeat("a", MaxValue/2)+"b", 100)} {
		s, begin, out, most := masker{mask: m}, time.Now(), 0, 0
		for piece := range strings.SplitSeq(text, "b") {
			for len(piece) > 0 {
				n := min(len(piece), 1000)
				out += len(s.write(nil, []byte(piece[:n])))
				most, piece = max(most, s.waiting()), piece[n:]
			}
		}
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("%d bytes take %s", len(text), took)
		}
		if most > MaxValue {
			t.Errorf("%d bytes wait", most)
		}
		if out == 0 {
			t.Error("nothing came out")
		}
	}
}

func BenchmarkMask(b *testing.B) {
	line := []byte("2026-01-01T00:00:00Z INFO a line as programs print them, with s and k and other letters in it\n")
	text := bytes.Repeat(line, 16<<10/len(line))
	for _, n := range []int{1, 64} {
		var values []string
		for i := range n {
			values = append(values, fmt.Sprintf("%c-secret-value-%d-abcdefghijklmnopqrstuvwxyz", 'a'+i%26, i))
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := masker{mask: NewMask(values)}
			b.SetBytes(int64(len(text)))
			var out []byte
			for b.Loop() {
				out = s.write(out[:0], text)
			}
		})
		b.Run(fmt.Sprint("make ", n), func(b *testing.B) {
			for b.Loop() {
				NewMask(values)
			}
		})
	}
}
