package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/scriptorium-dev/scriptorium/ent/db"
)

// DB is an open database. All methods may be called from many goroutines.
type DB struct {
	config  Config
	dialect string
	write   *sql.DB
	read    *sql.DB
	client  *db.Client // reads
	release func() error
}

// Open opens the database, so that a wrong address, a wrong password or a data folder in use is found here. It changes no table: see
// Migrate. Close must be called in the end.
func Open(ctx context.Context, config Config) (*DB, error) {
	if err := config.Check(); err != nil {
		return nil, err
	}
	d := &DB{config: config.withDefaults(), release: func() error { return nil }}
	open := d.openSQLite
	if config.URL != "" {
		open = d.openPostgres
	}
	if err := open(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	for _, pool := range []*sql.DB{d.write, d.read} { // the writer first: it makes SQLite's file
		if err := pool.PingContext(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("cannot open the database: %w", err), d.Close())
		}
	}
	d.client = db.NewClient(db.Driver(entDriver{querier: d.SQL(), readOnly: true}))
	return d, nil
}

// Dialect is SQLite or Postgres.
func (d *DB) Dialect() string { return d.dialect }

// Read is an ent client for reading outside a transaction. Every query may see a later state than the one before, and each of the
// queries that eager loading sends, too: see InReadTx. Writing through it fails.
func (d *DB) Read() *db.Client { return d.client }

// SQL runs raw statements where Read reads: for hot reads that ent is too slow for.
func (d *DB) SQL() *Querier { return &Querier{d.read, d.dialect, d.config.OnStatement} }

// Ping asks whether the database answers.
func (d *DB) Ping(ctx context.Context) error { return d.read.PingContext(ctx) }

// Close closes all connections and gives the data folder free. Transactions that run then fail.
func (d *DB) Close() error {
	var errs []error
	for _, pool := range []*sql.DB{d.read, d.write} { // SQLite's last one writes the log back into the file
		if pool != nil {
			errs = append(errs, pool.Close())
		}
	}
	return errors.Join(append(errs, d.release())...)
}

// Now is the time as the database keeps it: UTC, milliseconds.
func Now() time.Time { return stored(time.Now()) }

// stored is t as the database keeps it.
func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
