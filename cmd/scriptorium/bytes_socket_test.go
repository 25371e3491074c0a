package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/database"
)

const (
	partsHead = "--x\r\nContent-Disposition: form-data; name=operations\r\n\r\n" + uploadOperations +
		"\r\n--x\r\nContent-Disposition: form-data; name=map\r\n\r\n{\"0\": [\"variables.file\"]}\r\n" +
		"--x\r\nContent-Disposition: form-data; name=\"0\"; filename=\"a\"\r\n\r\n"
	partsTail = "\r\n--x--\r\n"
)

// post begins a multipart request on a connection; length is its header about that.
func post(t *testing.T, c net.Conn, secret, length string) {
	t.Helper()
	_, err := fmt.Fprintf(c, "POST /graphql HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: multipart/form-data; boundary=x\r\n%s\r\n\r\n", secret, length)
	if err != nil {
		t.Fatal(err)
	}
}

// chunk is a piece of a chunked body.
func chunk(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }

// answered reads an answer whole.
func answered(t *testing.T, in *bufio.Reader) (status int, body string) {
	t.Helper()
	a, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(b)
}

// openUploads counts the files without a name of requests with files that this process has open.
func openUploads(t *testing.T, folder string) (n int) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && strings.HasPrefix(to, folder) {
			n++
		}
	}
	return n
}

// TestUploadsBreakOff: clients that go away amid a file leave nothing: no temporary file, none of their places, no content, no row.
func TestUploadsBreakOff(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	s := startServer(t, database.SQLite)
	worker := &shelf{&catalog{s, t, s.operator, ""}}
	half := partsHead + strings.Repeat("x", 1<<20)
	for range 3 { // more in all than one key has places
		for _, length := range []string{"Content-Length: 8000000", "Transfer-Encoding: chunked"} {
			for range 2 {
				c := s.dial(t)
				post(t, c, worker.secret, length)
				text := half
				if strings.HasPrefix(length, "Transfer") {
					text = chunk(half)
				}
				if _, err := io.WriteString(c, text); err != nil {
					t.Fatal(err)
				}
				if err := c.(*net.TCPConn).CloseWrite(); err != nil { // it says that it sends no more: so the server's answer is seen
					t.Fatal(err)
				}
				if status, body := answered(t, bufio.NewReader(c)); status != http.StatusBadRequest || !strings.Contains(body, "did not come whole") {
					t.Errorf("%s: %d %s", length, status, body)
				}
				_ = c.Close()
			}
		}
	}
	c := s.dial(t)
	post(t, c, worker.secret, "Content-Length: 8000000")
	if _, err := io.WriteString(c, half); err != nil {
		t.Fatal(err)
	}
	_ = c.(*net.TCPConn).SetLinger(0)
	_ = c.Close() // without a word
	worker.upload("there is room")
	ctx, cancel := context.WithTimeout(t.Context(), withinTime)
	defer cancel()
	if err := s.edge.Shutdown(ctx); err != nil { // all that was begun has ended
		t.Fatal(err)
	}
	if n := openUploads(t, folder); n != 0 {
		t.Errorf("%d files without a name are open", n)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
	var contents, files int
	if err := s.db.SQL().QueryRowContext(ctx, "SELECT (SELECT count(*) FROM contents), (SELECT count(*) FROM files)").Scan(&contents, &files); err != nil {
		t.Fatal(err)
	}
	if contents != 1 || files != 1 {
		t.Errorf("kept: %d contents, %d files", contents, files)
	}
}

// TestUploadsInChunks: a body in chunks is read to its end, and its connection serves the next request; where it is refused the answer comes, whatever the client still
// sends, and then the connection is closed.
func TestUploadsInChunks(t *testing.T) {
	t.Parallel()
	s := startServer(t, database.SQLite)
	worker := &shelf{&catalog{s, t, s.operator, ""}}
	c := s.dial(t)
	in := bufio.NewReader(c)
	for i := range 3 {
		post(t, c, worker.secret, "Transfer-Encoding: chunked")
		for _, text := range []string{chunk(partsHead), chunk(fmt.Sprint("file ", i)), chunk(partsTail), chunk("what follows"), "0\r\n\r\n"} {
			if _, err := io.WriteString(c, text); err != nil {
				t.Fatal(err)
			}
		}
		if status, body := answered(t, in); status != http.StatusOK || !strings.Contains(body, hexSum(fmt.Sprint("file ", i))) {
			t.Fatalf("request %d on one connection: %d %s", i, status, body)
		}
	}
	for name, refused := range map[string]struct {
		secret, body string
		status       int
	}{
		"no operations":       {worker.secret, "--x\r\nContent-Disposition: form-data; name=map\r\n\r\n{}\r\n", http.StatusBadRequest},
		"no key":              {"sk_wrong", partsHead, http.StatusUnauthorized},
		"too large a file":    {worker.secret, partsHead + strings.Repeat("x", 32<<20+1), http.StatusRequestEntityTooLarge},
		"much behind its end": {worker.secret, partsHead + partsTail + strings.Repeat("x", 1<<20), http.StatusRequestEntityTooLarge},
	} {
		c := s.dial(t)
		post(t, c, refused.secret, "Transfer-Encoding: chunked")
		sent := make(chan struct{})
		go func() { // until it is told that nobody listens
			defer close(sent)
			for text := chunk(refused.body); ; text = chunk(strings.Repeat("x", 1<<20)) {
				if _, err := io.WriteString(c, text); err != nil {
					return
				}
			}
		}()
		in := bufio.NewReader(c)
		if status, body := answered(t, in); status != refused.status || !strings.Contains(body, `"errors"`) {
			t.Errorf("%s: %d %s", name, status, body)
		}
		if b, err := in.ReadByte(); !errors.Is(err, io.EOF) { // a reset could have come before the answer was read
			t.Errorf("%s: behind the answer there is %q, %v", name, b, err)
		}
		_ = c.Close()
		<-sent
	}
}
