package script

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	"github.com/scriptorium-dev/scriptorium/internal/batch"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/page"
)

// Versions are read together with their script's name.
const (
	versionColumns = `v.id, v.organization_id, v.script_id, s.name, v.number, v.description, v.parameters, v.source, v.source_hash,
		v.timeout_seconds, v.fresh_interpreter, v.author_key_id, v.author_call_id, v.created_at`
	versionTables = "versions v JOIN scripts s ON s.id = v.script_id AND s.organization_id = v.organization_id"
	owned         = "v.organization_id = $1"
)

// versionsByIDs reads versions of the organization.
func versionsByIDs(ctx context.Context, q *database.Querier, organizationID string, ids []string) ([]*Version, error) {
	return readVersions(ctx, q, "SELECT "+versionColumns+", 1 FROM "+versionTables+" WHERE "+owned+" AND v.id IN "+
		batch.In(q.Dialect(), 2), organizationID, batch.List(ids))
}

// versionsByNumber reads the scripts' versions of the number.
func versionsByNumber(ctx context.Context, q *database.Querier, organizationID string, scriptIDs []string, number int) ([]*Version, error) {
	return readVersions(ctx, q, "SELECT "+versionColumns+", 1 FROM "+versionTables+" WHERE "+owned+" AND v.number = $2 AND v.script_id IN "+
		batch.In(q.Dialect(), 3), organizationID, number, batch.List(scriptIDs))
}

// versionsOfScripts reads a window of each script's versions, newest first.
func versionsOfScripts(ctx context.Context, q *database.Querier, organizationID string, scriptIDs []string, w page.Window) ([]*Version, error) {
	query := batch.Query{
		Columns: versionColumns, From: versionTables, Where: owned, Args: []any{organizationID},
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
func countOfScripts(ctx context.Context, q *database.Querier, organizationID string, scriptIDs []string) (map[string]int, error) {
	return batch.Grouped(ctx, q, "SELECT v.script_id, COUNT(*) FROM versions v WHERE "+owned+" AND v.script_id IN "+batch.In(q.Dialect(), 2)+
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
		" WHERE "+owned+" AND v.id IN "+batch.In(q.Dialect(), 2)+" AND (o.id IS NOT NULL OR "+with+" = 0)", args...)
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
		&v.ID, &v.OrganizationID, &v.ScriptID, &v.ScriptName, &v.Number, &v.Description, (*[]byte)(&v.Parameters), &v.Source, &v.SourceHash,
		&v.TimeoutSeconds, &v.FreshInterpreter, nullable{&v.Author.KeyID}, nullable{&v.Author.CallID}, &v.CreatedAt,
	}
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
