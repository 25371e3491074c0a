package graph

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/scriptorium-dev/scriptorium/graph/input"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// socketOperation is one operation on a socket.
type socketOperation struct {
	id string
	// ctx ends with the client's complete, or with the socket.
	ctx    context.Context
	cancel context.CancelFunc
	// done says that the client has completed it: nothing more is sent.
	done atomic.Bool
	// size is what it takes of Limits.SocketPayload.
	size int
}

// envelope is a message of the protocol.
type envelope struct {
	id, kind string
	payload  json.RawMessage
}

// parseEnvelope reads a message. Its payload may still hold text that is refused.
func parseEnvelope(b []byte) (e envelope, ok bool) {
	parts, err := members(b)
	if err != nil || !utf8.Valid(parts["id"]) || !utf8.Valid(parts["type"]) {
		return e, false
	}
	e.payload = parts["payload"]
	if string(e.payload) == "null" {
		e.payload = nil
	}
	for name, to := range map[string]*string{"id": &e.id, "type": &e.kind} {
		if raw, has := parts[name]; has && json.Unmarshal(raw, to) != nil {
			return e, false
		}
	}
	return e, true
}

// compose writes a message of the protocol; payload is JSON.
func compose(kind, id string, payload []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(payload) + len(id) + 48)
	b.WriteByte('{')
	if id != "" {
		b.WriteString(`"id":`)
		writeJSON(&b, id)
		b.WriteByte(',')
	}
	b.WriteString(`"type":"` + kind + `"`)
	if payload != nil {
		b.WriteString(`,"payload":`)
		b.Write(payload)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// receive acts on one message.
func (s *socket) receive(b []byte) {
	m, ok := parseEnvelope(b)
	if !ok {
		s.end(closeBadMessage, "Invalid message: not an object of type, id and payload")
		return
	}
	if m.kind != "subscribe" {
		if err := input.Check(b); err != nil {
			s.end(closeBadMessage, "Invalid message: "+err.Message)
			return
		}
	}
	switch m.kind {
	case "connection_init":
		s.init(m)
	case "ping":
		s.queue.setPong(compose("pong", "", m.payload))
	case "pong":
	case "subscribe":
		s.subscribe(m)
	case "complete":
		s.complete(m)
	default:
		s.end(closeBadMessage, fmt.Sprintf("Invalid message: unknown type %q", m.kind))
	}
}

// guard ends the socket where f panics: what state it left is not known.
func (s *socket) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			err := s.h.present(withRequestID(s.ctx), recovered(s.ctx, p))
			s.end(closeInternal, err.Message)
		}
	}()
	f()
}

// init answers connection_init: with the acknowledgement, or the end of a socket without a good key.
func (s *socket) init(m envelope) {
	if s.isAcked() {
		s.end(closeSecondInit, "Too many initialisation requests")
		return
	}
	var payload map[string]any
	if m.payload != nil && json.Unmarshal(m.payload, &payload) != nil {
		s.end(closeBadMessage, "Invalid message: the payload of connection_init must be an object")
		return
	}
	authorization, _ := payload["Authorization"].(string)
	if authorization == "" {
		s.end(closeForbidden, `Forbidden: connection_init needs {"Authorization":"Bearer <secret>"}`)
		return
	}
	ctx := withRequestID(s.ctx)
	if _, _, err := s.h.identify(ctx, authorization); err != nil {
		s.refuseKey(s.h.present(ctx, err))
		return
	}
	s.mu.Lock()
	s.acked, s.authorization = true, authorization
	s.mu.Unlock()
	s.queue.push(s.ctx, message{data: compose("connection_ack", "", nil)})
}

// refuseKey ends a socket whose key is bad, or cannot be looked up.
func (s *socket) refuseKey(err *gqlerror.Error) {
	if codeOf(err) == fault.Unauthenticated {
		s.end(closeForbidden, "Forbidden: "+err.Message)
		return
	}
	s.end(closeTryAgain, err.Message)
}

func (s *socket) isAcked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acked
}

// subscribe begins an operation of any kind.
func (s *socket) subscribe(m envelope) {
	if !s.isAcked() {
		s.end(closeNoInit, "Unauthorized: connection_init comes first")
		return
	}
	if m.id == "" || !hasQuery(m.payload) {
		s.end(closeBadMessage, "Invalid message: subscribe needs an id, and a payload with a query")
		return
	}
	op, err := s.begin(m)
	if err != nil {
		s.refuse(&socketOperation{id: m.id, ctx: s.ctx}, s.h.presented(withRequestID(s.ctx), gqlerror.List{err}).Errors)
	}
	if op != nil {
		go func() {
			defer s.finish(op)
			s.guard(func() { s.run(op, m.payload) })
		}()
	}
}

