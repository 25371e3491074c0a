package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/graph"
	"github.com/scriptorium-dev/scriptorium/internal/database"
)

// dial opens a connection to the server's own listener.
func (s *testServer) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(withinTime))
	return c
}

// TestBytesStalledReader: who asks for bytes and does not take them is cut off, and the server can stop.
func TestBytesStalledReader(t *testing.T) {
	t.Parallel()
	c := testConfig(t, database.SQLite)
	c.timing = graph.Timing{Slow: 100 * time.Millisecond, Farewell: 100 * time.Millisecond}
	s := startConfig(t, c)
	worker := &shelf{&catalog{s, t, s.operator, ""}}
	file := worker.upload(strings.Repeat("x", 24<<20)) // more than a connection holds
	conn := s.dial(t)
	r, _ := http.NewRequest(http.MethodGet, "http://"+s.address+"/files/"+file, nil)
	r.Header.Set("Authorization", "Bearer "+worker.secret)
	if err := r.Write(conn); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	if _, err := in.Peek(1); err != nil { // it is answered: from here on nothing is read
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), withinTime)
	defer cancel()
	if err := s.edge.Shutdown(ctx); err != nil {
		t.Fatalf("a client that does not read keeps the server from stopping: %v", err)
	}
	answer, err := http.ReadResponse(in, r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if n, err := io.Copy(io.Discard, answer.Body); err == nil || n >= 24<<20 {
		t.Errorf("it got %d bytes, %v", n, err)
	}
}

// TestBytesCORS: pages of allowed origins may ask for bytes, in ranges too, and read what says which bytes they got; other pages may not.
func TestBytesCORS(t *testing.T) {
	t.Parallel()
	c := testConfig(t, database.SQLite)
	c.AllowedOrigins = []string{"https://app.example.org"}
	s := startConfig(t, c)
	worker := &shelf{&catalog{s, t, s.operator, ""}}
	file := worker.upload("0123456789")
	ask := func(method, path, secret string, header ...string) *http.Response {
		r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
		if secret != "" {
			r.Header.Set("Authorization", "Bearer "+secret)
		}
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		return w.Result()
	}
	for _, path := range []string{"/files/" + file, "/versions/ver_x/files/lib/a.py", "/artifacts/art_x", "/calls/call_x/output?stream=STDOUT"} {
		asked := []string{"Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "authorization,range,if-range"}
		got := ask(http.MethodOptions, path, "", append(asked, "Origin", "https://app.example.org")...)
		allowed := strings.ToLower(got.Header.Get("Access-Control-Allow-Headers"))
		if got.StatusCode != http.StatusNoContent || got.Header.Get("Access-Control-Allow-Origin") != "https://app.example.org" ||
			!strings.Contains(got.Header.Get("Access-Control-Allow-Methods"), "GET") || !strings.Contains(got.Header.Get("Vary"), "Origin") {
			t.Errorf("%s, asked before: %d %v", path, got.StatusCode, got.Header)
		}
		for _, name := range []string{"authorization", "range", "if-range", "if-match", "if-none-match"} {
			if !strings.Contains(", "+allowed+",", ", "+name+",") {
				t.Errorf("%s: %s is not allowed: %s", path, name, allowed)
			}
		}
		got = ask(http.MethodOptions, path, "", append(asked, "Origin", "https://evil.example.org")...)
		if got.Header.Get("Access-Control-Allow-Origin") != "" || got.Header.Get("Access-Control-Allow-Headers") != "" {
			t.Errorf("%s, for another page: %v", path, got.Header)
		}
		if got := ask(http.MethodOptions, path, ""); got.StatusCode != http.StatusNoContent || got.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
			t.Errorf("%s, OPTIONS by itself: %d %v", path, got.StatusCode, got.Header)
		}
		if got := ask(http.MethodPost, path, worker.secret); got.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s, POST: %d", path, got.StatusCode)
		}
		got = ask(http.MethodGet, path, "", "Origin", "https://app.example.org")
		if got.StatusCode != http.StatusUnauthorized || got.Header.Get("Access-Control-Allow-Origin") == "" {
			t.Errorf("%s, without a key: %d %v: a page cannot read why", path, got.StatusCode, got.Header)
		}
	}
	got := ask(http.MethodGet, "/files/"+file, worker.secret, "Origin", "https://app.example.org", "Range", "bytes=2-4")
	exposed := got.Header.Get("Access-Control-Expose-Headers")
	if got.StatusCode != http.StatusPartialContent || got.Header.Get("Access-Control-Allow-Origin") != "https://app.example.org" {
		t.Errorf("a range for a page: %d %v", got.StatusCode, got.Header)
	}
	for _, name := range []string{"ETag", "Content-Range", "Accept-Ranges", "Content-Disposition", "X-Request-Id"} {
		if got.Header.Get(name) == "" || !strings.Contains(", "+exposed+",", ", "+name+",") {
			t.Errorf("a page cannot read %s: %v", name, got.Header)
		}
	}
	if got := ask(http.MethodGet, "/files/"+file, worker.secret, "Origin", "https://evil.example.org"); got.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another page: %v", got.Header)
	}
}
