package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/scriptorium-dev/scriptorium/internal/blob"
	"github.com/scriptorium-dev/scriptorium/internal/event"
)

// epoch of a call's output: a call has one history.
const epoch = "1"

// Status is what the call's row says.
type Status struct {
	// Ended: the call has ended, and the rest of Status holds.
	Ended bool
	// Chunks and Blob of its Summary.
	Chunks int64
	Blob   string
	// Finished is the payload of the finished event, the same as was given to End.
	Finished []byte
}

// StatusFunc reads a call's row. It is asked at each read of the source.
type StatusFunc func(ctx context.Context) (Status, error)

// Feed is the stream of a call's output, from any server: event.Open it. Every event but the Last one is a chunk (DecodeChunk).
func (l *Log) Feed(callID string, status StatusFunc) event.Feed {
	return event.Feed{Topic: event.OutputTopic(callID), Epoch: epoch, Source: &source{log: l, callID: callID, status: status}}
}

// source reads a call's output from where it is: the blob, the writer in this process, a spool that was left, the replica.
type source struct {
	log    *Log
	callID string
	status StatusFunc

	mu   sync.Mutex
	mark mark // where the last read of a blob or spool ended
}

// Read implements event.Source.
func (s *source) Read(ctx context.Context, after int64, limit int) (event.Page, error) {
	status, err := s.status(ctx)
	if err != nil {
		return event.Page{}, err
	}
	if status.Ended {
		return s.readEnded(ctx, status, after, limit)
	}
	events, head, err := s.chunks(ctx, status, after, limit)
	if errors.Is(err, ErrGone) {
		err = nil // not begun, or its end is being committed: there will be news
	}
	return event.Page{Events: events, Head: head}, err
}

// readEnded has the finished event behind the last chunk.
func (s *source) readEnded(ctx context.Context, status Status, after int64, limit int) (event.Page, error) {
	last := event.Event{Offset: status.Chunks + 1, Last: true, Payload: status.Finished}
	page := event.Page{Head: last.Offset, Ended: true}
	switch {
	case limit == 0 || after == last.Offset:
		return page, nil
	case after > last.Offset:
		// The server that ran the call was lost, and with it what this reader has seen: it still learns of the end.
		page.Gap = "the server that ran the call was lost"
		last.Offset = after + 1
		page.Head, page.Events = last.Offset, []event.Event{last}
		return page, nil
	}
	if after < status.Chunks {
		events, _, err := s.chunks(ctx, status, after, limit)
		if err != nil && !errors.Is(err, ErrGone) {
			return event.Page{}, err
		}
		if len(events) == 0 {
			page.Gap = "the output is no longer kept"
			page.Events = []event.Event{last}
			return page, nil
		}
		page.Events = events
		after = events[len(events)-1].Offset
	}
	if after == status.Chunks && len(page.Events) < limit {
		page.Events = append(page.Events, last)
	}
	return page, nil
}

// chunks reads from the first place that has the output. ErrGone: none has.
func (s *source) chunks(ctx context.Context, status Status, after int64, limit int) ([]event.Event, int64, error) {
	events, head, away := s.kept(ctx, status, after, limit)
	if away == nil {
		return events, head, nil
	}
	events, head, err := s.passing(ctx, after, limit)
	switch {
	case !errors.Is(err, ErrGone):
		return events, head, err
	case errors.Is(away, ErrGone): // it may have become a blob since
		return s.kept(ctx, status, after, limit)
	}
	return nil, 0, away
}

// kept reads the blob. ErrGone: there is none yet.
func (s *source) kept(ctx context.Context, status Status, after int64, limit int) ([]event.Event, int64, error) {
	if !status.Ended || status.Blob == "" {
		return nil, 0, ErrGone
	}
	at := s.markBefore(after)
	r, err := s.log.options.Blobs.OpenNamed(ctx, status.Blob, at.size, -1)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, 0, ErrGone
	}
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	events, _, err := s.page(r, at, after, limit)
	return events, status.Chunks, err
}

