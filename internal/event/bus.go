package event

import (
	"context"
	"time"
)

// Bus carries events from those who publish to the streams that watch. All methods may be called from any goroutine.
type Bus interface {
	// Publish tells all watchers of the topic, in this and in other processes, of events that the topic's source already holds:
	// call it after the commit. Repeated and late offsets do no harm. It never waits for Redis, and Redis being away is no error:
	// watchers find the events in the source. It fails on an invalid event, and with ErrClosed.
	Publish(ctx context.Context, topic Topic, events ...Event) error

	// PublishHere tells the watchers in this process only: for a topic whose writer tells the others through the Replica.
	PublishHere(topic Topic, events ...Event) error

	// Watch opens the topic's ring of recent events, shared by all watchers in this process. Close it.
	Watch(topic Topic) (*Watch, error)

	// Replica is the store that other servers read a topic from whose source is on this server's disk, or nil where there are no
	// other servers.
	Replica() Replica

	// Ping tells whether the bus reaches other servers now; for readiness and metrics.
	Ping(ctx context.Context) error

	// Close ends all watches with ErrClosed and stops the bus's goroutines.
	Close() error
}

// Retention bounds what a Replica keeps of a topic.
type Retention struct {
	// MaxEvents is how many events are kept at least before the oldest go.
	MaxEvents int64
	// TTL is how long the topic is kept after the last Append.
	TTL time.Duration
}

// Replica keeps copies of topics that have one writer. Its writer appends in order and goes by the answer: where the replica lost
// events (Redis was away, or restarted empty), the writer sends again from there.
type Replica interface {
	// Append stores the events that come right behind what is stored, passes over those that are stored already, stores none
	// behind a hole, and tells watchers in other processes of all of them in any case. It answers the offset of the last event stored, 0 for none.
	Append(ctx context.Context, topic Topic, keep Retention, events ...Event) (stored int64, err error)

	// Stored reads up to limit events right behind the offset, none where the next one is missing, and answers the offset of the
	// last event stored, 0 for none.
	Stored(ctx context.Context, topic Topic, after int64, limit int) (events []Event, stored int64, err error)

	// Drop forgets the topic.
	Drop(ctx context.Context, topic Topic) error
}
