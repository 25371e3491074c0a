package runner_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// 1 GiB in lines comes through, counted and not kept; after it the next call works.
func TestGibibyteOfOutput(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{})
	total, lines, most := 0, 0, 0
	res, err := c.Call(t.Context(), runnertest.Python("import sys\nb = (b'x' * 1023 + b'\\n') * 1024\nfor i in range(1024): sys.stdout.buffer.write(b)\n"),
		runner.SinkFunc(func(_ runner.Stream, p []byte) error {
			total, lines, most = total+len(p), lines+bytes.Count(p, []byte("\n")), max(most, len(p))
			return nil
		}))
	if err != nil || res.ExitCode != 0 || total != 1<<30 || lines != 1<<20 || most > runner.MaxChunkBytes {
		t.Errorf("%+v %v: %d bytes, %d lines, %d at once", res, err, total, lines, most)
	}
	if res, out := runnertest.Run(t, c, runnertest.Python("print('fine')")); out.Stdout.String() != "fine\n" {
		t.Errorf("the next call: %+v", res)
	}
}

// Output of every shape comes out as it went in, from Python and from Node.
func TestOutputIsExact(t *testing.T) {
	t.Parallel()
	c := newComputer(t, runner.Spec{})
	smile := strings.Repeat("😀é", 100_000) // a border of every read is within a character, sooner or later
	for _, k := range []struct{ name, python, node, out, err string }{
		{"one line of 50 MiB", "sys.stdout.write('l' * (50 << 20))", "out('l'.repeat(50 << 20))", strings.Repeat("l", 50<<20), ""},
		{"no newline at the end", "sys.stdout.write('one\\ntwo')", "out('one\\ntwo')", "one\ntwo", ""},
		{"nothing", "", "", "", ""},
		{"characters across reads", "sys.stdout.write('x' + '😀é' * 100000)", "out('x' + '😀é'.repeat(100000))", "x" + smile, ""},
		{"half a character", "w(b'ab\\xf0\\x9f\\x98')", "out(Buffer.from([97, 98, 0xf0, 0x9f, 0x98]))", "ab\xf0\x9f\x98", ""},
		{"NULs and what is no UTF-8", "w(b'a\\0b\\0\\0\\xff\\xfe\\x80\\n' * 20000)", "for (let i = 0; i < 20000; i++) out(Buffer.from('6100620000fffe800a', 'hex'))",
			strings.Repeat("a\x00b\x00\x00\xff\xfe\x80\n", 20_000), ""},
		{"CR and CRLF", "sys.stdout.write('a\\rb\\r\\nc\\n\\r\\r')", "out('a\\rb\\r\\nc\\n\\r\\r')", "a\rb\r\nc\n\r\r", ""},
		{"both streams in turns", "for i in range(3000): print(i); print(-i, file=sys.stderr)", "for (let i = 0; i < 3000; i++) { console.log(i); console.error(i ? -i : 0) }",
			numbers(""), numbers("-")},
	} {
		for _, call := range []runner.Call{runnertest.Python("import sys\nw = sys.stdout.buffer.write\n" + k.python), nodeCall("const out = (x) => process.stdout.write(x);\n" + k.node)} {
			res, out := runnertest.Run(t, c, call)
			if res.ExitCode != 0 || out.Stdout.String() != k.out || out.Stderr.String() != k.err {
				t.Errorf("%s, %s: %+v, %d and %d bytes of %d and %d, %x of %x, %.100q", k.name, call.Argv[0], res, out.Stdout.Len(), out.Stderr.Len(), len(k.out), len(k.err),
					sha256.Sum256(out.Stdout.Bytes()), sha256.Sum256([]byte(k.out)), out.Stderr.String())
			}
		}
	}
}

func numbers(sign string) string {
	var b strings.Builder
	for i := range 3000 {
		if i == 0 {
			b.WriteString("0\n")
			continue
		}
		fmt.Fprintf(&b, "%s%d\n", sign, i)
	}
	return b.String()
}

// nodeCall is a call of a source of Node's.
func nodeCall(source string) runner.Call {
	call := runnertest.Python(source)
	call.Argv, call.Files[0].Path = []string{"node", "main.js"}, "/workspace/main.js"
	return call
}
