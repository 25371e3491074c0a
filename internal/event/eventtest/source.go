package eventtest

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/event"
)

// Source is a topic's truth in memory, as a table with a gapless offset would be.
type Source struct {
	mu      sync.Mutex
	events  []event.Event
	dropped int64 // events up to here are gone
	ended   bool
	failure error
	reads   int
}

// Commit writes n further events and answers them, for the test to publish or not. The payload is the offset, eight bytes.
func (s *Source) Commit(n int) []event.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := len(s.events)
	for range n {
		s.events = append(s.events, Event(int64(len(s.events)+1)))
	}
	return append([]event.Event(nil), s.events[first:]...)
}

// End writes the topic's last event.
func (s *Source) End() event.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := Event(int64(len(s.events) + 1))
	e.Last = true
	s.events, s.ended = append(s.events, e), true
	return e
}

// Drop forgets the events up to an offset.
func (s *Source) Drop(offset int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped = offset
}

// Fail makes every Read fail, until it is given nil.
func (s *Source) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = err
}

// Reads is how often Read was called.
func (s *Source) Reads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

// Read implements event.Source.
func (s *Source) Read(_ context.Context, after int64, limit int) (event.Page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if s.failure != nil {
		return event.Page{}, s.failure
	}
	page := event.Page{Head: int64(len(s.events)), Ended: s.ended}
	if limit == 0 {
		return page, nil
	}
	if after > page.Head {
		page.Gap = "beyond the head"
		return page, nil
	}
	if after < s.dropped {
		page.Gap = "no longer kept"
		after = s.dropped
	}
	page.Events = s.events[after:min(after+int64(limit), page.Head)]
	return page, nil
}

// Event is what Source has at an offset.
func Event(offset int64) event.Event {
	return event.Event{Offset: offset, Payload: binary.BigEndian.AppendUint64(nil, uint64(offset))}
}

// Feed is a feed of the source.
func (s *Source) Feed(topic event.Topic) event.Feed {
	return event.Feed{Topic: topic, Epoch: "1", Source: s}
}

// Patience is how long tests wait for what must come.
const Patience = 30 * time.Second

// Never is a recheck interval that no test lives to see: what arrives with it came over the bus.
const Never = time.Hour

// Open is event.Open for a test; the stream is closed with it.
func Open(t testing.TB, bus event.Bus, feed event.Feed, start event.Start, options event.Options) *event.Stream {
	t.Helper()
	s, err := event.Open(t.Context(), bus, feed, start, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Expect takes the events first to last from the stream, and nothing else.
func Expect(t testing.TB, s *event.Stream, first, last int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if err := expect(ctx, s, first, last); err != nil {
		t.Fatal(err)
	}
}

func expect(ctx context.Context, s *event.Stream, first, last int64) error {
	for offset := first; offset <= last; offset++ {
		item, err := s.Next(ctx)
		if err != nil {
			return &unexpected{offset, item, err}
		}
		want := Event(offset)
		if item.Gap != "" || item.Event.Offset != offset || string(item.Event.Payload) != string(want.Payload) {
			return &unexpected{offset, item, nil}
		}
	}
	return nil
}

// Silent fails the test if the stream has an item now. It looks only at what is there already: it does not wait.
func Silent(t testing.TB, s *event.Stream) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	if item, err := s.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %+v, %v; want nothing", item, err)
	}
}
