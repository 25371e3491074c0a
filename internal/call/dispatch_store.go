package call

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/artifact"
	"github.com/scriptorium-dev/scriptorium/internal/batch"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/output"
	"github.com/scriptorium-dev/scriptorium/internal/run"
)

// fence is the condition that the run is still the lease's; it takes three arguments from $1: run, server, token.
const fence = "EXISTS (SELECT 1 FROM runs r WHERE r.id = $1 AND r.owner = $2 AND r.owner_token = $3)"

// head is the run's call that has waited for longest.
const head = "(SELECT q.id FROM calls q WHERE q.run_id = $1 AND q.status = 'QUEUED' ORDER BY q.id LIMIT 1)"

// claimed is a call that this server is to run.
type claimed struct {
	Call
	script string // the script's name
	// entrypoint is the command of an organization's script, nil of an agent's; number is its version's.
	entrypoint []string
	number     int
	fresh      bool // its version asks for an interpreter of its own
	secrets    bool // its agent has some
	input      json.RawMessage
}

// claim takes the next call of a run that is the lease's and open, and does in the same transaction what goes with it; nil where none waits.
func claim(ctx context.Context, d *database.DB, runID string, l run.Lease, at time.Time, with func(context.Context, *database.Tx) error) (*claimed, error) {
	var c *claimed
	err := d.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		c = &claimed{Call: Call{RunID: &runID, Status: Running, StartedAt: &at}}
		var arguments, input, entrypoint []byte
		err := tx.SQL().QueryRowContext(ctx, `UPDATE calls SET status = 'RUNNING', started_at = $4 WHERE id = `+head+` AND status = 'QUEUED' AND `+fence+`
			RETURNING id, organization_id, agent_id, key_id, tool, script_id, version_id, arguments, input, timeout_seconds,
			(SELECT s.name FROM scripts s WHERE s.id = script_id), (SELECT v.entrypoint FROM versions v WHERE v.id = version_id), COALESCE((SELECT v.number FROM versions v WHERE v.id = version_id), 0),
			COALESCE((SELECT v.fresh_interpreter FROM versions v WHERE v.id = version_id), FALSE),
			EXISTS (SELECT 1 FROM secrets x WHERE x.organization_id = calls.organization_id AND x.agent_id = calls.agent_id)`, runID, l.Server, l.Token, at).
			Scan(&c.ID, &c.OrganizationID, &c.AgentID, &c.KeyID, &c.Tool, &c.ScriptID, &c.VersionID, &arguments, &input, &c.TimeoutSeconds, &c.script, &entrypoint, &c.number, &c.fresh, &c.secrets)
		if errors.Is(err, sql.ErrNoRows) {
			c = nil
			return nil
		}
		if err != nil {
			return err
		}
		c.Arguments, c.input = arguments, input
		if entrypoint != nil {
			if err := json.Unmarshal(entrypoint, &c.entrypoint); err != nil {
				return err
			}
		}
		return with(ctx, tx)
	})
	if err != nil {
		return nil, fmt.Errorf("call: claim: %w", err)
	}
	return c, nil
}

// waits says whether the run has a call that waits.
func waits(ctx context.Context, d *database.DB, runID string) (found bool, err error) {
	err = d.SQL().QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM calls WHERE status = $2 AND run_id = $1)", runID, string(Queued)).Scan(&found)
	if err != nil {
		return false, fmt.Errorf("call: look for one that waits: %w", err)
	}
	return found, nil
}

// refuseHead ends the next call that waits; an empty id where there is none.
func refuseHead(ctx context.Context, d *database.DB, runID string, l run.Lease, why *refusal, at time.Time) (id string, err error) {
	err = d.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		err := tx.SQL().QueryRowContext(ctx, `UPDATE calls SET status = 'REFUSED', error_code = $4, text = $5, finished_at = $6
			WHERE id = `+head+` AND status = 'QUEUED' AND `+fence+` RETURNING id`,
			runID, l.Server, l.Token, string(why.code), []byte(why.text), at).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			id = ""
			return nil
		}
		if err != nil {
			return err
		}
		return run.FinishDirect(ctx, tx, []string{id}, at)
	})
	if err != nil {
		return "", fmt.Errorf("call: refuse: %w", err)
	}
	return id, nil
}

// end is how a call that ran ended, as its row has it.
type end struct {
	*Call
	summary   output.Summary
	artifacts []*artifact.Artifact
}

// finish writes the end of a call that runs, if the run is still the lease's, and what goes with it; false where not.
func finish(ctx context.Context, d *database.DB, e end, l run.Lease, with func(context.Context, *database.Tx) error) (written bool, err error) {
	err = d.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		args := append([]any{*e.RunID, l.Server, l.Token}, e.values()...)
		result, err := tx.SQL().ExecContext(ctx, "UPDATE calls SET "+e.assignments(4)+" WHERE id = $4 AND status = 'RUNNING' AND "+fence, args...)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if written = n == 1; err == nil && written {
			err = with(ctx, tx)
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("call: finish: %w", err)
	}
	return written, nil
}

