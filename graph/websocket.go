package graph

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// The subprotocol, and the codes that a socket is closed with. Clients of the protocol come back after 1012, 4403, 4408 and 4413, and take the
// others for their own mistake.
const (
	subprotocol = "graphql-transport-ws"

	closeTooBig       = 1009 // a message is longer than Limits.Body
	closeRestart      = 1012 // the server stops; another one, or the next, goes on from the last cursor
	closeTryAgain     = 1013 // whether the key is good cannot be told now
	closeBadMessage   = 4400
	closeNoInit       = 4401 // subscribe before connection_init was acknowledged
	closeForbidden    = 4403 // no key in connection_init, a bad one, or one that was revoked since
	closeSubprotocol  = 4406
	closeInitTimeout  = 4408
	closeDuplicateID  = 4409
	closeSlowReader   = 4413 // a message was not taken in time; go on from the last cursor
	closeSecondInit   = 4429
	closeInternal     = 4500
	closeReasonLength = 123 // bytes, by RFC 6455
)

// socket is one WebSocket connection: one goroutine reads (the request's own), one writes, and each operation has its own.
type socket struct {
	h     *Handler
	conn  *websocket.Conn
	queue *queue
	// ctx ends with the socket; every operation runs under it.
	ctx    context.Context
	cancel context.CancelFunc
	ending atomic.Bool // a close code is on its way
	// written is closed when the writer has ended.
	written chan struct{}

	mu            sync.Mutex
	authorization string // of connection_init; "" before
	acked         bool
	draining      bool
	byID          map[string]*socketOperation
	running       int // operations whose goroutine has not ended, also completed ones
	payload       int // bytes of their subscribe messages
	work          sync.WaitGroup
}

var socketBuffers sync.Pool // write buffers are taken while a message is written, so that idle sockets have none

// isSocket reports whether a request asks for a WebSocket.
func isSocket(r *http.Request) bool { return websocket.IsWebSocketUpgrade(r) }

// serveSocket upgrades the request, and answers when the socket and everything that ran on it has ended.
func (h *Handler) serveSocket(w http.ResponseWriter, r *http.Request) {
	offered := websocket.Subprotocols(r)
	known := slices.Contains(offered, subprotocol)
	up := websocket.Upgrader{
		ReadBufferSize: 1024, WriteBufferSize: 4096, WriteBufferPool: &socketBuffers, CheckOrigin: h.origins.permits,
		HandshakeTimeout: h.timing.Slow,
		Error: func(w http.ResponseWriter, r *http.Request, status int, reason error) {
			h.failWith(w, r, status, mediaJSON, refuse(fault.BadRequest, "%s", reason))
		},
	}
	// A client whose protocols are all unknown gets its first one back: only so its library lets it see the close code that follows.
	if up.Subprotocols = []string{subprotocol}; !known {
		up.Subprotocols = offered[:min(len(offered), 1)]
	}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return // answered by Error
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	s := &socket{
		h: h, conn: conn, queue: newQueue(h.limits.SocketQueue), ctx: ctx, cancel: cancel, written: make(chan struct{}),
		byID: map[string]*socketOperation{},
	}
	s.serve(known)
}

// serve runs the socket to its end.
func (s *socket) serve(known bool) {
	go s.writeLoop()
	initTimer := time.AfterFunc(s.h.timing.Init, func() { s.initTimeout() })
	recheck := s.every(s.h.timing.Recheck, s.recheck)
	forget := context.AfterFunc(s.h.stopping, s.drain)
	if !known {
		s.end(closeSubprotocol, "Subprotocol not acceptable")
	}
	s.readLoop()
	initTimer.Stop()
	recheck()
	forget()
	s.cancel()
	s.queue.end(message{code: websocket.CloseNormalClosure}, true)
	<-s.written
	_ = s.conn.Close()
	s.work.Wait()
}

