package output

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/blob"
	"github.com/scriptorium-dev/scriptorium/internal/event"
)

// DefaultBound is how many bytes of a call's output are kept, over both streams.
const DefaultBound = 16 << 20

// Errors of this package; compare with errors.Is.
var (
	// ErrBadCall: the call's id cannot be the name of a file.
	ErrBadCall = errors.New("output: not a call id")
	// ErrBusy: a Writer for this call is at work in this process.
	ErrBusy = errors.New("output: the call's output is being written")
	// ErrFinished: the writer has been finished, or the log closed.
	ErrFinished = errors.New("output: finished")
	// ErrGone: the output is not kept any more, or cannot be reached.
	ErrGone = errors.New("output: no longer kept")
)

// Options of a Log; Dir, Bus and Blobs are needed.
type Options struct {
	// Dir is the folder of the spool files, made where it is missing. It belongs to one process.
	Dir string
	Bus event.Bus
	// Blobs keeps the logs of ended calls. All servers share it.
	Blobs *blob.Store
	// Bound is how many bytes of a call's output are kept; DefaultBound where it is 0.
	Bound int64
}

// Log is the output of all calls, as one server has it. Its methods may be called from any goroutine.
type Log struct {
	options Options
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	work    sync.WaitGroup // copying to the replica

	mu      sync.Mutex
	writers map[string]*Writer
	closed  bool
}

// Open opens the log of a server. Call Recover before calls are run.
func Open(options Options) (*Log, error) {
	if options.Bound <= 0 {
		options.Bound = DefaultBound
	}
	if err := os.MkdirAll(options.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Log{options: options, ctx: ctx, cancel: cancel, writers: make(map[string]*Writer)}, nil
}

// Close ends what goes on in the background. Writers that were not ended leave their spool to Recover.
func (l *Log) Close() error {
	l.mu.Lock()
	l.closed = true
	writers := l.writers
	l.writers = nil
	l.mu.Unlock()
	for _, w := range writers {
		w.abandon()
	}
	l.cancel()
	l.work.Wait()
	return nil
}

// Begin opens the log of a call that this server is about to run.
func (l *Log) Begin(callID string) (*Writer, error) {
	path, err := l.spool(callID)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrFinished
	}
	if l.writers[callID] != nil {
		return nil, ErrBusy
	}
	w, err := newWriter(l, callID, path)
	if err != nil {
		return nil, err
	}
	l.writers[callID] = w
	return w, nil
}

// Delete forgets a call's output, wherever it is kept. Its stream then has a gap and the finished event.
func (l *Log) Delete(ctx context.Context, callID string) error {
	path, err := l.spool(callID)
	if err != nil {
		return err
	}
	if l.writer(callID) != nil {
		return ErrBusy
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("output: %w", err)
	}
	if replica := l.options.Bus.Replica(); replica != nil {
		// It expires by itself soon after the call's end: not reaching it now does no harm.
		_ = replica.Drop(ctx, event.OutputTopic(callID))
	}
	return l.options.Blobs.DeleteNamed(ctx, blobName(callID))
}

// Progress is how many bytes of each stream of a running call are kept by now.
func (l *Log) Progress(ctx context.Context, callID string) (stdout, stderr int64, err error) {
	if w := l.writer(callID); w != nil {
		stdout, stderr = w.progress()
		return stdout, stderr, nil
	}
	replica := l.options.Bus.Replica()
	if replica == nil {
		return 0, 0, nil // not begun
	}
	topic := event.OutputTopic(callID)
	_, head, err := replica.Stored(ctx, topic, 0, 0)
	if err != nil || head == 0 {
		return 0, 0, err
	}
	events, _, err := replica.Stored(ctx, topic, max(head-2, 0), 2) // the newest may be the finished event
	for _, e := range events {
		c, err := DecodeChunk(e.Payload)
		if e.Last || err != nil {
			continue
		}
		stdout, stderr = c.Offset+int64(len(c.Data)), c.Other
		if c.Stream == Stderr {
			stdout, stderr = stderr, stdout
		}
	}
	return stdout, stderr, err
}

func (l *Log) writer(callID string) *Writer {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writers[callID]
}

func (l *Log) forget(w *Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writers[w.callID] == w {
		delete(l.writers, w.callID)
	}
}

const spoolSuffix = ".output"

var callIDs = regexp.MustCompile(`\A[A-Za-z0-9_-]{1,100}\z`)

func (l *Log) spool(callID string) (string, error) {
	if !callIDs.MatchString(callID) {
		return "", ErrBadCall
	}
	return filepath.Join(l.options.Dir, callID+spoolSuffix), nil
}

func blobName(callID string) string { return "output/" + callID }

// How long a replica keeps the output of a call: while it runs, and after its end, when readers have the blob.
const (
	replicaEvents     = 1 << 20 // more than the bound and the cutting allow
	replicaRunningTTL = 24 * time.Hour
	replicaEndedTTL   = 2 * time.Minute
)
