package graph

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/upload"
)

const (
	mediaJSON   = "application/json"
	mediaGQL    = "application/graphql-response+json"
	mediaEvents = "text/event-stream"
)

// wanted is what a client accepts.
type wanted struct {
	// media is the JSON media type to answer in, "" where none is accepted.
	media string
	// events says that an event stream is accepted, eventsFirst that it is preferred.
	events, eventsFirst bool
}

// negotiate reads an Accept header. Of equal weights the first wins; without the header everything is accepted.
func negotiate(accept []string) wanted {
	header := strings.TrimSpace(strings.Join(accept, ","))
	if header == "" {
		return wanted{media: mediaJSON}
	}
	var w wanted
	best, events := 0.0, 0.0
	for part := range strings.SplitSeq(header, ",") {
		name, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		weight := 1.0
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
			weight = q
		}
		switch name {
		case "*/*", "application/*":
			name = mediaJSON
			fallthrough
		case mediaJSON, mediaGQL:
			if weight > best {
				best, w.media = weight, name
			}
		case mediaEvents:
			if weight > events {
				events, w.events, w.eventsFirst = weight, true, weight > best
			}
		}
	}
	w.eventsFirst = w.events && (w.eventsFirst && events >= best || events > best)
	return w
}

// ServeHTTP answers one request, whatever its transport.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := withRequestID(r.Context())
	r = r.WithContext(ctx)
	head := w.Header()
	head.Set("X-Request-Id", RequestID(ctx))
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Cache-Control", "no-store")
	head.Add("Vary", "Accept")
	defer h.catch(w, r)
	if h.origins.headers(w, r) {
		return
	}
	if !h.enter() {
		h.fail(w, r, mediaJSON, gqlerror.List{gqlerror.Wrap(fault.NewProblem(fault.Unavailable, "%s", ErrStopping))})
		return
	}
	defer h.work.Done()
	want := negotiate(r.Header.Values("Accept"))
	switch {
	case isSocket(r):
		h.serveSocket(w, r)
	case r.Method == http.MethodOptions:
		head.Set("Allow", "GET, POST, OPTIONS")
		w.WriteHeader(http.StatusNoContent)
	case r.Method != http.MethodGet && r.Method != http.MethodPost:
		head.Set("Allow", "GET, POST, OPTIONS")
		h.failWith(w, r, http.StatusMethodNotAllowed, mediaJSON, refuse(fault.BadRequest, "the method %s is not answered here", r.Method))
	case want.media == "" && !want.events:
		err := refuse(fault.BadRequest, "answers are %s, %s or %s", mediaGQL, mediaJSON, mediaEvents)
		h.failWith(w, r, http.StatusNotAcceptable, mediaJSON, err)
	default:
		h.serveRequest(w, r, want)
	}
}

// catch turns a panic into an internal error.
func (h *Handler) catch(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
		panic(p)
	}
	h.fail(w, r, mediaJSON, gqlerror.List{gqlerror.Wrap(&panicked{p, debug.Stack()})})
}

// serveRequest reads a request over POST or GET and answers it, as JSON or as an event stream.
func (h *Handler) serveRequest(w http.ResponseWriter, r *http.Request, want wanted) {
	media := want.media
	if media == "" {
		media = mediaGQL
	}
	ctx, who, err := h.identify(r.Context(), r.Header.Get("Authorization"))
	if err != nil {
		h.fail(w, r, media, gqlerror.List{err})
		return
	}
	req, status, err := h.readRequest(w, r, who)
	if err != nil {
		h.failWith(w, r, status, media, err)
		return
	}
	if req.close != nil {
		defer req.close()
	}
	ctx = upload.With(ctx, req.uploads)
	r = r.WithContext(ctx)
	doc, op, errs := h.choose(req, who)
	if op != nil && r.Method == http.MethodGet && op.Operation == ast.Mutation {
		w.Header().Set("Allow", "POST")
		h.failWith(w, r, http.StatusMethodNotAllowed, media, refuse(fault.BadRequest, "a mutation needs POST"))
		return
	}
	if want.eventsFirst || op != nil && op.Operation == ast.Subscription && want.events {
		h.serveEvents(w, r, who, req, doc, op, errs)
		return
	}
	if op != nil && op.Operation == ast.Subscription {
		err := refuse(fault.BadRequest, "a subscription needs a WebSocket, or Accept: %s", mediaEvents)
		h.failWith(w, r, http.StatusBadRequest, media, err)
		return
	}
	if errs != nil {
		h.fail(w, r, media, errs)
		return
	}
	oc, errs := h.prepare(ctx, req, doc, op)
	if errs != nil {
		h.fail(w, r, media, errs)
		return
	}
	ctx, end := h.lifetime(ctx, oc)
	defer end()
	resp := h.execute(ctx, oc).answer()
	if resp == nil {
		resp = h.expired(ctx)
	}
	h.write(w, media, resp)
}

