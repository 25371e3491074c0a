package database

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
)

// Querier runs raw SQL, with placeholders $1, $2 … on both databases. It has the methods of *sql.DB and *sql.Tx, so that it fits
// libraries, too. Times are stored as the package's text says.
type Querier struct {
	conn interface {
		entsql.ExecQuerier
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	}
	dialect string
	seen    func(ctx context.Context, statement string)
}

// ExecContext runs a statement that answers no rows.
func (q *Querier) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return q.conn.ExecContext(ctx, query, q.prepare(ctx, query, args)...)
}

// QueryContext runs a statement that answers rows, which the caller closes.
func (q *Querier) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return q.conn.QueryContext(ctx, query, q.prepare(ctx, query, args)...)
}

// QueryRowContext runs a statement that answers at most one row; its Scan answers sql.ErrNoRows for none.
func (q *Querier) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return q.conn.QueryRowContext(ctx, query, q.prepare(ctx, query, args)...)
}

// Dialect is SQLite or Postgres.
func (q *Querier) Dialect() string { return q.dialect }

// prepare reports the statement and answers the arguments with their times as they are stored. It copies: args are the caller's.
func (q *Querier) prepare(ctx context.Context, query string, args []any) []any {
	if q.seen != nil {
		q.seen(ctx, query)
	}
	ours := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case time.Time:
			ours[i] = stored(v)
		case *time.Time:
			if v != nil {
				ours[i] = stored(*v)
			}
		case sql.NullTime:
			v.Time = stored(v.Time)
			ours[i] = v
		default:
			ours[i] = arg
		}
	}
	return ours
}

// errReadOnly is the answer to ent's attempt to write outside a transaction.
var errReadOnly = errors.New("database: this client reads only; write in InTx")

// entDriver is ent's view of a Querier. The transaction is owned outside of ent: what ent takes for its own is the one that is open.
type entDriver struct {
	querier  *Querier
	readOnly bool
}

var _ dialect.Driver = entDriver{}

func (d entDriver) conn() entsql.Conn { return entsql.Conn{ExecQuerier: d.querier} }

// Exec is ent's way to write.
func (d entDriver) Exec(ctx context.Context, query string, args, v any) error {
	if d.readOnly {
		return errReadOnly
	}
	return d.conn().Exec(ctx, query, args, v)
}

// Query is ent's way to read, and to write with RETURNING.
func (d entDriver) Query(ctx context.Context, query string, args, v any) error {
	return d.conn().Query(ctx, query, args, v)
}

// ExecContext serves ent's execquery feature.
func (d entDriver) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if d.readOnly {
		return nil, errReadOnly
	}
	return d.querier.ExecContext(ctx, query, args...)
}

// QueryContext serves ent's execquery feature.
func (d entDriver) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return d.querier.QueryContext(ctx, query, args...)
}

// Tx answers the transaction that is open: ent's commit and rollback do nothing.
func (d entDriver) Tx(context.Context) (dialect.Tx, error) {
	if d.readOnly {
		return nil, errReadOnly
	}
	return dialect.NopTx(d), nil
}

// Close does nothing: the DB owns its connections.
func (entDriver) Close() error { return nil }

// Dialect is SQLite or Postgres.
func (d entDriver) Dialect() string { return d.querier.dialect }
