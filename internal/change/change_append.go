package change

import (
	"context"
	"log/slog"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/event"
	"github.com/scriptorium-dev/scriptorium/internal/id"
)

// Append writes changes in the transaction of what they tell, and tells the bus after its commit. It takes the lock that all writers
// of the organization share, until the transaction ends: call it last.
func (s *Service) Append(ctx context.Context, tx *database.Tx, organizationID string, news []New) ([]*Change, error) {
	if len(news) == 0 {
		return nil, nil
	}
	head, err := advance(ctx, tx, organizationID, len(news))
	if err != nil {
		return nil, err
	}
	at := database.Now()
	changes := make([]*Change, len(news))
	events := make([]event.Event, len(news))
	for i, n := range news {
		changes[i] = &Change{
			ID: id.New(id.Change), OrganizationID: organizationID, Offset: head - int64(len(news)-1-i), Action: n.Action,
			AgentID: n.AgentID, Name: n.Name, ScriptID: n.ScriptID, VersionID: n.VersionID, Author: n.Author, At: at,
		}
		if events[i], err = toEvent(changes[i]); err != nil {
			return nil, err
		}
	}
	if err := insert(ctx, tx, changes); err != nil {
		return nil, err
	}
	tell := context.WithoutCancel(ctx)
	tx.AfterCommit(func() {
		if err := s.bus.Publish(tell, event.ChangesTopic(organizationID), events...); err != nil {
			// Watchers find the rows in the database a moment later.
			slog.WarnContext(tell, "changes were written but not told", "error", err)
		}
	})
	return changes, nil
}
