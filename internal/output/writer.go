package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/event"
)

const (
	// flushInterval is the longest that output waits for more to come.
	flushInterval = 20 * time.Millisecond
	// maxTurns is how many chunks are cut because the other stream had its turn; see doc.go.
	maxTurns = 32_768
	// indexEvery is the number of frames between two entries of a writer's index.
	indexEvery = 64
)

// Writer takes the output of one running call. Write it, Finish it when the program has ended, and End it when the call's end is
// committed; each from any goroutine.
type Writer struct {
	log    *Log
	callID string
	topic  event.Topic
	file   *os.File
	copier *copier // nil without a replica

	mu      sync.Mutex
	pending [2][]byte // arrived, not cut; by stream
	oldest  Stream    // whose pending bytes came first
	arrived time.Time // of the newest pending byte
	cutAt   time.Time // of the newest chunk
	timer   *time.Timer
	tallies [2]tally
	chunks  int64
	turns   int
	size    int64   // of the file's whole frames
	index   []int64 // the position behind frame indexEvery × (i + 1)
	full    bool    // nothing more is kept
	done    bool    // finished or abandoned
	saved   bool    // the blob is there
	ended   bool
}

func newWriter(l *Log, callID, path string) (*Writer, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	if _, err := file.WriteString(spoolMagic); err != nil {
		file.Close()
		_ = os.Remove(path)
		return nil, fmt.Errorf("output: %w", err)
	}
	w := &Writer{log: l, callID: callID, topic: event.OutputTopic(callID), file: file, size: int64(len(spoolMagic))}
	w.tallies = [2]tally{newTally(), newTally()}
	if replica := l.options.Bus.Replica(); replica != nil {
		w.copier = newCopier(w, replica)
		l.work.Go(func() { w.copier.run(l.ctx) })
	}
	return w, nil
}

// Write takes what the program wrote, in the order of arrival; p is the caller's again when it returns. Where the spool cannot be
// written (a full disk) the program goes on and what it writes is dropped and counted. It fails with ErrFinished only.
func (w *Writer) Write(stream Stream, p []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return ErrFinished
	}
	if len(p) == 0 {
		return nil
	}
	w.tally(stream).write(p)
	if w.full {
		return nil
	}
	w.turn(stream.other())
	now := time.Now()
	for len(p) > 0 {
		pending := w.buffer(stream)
		if len(*pending) == 0 && len(*w.buffer(stream.other())) == 0 {
			w.oldest = stream
		}
		n := min(len(p), MaxChunk-len(*pending))
		*pending, p, w.arrived = append(*pending, p[:n]...), p[n:], now
		if len(*pending) == MaxChunk {
			w.cut(stream, false)
		}
	}
	if wait := flushInterval - now.Sub(w.cutAt); wait <= 0 {
		w.flush(false)
	} else if w.timer == nil && len(w.pending[0])+len(w.pending[1]) > 0 {
		w.timer = time.AfterFunc(wait, w.tick)
	}
	return nil
}

func (w *Writer) tally(s Stream) *tally   { return &w.tallies[s-Stdout] }
func (w *Writer) buffer(s Stream) *[]byte { return &w.pending[s-Stdout] }

// turn cuts what one stream has waiting because the other one has its turn: the order between them is the order of arrival.
func (w *Writer) turn(stream Stream) {
	if p := *w.buffer(stream); len(p) > halfCharacter(p) && w.turns < maxTurns {
		w.turns++
		w.cut(stream, false)
	}
}

func (w *Writer) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = nil
	if !w.done {
		w.flush(false)
	}
}

// flush cuts all that waits, at the end half characters too.
func (w *Writer) flush(end bool) {
	first := w.oldest
	if first == 0 {
		return
	}
	w.cut(first, end)
	w.cut(first.other(), end)
}

// cut makes a chunk of what a stream has waiting, without the beginning of a character that is not whole yet.
func (w *Writer) cut(stream Stream, end bool) {
	pending := w.buffer(stream)
	n := len(*pending)
	if !end {
		n -= halfCharacter(*pending)
	}
	if n == 0 {
		return
	}
	w.keep(stream, (*pending)[:n])
	*pending = append((*pending)[:0], (*pending)[n:]...)
	w.cutAt = time.Now()
	if w.oldest == stream && len(*w.buffer(stream.other())) > 0 {
		w.oldest = stream.other()
	}
}

