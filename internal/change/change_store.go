package change

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/scriptorium-dev/scriptorium/ent/db"
	"github.com/scriptorium-dev/scriptorium/internal/batch"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/event"
	"github.com/scriptorium-dev/scriptorium/internal/page"
)

const columns = `c.id, c.organization_id, c."offset", c.action, c.agent_id, c.name, c.script_id, c.version_id, c.author_key_id, c.author_call_id, c.created_at`

// advance counts the organization's head up by n, which locks its row until the transaction ends, and answers the new head.
func advance(ctx context.Context, tx *database.Tx, organizationID string, n int) (head int64, err error) {
	err = tx.SQL().QueryRowContext(ctx, "UPDATE organizations SET change_head = change_head + $2 WHERE id = $1 RETURNING change_head",
		organizationID, n).Scan(&head)
	if err != nil {
		return 0, fmt.Errorf("change: take an offset: %w", err)
	}
	return head, nil
}

// insert writes the rows.
func insert(ctx context.Context, tx *database.Tx, changes []*Change) error {
	rows := make([]*db.ChangeCreate, len(changes))
	for i, c := range changes {
		rows[i] = tx.Ent().Change.Create().SetID(c.ID).SetOrganizationID(c.OrganizationID).SetOffset(c.Offset).SetAction(string(c.Action)).
			SetNillableAgentID(c.AgentID).SetNillableName(c.Name).SetNillableScriptID(c.ScriptID).SetNillableVersionID(c.VersionID).
			SetCreatedAt(c.At)
		if c.Author.KeyID != "" {
			rows[i].SetAuthorKeyID(c.Author.KeyID)
		}
		if c.Author.CallID != "" {
			rows[i].SetAuthorCallID(c.Author.CallID)
		}
	}
	if err := tx.Ent().Change.CreateBulk(rows...).Exec(ctx); err != nil {
		return fmt.Errorf("change: write: %w", err)
	}
	return nil
}

// source is the truth of an organization's topic.
type source struct {
	db           *database.DB
	organization string
}

// Read implements event.Source.
func (s source) Read(ctx context.Context, after int64, limit int) (event.Page, error) {
	w := page.Window{Limit: max(limit, 1) - 1} // a query reads one row more
	query := batch.Query{Where: "c.organization_id = $1", Args: []any{s.organization}, Order: `c."offset"`, After: after, Window: w}
	if limit == 0 {
		query.Where += " AND FALSE"
	}
	rows, head, err := read(ctx, s.db, query)
	if err != nil {
		return event.Page{}, err
	}
	answer := event.Page{Head: head}
	if after > head {
		answer.Gap = "the changes were set back to an earlier state"
		return answer, nil
	}
	for _, c := range rows {
		e, err := toEvent(c)
		if err != nil {
			return event.Page{}, err
		}
		answer.Events = append(answer.Events, e)
	}
	return answer, nil
}

// readLog reads a page of the organization's changes, or of an agent's, and the head at the same moment.
func readLog(ctx context.Context, d *database.DB, organizationID string, agentID *string, w page.Window) ([]*Change, int64, error) {
	query := batch.Query{Where: "c.organization_id = $1", Args: []any{organizationID}, Order: `c."offset"`, Window: w}
	if agentID != nil {
		query.Parent, query.Parents = "c.agent_id", []string{*agentID}
	}
	return readWindow(ctx, d, query)
}

// readHistories reads a page of each agent's changes, and the head at the same moment.
func readHistories(ctx context.Context, d *database.DB, organizationID string, agentIDs []string, script *string, w page.Window) ([]*Change, int64, error) {
	where, args := historyOf(organizationID, script)
	return readWindow(ctx, d, batch.Query{
		Where: where, Args: args, Parent: "c.agent_id", Parents: agentIDs, Order: `c."offset"`, Desc: true, Window: w,
	})
}

// historyOf answers the condition of changes that concern scripts of the name, or of all.
func historyOf(organizationID string, script *string) (where string, args []any) {
	if script == nil {
		return "c.organization_id = $1", []any{organizationID}
	}
	return "c.organization_id = $1 AND (c.name = $2 OR c.name IS NULL)", []any{organizationID, *script}
}

