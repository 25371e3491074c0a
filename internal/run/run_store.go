package run

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scriptorium-dev/scriptorium/ent/db"
	"github.com/scriptorium-dev/scriptorium/ent/db/run"
	"github.com/scriptorium-dev/scriptorium/internal/batch"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/page"
	"github.com/scriptorium-dev/scriptorium/internal/tool"
)

// columns of a run, without what only its host needs.
var columns = []string{
	run.FieldID, run.FieldOrganizationID, run.FieldAgentID, run.FieldKeyID, run.FieldStatus, run.FieldGeneration,
	run.FieldCreatedAt, run.FieldFinishedAt,
}

// newRun is a run's row with what is written once.
type newRun struct {
	*Run
	scripting   bool
	environment map[string]string
	tools       json.RawMessage
	direct      bool // made for one call that asked for no run
}

// insert writes a run's row.
func insert(ctx context.Context, tx *database.Tx, r newRun) error {
	environment, err := json.Marshal(r.environment)
	if err != nil {
		return fmt.Errorf("run: environment: %w", err)
	}
	err = tx.Ent().Run.Create().SetID(r.ID).SetOrganizationID(r.OrganizationID).SetNillableAgentID(r.AgentID).SetKeyID(r.KeyID).
		SetStatus(string(r.Status)).SetScripting(r.scripting).SetEnvironment(environment).SetTools(r.tools).SetDirect(r.direct).SetCreatedAt(r.CreatedAt).Exec(ctx)
	if err != nil {
		return fmt.Errorf("run: write: %w", err)
	}
	return nil
}

// insertTools writes which versions of the organization's scripts a run is offered (S2-resolved).
func insertTools(ctx context.Context, tx *database.Tx, r *Run, tools []*tool.Tool) error {
	const atOnce = 500 // far below what a statement's arguments may be
	for some := range slices.Chunk(tools, atOnce) {
		rows := make([]*db.RunToolCreate, len(some))
		for i, t := range some {
			rows[i] = tx.Ent().RunTool.Create().SetOrganizationID(r.OrganizationID).SetRunID(r.ID).SetName(t.Name).SetScriptID(t.ScriptID).SetVersionID(t.VersionID)
		}
		if err := tx.Ent().RunTool.CreateBulk(rows...).Exec(ctx); err != nil {
			return fmt.Errorf("run: write its tools: %w", err)
		}
	}
	return nil
}

// byIDs reads runs of the organization, but for those that are hidden: made for one call.
func byIDs(ctx context.Context, client *db.Client, organizationID string, ids []string) (map[string]*Run, error) {
	rows, err := client.Run.Query().Where(run.OrganizationID(organizationID), run.IDIn(ids...), run.Direct(false)).Select(columns...).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("run: read: %w", err)
	}
	found := make(map[string]*Run, len(rows))
	for _, row := range rows {
		found[row.ID] = fromRow(row)
	}
	return found, nil
}

// lock reads a run with its owner and locks its row until the transaction ends; nil where there is none.
func lock(ctx context.Context, tx *database.Tx, organizationID, runID string) (r *Run, owner string, err error) {
	if !id.Is(id.Run, runID) { // a database may not take it
		return nil, "", nil
	}
	row, err := tx.Ent().Run.Query().Where(run.OrganizationID(organizationID), run.ID(runID), run.Direct(false), database.ForUpdate).Only(ctx)
	if db.IsNotFound(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("run: lock: %w", err)
	}
	return fromRow(row), row.Owner, nil
}

// markFinished ends a run that is locked.
func markFinished(ctx context.Context, tx *database.Tx, organizationID, runID string, at time.Time) error {
	err := tx.Ent().Run.Update().Where(run.OrganizationID(organizationID), run.ID(runID)).SetStatus(string(Finished)).SetFinishedAt(at).Exec(ctx)
	if err != nil {
		return fmt.Errorf("run: finish: %w", err)
	}
	return nil
}

// finishOfAgent ends the open runs of an agent that is locked, and answers their ids.
func finishOfAgent(ctx context.Context, tx *database.Tx, organizationID, agentID string, at time.Time) ([]string, error) {
	return ids(tx.SQL().QueryContext(ctx, `UPDATE runs SET status = $3, finished_at = $4
		WHERE organization_id = $1 AND agent_id = $2 AND status = $5 RETURNING id`, organizationID, agentID, string(Finished), at, string(Open)))
}

