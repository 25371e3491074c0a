package call

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/batch"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/page"
)

// target is what a call is made in: the run, and the script of the name in its snapshot.
type target struct {
	status    string
	agentID   *string
	scripting bool
	owner     string
	queued    int // calls of the run that wait
	direct    bool
	trial     bool            // of a draft
	rules     []*key.ToolRule // of the key that made the run: what they deny was not offered
	// Of the script of the organization that the run has under the tool's name, or of the snapshot's script; nil where there is none.
	scriptID, versionID *string
	number, timeout     *int
	parameters          json.RawMessage
}

// What a run has under a name: a script of its snapshot, or one of the organization's, as long as that is there.
const (
	ofSnapshot = `LEFT JOIN snapshots p ON p.organization_id = r.organization_id AND p.run_id = r.id
		LEFT JOIN snapshot_entries s ON s.organization_id = r.organization_id AND s.snapshot_id = p.id AND s.name = $3
		LEFT JOIN versions v ON v.id = s.version_id`
	ofTools = `LEFT JOIN run_tools t ON t.organization_id = r.organization_id AND t.run_id = r.id AND t.name = $3
		LEFT JOIN (SELECT id AS script_id FROM scripts WHERE organization_id = $1 AND deleted_at IS NULL) s ON s.script_id = t.script_id
		LEFT JOIN versions v ON v.id = t.version_id AND s.script_id IS NOT NULL`
)

// readTarget reads all that a call's acceptance needs, in one statement; nil where there is no such run. name is a script's of the run's agent, or, of
// a package, the tool's.
func readTarget(ctx context.Context, d *database.DB, organizationID, runID, name string, isPackage bool) (*target, error) {
	var t target
	var parameters, rules []byte
	from := ofSnapshot
	if isPackage {
		from = ofTools
	}
	err := d.SQL().QueryRowContext(ctx, `SELECT r.status, r.agent_id, r.scripting, r.owner, (SELECT COUNT(*) FROM calls q WHERE q.status = $4 AND q.run_id = r.id),
		s.script_id, v.id, v.number, v.timeout_seconds, v.parameters, (SELECT k.tool_rules FROM keys k WHERE k.id = r.key_id)
		FROM runs r `+from+` WHERE r.organization_id = $1 AND r.id = $2 AND NOT r.direct`, organizationID, runID, name, string(Queued)).
		Scan(&t.status, &t.agentID, &t.scripting, &t.owner, &t.queued, &t.scriptID, &t.versionID, &t.number, &t.timeout, &parameters, &rules)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("call: read the run: %w", err)
	}
	t.parameters = parameters
	if t.rules, err = key.DecodeRules(rules); err != nil {
		return nil, err
	}
	return &t, nil
}

