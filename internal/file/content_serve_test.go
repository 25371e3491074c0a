package file

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
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
		{"past the end with an end", "GET", []string{"Range", "bytes=10-20"}, 416, "invalid range: failed to overlap\n"},
		{"far past the end", "GET", []string{"Range", "bytes=" + strings.Repeat("9", 30) + "-"}, 416, "invalid range: failed to overlap\n"},
		{"the last none", "GET", []string{"Range", "bytes=-0"}, 416, "invalid range: failed to overlap\n"},
		{"another unit", "GET", []string{"Range", "lines=1-2"}, 200, "0123456789"},
		{"the unit in capitals", "GET", []string{"Range", "Bytes=2-4"}, 206, "234"},
		{"an end past the end", "GET", []string{"Range", "bytes=8-10"}, 206, "89"},
		{"an end far past the end", "GET", []string{"Range", "bytes=8-" + strings.Repeat("9", 30)}, 206, "89"},
		{"more than there is from the end", "GET", []string{"Range", "bytes=-11"}, 206, "0123456789"},
		{"far more from the end", "GET", []string{"Range", "bytes=-" + strings.Repeat("9", 30)}, 206, "0123456789"},
		{"zeros before", "GET", []string{"Range", "bytes=" + strings.Repeat("0", 40) + "2-4"}, 206, "234"},
		{"one of two past the end", "GET", []string{"Range", "bytes=20-30, 2-4"}, 206, "234"},
		{"empty ranges beside one", "GET", []string{"Range", "bytes=, 2-4 ,"}, 206, "234"},
		{"back to front", "GET", []string{"Range", "bytes=4-2"}, 200, "0123456789"},
		{"no range", "GET", []string{"Range", "bytes=-"}, 200, "0123456789"},
		{"no number", "GET", []string{"Range", "bytes=0x1-2"}, 200, "0123456789"},
		{"a sign", "GET", []string{"Range", "bytes=--3"}, 200, "0123456789"},
		{"no list", "GET", []string{"Range", "bytes"}, 200, "0123456789"},
		{"17 ranges", "GET", []string{"Range", "bytes=0-0" + strings.Repeat(",2-2", 16)}, 200, "0123456789"},
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
	for _, wanted := range []string{"", "bytes=0-", "bytes=-5", "bytes=3-4"} {
		if r := ask("GET", "Range", wanted); r.StatusCode != 200 || read(t, r) != "" || r.ContentLength != 0 {
			t.Errorf("%q of an empty file: %v", wanted, r)
		}
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

// opened counts the readers of some bytes.
type opened struct {
	content       string
	all, open     atomic.Int64
	reading, stop chan struct{} // where they are set, a reader tells that it is read, and waits for the end of the test
}

type openedReader struct {
	io.Reader
	of   *opened
	once sync.Once
}

func (o *opened) at(offset, length int64) (io.ReadCloser, error) {
	o.all.Add(1)
	o.open.Add(1)
	rest := o.content[offset:]
	if length >= 0 {
		rest = rest[:length]
	}
	return &openedReader{Reader: strings.NewReader(rest), of: o}, nil
}

func (r *openedReader) Read(p []byte) (int, error) {
	if r.of.reading != nil {
		r.once.Do(func() { r.of.reading <- struct{}{} })
		<-r.of.stop
	}
	return r.Reader.Read(p[:min(len(p), 512)])
}

func (r *openedReader) Close() error {
	r.of.open.Add(-1)
	return nil
}

// TestServeContentOpensOnce: bytes are opened once for an answer, and once for each range where these are far from each other.
func TestServeContentOpensOnce(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("0123456789", 1<<20/10)
	size := int64(len(content))
	for _, c := range []struct {
		method  string
		header  []string
		opens   int64
		answers int
	}{
		{"GET", nil, 1, len(content)},
		{"HEAD", nil, 1, 0},
		{"GET", []string{"If-None-Match", `"x"`}, 2, 0},
		{"GET", []string{"Range", "bytes=7-"}, 1, len(content) - 7},
		{"GET", []string{"Range", "bytes=-7"}, 1, 7},
		{"GET", []string{"Range", "bytes=900000-900001"}, 1, 2},
		{"GET", []string{"Range", "bytes=900000-900001", "If-Range", `"another"`}, 2, len(content)},
		{"GET", []string{"Range", "bytes=0-0, 100-200, 1000-1010"}, 1, 0},
		{"GET", []string{"Range", "bytes=500000-500000, 100-200, 800000-800010"}, 3, 0},
		{"GET", []string{"Range", "bytes=0-0" + strings.Repeat(",100000-100000,0-0", 1000)}, 1, len(content)},
		{"GET", []string{"Range", "bytes=9999999-"}, 1, 0},
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, "/", nil)
		for i := 0; i < len(c.header); i += 2 {
			r.Header.Set(c.header[i], c.header[i+1])
		}
		o, w := &opened{content: content}, httptest.NewRecorder()
		if err := serveContent(w, r, Content{SHA256: strings.Repeat("a", 64), Size: size}, "a", "text/plain", o.at); err != nil {
			t.Fatal(err)
		}
		if n := o.all.Load(); n > c.opens || o.open.Load() != 0 || c.answers > 0 && w.Body.Len() != c.answers {
			t.Errorf("%s %.80v: opened %d times, %d left open, %d bytes", c.method, c.header, n, o.open.Load(), w.Body.Len())
		}
	}
}

// goneWriter is a client that goes away before the first byte.
type goneWriter struct {
	*httptest.ResponseRecorder
	reading <-chan struct{}
}

// Write implements io.Writer.
func (w goneWriter) Write([]byte) (int, error) {
	<-w.reading
	return 0, io.ErrClosedPipe
}

// TestServeContentClientGone: where a client goes away amid several ranges nothing is left open, and nothing is opened behind that.
func TestServeContentClientGone(t *testing.T) {
	t.Parallel()
	o := &opened{content: strings.Repeat("x", 1<<20), reading: make(chan struct{}, 1), stop: make(chan struct{})}
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
	r.Header.Set("Range", "bytes=0-10,900000-900001,500000-500001")
	served := make(chan error, 1)
	go func() {
		served <- serveContent(goneWriter{httptest.NewRecorder(), o.reading}, r, Content{SHA256: strings.Repeat("a", 64), Size: 1 << 20}, "a", "text/plain", o.at)
	}()
	select {
	case <-served:
		t.Fatal("it did not wait for the reading under way")
	case o.stop <- struct{}{}: // one reading goes on only behind the client's going
	}
	close(o.stop)
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	if n := o.open.Load(); n != 0 {
		t.Errorf("%d readers are left open", n)
	}
}
