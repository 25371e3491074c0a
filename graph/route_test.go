package graph_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/graph"
)

// route serves a route that writes without end, and answers how its last write failed.
func route(t *testing.T, e *edge) (address string, failed <-chan error) {
	t.Helper()
	out := make(chan error, 1)
	s := httptest.NewServer(e.handler.Route(func(w http.ResponseWriter, _ *http.Request) error {
		for piece := make([]byte, 64<<10); ; {
			if _, err := w.Write(piece); err != nil {
				out <- err
				return nil
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), out
}

// stall asks for a route, reads the beginning of its answer, and then nothing.
func stall(t *testing.T, address string) *bufio.Reader {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	r, _ := http.NewRequest(http.MethodGet, "http://x/", nil)
	r.Header.Set("Authorization", goodKey)
	if err := r.Write(c); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(c)
	if _, err := in.Peek(1); err != nil {
		t.Fatal(err)
	}
	return in
}

// TestRouteStalledReader: a client that takes nothing any more holds nothing for longer than its pause.
func TestRouteStalledReader(t *testing.T) {
	t.Parallel()
	e := start(t, func(_ *edge, c *graph.Config) {
		c.Timing.Slow, c.Timing.Farewell = 100*time.Millisecond, 100*time.Millisecond
	})
	address, failed := route(t, e)
	in := stall(t, address)
	select {
	case err := <-failed:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the last write: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("the route writes on to a client that does not read")
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		var netErr net.Error
		if errors.As(err, &netErr) && netErr.Timeout() {
			t.Errorf("the connection is still there: %v", err)
		}
	}
}

// TestRouteShutdown: a client that takes nothing any more does not keep the server from stopping, whatever its pause.
func TestRouteShutdown(t *testing.T) {
	t.Parallel()
	e := start(t, func(_ *edge, c *graph.Config) { c.Timing.Slow, c.Timing.Farewell = time.Hour, time.Hour })
	address, failed := route(t, e)
	stall(t, address)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.handler.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	select {
	case <-failed:
	case <-time.After(patience):
		t.Fatal("the route writes on")
	}
}

// deadlines notes a response's write deadlines.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

// TestRouteDeadlines: each write has a time of its own, and so has what is sent behind the last one.
func TestRouteDeadlines(t *testing.T) {
	t.Parallel()
	e := start(t, nil)
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.Header.Set("Authorization", goodKey)
	began := time.Now()
	e.handler.Route(func(w http.ResponseWriter, _ *http.Request) error {
		for i := range 3 {
			if _, err := io.Copy(w, io.LimitReader(zeros{}, 10)); err != nil {
				t.Errorf("write %d: %v", i, err)
			}
		}
		return nil
	}).ServeHTTP(w, r)
	if len(w.set) != 4 || w.Body.Len() != 30 {
		t.Fatalf("%d deadlines, %d bytes", len(w.set), w.Body.Len())
	}
	for i, at := range w.set {
		if at.Before(began.Add(30*time.Second)) || i > 0 && at.Before(w.set[i-1]) {
			t.Errorf("deadline %d is %v behind the beginning", i, at.Sub(began))
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
