package event

import (
	"context"
	"io"
	"time"
)

// Start is where a stream begins.
type Start struct {
	now      bool
	position *Position
}

// Beginning starts with the first event.
func Beginning() Start { return Start{} }

// Now starts behind the last event there is when the stream is opened.
func Now() Start { return Start{now: true} }

// Behind starts right behind a position, from Cursor.Parse.
func Behind(p Position) Start { return Start{position: &p} }

// Options of a stream; the zero value has the defaults.
type Options struct {
	// Recheck is how often the source is asked for news that no notification told of, once for all watchers of a topic in this
	// process. Default 1 s.
	Recheck time.Duration
	// Batch is how many events are read at a time. Default 64.
	Batch int
}

func (o Options) withDefaults() Options {
	if o.Recheck <= 0 {
		o.Recheck = time.Second
	}
	if o.Batch <= 0 {
		o.Batch = 64
	}
	return o
}

// Item is what a stream delivers: an event, or a gap.
type Item struct {
	// Cursor goes on right behind this item.
	Cursor Cursor
	// Event, when Gap is empty.
	Event Event
	// Gap, when not empty, says why what lay between the item before and this one cannot be had any more.
	Gap string
}

// Stream joins a topic's history and what happens from now on. It has no goroutine: its reader sets the pace. Not for use by
// several goroutines at once.
type Stream struct {
	feed    Feed
	binding binding
	options Options
	watch   *Watch
	offset  int64   // of the last item delivered
	pending []Event // read, not delivered
	buffer  []Event
	gap     string // to deliver before anything else
	looked  bool   // the source was read since the watch began
	ended   bool
}

// Open starts a stream: it watches first and reads then, so that there is no seam. The head is read before Open returns where
// the start needs it. Close it.
func Open(ctx context.Context, bus Bus, feed Feed, start Start, options Options) (*Stream, error) {
	watch, err := bus.Watch(feed.Topic)
	if err != nil {
		return nil, err
	}
	s := &Stream{feed: feed, binding: bind(feed.Topic), options: options.withDefaults(), watch: watch}
	if err := s.begin(ctx, start); err != nil {
		watch.Close()
		return nil, err
	}
	return s, nil
}

func (s *Stream) begin(ctx context.Context, start Start) error {
	foreign := start.position != nil && start.position.Epoch != s.feed.Epoch
	if start.now || foreign {
		page, err := s.feed.Source.Read(ctx, 0, 0)
		if err != nil {
			return err
		}
		s.offset = page.Head
		if foreign {
			s.gap = "the history that this cursor belongs to was replaced"
		}
		return nil
	}
	if start.position != nil {
		s.offset = start.position.Offset
	}
	return nil
}

// Close frees what the stream holds. Next must not be running.
func (s *Stream) Close() { s.watch.Close() }

// Cursor goes on right behind the last item delivered.
func (s *Stream) Cursor() Cursor {
	return s.binding.cursor(Position{s.feed.Epoch, s.offset})
}

// Next waits for the next item. It answers io.EOF behind the topic's last event, the context's error, ErrClosed when the bus was
// closed, or the source's error, after which Next may be called again and goes on at the same place.
func (s *Stream) Next(ctx context.Context) (Item, error) {
	futile := false // the source had nothing: wait before it is asked again
	for {
		if err := ctx.Err(); err != nil {
			return Item{}, err
		}
		if item, ok := s.deliver(); ok {
			return item, nil
		}
		if s.ended {
			return Item{}, io.EOF
		}
		changed := s.watch.ring.wait() // before looking, so that nothing falls between
		if changed == nil {
			return Item{}, ErrClosed
		}
		var behind bool
		s.buffer, behind = s.watch.ring.next(s.buffer, s.offset, s.options.Batch)
		if s.pending = s.buffer; len(s.pending) > 0 {
			continue
		}
		due := s.watch.ring.claim(s.options.Recheck)
		if due || !futile && (behind || !s.looked) {
			progress, err := s.read(ctx)
			if err != nil {
				return Item{}, err
			}
			if futile = !progress; progress {
				continue
			}
		}
		s.wait(ctx, changed)
		futile = false
	}
}

// deliver takes the next item out of what was read.
func (s *Stream) deliver() (Item, bool) {
	if gap := s.gap; gap != "" {
		s.gap = ""
		return Item{Gap: gap, Cursor: s.Cursor()}, true
	}
	if len(s.pending) == 0 {
		return Item{}, false
	}
	e := s.pending[0]
	s.pending[0] = Event{} // its payload is the reader's now
	s.pending = s.pending[1:]
	s.offset, s.ended = e.Offset, e.Last
	return Item{Event: e, Cursor: s.Cursor()}, true
}

// read asks the source, shares its answer with the topic's other watchers, and tells whether it brought this stream further.
func (s *Stream) read(ctx context.Context) (progress bool, err error) {
	page, err := s.feed.Source.Read(ctx, s.offset, s.options.Batch)
	if err != nil {
		s.looked = false // the next call asks again
		return false, err
	}
	s.looked = true
	if page.Gap != "" {
		s.gap = page.Gap
		s.offset = page.Head
		if len(page.Events) > 0 {
			s.offset = page.Events[0].Offset - 1
		}
	}
	s.watch.ring.add(page.Head, page.Events)
	s.buffer = append(s.buffer[:0], page.Events...) // the page stays the source's
	s.pending = s.buffer
	if page.Ended && s.offset >= page.Head {
		s.ended = true
	}
	return page.Gap != "" || len(page.Events) > 0 || s.ended, nil
}

func (s *Stream) wait(ctx context.Context, changed <-chan struct{}) {
	timer := time.NewTimer(s.options.Recheck)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-changed:
	case <-timer.C:
	}
}
