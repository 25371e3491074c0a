package graph

import (
	"context"
	"net/http"
	"time"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// Route makes a handler of an HTTP route beside the API: it has a request id, needs a key, and answers errors in the API's form and
// with the API's codes: {"errors": [{"message", "extensions": {"code", "requestId"}}]}. serve writes the answer, or returns an error before it
// has written anything. Its request's context carries the viewer, and ends where Shutdown gives up waiting. A client that takes nothing of the answer for
// Timing.Slow and Timing.Farewell is cut off.
func (h *Handler) Route(serve func(w http.ResponseWriter, r *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(withRequestID(r.Context()))
		w.Header().Set("X-Request-Id", RequestID(r.Context()))
		if !h.enter() {
			h.failRoute(w, r, fault.NewProblem(fault.Unavailable, "%s", ErrStopping.Error()))
			return
		}
		defer h.work.Done()
		defer h.catch(w, r)
		authorization := r.Header.Get("Authorization")
		if authorization == "" {
			h.failRoute(w, r, fault.NewProblem(fault.Unauthenticated, "this needs a key: Authorization: Bearer <secret>"))
			return
		}
		known, err := h.lookUp(r.Context(), authorization)
		if err == nil {
			err = h.serveRoute(w, r.WithContext(known), serve)
		}
		if err != nil {
			h.failRoute(w, r, err)
		}
	})
}

// serveRoute has serve answer, for as long as the client takes it and the server may go on.
func (h *Handler) serveRoute(w http.ResponseWriter, r *http.Request, serve func(w http.ResponseWriter, r *http.Request) error) error {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	timed := &timedWriter{w, http.NewResponseController(w), ctx, h.timing.Slow + h.timing.Farewell}
	defer context.AfterFunc(h.forced, func() {
		cancel(context.Cause(h.forced))
		_ = timed.control.SetWriteDeadline(time.Now()) // a write under way ends
	})()
	defer timed.extend() // for what net/http still holds; it takes the deadline away when that has gone
	return serve(timed, r.WithContext(ctx))
}

// timedWriter gives each write a time of its own: how long all of them take depends on how many bytes there are. It has no ReadFrom, which would be one write.
type timedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	ctx     context.Context
	pause   time.Duration
}

// Write implements io.Writer.
func (w *timedWriter) Write(p []byte) (int, error) {
	if !w.extend() {
		return 0, context.Cause(w.ctx)
	}
	return w.ResponseWriter.Write(p)
}

// extend begins a new pause, unless the context has ended. It is asked behind the deadline: whoever ends it sets another one afterwards.
func (w *timedWriter) extend() bool {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.pause))
	if w.ctx.Err() != nil {
		_ = w.control.SetWriteDeadline(time.Now())
		return false
	}
	return true
}

// Unwrap is for http.ResponseController.
func (w *timedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// routeStatus are the HTTP statuses of a route's errors.
var routeStatus = map[fault.ProblemCode]int{
	fault.Unauthenticated: http.StatusUnauthorized, fault.Denied: http.StatusForbidden, fault.Missing: http.StatusNotFound,
	fault.Unavailable: http.StatusServiceUnavailable, fault.TimedOut: http.StatusGatewayTimeout, fault.Internal: http.StatusInternalServerError,
}

// failRoute answers an error.
func (h *Handler) failRoute(w http.ResponseWriter, r *http.Request, err error) {
	resp := h.presented(context.WithoutCancel(r.Context()), gqlerror.List{gqlerror.Wrap(err)})
	status, ok := routeStatus[codeOf(resp.Errors[0])]
	if !ok {
		status = http.StatusBadRequest
	}
	h.writeStatus(w, status, mediaJSON, resp)
}
