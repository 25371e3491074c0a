package output

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/event"
)

const (
	// copyBatch is how many chunks go to the replica at a time: at most 1 MiB.
	copyBatch = 64
	// copyPatience bounds one exchange with the replica; a failed one is made again after copyRetryMin, then after twice as long,
	// up to copyRetryMax.
	copyPatience = 5 * time.Second
	copyRetryMin = 100 * time.Millisecond
	copyRetryMax = 2 * time.Second
)

// copier brings a call's chunks to the replica, in order, for as long as the call runs: what the replica did not take or has lost
// is sent again from the spool. It holds no chunks, and never holds up the program. A nil copier does nothing.
type copier struct {
	writer  *Writer
	replica event.Replica
	news    chan struct{}

	mu   sync.Mutex
	last *event.Event
	over chan struct{} // closed by finish and abandon
	once sync.Once
}

func newCopier(w *Writer, replica event.Replica) *copier {
	return &copier{writer: w, replica: replica, news: make(chan struct{}, 1), over: make(chan struct{})}
}

func (c *copier) wake() {
	if c == nil {
		return
	}
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// finish has the rest and the last event brought, once, and the file closed.
func (c *copier) finish(last event.Event) {
	if c == nil {
		return
	}
	c.mu.Lock()
	c.last = &last
	c.mu.Unlock()
	c.abandon()
}

func (c *copier) abandon() {
	if c != nil {
		c.once.Do(func() { close(c.over) })
	}
}

func (c *copier) run(ctx context.Context) {
	defer c.writer.file.Close()
	stored, retry := int64(0), copyRetryMin
	for {
		var err error
		stored, err = c.copy(ctx, stored, replicaRunningTTL)
		wait := time.Duration(0) // for news only
		if err != nil {
			if retry == copyRetryMin && ctx.Err() == nil {
				slog.WarnContext(ctx, "the output of a call cannot be copied: other servers see it later", "call", c.writer.callID, "error", err)
			}
			wait, retry = retry, min(2*retry, copyRetryMax)
		} else {
			retry = copyRetryMin
		}
		select {
		case <-ctx.Done():
			return
		case <-c.over:
			c.end(ctx, stored)
			return
		case <-after(wait):
		case <-c.when(wait == 0):
		}
	}
}

// after is a timer that never fires for 0.
func after(wait time.Duration) <-chan time.Time {
	if wait == 0 {
		return nil
	}
	return time.After(wait)
}

// when is the sign of news, while it is listened to: not between a failure and the next try.
func (c *copier) when(listen bool) <-chan struct{} {
	if listen {
		return c.news
	}
	return nil
}

// copy brings all chunks behind stored to the replica, and answers how far that went. It stops at a failure, or where the replica
// does not take what it is given.
func (c *copier) copy(ctx context.Context, stored int64, ttl time.Duration) (int64, error) {
	keep := event.Retention{MaxEvents: replicaEvents, TTL: ttl}
	for {
		events, head, err := c.writer.read(stored, copyBatch)
		if err != nil || stored >= head {
			return stored, err
		}
		n, err := c.append(ctx, keep, events)
		if err != nil {
			return stored, err
		}
		progress := n >= events[len(events)-1].Offset
		if stored = n; !progress {
			return stored, errLagging
		}
	}
}

func (c *copier) append(ctx context.Context, keep event.Retention, events []event.Event) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, copyPatience)
	defer cancel()
	return c.replica.Append(ctx, c.writer.topic, keep, events...)
}

// end tries once to bring the rest and the last event. Readers have the blob, so a failure only costs them a recheck.
func (c *copier) end(ctx context.Context, stored int64) {
	c.mu.Lock()
	last := c.last
	c.mu.Unlock()
	if last == nil {
		return
	}
	if _, err := c.copy(ctx, stored, replicaEndedTTL); err != nil {
		return
	}
	_, _ = c.append(ctx, event.Retention{MaxEvents: replicaEvents, TTL: replicaEndedTTL}, []event.Event{*last})
}
