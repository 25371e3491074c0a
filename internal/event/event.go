package event

import (
	"errors"
	"fmt"
	"io"
)

// MaxPayload is the largest payload of one event, in bytes.
const MaxPayload = 256 << 10

// Topic names one sequence of events.
type Topic string

// ChangesTopic is the topic of an organization's changes. An agent's changes are a filter on it, so they share its cursors.
func ChangesTopic(organizationID string) Topic { return Topic("changes/" + organizationID) }

// RunTopic is the topic of a run's events.
func RunTopic(runID string) Topic { return Topic("run/" + runID) }

// OutputTopic is the topic of a call's output.
func OutputTopic(callID string) Topic { return Topic("output/" + callID) }

// Position is a place in a topic: behind the event with that Offset, 0 being before the first. Epoch names the history that the
// offsets count; a history that starts anew (a database put back from a backup) has another one.
type Position struct {
	Epoch  string
	Offset int64
}

// Event is one thing that happened on a topic.
type Event struct {
	// Offset is its place, from 1, without holes.
	Offset int64
	// Last says that the topic ends with this event.
	Last bool
	// Payload is what the topic's word made of it, at most MaxPayload bytes. It is shared by all readers: do not write to it.
	Payload []byte
}

// Errors of this package.
var (
	// ErrBadCursor: the cursor is malformed, or another topic's.
	ErrBadCursor = errors.New("event: bad cursor")
	// ErrClosed: the bus or the stream was closed.
	ErrClosed = errors.New("event: closed")
)

// check refuses what no reader could place.
func check(events []Event) error {
	for _, e := range events {
		if e.Offset < 1 {
			return fmt.Errorf("event: offset %d is below 1", e.Offset)
		}
		if len(e.Payload) > MaxPayload {
			return fmt.Errorf("event: a payload of %d bytes is over the limit of %d", len(e.Payload), MaxPayload)
		}
	}
	return nil
}

// ended tells the ends of a stream from failures that may pass.
func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, ErrClosed) }