// passing reads what is there before the blob is: the writer in this process, a spool that was left, the replica.
func (s *source) passing(ctx context.Context, after int64, limit int) ([]event.Event, int64, error) {
	if w := s.log.writer(s.callID); w != nil {
		events, head, err := w.read(after, limit)
		if !errors.Is(err, os.ErrClosed) {
			return events, head, err
		}
	}
	events, head, err := s.spooled(after, limit)
	if !errors.Is(err, ErrGone) {
		return events, head, err
	}
	return s.replicated(ctx, after, limit)
}

// spooled reads a spool without a writer: its blob could not be made, or the call was lost with the server before.
func (s *source) spooled(after int64, limit int) ([]event.Event, int64, error) {
	path, err := s.log.spool(s.callID)
	if err != nil {
		return nil, 0, err
	}
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, ErrGone
	}
	if err != nil {
		return nil, 0, fmt.Errorf("output: %w", err)
	}
	defer file.Close()
	at := s.markBefore(after)
	if _, err := file.Seek(at.size, io.SeekStart); err != nil {
		return nil, 0, fmt.Errorf("output: %w", err)
	}
	return s.page(file, at, after, limit)
}

// markBefore is where to begin reading for what comes behind an offset. A spool and the blob made of it have the same places.
func (s *source) markBefore(after int64) mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mark.number <= after {
		return s.mark
	}
	return mark{}
}

// page reads from a log, and answers a head that is beyond the events if there are more.
func (s *source) page(r io.Reader, at mark, after int64, limit int) ([]event.Event, int64, error) {
	f := framesAt(r, at)
	events, err := f.page(after, limit)
	if err != nil {
		return nil, 0, err
	}
	s.mu.Lock()
	s.mark = f.mark
	s.mu.Unlock()
	_, _ = f.next() // whatever is wrong with it is the next page's
	return events, f.number, nil
}

func (s *source) replicated(ctx context.Context, after int64, limit int) ([]event.Event, int64, error) {
	replica := s.log.options.Bus.Replica()
	if replica == nil {
		return nil, 0, ErrGone
	}
	events, head, err := replica.Stored(ctx, event.OutputTopic(s.callID), after, limit)
	if err != nil {
		return nil, 0, err
	}
	if head == 0 {
		return nil, 0, ErrGone
	}
	if n := len(events); n > 0 && events[n-1].Last {
		events = events[:n-1] // the row says when the call has ended
	}
	return events, head, nil
}

// Raw reads the bytes of one stream that are kept now, from an offset in them; of a running call it does not wait for more. It
// fails with ErrGone where they are not kept any more.
func (l *Log) Raw(ctx context.Context, callID string, stream Stream, offset int64, status StatusFunc) io.Reader {
	return &raw{ctx: ctx, source: &source{log: l, callID: callID, status: status}, stream: stream, skip: offset}
}

type raw struct {
	ctx    context.Context
	source *source
	stream Stream
	skip   int64 // bytes of the stream to pass over
	after  int64
	head   int64 // where to stop, from the first read
	chunks []event.Event
	data   []byte
	err    error
}

// rawBatch is how many chunks Raw reads at a time: at most 4 MiB, so that seeking in a blob costs little.
const rawBatch = 256

func (r *raw) Read(p []byte) (int, error) {
	for len(r.data) == 0 && r.err == nil {
		r.err = r.fill()
	}
	if len(r.data) == 0 {
		return 0, r.err
	}
	n := copy(p, r.data)
	r.data = r.data[n:]
	return n, nil
}

// fill takes the next chunk of the stream.
func (r *raw) fill() error {
	if len(r.chunks) == 0 {
		if r.head != 0 && r.after >= r.head {
			return io.EOF
		}
		page, err := r.source.Read(r.ctx, r.after, rawBatch)
		switch {
		case err != nil:
			return err
		case page.Gap != "":
			return ErrGone
		case len(page.Events) == 0:
			return io.EOF
		}
		if r.head == 0 {
			r.head = page.Head
		}
		r.chunks = page.Events
	}
	e := r.chunks[0]
	r.chunks, r.after = r.chunks[1:], e.Offset
	if e.Last {
		return io.EOF
	}
	c, err := DecodeChunk(e.Payload)
	if err != nil {
		return err
	}
	if c.Stream == r.stream {
		r.data = c.Data[min(max(r.skip-c.Offset, 0), int64(len(c.Data))):]
	}
	return nil
}