// every calls f again and again until the answered func is called.
func (s *socket) every(d time.Duration, f func()) (stop func()) {
	var timer *time.Timer
	var mu sync.Mutex
	stopped := false
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(d, func() {
		if !s.enter() {
			return
		}
		defer s.work.Done()
		f()
		mu.Lock()
		defer mu.Unlock()
		if !stopped {
			timer.Reset(d)
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		timer.Stop()
	}
}

// enter counts a goroutine in that the socket waits for, unless the socket has ended.
func (s *socket) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.work.Add(1)
	return true
}

// end closes the socket with a code: operations are cancelled, what waits to be sent is dropped.
func (s *socket) end(code int, reason string) {
	if len(reason) > closeReasonLength {
		reason = reason[:closeReasonLength]
		for !utf8.ValidString(reason) {
			reason = reason[:len(reason)-1]
		}
	}
	s.ending.Store(true)
	if s.queue.end(message{code: code, data: []byte(reason)}, true) {
		s.cancel()
	}
}

// initTimeout ends a socket that has not sent connection_init.
func (s *socket) initTimeout() {
	s.mu.Lock()
	acked := s.acked
	s.mu.Unlock()
	if !acked {
		s.end(closeInitTimeout, "Connection initialisation timeout")
	}
}

// recheck ends a socket whose key was revoked.
func (s *socket) recheck() {
	s.mu.Lock()
	who := caller{authorization: s.authorization}
	s.mu.Unlock()
	if !s.h.recheck(s.ctx, who) {
		s.end(closeForbidden, "Forbidden: the key is not valid any more")
	}
}

// drain ends the socket when the server stops: subscriptions end by themselves, other operations are waited for.
func (s *socket) drain() {
	s.mu.Lock()
	s.draining = true
	idle := s.running == 0
	s.mu.Unlock()
	if idle {
		s.restart()
	}
}

// restart sends what waits, then the code that tells clients to come back.
func (s *socket) restart() {
	s.ending.Store(true)
	s.queue.end(message{code: closeRestart, data: []byte("Service restart")}, false)
}

// writeLoop is the socket's one writer.
func (s *socket) writeLoop() {
	defer close(s.written)
	ping := time.NewTicker(s.h.timing.Ping)
	defer ping.Stop()
	for {
		select {
		case <-ping.C:
			if s.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(s.h.timing.Slow)) != nil {
				s.abort()
				return
			}
		case <-s.queue.wake:
			for m, ok := s.queue.pop(); ok; m, ok = s.queue.pop() {
				if !s.write(m) {
					return
				}
			}
		}
	}
}

// write sends one message, and answers false after the last one. A peer that does not take it within Timing.Slow loses its operations, and has
// Timing.Farewell to take the rest of it and the close code.
func (s *socket) write(m message) bool {
	defer s.queue.release(m)
	if m.code != 0 {
		s.writeClose(m)
		return false
	}
	if m.op != nil && m.op.done.Load() {
		return true
	}
	t := s.h.timing
	timer := time.AfterFunc(t.Slow, func() {
		s.end(closeSlowReader, "Slow reader: go on from the last cursor")
	})
	defer timer.Stop()
	_ = s.conn.SetWriteDeadline(time.Now().Add(t.Slow + t.Farewell))
	if s.conn.WriteMessage(websocket.TextMessage, m.data) != nil {
		s.abort()
		return false
	}
	return true
}

// writeClose sends the close code and gives the peer a moment to answer it: a connection that is torn down at once may lose it.
func (s *socket) writeClose(m message) {
	t := s.h.timing
	frame := websocket.FormatCloseMessage(m.code, string(m.data))
	if s.conn.WriteControl(websocket.CloseMessage, frame, time.Now().Add(t.Slow)) != nil {
		s.abort()
		return
	}
	_ = s.conn.SetReadDeadline(time.Now().Add(t.Slow))
}

// abort ends the connection without a code: the peer cannot be reached.
func (s *socket) abort() {
	s.queue.end(message{}, true)
	s.ending.Store(true)
	s.cancel()
	_ = s.conn.Close()
}

// readLoop is the socket's one reader. It ends when the connection does.
func (s *socket) readLoop() {
	patience := 2*s.h.timing.Ping + s.h.timing.Ping/2
	alive := func() {
		if !s.ending.Load() {
			_ = s.conn.SetReadDeadline(time.Now().Add(patience))
		}
	}
	s.conn.SetPongHandler(func(string) error {
		alive()
		return nil
	})
	for {
		alive()
		kind, r, err := s.conn.NextReader()
		if err != nil {
			s.lost(err)
			return
		}
		b, err := readLimited(r, s.h.limits.Body)
		switch {
		case errors.Is(err, errTooLarge):
			s.end(closeTooBig, fmt.Sprintf("LIMIT_EXCEEDED: a message is limited to %d bytes", s.h.limits.Body))
		case err != nil:
			s.lost(err)
			return
		case s.ending.Load(): // what comes now is read to reach the peer's close frame, and not acted on
		case kind != websocket.TextMessage:
			s.end(closeBadMessage, "Messages are text")
		default:
			s.guard(func() { s.receive(b) })
		}
	}
}

// lost ends a socket that nothing can be read from any more. A peer that does not answer pings does not read: it gets the code for that, if it
// ever looks.
func (s *socket) lost(err error) {
	if n, ok := errors.AsType[net.Error](err); ok && n.Timeout() {
		s.end(closeSlowReader, "No answer to pings: go on from the last cursor")
	}
}