// lose writes the end of a call that ran when its server went away; false where it has ended already.
func lose(ctx context.Context, tx *database.Tx, e end) (bool, error) {
	result, err := tx.SQL().ExecContext(ctx, "UPDATE calls SET "+e.assignments(1)+" WHERE id = $1 AND status = 'RUNNING'", e.values()...)
	if err != nil {
		return false, fmt.Errorf("call: lose: %w", err)
	}
	n, err := result.RowsAffected()
	if err == nil && n == 1 {
		err = run.FinishDirect(ctx, tx, []string{e.ID}, *e.FinishedAt)
	}
	return n == 1, err
}

// assignments are the columns that values has, behind the id at $first.
func (e end) assignments(first int) string {
	columns := []string{
		"status", "error_code", "text", "exit_code", "signal", "stdout", "stderr", "truncated", "stdout_bytes", "stdout_sha256", "stderr_bytes",
		"stderr_sha256", "dropped_bytes", "output_chunks", "output_blob", "finished_at", "duration_ms", "cpu_ms", "peak_memory_bytes",
		"end_reason", "processes_killed", "isolation", `"left"`,
	}
	text := ""
	for i, c := range columns {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s = $%d", c, first+1+i)
	}
	return text
}

// values are the id and what assignments names.
func (e end) values() []any {
	var blob *string
	if e.summary.Blob != "" {
		blob = &e.summary.Blob
	}
	return []any{
		e.ID, string(e.Status), codeOf(e.Call), []byte(e.Text), e.ExitCode, e.Signal, bytesOf(e.StdoutCut), bytesOf(e.StderrCut), e.Truncated,
		e.Output.StdoutBytes, e.Output.StdoutSha256, e.Output.StderrBytes, e.Output.StderrSha256, e.Output.Dropped, e.summary.Chunks, blob,
		e.FinishedAt, e.DurationMs, e.CPUMs, e.PeakMemoryBytes, (*string)(e.endReason), e.processesKilled, bytesOrNil(e.isolation), leftOf(e.LeftOnComputer),
	}
}

// leftOf is what is kept of the names; nil of none.
func leftOf(names []string) any {
	if len(names) == 0 {
		return nil
	}
	raw, err := json.Marshal(names)
	if err != nil {
		panic(err) // a list of strings always has a JSON text
	}
	return raw
}

