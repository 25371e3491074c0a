package change

import (
	"context"
	"strconv"

	"github.com/scriptorium-dev/scriptorium/internal/batch"
	"github.com/scriptorium-dev/scriptorium/internal/event"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/page"
	"github.com/scriptorium-dev/scriptorium/internal/text"
)

// Log answers a page of an organization's changes, or of one agent's, oldest first. Its endCursor is never null: on an empty page it
// is the head of the log, from which Watch goes on.
func (s *Service) Log(ctx context.Context, organizationID string, agentID *string, args page.Args) (*page.Connection[*Change], error) {
	w, err := window(organizationID, args)
	if err != nil {
		return nil, err
	}
	if agentID != nil && !id.Is(id.Agent, *agentID) {
		agentID = new(string) // nobody's
	}
	rows, head, err := readLog(ctx, s.db, organizationID, agentID, w)
	if err != nil {
		return nil, err
	}
	connection := page.New(w, rows, cursorOf, func(ctx context.Context) (int, error) {
		return countLog(ctx, s.db, organizationID, agentID)
	})
	if connection.PageInfo.EndCursor == nil {
		end := string(cursorAt(organizationID, head))
		connection.PageInfo.EndCursor = &end
	}
	return connection, nil
}

// History answers a page of each agent's changes, newest first, in one statement. With a script's name: those of scripts of that name,
// also of deleted ones, and removals of all. As in Log, endCursor is never null.
func (s *Service) History(ctx context.Context, organizationID string, agentIDs []string, script *string, args page.Args) (map[string]*page.Connection[*Change], error) {
	w, err := window(organizationID, args)
	if err != nil {
		return nil, err
	}
	if script != nil && text.Storable("script", *script) != nil {
		script = new(string) // no script's name
	}
	rows, head, err := readHistories(ctx, s.db, organizationID, agentIDs, script, w)
	if err != nil {
		return nil, err
	}
	counts := batch.Counts(func(ctx context.Context) (map[string]int, error) {
		return countHistories(ctx, s.db, organizationID, agentIDs, script)
	})
	pages := batch.Pages(w, agentIDs, rows, func(c *Change) string { return *c.AgentID }, cursorOf, counts)
	for _, p := range pages {
		if p.PageInfo.EndCursor == nil {
			end := string(cursorAt(organizationID, head))
			p.PageInfo.EndCursor = &end
		}
	}
	return pages, nil
}

// ByIDs answers the changes with these ids, in one statement.
func (s *Service) ByIDs(ctx context.Context, organizationID string, ids []string) (map[string]*Change, error) {
	rows, err := readByIDs(ctx, s.db, organizationID, id.Only(id.Change, ids))
	if err != nil {
		return nil, err
	}
	found := make(map[string]*Change, len(rows))
	for _, c := range rows {
		found[c.ID] = c
	}
	return found, nil
}

// window reads a list's arguments; its keys are offsets.
func window(organizationID string, args page.Args) (page.Window, error) {
	return args.WindowOf("changes", func(cursor string) (string, error) {
		position, err := event.Cursor(cursor).Parse(event.ChangesTopic(organizationID))
		return strconv.FormatInt(position.Offset, 10), err
	})
}

func cursorOf(c *Change) string { return string(c.Cursor()) }
