package change

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/scriptorium-dev/scriptorium/internal/event"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// Watch delivers an organization's changes, or those of one agent, behind the cursor `after`, or from now on. What happened and what
// happens are joined without a seam. A cursor of something else is a BAD_CURSOR Problem. The channel closes when the context ends.
func (s *Service) Watch(ctx context.Context, organizationID string, agentID, after *string) (<-chan Item, error) {
	start := event.Now()
	if after != nil {
		position, err := event.Cursor(*after).Parse(event.ChangesTopic(organizationID))
		if err != nil {
			return nil, fault.NewProblem(fault.BadCursor, "after is not a cursor of these changes").Because(err)
		}
		start = event.Behind(position)
	}
	stream, err := event.Open(ctx, s.bus, s.feed(organizationID), start, event.Options{})
	if errors.Is(err, event.ErrClosed) {
		return nil, fault.NewProblem(fault.Unavailable, "the server is stopping").Because(err)
	}
	if err != nil {
		return nil, fmt.Errorf("watch changes: %w", err)
	}
	return event.Relay(ctx, stream, func(_ context.Context, item event.Item) (Item, bool, error) {
		if item.Gap != "" {
			return &event.StreamGap{Cursor: item.Cursor, Reason: item.Gap}, true, nil
		}
		c, err := fromEvent(organizationID, item.Event)
		if err != nil {
			return nil, false, err
		}
		return c, agentID == nil || c.AgentID != nil && *c.AgentID == *agentID, nil
	}), nil
}

// Head answers the cursor behind the newest change there is.
func (s *Service) Head(ctx context.Context, organizationID string) (event.Cursor, error) {
	return s.feed(organizationID).Head(ctx)
}

func (s *Service) feed(organizationID string) event.Feed {
	return event.Feed{Topic: event.ChangesTopic(organizationID), Epoch: epoch, Source: source{s.db, organizationID}}
}

// toEvent makes the event of a change. It carries the whole row, so that no server has to read it again.
func toEvent(c *Change) (event.Event, error) {
	payload, err := json.Marshal(c)
	if err != nil {
		return event.Event{}, fmt.Errorf("change: event: %w", err)
	}
	return event.Event{Offset: c.Offset, Payload: payload}, nil
}

// fromEvent reads the change of an event.
func fromEvent(organizationID string, e event.Event) (*Change, error) {
	var c Change
	if err := json.Unmarshal(e.Payload, &c); err != nil {
		return nil, fmt.Errorf("change: event: %w", err)
	}
	if c.OrganizationID != organizationID || c.Offset != e.Offset {
		return nil, fmt.Errorf("change: event %d holds change %d of %s", e.Offset, c.Offset, c.OrganizationID)
	}
	return &c, nil
}
