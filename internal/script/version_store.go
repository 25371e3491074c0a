package script

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/scriptorium-dev/scriptorium/internal/batch"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/page"
)

// Versions are read together with their script's name.
const (
	versionColumns = `v.id, v.organization_id, v.script_id, s.name, s.agent_id IS NULL, v.number, v.description, v.parameters, v.entrypoint, v.source,
		v.source_hash, v.timeout_seconds, v.background, v.fresh_interpreter, v.author_key_id, v.author_call_id, v.created_at, v.published_at,
		v.rejected_at, v.labels, v.metadata`
	versionTables = "versions v JOIN scripts s ON s.id = v.script_id AND s.organization_id = v.organization_id"
	owned         = "v.organization_id = $1"
	notDraft      = " AND v.published_at IS NOT NULL"
)

// seen is the condition of versions that may be seen: drafts where wanted.
func seen(drafts bool) string {
	if drafts {
		return owned
	}
	return owned + notDraft
}

// versionsByIDs reads versions of the organization.
func versionsByIDs(ctx context.Context, q *database.Querier, organizationID string, ids []string, drafts bool) ([]*Version, error) {
	return readVersions(ctx, q, "SELECT "+versionColumns+", 1 FROM "+versionTables+" WHERE "+seen(drafts)+" AND v.id IN "+
		batch.In(q.Dialect(), 2), organizationID, batch.List(ids))
}

// versionsByNumber reads the scripts' versions of the number.
func versionsByNumber(ctx context.Context, q *database.Querier, organizationID string, scriptIDs []string, number int, drafts bool) ([]*Version, error) {
	return readVersions(ctx, q, "SELECT "+versionColumns+", 1 FROM "+versionTables+" WHERE "+seen(drafts)+" AND v.number = $2 AND v.script_id IN "+
		batch.In(q.Dialect(), 3), organizationID, number, batch.List(scriptIDs))
}

// versionsOfScripts reads a window of each script's versions, newest first.
func versionsOfScripts(ctx context.Context, q *database.Querier, organizationID string, scriptIDs []string, w page.Window, drafts bool) ([]*Version, error) {
	query := batch.Query{
		Columns: versionColumns, From: versionTables, Where: seen(drafts), Args: []any{organizationID},
		Parent: "v.script_id", Parents: scriptIDs, Order: "v.number", Desc: true, Window: w,
	}
	for _, bound := range []struct {
		key  string
		into *any
	}{{w.After, &query.After}, {w.Before, &query.Before}} {
		if bound.key == "" {
			continue
		}
		number, err := strconv.Atoi(bound.key)
		if err != nil {
			return nil, fmt.Errorf("version: number: %w", err)
		}
		*bound.into = number
	}
	statement, args := query.SQL(q.Dialect())
	return readVersions(ctx, q, statement, args...)
}

// countOfScripts counts each script's versions.
func countOfScripts(ctx context.Context, q *database.Querier, organizationID string, scriptIDs []string, drafts bool) (map[string]int, error) {
	return batch.Grouped(ctx, q, "SELECT v.script_id, COUNT(*) FROM versions v WHERE "+seen(drafts)+" AND v.script_id IN "+batch.In(q.Dialect(), 2)+
		" GROUP BY v.script_id", organizationID, batch.List(scriptIDs))
}

// readPairs reads the versions' sources, each with that of the version with the number from of the same script, or of the one before where that
// is nil; number 0 is empty. All sources together are as many bytes as MaxSources at most.
func readPairs(ctx context.Context, q *database.Querier, organizationID string, ids []string, from *int) ([]pair, error) {
	with, args := "v.number - 1", []any{organizationID, batch.List(ids)}
	if from != nil {
		with, args = "$3", append(args, *from)
		if q.Dialect() == database.Postgres {
			with = "$3::bigint" // else it would take its type from each place
		}
	}
	var pairs []pair
	size := 0
	err := each(ctx, q, func(rows *sql.Rows) error {
		var p pair
		if err := rows.Scan(&p.versionID, &p.name, &p.number, &p.source, &p.from, &p.original); err != nil {
			return err
		}
		if size += len(p.source) + len(p.original); size > MaxSources {
			return errTooManySources()
		}
		pairs = append(pairs, p)
		return nil
	}, "SELECT v.id, s.name, v.number, v.source, "+with+", COALESCE(o.source, '') FROM "+versionTables+
		" LEFT JOIN versions o ON o.organization_id = $1 AND o.script_id = v.script_id AND o.number = "+with+
		" WHERE "+owned+" AND s.agent_id IS NOT NULL AND v.id IN "+batch.In(q.Dialect(), 2)+" AND (o.id IS NOT NULL OR "+with+" = 0)", args...)
	return pairs, err
}

func errTooManySources() error {
	return fault.NewProblem(fault.LimitExceeded, "the sources of these versions are more than %d bytes: ask for fewer versions at a time", MaxSources)
}

// readVersions reads rows of versionColumns and a number. Their sources are as many bytes as MaxSources at most.
func readVersions(ctx context.Context, q *database.Querier, statement string, args ...any) ([]*Version, error) {
	var versions []*Version
	size := 0
	err := each(ctx, q, func(rows *sql.Rows) error {
		var v Version
		var place int
		if err := rows.Scan(append(v.columns(), &place)...); err != nil {
			return err
		}
		if size += len(v.Source); size > MaxSources {
			return errTooManySources()
		}
		versions = append(versions, &v)
		return nil
	}, statement, args...)
	if err != nil {
		return nil, err
	}
	return versions, nil
}

// columns are where the values of versionColumns go.
func (v *Version) columns() []any {
	return []any{
		&v.ID, &v.OrganizationID, &v.ScriptID, &v.ScriptName, &v.Package, &v.Number, &v.Description, (*[]byte)(&v.Parameters), entrypoint{v}, &v.Source,
		&v.SourceHash, &v.TimeoutSeconds, &v.Background, &v.FreshInterpreter, nullable{&v.Author.KeyID}, nullable{&v.Author.CallID}, &v.CreatedAt,
		&v.PublishedAt, &v.RejectedAt, (*[]byte)(&v.labels), (*[]byte)(&v.metadata),
	}
}

// entrypoint reads a version's command; NULL is an agent's script, whose name was read before.
type entrypoint struct{ of *Version }

// Scan implements sql.Scanner.
func (e entrypoint) Scan(value any) error {
	raw, ok := value.([]byte)
	if !ok {
		e.of.Entrypoint = agentEntrypoint(e.of.ScriptName)
		return nil
	}
	return json.Unmarshal(raw, &e.of.Entrypoint)
}

// nullable reads a text column whose NULL is "".
type nullable struct{ into *string }

// Scan implements sql.Scanner.
func (n nullable) Scan(value any) error {
	var s sql.NullString
	err := s.Scan(value)
	*n.into = s.String
	return err
}
