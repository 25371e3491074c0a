package event

import (
	"sync"
	"time"
)

// A ring keeps at most this many recent events of a topic, and this many bytes of their payloads.
const (
	ringEvents = 256
	ringBytes  = 512 << 10
)

// ring holds the recent events of one watched topic. Offsets have no holes, so an event's slot is its offset modulo the number
// of slots, a late event finds its place, and a repeated one its twin.
type ring struct {
	mu    sync.Mutex
	slots []Event // a power of two, grown up to ringEvents; Offset 0 is an empty one
	low   int64   // no slot holds an offset below; 0 when there are none
	top   int64   // the highest offset in a slot
	bytes int
	head  int64 // the highest offset known to exist
	// changed is closed at the next change; nil while nobody waits.
	changed chan struct{}
	// signal is closed at the next publication, news or not; nil while nobody waits.
	signal chan struct{}
	closed bool
	// checked is when the source was last asked for the head on behalf of all; stale asks for it at once.
	checked time.Time
	stale   bool
}

func (r *ring) slot(offset int64) *Event { return &r.slots[offset&int64(len(r.slots)-1)] }

// add takes events in and wakes the watchers if there was anything new: an event, or a higher head.
func (r *ring) add(head int64, events []Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	news := false
	for _, e := range events {
		news = r.put(e) || news
		head = max(head, e.Offset)
	}
	if head > r.head {
		r.head, news = head, true
	}
	if news {
		r.wake()
	}
	if len(events) > 0 {
		r.poke()
	}
}

// poke wakes those who wait for a signal.
func (r *ring) poke() {
	if r.signal != nil {
		close(r.signal)
		r.signal = nil
	}
}

func (r *ring) put(e Event) bool {
	if r.low == 0 {
		r.low, r.top = e.Offset, e.Offset-1
	}
	if e.Offset <= r.top-ringEvents || len(e.Payload) > ringBytes {
		return false // too old, or too large to keep: the source has it
	}
	low, top := min(r.low, e.Offset), max(r.top, e.Offset)
	if top-low >= ringEvents {
		r.evict(top - ringEvents + 1)
		low = max(low, top-ringEvents+1)
	}
	r.low, r.top = low, top
	r.grow(int(top - low + 1))
	if s := r.slot(e.Offset); s.Offset != e.Offset {
		*s = e
		r.bytes += len(e.Payload)
	} else {
		return false
	}
	for r.bytes > ringBytes {
		r.evict(r.low + 1)
	}
	return true
}

// evict empties the slots of offsets below low.
func (r *ring) evict(low int64) {
	for ; r.low < low && r.low <= r.top; r.low++ {
		if s := r.slot(r.low); s.Offset == r.low {
			r.bytes -= len(s.Payload)
			*s = Event{}
		}
	}
	r.low = low
	r.top = max(r.top, low-1)
}

// grow makes room for so many offsets in a row; a topic with few events costs little.
func (r *ring) grow(n int) {
	size := max(len(r.slots), 8)
	for size < n {
		size *= 2
	}
	if size == len(r.slots) {
		return
	}
	old := r.slots
	r.slots = make([]Event, size)
	for _, e := range old {
		if e.Offset != 0 {
			*r.slot(e.Offset) = e
		}
	}
}

// next appends to buf the events right behind the offset, at most limit. behind tells that the topic has more which the ring
// does not hold.
func (r *ring) next(buf []Event, after int64, limit int) (events []Event, behind bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	events = buf[:0]
	for offset := after + 1; offset >= r.low && offset <= r.top && len(events) < limit; offset++ {
		s := r.slot(offset)
		if s.Offset != offset {
			break
		}
		events = append(events, *s)
	}
	return events, len(events) == 0 && r.head > after
}

func (r *ring) wake() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// refresh asks for a look at the source at once: notifications may have been missed.
func (r *ring) refresh() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stale = true
	r.wake()
	r.poke()
}

func (r *ring) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.wake()
	r.poke()
}

// wait answers a channel that is closed at the next change, nil when the ring was closed.
func (r *ring) wait() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}

// waitSignal answers a channel that is closed at the next publication, nil when the ring was closed.
func (r *ring) waitSignal() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	if r.signal == nil {
		r.signal = make(chan struct{})
	}
	return r.signal
}

// claim tells one of the ring's watchers that it is to ask the source for the head, for all of them.
func (r *ring) claim(every time.Duration) bool {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.stale && now.Sub(r.checked) < every {
		return false
	}
	r.checked, r.stale = now, false
	return true
}

// hub holds the rings of all watched topics of a process.
type hub struct {
	mu     sync.Mutex
	rings  map[Topic]*counted
	closed bool
	// onChange is told, under the lock, that a topic got its first or lost its last watcher; may be nil.
	onChange func(topic Topic, watched bool)
}

type counted struct {
	ring     ring
	watchers int
}

// Watch is one watcher's share of a topic's ring.
type Watch struct {
	hub   *hub
	topic Topic
	ring  *ring
	once  sync.Once
}

func (h *hub) watch(topic Topic) (*Watch, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	c := h.rings[topic]
	if c == nil {
		c = &counted{}
		c.ring.checked = time.Now()
		if h.rings == nil {
			h.rings = make(map[Topic]*counted)
		}
		h.rings[topic] = c
		if h.onChange != nil {
			h.onChange(topic, true)
		}
	}
	c.watchers++
	return &Watch{hub: h, topic: topic, ring: &c.ring}, nil
}

// Signal answers a channel that is closed when anything is published on the topic from now on, were it an offset that was there
// before, and when something may have been missed. A topic of which nobody needs more than that it was published on needs no source
// and no offsets of its own. Nil when the bus was closed. Signals may be lost: look from time to time, too.
func (w *Watch) Signal() <-chan struct{} { return w.ring.waitSignal() }

// Close gives the watch back; the last one frees the ring.
func (w *Watch) Close() {
	w.once.Do(func() {
		h := w.hub
		h.mu.Lock()
		defer h.mu.Unlock()
		c := h.rings[w.topic]
		if c == nil {
			return // the bus was closed
		}
		if c.watchers--; c.watchers == 0 {
			delete(h.rings, w.topic)
			if h.onChange != nil {
				h.onChange(w.topic, false)
			}
		}
	})
}

func (h *hub) add(topic Topic, events []Event) error {
	h.mu.Lock()
	closed, c := h.closed, h.rings[topic]
	h.mu.Unlock()
	if closed {
		return ErrClosed
	}
	if c != nil {
		c.ring.add(0, events)
	}
	return nil
}

func (h *hub) refresh(topic Topic) {
	h.mu.Lock()
	c := h.rings[topic]
	h.mu.Unlock()
	if c != nil {
		c.ring.refresh()
	}
}

func (h *hub) close() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.closed = true
	for _, c := range h.rings {
		c.ring.close()
	}
	h.rings = nil
	return true
}
