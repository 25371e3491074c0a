package graph

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// message is one WebSocket message on its way out.
type message struct {
	data []byte
	// op is the operation that it answers, or nil: what answers an operation that the client has completed is not sent.
	op *socketOperation
	// code is set where this is the socket's end: a close code, with data as its reason.
	code int
	// held is what it takes of the queue's bound.
	held int64
}

// queue holds what waits for a socket's writer, bounded in bytes: who has more to say waits in turn, so a source is read only as fast as its
// socket drains.
type queue struct {
	limit int64
	space *semaphore.Weighted
	// wake holds a token while there may be something to write.
	wake chan struct{}

	mu    sync.Mutex
	items []message
	// pong is the latest answer to a client's ping; it overtakes, and older ones are dropped, so that answering pings never waits.
	pong []byte
	// closed says that nothing is taken any more.
	closed bool
}

func newQueue(limit int) *queue {
	return &queue{limit: int64(limit), space: semaphore.NewWeighted(int64(limit)), wake: make(chan struct{}, 1)}
}

// push waits for space and appends a message; one that is larger than the bound goes alone. It answers false where ctx ended first, or the
// queue is closed.
func (q *queue) push(ctx context.Context, m message) bool {
	m.held = min(int64(len(m.data)), q.limit)
	if q.space.Acquire(ctx, m.held) != nil {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		q.space.Release(m.held)
		return false
	}
	q.items = append(q.items, m)
	q.wakeUp()
	return true
}

// setPong answers a ping.
func (q *queue) setPong(data []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.pong = data
		q.wakeUp()
	}
}

// end appends the close code as the last message; what waits before it is sent first, or dropped. Only the first end counts.
func (q *queue) end(m message, drop bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.closed = true
	if drop {
		q.clear()
	}
	q.items = append(q.items, m)
	q.wakeUp()
	return true
}

// clear drops what waits. The caller holds mu.
func (q *queue) clear() {
	for _, m := range q.items {
		q.space.Release(m.held)
	}
	q.items, q.pong = nil, nil
}

func (q *queue) wakeUp() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// release gives a written message's space back.
func (q *queue) release(m message) { q.space.Release(m.held) }

// pop takes the next message; release must follow once it is written.
func (q *queue) pop() (message, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.pong != nil {
		m := message{data: q.pong}
		q.pong = nil
		return m, true
	}
	if len(q.items) == 0 {
		q.items = nil
		return message{}, false
	}
	m := q.items[0]
	q.items[0] = message{}
	q.items = q.items[1:]
	return m, true
}
