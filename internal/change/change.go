package change

import (
	"context"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/event"
)

// Action is what happened (SDL: ScriptAction).
type Action string

// The actions. Create also tells that a script was replaced by its next version.
const (
	Create  Action = "CREATE"
	Delete  Action = "DELETE"
	Clear   Action = "CLEAR"
	Publish Action = "PUBLISH"
)

// Author is who did it: a key, or the call of a run. One of the two is set.
type Author struct {
	KeyID  string
	CallID string
}

// New is a change to be written.
type New struct {
	Action    Action
	AgentID   *string // nil: the organization's script
	Name      *string // nil for Clear
	ScriptID  *string // nil for Clear
	VersionID *string // nil for Delete and Clear
	Author    Author
}

// Change is one row of the log (SDL: ScriptChange).
type Change struct {
	ID             string
	OrganizationID string
	Offset         int64
	Action         Action
	AgentID        *string
	Name           *string
	ScriptID       *string
	VersionID      *string
	Author         Author
	At             time.Time
}

// Cursor is the change's place, the same in the log, in histories and in the stream.
func (c *Change) Cursor() event.Cursor { return cursorAt(c.OrganizationID, c.Offset) }

// Item is what Watch delivers: a *Change or an *event.StreamGap (SDL: ScriptChangeEvent).
type Item any

// epoch names the history that offsets count. The topic holds the organization's id, so that another database's cursors are refused
// already.
const epoch = "1"

func cursorAt(organizationID string, offset int64) event.Cursor {
	return event.NewCursor(event.ChangesTopic(organizationID), event.Position{Epoch: epoch, Offset: offset})
}

type authorKey struct{}

// WithAuthor says that what is done in the context is the author's: a tool that writes does so as its call.
func WithAuthor(ctx context.Context, a Author) context.Context {
	return context.WithValue(ctx, authorKey{}, a)
}

// AuthorOf answers the author that WithAuthor put into the context, or the key where there is none.
func AuthorOf(ctx context.Context, keyID string) Author {
	if a, ok := ctx.Value(authorKey{}).(Author); ok {
		return a
	}
	return Author{KeyID: keyID}
}