// readWindow is read with the bounds that the window has as text.
func readWindow(ctx context.Context, d *database.DB, query batch.Query) ([]*Change, int64, error) {
	for _, bound := range []struct {
		key  string
		into *any
	}{{query.Window.After, &query.After}, {query.Window.Before, &query.Before}} {
		if bound.key == "" {
			continue
		}
		offset, err := strconv.ParseInt(bound.key, 10, 64)
		if err != nil {
			return nil, 0, fmt.Errorf("change: offset: %w", err)
		}
		*bound.into = offset
	}
	return read(ctx, d, query)
}

// read reads the query's changes and the organization's head in one statement, so that both are of one moment. The query's first
// argument is the organization.
func read(ctx context.Context, d *database.DB, query batch.Query) (changes []*Change, head int64, err error) {
	query.Columns, query.From = columns, "changes c"
	inner, args := query.SQL(d.Dialect())
	rows, err := d.SQL().QueryContext(ctx, "SELECT o.change_head, c.* FROM organizations o LEFT JOIN ("+inner+") c ON 1 = 1 WHERE o.id = $1 ORDER BY c.place", args...)
	if err != nil {
		return nil, 0, fmt.Errorf("change: read: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	for rows.Next() {
		c, err := scan(rows, &head)
		if err != nil {
			return nil, 0, fmt.Errorf("change: read: %w", err)
		}
		if c != nil {
			changes = append(changes, c)
		}
	}
	return changes, head, rows.Err()
}

// scan reads a row of read; nil where the organization has no change to answer.
func scan(rows *sql.Rows, head *int64) (*Change, error) {
	var c Change
	var id, organization, action, authorKey, authorCall *string
	var offset, place *int64
	var at *time.Time
	err := rows.Scan(head, &id, &organization, &offset, &action, &c.AgentID, &c.Name, &c.ScriptID, &c.VersionID, &authorKey, &authorCall, &at, &place)
	if err != nil || id == nil {
		return nil, err
	}
	if organization == nil || offset == nil || action == nil || at == nil {
		return nil, errors.New("a row has no values")
	}
	c.ID, c.OrganizationID, c.Offset, c.Action, c.At = *id, *organization, *offset, Action(*action), at.UTC()
	c.Author = authorFrom(authorKey, authorCall)
	return &c, nil
}

// authorFrom puts together what two columns hold.
func authorFrom(keyID, callID *string) (a Author) {
	if keyID != nil {
		a.KeyID = *keyID
	}
	if callID != nil {
		a.CallID = *callID
	}
	return a
}

// readByIDs reads the changes with these ids.
func readByIDs(ctx context.Context, d *database.DB, organizationID string, ids []string) ([]*Change, error) {
	rows, _, err := read(ctx, d, batch.Query{
		Where: "c.organization_id = $1 AND c.id IN " + batch.In(d.Dialect(), 2), Args: []any{organizationID, batch.List(ids)},
		Order: `c."offset"`, Window: page.Window{Limit: len(ids)},
	})
	return rows, err
}

// countLog counts the organization's changes, or an agent's.
func countLog(ctx context.Context, d *database.DB, organizationID string, agentID *string) (n int, err error) {
	query, args := "SELECT COUNT(*) FROM changes c WHERE c.organization_id = $1", []any{organizationID}
	if agentID != nil {
		query, args = query+" AND c.agent_id = $2", append(args, *agentID)
	}
	if err := d.SQL().QueryRowContext(ctx, query, args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("change: count: %w", err)
	}
	return n, nil
}

// countHistories counts each agent's changes.
func countHistories(ctx context.Context, d *database.DB, organizationID string, agentIDs []string, script *string) (map[string]int, error) {
	where, args := historyOf(organizationID, script)
	args = append(args, batch.List(agentIDs))
	return batch.Grouped(ctx, d.SQL(), "SELECT c.agent_id, COUNT(*) FROM changes c WHERE "+where+" AND c.agent_id IN "+
		batch.In(d.Dialect(), len(args))+" GROUP BY c.agent_id", args...)
}