// bytesOf is b, never nil: the column is not null.
func bytesOf(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// openOf answers the calls of a run that have not ended, and whether each runs.
func openOf(ctx context.Context, q *database.Querier, runID string) ([]*Call, error) {
	rows, err := q.QueryContext(ctx, "SELECT "+columns+" FROM calls c WHERE c.run_id = $1 AND c.status IN ('QUEUED', 'RUNNING')", runID)
	return scanAll(rows, err, 0)
}

// where an open call is looked for: a column and its values.
type among struct {
	organizationID string // empty: any
	column         string
	values         []string
}

// endWaiting ends the calls that wait, and answers their ids.
func endWaiting(ctx context.Context, tx *database.Tx, a among, status Status, why *refusal, at time.Time) ([]string, error) {
	where := "status = 'QUEUED' AND " + a.column + " IN " + batch.In(tx.Dialect(), 6)
	args := []any{string(status), string(why.code), []byte(why.text), at, string(endOf(why.code)), batch.List(a.values)}
	if a.organizationID != "" {
		where, args = where+" AND organization_id = $7", append(args, a.organizationID)
	}
	rows, err := tx.SQL().QueryContext(ctx, "UPDATE calls SET status = $1, error_code = $2, text = $3, finished_at = $4, end_reason = $5 WHERE "+where+
		" RETURNING id", args...)
	if err != nil {
		return nil, fmt.Errorf("call: end those that wait: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	ids := []string{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || len(ids) == 0 {
		return ids, err
	}
	return ids, run.FinishDirect(ctx, tx, ids, at)
}

// stopRunning tells the owners of calls that run to stop them.
func stopRunning(ctx context.Context, tx *database.Tx, a among, why run.Stop) error {
	_, err := tx.SQL().ExecContext(ctx, "UPDATE calls SET cancel = $1 WHERE status = 'RUNNING' AND cancel = '' AND organization_id = $2 AND "+
		a.column+" IN "+batch.In(tx.Dialect(), 3), string(why), a.organizationID, batch.List(a.values))
	if err != nil {
		return fmt.Errorf("call: stop those that run: %w", err)
	}
	return nil
}

// lockForCancel reads a call with its run's owner and locks its row until the transaction ends; nil where there is none.
func lockForCancel(ctx context.Context, tx *database.Tx, organizationID, callID string) (c *Call, owner string, err error) {
	lock := ""
	if tx.Dialect() == database.Postgres {
		lock = " FOR UPDATE OF c"
	}
	rows, err := tx.SQL().QueryContext(ctx, "SELECT "+columns+", r.owner FROM calls c JOIN runs r ON r.id = c.run_id WHERE c.organization_id = $1 AND c.id = $2"+seen(ctx)+lock,
		organizationID, callID)
	if err != nil {
		return nil, "", fmt.Errorf("call: lock: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	for rows.Next() {
		if c, err = scan(rows, &owner); err != nil {
			return nil, "", fmt.Errorf("call: lock: %w", err)
		}
	}
	return c, owner, rows.Err()
}

// lookLimit is the most that one look reads: more than a server's queue holds.
const lookLimit = 5000

// lookFor reads what the server must know, what is to stop first: see run.Calls.
func lookFor(ctx context.Context, d *database.DB, server string) ([]run.Work, error) {
	rows, err := d.SQL().QueryContext(ctx, fmt.Sprintf(`SELECT r.organization_id, r.agent_id, r.id, c.created_at, r.owner_until, c.id, c.cancel FROM calls c JOIN runs r ON r.id = c.run_id
		WHERE c.status = 'RUNNING' AND c.cancel <> '' AND r.owner = $1
		UNION ALL SELECT r.organization_id, r.agent_id, r.id, c.created_at, r.owner_until, c.id, '' FROM calls c JOIN runs r ON r.id = c.run_id
		WHERE c.status = 'QUEUED' AND r.status = 'OPEN' AND (r.owner = '' OR r.owner = $1) ORDER BY 7 DESC, 6 LIMIT %d`, lookLimit), server)
	if err != nil {
		return nil, fmt.Errorf("call: look: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	var work []run.Work
	for rows.Next() {
		var w run.Work
		if err := w.Scan(rows, &w.CallID, &w.Stop); err != nil {
			return nil, fmt.Errorf("call: look: %w", err)
		}
		work = append(work, w)
	}
	return work, rows.Err()
}

// endLate ends calls that have waited for a computer since before then: in runs that no server has, and had since.
func endLate(ctx context.Context, d *database.DB, then, at time.Time, why *refusal) (ids []string, err error) {
	err = d.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
		ids = nil
		rows, err := tx.SQL().QueryContext(ctx, `UPDATE calls SET status = 'REFUSED', error_code = $1, text = $2, finished_at = $3
			WHERE id IN (SELECT c.id FROM calls c JOIN runs r ON r.id = c.run_id WHERE c.status = 'QUEUED' AND c.created_at < $4 AND r.owner = ''
			AND (r.owner_until IS NULL OR r.owner_until < $4) LIMIT 100) AND status = 'QUEUED' RETURNING id`, string(why.code), []byte(why.text), at, then)
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // rows.Err tells
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			ids = append(ids, id)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil || len(ids) == 0 {
			return err
		}
		return run.FinishDirect(ctx, tx, ids, at)
	})
	if err != nil {
		return nil, fmt.Errorf("call: end those that waited for too long: %w", err)
	}
	return ids, nil
}

// readEnd reads what the stream of a call's output needs of its row (raw, for it is asked at each read).
func readEnd(ctx context.Context, d *database.DB, organizationID, callID string) (output.Status, error) {
	var status Status
	var blob *string
	var s output.Status
	err := d.SQL().QueryRowContext(ctx, "SELECT status, output_chunks, output_blob FROM calls WHERE organization_id = $1 AND id = $2", organizationID, callID).
		Scan(&status, &s.Chunks, &blob)
	if err != nil {
		return output.Status{}, fmt.Errorf("call: where it stands: %w", err)
	}
	if !status.Ended() {
		return output.Status{}, nil
	}
	s.Ended, s.Finished = true, []byte(callID)
	if blob != nil {
		s.Blob = *blob
	}
	return s, nil
}

// keepOutput writes what was found of an ended call's output whose row names none.
func keepOutput(ctx context.Context, tx *database.Tx, callID string, s output.Summary) error {
	_, err := tx.SQL().ExecContext(ctx, `UPDATE calls SET stdout_bytes = $2, stdout_sha256 = $3, stderr_bytes = $4, stderr_sha256 = $5, output_chunks = $6, output_blob = $7
		WHERE id = $1 AND output_blob IS NULL AND finished_at IS NOT NULL AND (output_chunks = 0 OR output_chunks = $6)`,
		callID, s.Stdout.Bytes, s.Stdout.SHA256, s.Stderr.Bytes, s.Stderr.SHA256, s.Chunks, s.Blob)
	if err != nil {
		return fmt.Errorf("call: keep its output: %w", err)
	}
	return nil
}
