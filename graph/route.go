package graph

import (
	"context"
	"net/http"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// Route makes a handler of an HTTP route beside the API: it has a request id, needs a key, and answers errors in the API's form and
// with the API's codes: {"errors": [{"message", "extensions": {"code", "requestId"}}]}. serve writes the answer, or returns an error before it
// has written anything. Its request's context carries the viewer.
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
			r = r.WithContext(known)
			err = serve(w, r)
		}
		if err != nil {
			h.failRoute(w, r, err)
		}
	})
}

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
