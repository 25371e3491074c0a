package file

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/blob"
)

// served is a service with some bytes, and a way to ask for them.
func served(t *testing.T, content []byte) (ask func(method string, header ...string) *http.Response, etag string) {
	t.Helper()
	blobs, err := blob.Open("mem://")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = blobs.Close() })
	ref, err := blobs.Put(t.Context(), bytes.NewReader(content), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	s := &Service{blobs: blobs}
	ask = func(method string, header ...string) *http.Response {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), method, "/files/x", nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		if err := s.ServeContent(w, r, Content{SHA256: ref.SHA256, Size: ref.Size}, "报告.html", "text/html"); err != nil {
			t.Fatal(err)
		}
		return w.Result()
	}
	return ask, `"` + ref.SHA256 + `"`
}

func read(t *testing.T, r *http.Response) string {
	t.Helper()
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestServeContent(t *testing.T) {
	t.Parallel()
	ask, etag := served(t, []byte("0123456789"))
	whole := ask("GET")
	if whole.StatusCode != 200 || read(t, whole) != "0123456789" || whole.Header.Get("ETag") != etag || whole.ContentLength != 10 {
		t.Errorf("the whole: %v", whole)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/html", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox", "Cache-Control": "private, no-cache",
		"Content-Disposition": `attachment; filename="__.html"; filename*=UTF-8''%E6%8A%A5%E5%91%8A.html`, "Accept-Ranges": "bytes",
	} {
		if got := whole.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	other := `"` + strings.Repeat("0", 64) + `"`
	for _, c := range []struct {
		name   string
		method string
		header []string
		status int
		body   string
	}{
		{"HEAD", "HEAD", nil, 200, ""},
		{"known already", "GET", []string{"If-None-Match", etag}, 304, ""},
		{"known, weakly", "GET", []string{"If-None-Match", "W/" + etag + ", " + other}, 304, ""},
		{"another known", "GET", []string{"If-None-Match", other}, 200, "0123456789"},
		{"any known", "GET", []string{"If-None-Match", "*"}, 304, ""},
		{"matching", "GET", []string{"If-Match", etag}, 200, "0123456789"},
		{"not matching", "GET", []string{"If-Match", other}, 412, ""},
		{"a range", "GET", []string{"Range", "bytes=2-4"}, 206, "234"},
		{"from somewhere on", "GET", []string{"Range", "bytes=8-"}, 206, "89"},
		{"the last bytes", "GET", []string{"Range", "bytes=-3"}, 206, "789"},
		{"a range of what it was", "GET", []string{"Range", "bytes=2-4", "If-Range", etag}, 206, "234"},
		{"a range of what it was not", "GET", []string{"Range", "bytes=2-4", "If-Range", other}, 200, "0123456789"},
		{"past the end", "GET", []string{"Range", "bytes=10-"}, 416, "invalid range: failed to overlap\n"},
		{"another unit", "GET", []string{"Range", "lines=1-2"}, 416, "invalid range\n"},
		{"HEAD of a range", "HEAD", []string{"Range", "bytes=2-4"}, 206, ""},
	} {
		got := ask(c.method, c.header...)
		if body := read(t, got); got.StatusCode != c.status || body != c.body {
			t.Errorf("%s: %d %q, want %d %q", c.name, got.StatusCode, body, c.status, c.body)
		}
	}
}

func TestServeContentRanges(t *testing.T) {
	t.Parallel()
	ask, _ := served(t, []byte("0123456789"))
	r := ask("GET", "Range", "bytes=7-8,0-1,5-5")
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || r.StatusCode != 206 {
		t.Fatalf("%d %v", r.StatusCode, err)
	}
	parts, got := multipart.NewReader(r.Body, params["boundary"]), ""
	for {
		p, err := parts.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(p)
		got += p.Header.Get("Content-Range") + "=" + string(b) + " "
	}
	if want := "bytes 7-8/10=78 bytes 0-1/10=01 bytes 5-5/10=5 "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	many := ask("GET", "Range", "bytes=0-9"+strings.Repeat(",0-9", 1000)) // would be more than the whole
	if body := read(t, many); many.StatusCode != 200 || body != "0123456789" {
		t.Errorf("a thousand overlapping ranges: %d, %d bytes", many.StatusCode, len(body))
	}
}

func TestServeContentEmptyAndGone(t *testing.T) {
	t.Parallel()
	ask, _ := served(t, nil)
	if r := ask("GET"); r.StatusCode != 200 || read(t, r) != "" || r.ContentLength != 0 {
		t.Errorf("an empty file: %v", r)
	}
	blobs, err := blob.Open("mem://")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = blobs.Close() })
	w := httptest.NewRecorder()
	gone := Content{SHA256: strings.Repeat("a", 64), Size: 3}
	err = (&Service{blobs: blobs}).ServeContent(w, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil), gone, "a", "text/plain")
	if err == nil || w.Body.Len() > 0 || w.Header().Get("ETag") != "" {
		t.Errorf("bytes that are gone: %v, %d bytes", err, w.Body.Len())
	}
}
