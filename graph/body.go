package graph

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// TimeBodies gives each request a time in which its body has to come, whether it is read or not: net/http reads what a
// handler left before it sends the answer, and by itself waits for it without end. What comes late ends the connection.
func TimeBodies(next http.Handler, limit time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			control := http.NewResponseController(w)
			_ = control.SetReadDeadline(time.Now().Add(limit))
			// net/http looks at the body that it made, to part from a client that is still sending so that it gets its answer: that stays in its request.
			r = r.WithContext(r.Context())
			// Behind the body net/http goes on reading, to learn when the client leaves: that has no deadline.
			r.Body = &timedBody{r.Body, func() { _ = control.SetReadDeadline(time.Time{}) }}
		}
		next.ServeHTTP(w, r)
	})
}

type timedBody struct {
	io.ReadCloser
	whole func()
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.whole()
	}
	return n, err
}
