package database

import (
	"context"
	"database/sql"
	"errors"
	"time"

	atlas "ariga.io/atlas/sql/migrate"
)

// revisionTable holds a row for each migration that was applied.
const revisionTable = "schema_migrations"

// revisions is the table of applied migrations, in the transaction of a migration. A file that fails leaves no row, because its
// transaction is rolled back; so a row needs no state.
type revisions struct{ tx *sql.Tx }

var _ atlas.RevisionReadWriter = revisions{}

// create makes the table.
func (r revisions) create(ctx context.Context) error {
	_, err := r.tx.ExecContext(ctx, `CREATE TABLE `+revisionTable+` (
		version text NOT NULL PRIMARY KEY,
		description text NOT NULL,
		checksum text NOT NULL,
		statements bigint NOT NULL,
		applied_at text NOT NULL
	)`)
	return err
}

// Ident names the table, which atlas then does not take for a foreign one.
func (revisions) Ident() *atlas.TableIdent { return &atlas.TableIdent{Name: revisionTable} }

// ReadRevisions answers all rows in the order of their versions.
func (r revisions) ReadRevisions(ctx context.Context) ([]*atlas.Revision, error) {
	rows, err := r.tx.QueryContext(ctx, `SELECT version, description, checksum, statements FROM `+revisionTable+` ORDER BY version`)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var all []*atlas.Revision
	for rows.Next() {
		a := &atlas.Revision{Type: atlas.RevisionTypeExecute}
		if err := rows.Scan(&a.Version, &a.Description, &a.Hash, &a.Total); err != nil {
			return nil, err
		}
		a.Applied = a.Total
		all = append(all, a)
	}
	return all, rows.Err()
}

// ReadRevision answers one row.
func (r revisions) ReadRevision(ctx context.Context, version string) (*atlas.Revision, error) {
	a := &atlas.Revision{Version: version, Type: atlas.RevisionTypeExecute}
	err := r.tx.QueryRowContext(ctx, `SELECT description, checksum, statements FROM `+revisionTable+` WHERE version = $1`, version).
		Scan(&a.Description, &a.Hash, &a.Total)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, atlas.ErrRevisionNotExist
	}
	a.Applied = a.Total
	return a, err
}

// WriteRevision writes the row of a file once all of its statements ran; atlas calls it before and between, too.
func (r revisions) WriteRevision(ctx context.Context, a *atlas.Revision) error {
	if a.Applied != a.Total || a.Error != "" {
		return nil
	}
	_, err := r.tx.ExecContext(ctx, `INSERT INTO `+revisionTable+` (version, description, checksum, statements, applied_at)
		VALUES ($1, $2, $3, $4, $5) ON CONFLICT (version) DO NOTHING`,
		a.Version, a.Description, a.Hash, a.Total, Now().Format(time.RFC3339))
	return err
}

// DeleteRevision is never called by what we use of atlas.
func (r revisions) DeleteRevision(ctx context.Context, version string) error {
	_, err := r.tx.ExecContext(ctx, `DELETE FROM `+revisionTable+` WHERE version = $1`, version)
	return err
}
