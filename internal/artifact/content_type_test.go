package artifact

import (
	"io"
	"strings"
	"testing"
)

func TestContentType(t *testing.T) {
	t.Parallel()
	const text, unknown = "text/plain; charset=utf-8", "application/octet-stream"
	for _, c := range []struct{ name, content, want string }{
		{"deck.pptx", "PK\x03\x04\x00", "application/vnd.openxmlformats-officedocument.presentationml.presentation"}, {"a.PDF", "%PDF\x00", "application/pdf"},
		{"a.html", "<p>", "text/html; charset=utf-8"}, {"a.html", "\x00", unknown}, {"a.txt", "a\xff", unknown}, {"a.csv", "", "text/csv; charset=utf-8"},
		{"none", "<script>", text}, {"none", "", unknown}, {"none", "\x1b[0m", unknown}, {"a.unknown", "报告\n", text}, {"cut", strings.Repeat("a", 511) + "é", text},
		{"a.html\n", "x", text}, {"\xff.txt", "x", text},
	} {
		head, all := peek(strings.NewReader(c.content))
		if got := contentType(c.name, head); got != c.want {
			t.Errorf("%q of %.20q: %s", c.name, c.content, got)
		}
		if b, err := io.ReadAll(all); err != nil || string(b) != c.content {
			t.Errorf("%q reads %d of %d bytes: %v", c.name, len(b), len(c.content), err)
		}
	}
}