// insert writes an accepted or refused call, where its run is still open and its script still there; false where not. It holds both so until
// the transaction ends.
func insert(ctx context.Context, tx *database.Tx, c *Call, input json.RawMessage) (bool, error) {
	from, and, args := "runs r", "", []any{
		c.ID, c.OrganizationID, c.QueuedAt, *c.RunID, c.AgentID, c.KeyID, c.Tool, c.ScriptID, c.VersionID, []byte(c.Arguments), bytesOrNil(input),
		c.TimeoutSeconds, string(c.Status), codeOf(c), []byte(c.Text), []byte{}, c.FinishedAt, c.trial,
		c.OrganizationID, *c.RunID, "OPEN", // again: PostgreSQL finds the type of a parameter once
	}
	if c.ScriptID != nil {
		from, and = from+", scripts s", " AND s.organization_id = $19 AND s.id = $22 AND s.deleted_at IS NULL"
		args = append(args, *c.ScriptID)
	}
	lock := ""
	if tx.Dialect() == database.Postgres {
		lock = " FOR SHARE"
	}
	result, err := tx.SQL().ExecContext(ctx, `INSERT INTO calls (id, organization_id, created_at, run_id, agent_id, key_id, tool, script_id, version_id,
		arguments, input, timeout_seconds, status, error_code, text, stdout, stderr, finished_at, trial)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $16, $17, $18
		FROM `+from+` WHERE r.organization_id = $19 AND r.id = $20 AND r.status = $21`+and+lock, args...)
	if err != nil {
		return false, fmt.Errorf("call: write: %w", err)
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

func bytesOrNil(raw json.RawMessage) any {
	if raw == nil {
		return nil
	}
	return []byte(raw)
}

func codeOf(c *Call) *string {
	if c.ErrorCode == nil {
		return nil
	}
	code := string(*c.ErrorCode)
	return &code
}

// columns of a call, as scan reads them.
const columns = `c.id, c.organization_id, c.run_id, c.agent_id, c.key_id, c.tool, c.script_id, c.version_id, c.arguments, c.timeout_seconds, c.status,
	c.error_code, c.text, c.exit_code, c.signal, c.stdout, c.stderr, c.truncated, c.stdout_bytes, c.stdout_sha256, c.stderr_bytes, c.stderr_sha256,
	c.dropped_bytes, c.output_chunks, c.created_at, c.started_at, c.finished_at, c.duration_ms, c.cpu_ms, c.peak_memory_bytes,
	c.end_reason, c.processes_killed, c.isolation, c."left"`

// scan reads a row of columns, and what more there is.
func scan(rows *sql.Rows, more ...any) (*Call, error) {
	c := &Call{Output: &OutputInfo{}}
	var arguments, text, left []byte
	var chunks int64
	err := rows.Scan(append([]any{
		&c.ID, &c.OrganizationID, &c.RunID, &c.AgentID, &c.KeyID, &c.Tool, &c.ScriptID, &c.VersionID, &arguments, &c.TimeoutSeconds, &c.Status,
		&c.ErrorCode, &text, &c.ExitCode, &c.Signal, &c.StdoutCut, &c.StderrCut, &c.Truncated, &c.Output.StdoutBytes, &c.Output.StdoutSha256,
		&c.Output.StderrBytes, &c.Output.StderrSha256, &c.Output.Dropped, &chunks, &c.QueuedAt, &c.StartedAt, &c.FinishedAt, &c.DurationMs,
		&c.CPUMs, &c.PeakMemoryBytes, &c.endReason, &c.processesKilled, &c.isolation, &left,
	}, more...)...)
	if err != nil {
		return nil, err
	}
	c.Arguments, c.Text = arguments, string(text)
	if left != nil {
		if err := json.Unmarshal(left, &c.LeftOnComputer); err != nil {
			return nil, err
		}
	}
	for _, b := range []*[]byte{&c.StdoutCut, &c.StderrCut} {
		if len(*b) == 0 {
			*b = nil
		}
	}
	c.Output.URL = urlOf(c.ID, c.Status, chunks)
	c.QueuedAt = c.QueuedAt.UTC()
	for _, t := range []*time.Time{c.StartedAt, c.FinishedAt} {
		if t != nil {
			*t = t.UTC()
		}
	}
	return c, nil
}

// scanAll reads all rows; skip is the number of further columns.
func scanAll(rows *sql.Rows, err error, skip int) ([]*Call, error) {
	if err != nil {
		return nil, fmt.Errorf("call: read: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	more := make([]any, skip)
	for i := range more {
		more[i] = new(any)
	}
	var calls []*Call
	for rows.Next() {
		c, err := scan(rows, more...)
		if err != nil {
			return nil, fmt.Errorf("call: read: %w", err)
		}
		calls = append(calls, c)
	}
	return calls, rows.Err()
}

// seen narrows calls to those that the viewer sees: of a draft only keys with MANAGEMENT see anything (S2-draft).
func seen(ctx context.Context) string {
	if v, err := key.From(ctx); err == nil && v.Has(key.Management) {
		return ""
	}
	return " AND NOT c.trial"
}

// byIDs reads calls of the organization that the viewer sees.
func byIDs(ctx context.Context, q *database.Querier, organizationID string, ids []string) ([]*Call, error) {
	rows, err := q.QueryContext(ctx, "SELECT "+columns+" FROM calls c WHERE c.organization_id = $1 AND c.id IN "+batch.In(q.Dialect(), 2)+seen(ctx),
		organizationID, batch.List(ids))
	return scanAll(rows, err, 0)
}

// readAnywhere reads ended calls of any organization, for those on this server who wait for them.
func readAnywhere(ctx context.Context, d *database.DB, ids []string) ([]*Call, error) {
	rows, err := d.SQL().QueryContext(ctx, "SELECT "+columns+" FROM calls c WHERE c.finished_at IS NOT NULL AND c.id IN "+batch.In(d.Dialect(), 1), batch.List(ids))
	return scanAll(rows, err, 0)
}

// conditions makes the condition of a filter; args begin with the organization.
func (f Filter) conditions(dialect, organizationID string) (where string, args []any) {
	parts, args := []string{"c.organization_id = $1"}, []any{organizationID}
	and := func(column string, value *string) {
		if value != nil {
			args = append(args, *value)
			parts = append(parts, fmt.Sprintf("%s = $%d", column, len(args)))
		}
	}
	and("c.run_id", f.Run)
	and("c.agent_id", f.Agent)
	and("c.script_id", f.Script)
	and("c.tool", f.Tool)
	if f.Status != nil {
		states := make([]string, len(f.Status))
		for i, s := range f.Status {
			states[i] = string(s)
		}
		args = append(args, batch.List(states))
		parts = append(parts, "c.status IN "+batch.In(dialect, len(args)))
	}
	return strings.Join(parts, " AND "), args
}

// list reads a window of the organization's calls that meet the filter, newest first.
func list(ctx context.Context, d *database.DB, organizationID string, f Filter, w page.Window) ([]*Call, error) {
	where, args := f.conditions(d.Dialect(), organizationID)
	return query(ctx, d, batch.Query{Where: where + seen(ctx), Args: args, Order: "c.id", Desc: true, Window: w})
}

// listOfRuns reads a window of each run's calls, in the order in which they were accepted, in one statement.
func listOfRuns(ctx context.Context, d *database.DB, organizationID string, runIDs []string, w page.Window) ([]*Call, error) {
	return query(ctx, d, batch.Query{
		Where: "c.organization_id = $1", Args: []any{organizationID}, Parent: "c.run_id", Parents: runIDs, Order: "c.id", Window: w,
	})
}

func query(ctx context.Context, d *database.DB, q batch.Query) ([]*Call, error) {
	q.Columns, q.From = columns, "calls c"
	if q.Window.After != "" {
		q.After = q.Window.After
	}
	if q.Window.Before != "" {
		q.Before = q.Window.Before
	}
	statement, args := q.SQL(d.Dialect())
	rows, err := d.SQL().QueryContext(ctx, statement, args...)
	return scanAll(rows, err, 1)
}

// count counts the organization's calls that meet the filter.
func count(ctx context.Context, d *database.DB, organizationID string, f Filter) (n int, err error) {
	where, args := f.conditions(d.Dialect(), organizationID)
	if err := d.SQL().QueryRowContext(ctx, "SELECT COUNT(*) FROM calls c WHERE "+where+seen(ctx), args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("call: count: %w", err)
	}
	return n, nil
}

// countOfRuns counts each run's calls.
func countOfRuns(ctx context.Context, d *database.DB, organizationID string, runIDs []string) (map[string]int, error) {
	return batch.Grouped(ctx, d.SQL(), "SELECT run_id, COUNT(*) FROM calls WHERE organization_id = $1 AND run_id IN "+batch.In(d.Dialect(), 2)+
		" GROUP BY run_id", organizationID, batch.List(runIDs))
}

// readOne reads a call of any organization; nil where there is none.
func readOne(ctx context.Context, q *database.Querier, id string) (*Call, error) {
	rows, err := q.QueryContext(ctx, "SELECT "+columns+" FROM calls c WHERE c.id = $1", id)
	calls, err := scanAll(rows, err, 0)
	if err != nil || len(calls) == 0 {
		return nil, err
	}
	return calls[0], nil
}
