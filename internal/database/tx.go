package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/scriptorium-dev/scriptorium/ent/db"
)

const (
	// attempts is how often a transaction is begun at most.
	attempts = 8
	// firstPause is the longest pause before the second attempt; it doubles up to lastPause.
	firstPause = 4 * time.Millisecond
	lastPause  = 200 * time.Millisecond
)

// Tx is a transaction, for the time of the function that it was given to, and for one goroutine.
type Tx struct {
	sql    *Querier
	client *db.Client
	after  []func()
}

// Ent is an ent client in the transaction. Its own transactions (those that ent opens around a mutation with edges, too) are this one.
func (t *Tx) Ent() *db.Client { return t.client }

// SQL runs raw statements in the transaction.
func (t *Tx) SQL() *Querier { return t.sql }

// Dialect is SQLite or Postgres.
func (t *Tx) Dialect() string { return t.sql.dialect }

// AfterCommit registers f to run once after the commit, in the order of registration, on the goroutine that called InTx, before
// InTx returns. It never runs if the transaction does not commit.
func (t *Tx) AfterCommit(f func()) { t.after = append(t.after, f) }

// txKey marks the context of a function that runs in a transaction of the DB: its *Tx.
type txKey struct{ d *DB }

// InTx runs f in a transaction: commits if f answers nil, rolls back if it answers an error, panics or ends its goroutine. Errors of
// f come back as they are. f may run several times (see the package's text); what it collects in variables outside, it must reset
// first. A transaction inside another one is refused: pass the Tx on instead.
func (d *DB) InTx(ctx context.Context, f func(ctx context.Context, tx *Tx) error) error {
	for attempt := 1; ; attempt++ {
		after, err := d.once(ctx, d.write, nil, f)
		if err == nil {
			for _, f := range after {
				f()
			}
			return nil
		}
		if attempt == attempts || !isTransient(err) {
			return err
		}
		if pause(ctx, attempt) != nil {
			return err
		}
	}
}

// Join runs f in the transaction whose context ctx is, and in one of its own where it is none's: for what is reached through a library that passes only the context on.
// One that waited for a second connection while it holds locks could wait for those who wait for these.
func (d *DB) Join(ctx context.Context, f func(ctx context.Context, tx *Tx) error) error {
	if tx, ok := ctx.Value(txKey{d}).(*Tx); ok {
		return f(ctx, tx)
	}
	return d.InTx(ctx, f)
}

// InReadTx runs f in a transaction that cannot write and in which all reads see the state of one point in time, on a connection for
// reading. It is not repeated. AfterCommit functions run, too.
func (d *DB) InReadTx(ctx context.Context, f func(ctx context.Context, tx *Tx) error) error {
	options := &sql.TxOptions{ReadOnly: true}
	if d.dialect == Postgres {
		options.Isolation = sql.LevelRepeatableRead
	}
	after, err := d.once(ctx, d.read, options, f)
	if err != nil {
		return err
	}
	for _, f := range after {
		f()
	}
	return nil
}

// once begins, runs f, and commits or rolls back.
func (d *DB) once(
	ctx context.Context, pool *sql.DB, options *sql.TxOptions, f func(ctx context.Context, tx *Tx) error,
) (after []func(), err error) {
	if ctx.Value(txKey{d}) != nil {
		return nil, errors.New("database: a transaction inside a transaction")
	}
	tx, err := pool.BeginTx(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("begin a transaction: %w", err)
	}
	open := true
	defer func() {
		if !open {
			return
		}
		if rerr := tx.Rollback(); rerr != nil && !errors.Is(rerr, sql.ErrTxDone) && ctx.Err() == nil {
			err = errors.Join(err, fmt.Errorf("roll back: %w", rerr))
		}
	}()
	q := &Querier{tx, d.dialect, d.config.OnStatement}
	t := &Tx{sql: q, client: db.NewClient(db.Driver(entDriver{querier: q, readOnly: pool == d.read}))}
	if err := f(context.WithValue(ctx, txKey{d}, t), t); err != nil {
		return nil, err
	}
	open = false
	if err := tx.Commit(); err != nil {
		if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil { // the context's end rolled it back before we came
			err = ctx.Err()
		}
		return nil, fmt.Errorf("commit: %w", err)
	}
	return t.after, nil
}

// pause waits before attempt+1, a random time so that two that met do not meet again, or until the context ends.
func pause(ctx context.Context, attempt int) error {
	longest := min(firstPause<<(attempt-1), lastPause)
	timer := time.NewTimer(rand.N(longest))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ForUpdate locks the rows that a query in a transaction reads until its end; given among the query's predicates:
//
//	tx.Ent().Agent.Query().Where(agent.ID(id), database.ForUpdate).Only(ctx)
//
// On SQLite it does nothing: there a transaction is the only one that writes, and nothing changes under it.
func ForUpdate(s *entsql.Selector) {
	if s.Dialect() == Postgres {
		s.ForUpdate()
	}
}