// keep puts a chunk into the log, as far as the bound lets it, and tells the watchers.
func (w *Writer) keep(stream Stream, data []byte) {
	if w.full {
		return
	}
	if room := w.log.options.Bound - w.tallies[0].kept - w.tallies[1].kept; int64(len(data)) > room {
		w.full = true
		data = data[:room]
		if data = data[:len(data)-halfCharacter(data)]; len(data) == 0 {
			return
		}
	}
	own, other := w.tally(stream), w.tally(stream.other())
	c := Chunk{Stream: stream, Offset: own.kept, Other: other.kept, At: w.arrived, Data: data}
	frame, payload := newFrame(w.chunks+1, c)
	if _, err := w.file.WriteAt(frame, w.size); err != nil {
		w.full = true
		slog.Error("the output of a call cannot be kept any more", "call", w.callID, "error", err)
		_ = w.file.Truncate(w.size) // half a frame is cut by readers, too
		return
	}
	own.keep(data)
	w.chunks++
	w.size += int64(len(frame))
	if w.chunks%indexEvery == 0 {
		w.index = append(w.index, w.size)
	}
	// A bus that was closed has no watchers: nothing is lost.
	_ = w.log.options.Bus.PublishHere(w.topic, event.Event{Offset: w.chunks, Payload: payload})
	w.copier.wake()
}

// Finish is called when the program has ended and its last byte was written. It answers what there is. Where there are other servers
// it makes a blob of the spool first, for them to read; else End does so, when nobody waits for it any more: until then the output is read
// from the spool, and what a crash leaves of it Recover finds. The summary holds even where it fails (the blob store is away): then it names
// no blob, the spool stays, and Finish may be called again.
func (w *Writer) Finish(ctx context.Context) (Summary, error) {
	w.mu.Lock()
	w.stop()
	summary := summarize(&w.tallies[0], &w.tallies[1], w.chunks)
	w.mu.Unlock()
	if w.copier != nil {
		if err := w.save(ctx); err != nil {
			return summary, err
		}
	}
	summary.Blob = blobName(w.callID)
	return summary, nil
}

// save makes a blob of the spool, once. It does not hold the lock meanwhile: readers go on.
func (w *Writer) save(ctx context.Context) error {
	w.mu.Lock()
	saved, log := w.saved, io.NewSectionReader(w.file, 0, w.size)
	w.mu.Unlock()
	if saved {
		return nil
	}
	if _, err := w.log.options.Blobs.PutNamed(ctx, blobName(w.callID), log, log.Size()); err != nil {
		return fmt.Errorf("output: the output of call %s stays in its spool: %w", w.callID, err)
	}
	w.mu.Lock()
	w.saved = true
	w.mu.Unlock()
	return nil
}

// stop takes no more output; what waits is kept first.
func (w *Writer) stop() {
	if w.done {
		return
	}
	w.flush(true)
	w.done = true
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// End tells the watchers that the call has ended, with the finished event: call it after Finish, when the call's end is
// committed, so that what the event announces can be read. Where Finish did not, it makes the blob then, from which the output is read from
// now on; an error may say that this failed, and then the spool stays, from which it is read until Recover makes the blob.
func (w *Writer) End(ctx context.Context, finished []byte) error {
	w.mu.Lock()
	w.stop()
	last := event.Event{Offset: w.chunks + 1, Last: true, Payload: finished}
	again := w.ended
	w.ended = true
	w.mu.Unlock()
	if again {
		return nil
	}
	err := w.log.options.Bus.Publish(ctx, w.topic, last)
	if w.copier == nil {
		err = errors.Join(err, w.save(ctx))
	}
	w.mu.Lock()
	saved := w.saved
	w.mu.Unlock()
	w.log.forget(w)
	w.copier.finish(last) // closes the file
	if w.copier == nil {
		w.file.Close()
	}
	if saved {
		if e := os.Remove(w.file.Name()); e != nil && err == nil {
			err = fmt.Errorf("output: %w", e)
		}
	}
	return err
}

// abandon leaves the spool as it is, with all that has arrived.
func (w *Writer) abandon() {
	w.mu.Lock()
	w.stop()
	w.mu.Unlock()
	w.copier.abandon() // closes the file
	if w.copier == nil {
		w.file.Close()
	}
}

func (w *Writer) progress() (stdout, stderr int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tallies[0].kept, w.tallies[1].kept
}

// read answers up to limit events behind an offset, and the head.
func (w *Writer) read(after int64, limit int) ([]event.Event, int64, error) {
	w.mu.Lock()
	head, size := w.chunks, w.size
	number, position := int64(0), int64(0)
	if i := min(after, head)/indexEvery - 1; i >= 0 && i < int64(len(w.index)) {
		number, position = (i+1)*indexEvery, w.index[i]
	}
	w.mu.Unlock()
	if limit == 0 || after >= head {
		return nil, head, nil
	}
	section := io.NewSectionReader(w.file, position, size-position)
	events, err := framesAt(section, mark{number, position}).page(after, limit)
	return events, head, err
}
