package graph

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// eventStream writes server-sent events. Each write has a deadline: a client that does not read is let go, and comes back with the id of the
// last event that it has.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	slow    time.Duration
}

// openEvents sends the head of an event stream.
func (h *Handler) openEvents(w http.ResponseWriter) *eventStream {
	head := w.Header()
	head.Set("Content-Type", mediaEvents+"; charset=utf-8")
	head.Set("X-Accel-Buffering", "no") // proxies pass events on as they come
	s := &eventStream{w: w, control: http.NewResponseController(w), slow: h.timing.Slow}
	w.WriteHeader(http.StatusOK)
	return s
}

// close takes the deadline back: it is the connection's, which may serve more requests.
func (s *eventStream) close() { _ = s.control.SetWriteDeadline(time.Time{}) }

// write sends bytes at once.
func (s *eventStream) write(b []byte) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(s.slow))
	if _, err := s.w.Write(b); err != nil {
		return err
	}
	return s.control.Flush()
}

// event sends one event. A cursor that would break the frame is left out.
func (s *eventStream) event(name, id string, data []byte) error {
	var b bytes.Buffer
	b.Grow(len(data) + len(id) + 32)
	b.WriteString("event: " + name + "\n")
	if id != "" && !strings.ContainsAny(id, "\r\n\x00") {
		b.WriteString("id: " + id + "\n")
	}
	// JSON has line ends between its tokens only, so cutting at them changes nothing.
	for line := range bytes.SplitSeq(bytes.ReplaceAll(data, []byte("\r"), []byte("\n")), []byte("\n")) {
		b.WriteString("data: ")
		b.Write(line)
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return s.write(b.Bytes())
}

// last sends a refusal as the protocol has it: a next event with the errors, and the end.
func (s *eventStream) last(resp *graphql.Response) {
	if s.event("next", "", encode(resp)) == nil {
		_ = s.event("complete", "", nil)
	}
}

// serveEvents answers an operation as an event stream. A bad key is refused by status; what else is wrong with the operation is its first event.
func (h *Handler) serveEvents(
	w http.ResponseWriter, r *http.Request, who caller, req *request, doc *ast.QueryDocument, op *ast.OperationDefinition, errs gqlerror.List,
) {
	ctx := r.Context()
	if errs == nil {
		if op.Operation == ast.Subscription {
			doc, op = resumable(h.schema.Schema(), doc, op, r.Header.Get("Last-Event-ID"))
		}
		var oc *graphql.OperationContext
		if oc, errs = h.prepare(ctx, req, doc, op); errs == nil {
			h.stream(w, ctx, who, oc)
			return
		}
	}
	resp := h.presented(ctx, errs)
	if codeOf(resp.Errors[0]) == fault.Unauthenticated {
		h.writeStatus(w, http.StatusUnauthorized, mediaGQL, resp)
		return
	}
	s := h.openEvents(w)
	defer s.close()
	s.last(resp)
}

// streamed is one answer on its way to an event stream.
type streamed struct {
	id   string
	data []byte
	// refused says that there was no first event: the operation was refused.
	refused bool
}

// stream executes an operation and sends its answers. The source is asked for the next one only when the one before has been taken.
func (h *Handler) stream(w http.ResponseWriter, client context.Context, who caller, oc *graphql.OperationContext) {
	ctx, end := h.lifetime(client, oc)
	defer end()
	ctx, broken := withStream(ctx)
	answers := make(chan streamed)
	go h.produce(ctx, oc, answers)
	s := h.openEvents(w)
	defer s.close()
	done := h.pump(s, client, who, answers)
	if oc.Operation.Operation == ast.Subscription {
		// Ended by the server, by the client, or by a source that broke: the client comes back.
		done = done && ctx.Err() == nil && broken.err() == nil
		end()
	}
	for range answers { // a mutation goes on without its client
	}
	if done {
		_ = s.event("complete", "", nil)
	}
}

// produce executes an operation and hands out its answers; the channel is closed at the end.
func (h *Handler) produce(ctx context.Context, oc *graphql.OperationContext, answers chan<- streamed) {
	defer close(answers)
	e := h.execute(ctx, oc)
	resumes := oc.Operation.Operation == ast.Subscription
	for first := true; ; first = false {
		resp := e.answer()
		if resp == nil && (!first || resumes) {
			return
		}
		if resp == nil {
			resp = h.expired(ctx)
		}
		a := streamed{refused: resp.Data == nil}
		if resumes {
			resp.Data, a.id = takeCursor(resp.Data)
		}
		a.data = encode(resp)
		answers <- a
		if a.refused {
			return
		}
	}
}

// pump sends answers until there are no more (then it answers true), or until somebody leaves.
func (h *Handler) pump(s *eventStream, client context.Context, who caller, answers <-chan streamed) bool {
	alive, recheck := time.NewTicker(h.timing.KeepAlive), time.NewTicker(h.timing.Recheck)
	defer alive.Stop()
	defer recheck.Stop()
	if s.write([]byte(":\n\n")) != nil { // the head goes out before the first event
		return false
	}
	for {
		select {
		case a, ok := <-answers:
			if !ok {
				return true
			}
			if s.event("next", a.id, a.data) != nil {
				return false
			}
			alive.Reset(h.timing.KeepAlive)
		case <-alive.C:
			if s.write([]byte(":\n\n")) != nil {
				return false
			}
		case <-recheck.C:
			if !h.recheck(client, who) {
				return false
			}
		case <-client.Done():
			return false
		}
	}
}
