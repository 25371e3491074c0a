package graph_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/graph"
)

// TestBodyThatNeverComes: a client that sends less than it announced gets its answer, and holds nothing for ever.
func TestBodyThatNeverComes(t *testing.T) {
	t.Parallel()
	read := http.NewServeMux()
	read.HandleFunc("/unread", func(http.ResponseWriter, *http.Request) {})
	read.HandleFunc("/read", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err == nil {
			w.WriteHeader(http.StatusTeapot)
		}
	})
	s := httptest.NewServer(graph.TimeBodies(read, 50*time.Millisecond))
	t.Cleanup(s.Close)
	for _, path := range []string{"/unread", "/read"} {
		for _, length := range []string{"Content-Length: 100", "Transfer-Encoding: chunked"} {
			c, err := net.Dial("tcp", s.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			_ = c.SetDeadline(time.Now().Add(patience))
			fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n5\r\n{", path, length)
			in := bufio.NewReader(c)
			answer, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatalf("%s, %s: %v", path, length, err)
			}
			if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
				t.Fatalf("%s, %s: %d %v", path, length, answer.StatusCode, err)
			}
			_ = answer.Body.Close()
			if _, err := in.ReadByte(); err == nil {
				t.Fatalf("%s, %s: more than an answer", path, length)
			}
		}
	}
}

// TestBodyTimeEndsWithIt: once a body is there, an answer may take longer, and the connection serves the next request.
func TestBodyTimeEndsWithIt(t *testing.T) {
	t.Parallel()
	const limit = 50 * time.Millisecond
	s := httptest.NewServer(graph.TimeBodies(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		select {
		case <-r.Context().Done(): // as if the client had left
			w.WriteHeader(http.StatusTeapot)
		case <-time.After(3 * limit):
			_, _ = w.Write(b)
		}
	}), limit))
	t.Cleanup(s.Close)
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	in := bufio.NewReader(c)
	for range 2 {
		fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi")
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(answer.Body); err != nil || string(b) != "hi" {
			t.Fatalf("%d %q %v", answer.StatusCode, b, err)
		}
		_ = answer.Body.Close()
	}
}