// hasQuery reports whether a payload is an object with a query that is a string.
func hasQuery(payload []byte) bool {
	parts, err := members(payload)
	if err != nil {
		return false
	}
	var query *string
	return json.Unmarshal(parts["query"], &query) == nil && query != nil
}

// begin enters an operation, or answers why it cannot be; neither where the socket is at its end.
func (s *socket) begin(m envelope) (*socketOperation, *gqlerror.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.draining || s.ctx.Err() != nil:
		return nil, nil
	case s.byID[m.id] != nil:
		s.end(closeDuplicateID, fmt.Sprintf("Subscriber for %s already exists", m.id))
		return nil, nil
	case s.running >= s.h.limits.SocketOperations:
		return nil, exceeded("the number of operations under way on a socket", s.h.limits.SocketOperations)
	case s.payload+len(m.payload) > s.h.limits.SocketPayload:
		return nil, exceeded("the length in bytes of the operations under way on a socket", s.h.limits.SocketPayload)
	}
	op := &socketOperation{id: m.id, size: len(m.payload)}
	op.ctx, op.cancel = context.WithCancel(withRequestID(s.ctx))
	s.byID[m.id] = op
	s.running++
	s.payload += op.size
	s.work.Add(1)
	return op, nil
}

// forget gives an operation's id free.
func (s *socket) forget(op *socketOperation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[op.id] == op {
		delete(s.byID, op.id)
	}
}

// finish counts an operation out.
func (s *socket) finish(op *socketOperation) {
	op.cancel()
	s.forget(op)
	s.mu.Lock()
	s.running--
	s.payload -= op.size
	last := s.draining && s.running == 0
	s.mu.Unlock()
	if last {
		s.restart()
	}
	s.work.Done()
}

// complete ends an operation for the client: its context is cancelled, and nothing more is sent for it. An unknown id is one that ended by itself.
func (s *socket) complete(m envelope) {
	s.mu.Lock()
	op := s.byID[m.id]
	delete(s.byID, m.id)
	s.mu.Unlock()
	if op != nil {
		op.done.Store(true)
		op.cancel()
	}
}

// refuse answers an operation with the protocol's error, its last message. errs are as present made them.
func (s *socket) refuse(op *socketOperation, errs gqlerror.List) {
	s.forget(op) // the client may use the id again as soon as it sees the error
	var b bytes.Buffer
	writeJSON(&b, errs)
	s.queue.push(op.ctx, message{op: op, data: compose("error", op.id, b.Bytes())})
}

// run executes an operation and sends its answers.
func (s *socket) run(op *socketOperation, payload []byte) {
	s.mu.Lock()
	authorization := s.authorization
	s.mu.Unlock()
	ctx, who, err := s.h.identify(op.ctx, authorization) // the key may have been revoked since connection_init
	if err != nil {
		if err = s.h.present(op.ctx, err); codeOf(err) == fault.Unauthenticated {
			s.refuseKey(err)
			return
		}
		s.refuse(op, gqlerror.List{err})
		return
	}
	oc, errs := s.ready(ctx, who, payload)
	if errs != nil {
		s.refuse(op, s.h.presented(op.ctx, errs).Errors)
		return
	}
	s.answer(ctx, op, oc)
}

// ready reads a subscribe message's request and prepares its operation.
func (s *socket) ready(ctx context.Context, who caller, payload []byte) (*graphql.OperationContext, gqlerror.List) {
	req, err := parseRequest(payload)
	if err != nil {
		return nil, gqlerror.List{err}
	}
	doc, chosen, errs := s.h.choose(req, who)
	if errs != nil {
		return nil, errs
	}
	return s.h.prepare(ctx, req, doc, chosen)
}

// answer executes an operation and sends its answers, and complete at the end; or the error for which there are none.
func (s *socket) answer(ctx context.Context, op *socketOperation, oc *graphql.OperationContext) {
	ctx, end := s.h.lifetime(ctx, oc)
	defer end()
	ctx, broken := withStream(ctx)
	e := s.h.execute(ctx, oc)
	streams := oc.Operation.Operation == ast.Subscription
	for first := true; ; first = false {
		resp := e.answer()
		if resp == nil && first && !streams {
			resp = s.h.expired(ctx)
		}
		if resp == nil {
			break
		}
		if resp.Data == nil {
			s.refuse(op, resp.Errors)
			return
		}
		if !s.queue.push(op.ctx, message{op: op, data: compose("next", op.id, encode(resp))}) {
			return
		}
	}
	if err := broken.err(); err != nil {
		s.refuse(op, gqlerror.List{s.h.present(ctx, err)})
		return
	}
	if !streams || ctx.Err() == nil {
		s.forget(op)
		s.queue.push(op.ctx, message{op: op, data: compose("complete", op.id, nil)})
	}
}
