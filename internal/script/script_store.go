package script

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/scriptorium-dev/scriptorium/ent/db"
	"github.com/scriptorium-dev/scriptorium/ent/db/script"
	"github.com/scriptorium-dev/scriptorium/internal/batch"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/page"
)

// Scripts are read together with the description and parameters of their latest version.
const (
	scriptColumns = `s.id, s.organization_id, s.agent_id, s.name, s.latest_version_id, s.latest_number, s.published, s.metadata, s.created_at,
		s.updated_at, s.deleted_at, v.number, v.description, v.parameters`
	scriptTables = "scripts s JOIN versions v ON v.id = s.latest_version_id AND v.organization_id = s.organization_id"
	live         = "s.organization_id = $1 AND s.deleted_at IS NULL"
	published    = " AND s.published" // some version is: not of drafts alone
)

// insertScript writes a script's row.
func insertScript(ctx context.Context, tx *database.Tx, s *Script) error {
	row := tx.Ent().Script.Create().SetID(s.ID).SetOrganizationID(s.OrganizationID).SetName(s.Name).SetLatestVersionID(s.LatestVersionID).
		SetLatestNumber(s.LatestNumber).SetPublished(s.Published).SetCreatedAt(s.CreatedAt).SetUpdatedAt(s.UpdatedAt)
	if !s.IsPackage() {
		row.SetAgentID(s.AgentID)
	}
	if s.metadata != nil {
		row.SetMetadata(s.metadata)
	}
	if err := row.Exec(ctx); err != nil {
		return fmt.Errorf("script: write: %w", err)
	}
	return nil
}

// updateScript writes which version is the latest, and what else can change of a script.
func updateScript(ctx context.Context, tx *database.Tx, s *Script) error {
	row := tx.Ent().Script.Update().Where(script.OrganizationID(s.OrganizationID), script.ID(s.ID)).
		SetLatestVersionID(s.LatestVersionID).SetLatestNumber(s.LatestNumber).SetPublished(s.Published).SetUpdatedAt(s.UpdatedAt)
	if s.metadata != nil {
		row.SetMetadata(s.metadata)
	}
	if err := row.Exec(ctx); err != nil {
		return fmt.Errorf("script: update: %w", err)
	}
	return nil
}

// markDeleted ends scripts. Their rows and versions stay for history.
func markDeleted(ctx context.Context, tx *database.Tx, organizationID string, ids []string, at time.Time) error {
	err := tx.Ent().Script.Update().Where(script.OrganizationID(organizationID), script.IDIn(ids...)).SetDeletedAt(at).Exec(ctx)
	if err != nil {
		return fmt.Errorf("script: delete: %w", err)
	}
	return nil
}

// countLive counts the agent's scripts.
func countLive(ctx context.Context, tx *database.Tx, organizationID, agentID string) (int, error) {
	n, err := tx.Ent().Script.Query().Where(script.OrganizationID(organizationID), script.AgentID(agentID), script.DeletedAtIsNil()).Count(ctx)
	if err != nil {
		return 0, fmt.Errorf("script: count: %w", err)
	}
	return n, nil
}

// among is the condition of the organization's scripts: deleted ones where wanted.
func among(deleted bool) string {
	if deleted {
		return "s.organization_id = $1"
	}
	return live
}

// byIDs reads scripts of the organization, deleted ones and those of drafts alone where wanted.
func byIDs(ctx context.Context, q *database.Querier, organizationID string, ids []string, deleted, drafts bool) ([]*Script, error) {
	where := among(deleted)
	if !drafts {
		where += published
	}
	return readScripts(ctx, q, "SELECT "+scriptColumns+", 1 FROM "+scriptTables+" WHERE "+where+" AND s.id IN "+batch.In(q.Dialect(), 2),
		organizationID, batch.List(ids))
}

// ownDrafts reads scripts that nothing is published of, as they are with what the key wrote of them alone.
func ownDrafts(ctx context.Context, q *database.Querier, organizationID, keyID string, ids []string, deleted bool) ([]*Script, error) {
	where := among(deleted)
	columns := strings.NewReplacer("s.latest_version_id", "v.id", "s.latest_number", "v.number", "s.updated_at", "v.created_at").Replace(scriptColumns)
	const newest = `(SELECT MAX(o.number) FROM versions o WHERE o.organization_id = $1 AND o.script_id = s.id AND o.author_key_id = $2)`
	return readScripts(ctx, q, "SELECT "+columns+", 1 FROM scripts s JOIN versions v ON v.script_id = s.id AND v.organization_id = s.organization_id WHERE "+where+
		" AND NOT s.published AND v.number = "+newest+" AND s.id IN "+batch.In(q.Dialect(), 3), organizationID, keyID, batch.List(ids))
}

// scriptsByName reads the agents' scripts of the name.
func scriptsByName(ctx context.Context, q *database.Querier, organizationID string, agentIDs []string, name string) ([]*Script, error) {
	return readScripts(ctx, q, "SELECT "+scriptColumns+", 1 FROM "+scriptTables+" WHERE "+live+" AND s.name = $2 AND s.agent_id IN "+
		batch.In(q.Dialect(), 3), organizationID, name, batch.List(agentIDs))
}

// liveScripts reads all scripts of the agent, by name.
func liveScripts(ctx context.Context, q *database.Querier, organizationID, agentID string) ([]*Script, error) {
	return readScripts(ctx, q, "SELECT "+scriptColumns+", 1 FROM "+scriptTables+" WHERE "+live+" AND s.agent_id = $2 ORDER BY "+
		batch.Bytewise(q.Dialect(), "s.name"), organizationID, agentID)
}

