package file

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// FuzzRange: whatever is asked for, the answer has no more bytes than there are, from where it says, and never fails by itself.
func FuzzRange(f *testing.F) {
	for _, s := range []string{
		"", "bytes=", "bytes=0-", "bytes=-1", "bytes=-0", "bytes=2-4,6-7", "bytes=99999999999999999999999999-", "bytes=1-99999999999999999999999999", "lines=1-2", "bytes=,,1-1",
		"bytes = 1 - 2", "bytes=4-2", "bytes=\xff-", "bytes=0-0" + strings.Repeat(",1-1", 20),
	} {
		f.Add(s)
	}
	const content = "0123456789"
	f.Fuzz(func(t *testing.T, header string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header["Range"] = []string{header}
		r, wanted := understood(r, int64(len(content)))
		if len(wanted) > maxRanges {
			t.Fatalf("%q asks for %d ranges", header, len(wanted))
		}
		for _, s := range wanted {
			if s.first < 0 || s.last < s.first || s.first > int64(len(content)) || s.last > int64(len(content)) {
				t.Fatalf("%q is read as %v", header, wanted)
			}
		}
		w := httptest.NewRecorder()
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
		switch {
		case len(wanted) == 0 && (w.Code != http.StatusOK || w.Body.String() != content):
			t.Fatalf("%q, which is ignored: %d %q", header, w.Code, w.Body)
		case w.Code == http.StatusPartialContent && len(wanted) == 1 && w.Body.String() != content[wanted[0].first:wanted[0].last+1]:
			t.Fatalf("%q, read as %v: %q", header, wanted, w.Body)
		case w.Code != http.StatusOK && w.Code != http.StatusPartialContent && w.Code != http.StatusRequestedRangeNotSatisfiable:
			t.Fatalf("%q: %d", header, w.Code)
		}
	})
}
