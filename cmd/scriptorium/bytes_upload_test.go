package main

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/database"
)

// withinTime bounds every wait of these tests.
const withinTime = 30 * time.Second

// stuckBody is a body that tells when it is read, and ends when the test says so.
type stuckBody struct {
	once      sync.Once
	read, end chan struct{}
}

// Read implements io.Reader.
func (b *stuckBody) Read(p []byte) (int, error) {
	b.once.Do(func() { close(b.read) })
	<-b.end
	return 0, io.ErrUnexpectedEOF
}

// TestUploadsOfOneKey: however a client spells its header, it has the same share of the requests with files, and leaves room for others.
func TestUploadsOfOneKey(t *testing.T) {
	t.Parallel()
	s := startServer(t, database.SQLite)
	worker := &shelf{&catalog{s, t, s.operator, ""}}
	other := worker.key("FILES")
	spellings := []string{"Bearer ", "bearer ", "BEARER ", "Bearer  ", "Bearer   ", "bEARER ", "beareR  ", "BEArer    "}
	request := func(authorization string) *http.Request {
		r := multipartRequest(t, uploadOperations, `{"0": ["variables.file"]}`, sentFile{"0", "a", "", "a"})
		r.Header.Set("Authorization", authorization)
		return r
	}
	ended := make(chan int, len(spellings))
	bodies := make([]*stuckBody, len(spellings))
	for i, spelling := range spellings {
		r := request(spelling + worker.secret)
		bodies[i] = &stuckBody{read: make(chan struct{}), end: make(chan struct{})}
		r.Body = io.NopCloser(bodies[i])
		go func() { ended <- worker.serve(r, "").status }()
		select {
		case <-bodies[i].read:
		case <-time.After(withinTime):
			t.Fatalf("%q gets no place", spelling)
		}
	}
	if a := worker.serve(request("BEARER     "+worker.secret), ""); a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "too many requests with files") {
		t.Errorf("one more of the same key: %d %s", a.status, a.body)
	}
	if a := other.serve(request("Bearer "+other.secret), ""); a.status != http.StatusOK {
		t.Errorf("another key: %d %s", a.status, a.body)
	}
	for _, b := range bodies {
		close(b.end)
	}
	for range bodies {
		if status := <-ended; status != http.StatusBadRequest {
			t.Errorf("one that broke off is answered %d", status)
		}
	}
	if a := worker.serve(request("Bearer "+worker.secret), ""); a.status != http.StatusOK {
		t.Errorf("when they are answered: %d %s", a.status, a.body)
	}
}