// finishDirect ends the open runs that were made for these calls alone.
func finishDirect(ctx context.Context, tx *database.Tx, callIDs []string, at time.Time) error {
	_, err := tx.SQL().ExecContext(ctx, `UPDATE runs SET status = $1, finished_at = $2 WHERE direct AND status = $3
		AND id IN (SELECT c.run_id FROM calls c WHERE c.id IN `+batch.In(tx.Dialect(), 4)+")", string(Finished), at, string(Open), batch.List(callIDs))
	if err != nil {
		return fmt.Errorf("run: finish those of single calls: %w", err)
	}
	return nil
}

// ids reads a statement's rows of one text.
func ids(rows *sql.Rows, err error) ([]string, error) {
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	found := []string{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("run: %w", err)
		}
		found = append(found, id)
	}
	return found, rows.Err()
}

// readOwner answers who has the computer of a run whose organization was checked, empty for nobody.
func readOwner(ctx context.Context, d *database.DB, runID string) (owner string, err error) {
	err = d.SQL().QueryRowContext(ctx, "SELECT owner FROM runs WHERE id = $1", runID).Scan(&owner)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("run: owner: %w", err)
	}
	return owner, nil
}

// readTools reads what runs offer, as it is kept.
func readTools(ctx context.Context, client *db.Client, organizationID string, ids []string) (map[string]json.RawMessage, error) {
	rows, err := client.Run.Query().Where(run.OrganizationID(organizationID), run.IDIn(ids...)).Select(run.FieldID, run.FieldTools).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("run: tools: %w", err)
	}
	found := make(map[string]json.RawMessage, len(rows))
	for _, row := range rows {
		found[row.ID] = row.Tools
	}
	return found, nil
}

// list reads a window of the organization's runs, or of each of some agents', newest first, in one statement.
func list(ctx context.Context, d *database.DB, organizationID string, agentIDs []string, w page.Window) ([]*Run, error) {
	query := batch.Query{
		Columns: "r.id, r.organization_id, r.agent_id, r.key_id, r.status, r.generation, r.created_at, r.finished_at", From: "runs r",
		Where: "r.organization_id = $1 AND NOT r.direct", Args: []any{organizationID}, Order: "r.id", Desc: true, Window: w,
	}
	if agentIDs != nil {
		query.Parent, query.Parents = "r.agent_id", agentIDs
	}
	if w.After != "" {
		query.After = w.After
	}
	if w.Before != "" {
		query.Before = w.Before
	}
	statement, args := query.SQL(d.Dialect())
	rows, err := d.SQL().QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, fmt.Errorf("run: list: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	var runs []*Run
	for rows.Next() {
		var r Run
		var place int
		if err := rows.Scan(&r.ID, &r.OrganizationID, &r.AgentID, &r.KeyID, &r.Status, &r.Generation, &r.CreatedAt, &r.FinishedAt, &place); err != nil {
			return nil, fmt.Errorf("run: list: %w", err)
		}
		r.CreatedAt = r.CreatedAt.UTC()
		if r.FinishedAt != nil {
			*r.FinishedAt = r.FinishedAt.UTC()
		}
		runs = append(runs, &r)
	}
	return runs, rows.Err()
}

// count counts the organization's runs.
func count(ctx context.Context, d *database.DB, organizationID string) (n int, err error) {
	if err := d.SQL().QueryRowContext(ctx, "SELECT COUNT(*) FROM runs WHERE organization_id = $1 AND NOT direct", organizationID).Scan(&n); err != nil {
		return 0, fmt.Errorf("run: count: %w", err)
	}
	return n, nil
}

// countOfAgents counts each agent's runs.
func countOfAgents(ctx context.Context, d *database.DB, organizationID string, agentIDs []string) (map[string]int, error) {
	return batch.Grouped(ctx, d.SQL(), "SELECT agent_id, COUNT(*) FROM runs WHERE organization_id = $1 AND agent_id IN "+
		batch.In(d.Dialect(), 2)+" GROUP BY agent_id", organizationID, batch.List(agentIDs))
}

func fromRow(row *db.Run) *Run {
	return &Run{
		ID: row.ID, OrganizationID: row.OrganizationID, AgentID: row.AgentID, KeyID: row.KeyID, Status: Status(row.Status),
		Generation: row.Generation, CreatedAt: row.CreatedAt, FinishedAt: row.FinishedAt,
	}
}