// drained is how many bytes of a body that is too long are read and thrown away before it is refused.
const drained = 16 << 20

// readRequest reads the request that a POST's body or a GET's query string holds, or answers the status to refuse it with.
func (h *Handler) readRequest(w http.ResponseWriter, r *http.Request, who caller) (*request, int, *gqlerror.Error) {
	if len(r.URL.RawQuery) > h.limits.Body {
		return nil, http.StatusRequestEntityTooLarge, exceeded("the length of a query string in bytes", h.limits.Body)
	}
	var req *request
	var err *gqlerror.Error
	if r.Method == http.MethodGet {
		req, err = parseQueryString(r.URL.Query())
	} else if boundary, ok := isMultipart(r.Header.Get("Content-Type")); ok {
		if !who.known {
			return nil, http.StatusUnauthorized, refuse(fault.Unauthenticated, "a key is needed: Authorization: Bearer <secret>")
		}
		var status int
		if req, status, err = h.readMultipart(w, r, who, boundary); err != nil {
			return nil, status, err
		}
	} else {
		if !isJSON(r.Header.Get("Content-Type")) {
			return nil, http.StatusUnsupportedMediaType, refuse(fault.BadRequest, "the Content-Type of a POST must be %s, in UTF-8, or multipart/form-data", mediaJSON)
		}
		body, failure := readLimited(r.Body, h.limits.Body) // TimeBodies bounds the time
		if errors.Is(failure, errTooLarge) {
			// A client that is still sending would take a closed connection for the answer: the rest is read, up to a bound.
			_, _ = io.CopyN(io.Discard, r.Body, drained)
			w.Header().Set("Connection", "close")
			return nil, http.StatusRequestEntityTooLarge, exceeded("the length of a body in bytes", h.limits.Body)
		}
		if failure != nil {
			w.Header().Set("Connection", "close")
			return nil, http.StatusBadRequest, refuse(fault.BadRequest, "the body could not be read whole")
		}
		req, err = parseRequest(body)
	}
	if err != nil {
		return nil, http.StatusBadRequest, err
	}
	req.headers = r.Header
	return req, 0, nil
}

// fail answers a request that is not executed.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, media string, errs gqlerror.List) {
	resp := h.presented(r.Context(), errs)
	h.writeStatus(w, statusOf(resp.Errors, media), media, resp)
}

// failWith is fail with a status of its own.
func (h *Handler) failWith(w http.ResponseWriter, r *http.Request, status int, media string, err *gqlerror.Error) {
	h.writeStatus(w, status, media, h.presented(r.Context(), gqlerror.List{err}))
}

// write answers an executed operation: 200, unless it has no data because the server cannot work.
func (h *Handler) write(w http.ResponseWriter, media string, resp *graphql.Response) {
	if resp.Data == nil {
		h.writeStatus(w, statusOf(resp.Errors, media), media, resp)
		return
	}
	status := http.StatusOK
	if string(resp.Data) == "null" && len(resp.Errors) > 0 && codeOf(resp.Errors[0]) == fault.Unavailable {
		status = http.StatusServiceUnavailable
	}
	h.writeStatus(w, status, media, resp)
}

// writeStatus writes a response. A client that does not take it in time is given up.
func (h *Handler) writeStatus(w http.ResponseWriter, status int, media string, resp *graphql.Response) {
	body := encode(resp)
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="scriptorium"`)
	}
	w.Header().Set("Content-Type", media+"; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Now().Add(h.timing.Slow + h.timing.Farewell))
	w.WriteHeader(status)
	_, _ = w.Write(body)
	_ = control.Flush()
	_ = control.SetWriteDeadline(time.Time{}) // it is the connection's, which may serve more requests
}

// recheck reports whether the caller's key is still good. Where that cannot be told, it is.
func (h *Handler) recheck(ctx context.Context, who caller) bool {
	if who.authorization == "" {
		return true
	}
	_, err := h.lookUp(ctx, who.authorization)
	p, ok := errors.AsType[*fault.Problem](err)
	return !ok || p.Code != fault.Unauthenticated
}