// scriptsOfAgents reads a window of each agent's scripts, by name.
func scriptsOfAgents(ctx context.Context, q *database.Querier, organizationID string, agentIDs []string, w page.Window) ([]*Script, error) {
	query := batch.Query{
		Columns: scriptColumns, From: scriptTables, Where: live, Args: []any{organizationID},
		Parent: "s.agent_id", Parents: agentIDs, Order: batch.Bytewise(q.Dialect(), "s.name"), Window: w,
	}
	if w.After != "" {
		query.After = w.After
	}
	if w.Before != "" {
		query.Before = w.Before
	}
	statement, args := query.SQL(q.Dialect())
	return readScripts(ctx, q, statement, args...)
}

// countOfAgents counts each agent's scripts.
func countOfAgents(ctx context.Context, q *database.Querier, organizationID string, agentIDs []string) (map[string]int, error) {
	return batch.Grouped(ctx, q, "SELECT s.agent_id, COUNT(*) FROM scripts s WHERE "+live+" AND s.agent_id IN "+batch.In(q.Dialect(), 2)+
		" GROUP BY s.agent_id", organizationID, batch.List(agentIDs))
}

// liveEntries reads the agent's scripts with their latest versions, by name, without the sources: an agent may have many.
func liveEntries(ctx context.Context, q *database.Querier, organizationID, agentID string) ([]Entry, error) {
	return readEntries(ctx, q, strings.Replace(versionColumns, "v.source,", "'',", 1), live+" AND s.agent_id = $2 ORDER BY "+batch.Bytewise(q.Dialect(), "s.name"), organizationID, agentID)
}

// liveByName reads the agent's script of the name with its latest version; nil where there is none.
func liveByName(ctx context.Context, q *database.Querier, organizationID, agentID, name string) (*Entry, error) {
	entries, err := readEntries(ctx, q, versionColumns, live+" AND s.agent_id = $2 AND s.name = $3", organizationID, agentID, name)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	return &entries[0], nil
}

// readEntries reads scripts with their latest versions.
func readEntries(ctx context.Context, q *database.Querier, columns, where string, args ...any) ([]Entry, error) {
	var entries []Entry
	err := each(ctx, q, func(rows *sql.Rows) error {
		e := Entry{Script: &Script{}, Version: &Version{}}
		if err := rows.Scan(append(e.Script.columns(), e.Version.columns()...)...); err != nil {
			return err
		}
		entries = append(entries, e)
		return nil
	}, "SELECT "+scriptColumns+", "+columns+" FROM "+scriptTables+" WHERE "+where, args...)
	return entries, err
}

// readScripts reads rows of scriptColumns and a number.
func readScripts(ctx context.Context, q *database.Querier, statement string, args ...any) ([]*Script, error) {
	var scripts []*Script
	err := each(ctx, q, func(rows *sql.Rows) error {
		var s Script
		var place int
		scripts = append(scripts, &s)
		return rows.Scan(append(s.columns(), &place)...)
	}, statement, args...)
	return scripts, err
}

// columns are where the values of scriptColumns go.
func (s *Script) columns() []any {
	return []any{
		&s.ID, &s.OrganizationID, nullable{&s.AgentID}, &s.Name, &s.LatestVersionID, &s.LatestNumber, &s.Published, (*[]byte)(&s.metadata),
		&s.CreatedAt, &s.UpdatedAt, &s.DeletedAt, &s.latest, &s.Description, (*[]byte)(&s.Parameters),
	}
}

// each runs a statement and calls f for each of its rows.
func each(ctx context.Context, q *database.Querier, f func(*sql.Rows) error, statement string, args ...any) error {
	rows, err := q.QueryContext(ctx, statement, args...)
	if err != nil {
		return fmt.Errorf("script: read: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	for rows.Next() {
		if err := f(rows); err != nil {
			return fmt.Errorf("script: read: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("script: read: %w", err)
	}
	return nil
}

// insertVersion writes a version's row.
func insertVersion(ctx context.Context, tx *database.Tx, v *Version) error {
	row := tx.Ent().Version.Create().SetID(v.ID).SetOrganizationID(v.OrganizationID).SetScriptID(v.ScriptID).SetNumber(v.Number).
		SetDescription(v.Description).SetSource(v.Source).SetSourceHash(v.SourceHash).SetTimeoutSeconds(v.TimeoutSeconds).SetBackground(v.Background).
		SetFreshInterpreter(v.FreshInterpreter).SetCreatedAt(v.CreatedAt).SetNillablePublishedAt(v.PublishedAt)
	setAuthor(row, v)
	if v.Parameters != nil {
		row.SetParameters(v.Parameters)
	}
	if v.Package {
		command, err := json.Marshal(v.Entrypoint)
		if err != nil {
			return fmt.Errorf("version: entrypoint: %w", err)
		}
		row.SetEntrypoint(command)
	}
	if v.labels != nil {
		row.SetLabels(v.labels)
	}
	if v.metadata != nil {
		row.SetMetadata(v.metadata)
	}
	if err := row.Exec(ctx); err != nil {
		return fmt.Errorf("version: write: %w", err)
	}
	return nil
}

func setAuthor(row *db.VersionCreate, v *Version) {
	if v.Author.KeyID != "" {
		row.SetAuthorKeyID(v.Author.KeyID)
	}
	if v.Author.CallID != "" {
		row.SetAuthorCallID(v.Author.CallID)
	}
}
