package call

import (
	"context"
	"io"

	"github.com/scriptorium-dev/scriptorium/internal/event"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/output"
)

// Watch delivers what a call prints, from its start or right behind a cursor, and its end; the channel is closed behind that, and when ctx
// ends. Problems before the first event: NOT_FOUND, BAD_CURSOR. It needs no capability.
func (s *Service) Watch(ctx context.Context, organizationID, callID string, after *string) (<-chan OutputEvent, error) {
	if _, err := s.get(ctx, organizationID, callID); err != nil {
		return nil, err
	}
	start := event.Beginning()
	if after != nil {
		position, err := event.Cursor(*after).Parse(event.OutputTopic(callID))
		if err != nil {
			return nil, fault.NewProblem(fault.BadCursor, "after is not a cursor of this call's output").Because(err)
		}
		start = event.Behind(position)
	}
	feed := s.output.Feed(callID, func(ctx context.Context) (output.Status, error) { return readEnd(ctx, s.db, organizationID, callID) })
	stream, err := event.Open(ctx, s.bus, feed, start, event.Options{})
	if err != nil {
		return nil, err
	}
	return event.Relay(ctx, stream, func(ctx context.Context, item event.Item) (OutputEvent, bool, error) {
		e, err := s.eventOf(ctx, organizationID, callID, item)
		return e, true, err
	}), nil
}

// eventOf makes of an item what subscribers get.
func (s *Service) eventOf(ctx context.Context, organizationID, callID string, item event.Item) (OutputEvent, error) {
	if item.Gap != "" {
		return &event.StreamGap{Cursor: item.Cursor, Reason: item.Gap}, nil
	}
	if item.Event.Last {
		c, err := s.get(ctx, organizationID, callID)
		return &CallFinished{item.Cursor, c}, err
	}
	c, err := output.DecodeChunk(item.Event.Payload)
	if err != nil {
		return nil, err
	}
	stream := Stdout
	if c.Stream == output.Stderr {
		stream = Stderr
	}
	return &OutputChunk{Cursor: item.Cursor, CallID: callID, Offset: c.Offset, Stream: stream, Text: c.Text(), Data: c.Data, At: c.At}, nil
}

// Raw answers a call with the bytes of one stream that are kept now, from an offset in them. The reader fails with output.ErrGone where they
// are not kept any more. NOT_FOUND where there is no such call.
func (s *Service) Raw(ctx context.Context, organizationID, callID string, stream OutputStream, offset int64) (*Call, io.Reader, error) {
	c, err := s.get(ctx, organizationID, callID)
	if err != nil {
		return nil, nil, err
	}
	which := output.Stdout
	if stream == Stderr {
		which = output.Stderr
	}
	status := func(ctx context.Context) (output.Status, error) { return readEnd(ctx, s.db, organizationID, callID) }
	return c, s.output.Raw(ctx, callID, which, offset, status), nil
}

// get reads a call, or answers a NOT_FOUND Problem.
func (s *Service) get(ctx context.Context, organizationID, callID string) (*Call, error) {
	found, err := s.ByIDs(ctx, organizationID, []string{callID})
	if err != nil {
		return nil, err
	}
	if found[callID] == nil {
		return nil, fault.NewProblem(fault.Missing, "there is no such call")
	}
	return found[callID], nil
}
