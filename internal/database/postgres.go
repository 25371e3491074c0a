package database

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	// connectTimeout is how long a connection may take to be made, unless the URL says otherwise.
	connectTimeout = 10 * time.Second
	// lockTimeout is how long a statement waits for a lock, idleTimeout how long a transaction may do nothing: a stuck server gives
	// its locks up.
	lockTimeout = 10 * time.Second
	idleTimeout = 60 * time.Second
	// connIdle and connLife bound how long a connection is kept.
	connIdle = 5 * time.Minute
	connLife = time.Hour
)

// openPostgres sets up two pools: transactions that write cannot starve reads, and a read inside a transaction cannot wait for itself.
func (d *DB) openPostgres() error {
	d.dialect = Postgres
	readers := d.config.MaxConns / 2
	var err error
	if d.write, err = postgresPool(d.config, nil, d.config.MaxConns-readers); err != nil {
		return err
	}
	d.read, err = postgresPool(d.config, map[string]string{"default_transaction_read_only": "on"}, readers)
	return err
}

// postgresPool is a pool of sessions with our settings. The URL's settings go before them, and `settings` before both.
func postgresPool(config Config, settings map[string]string, size int) (*sql.DB, error) {
	c, err := pgx.ParseConfig(config.URL)
	if err != nil {
		return nil, fmt.Errorf("the database URL is not valid: %w", err) // pgx leaves the password out
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
	}
	milliseconds := func(t time.Duration) string { return strconv.FormatInt(t.Milliseconds(), 10) }
	ours := map[string]string{
		"application_name":                    "scriptorium",
		"statement_timeout":                   milliseconds(config.StatementTimeout),
		"lock_timeout":                        milliseconds(lockTimeout),
		"idle_in_transaction_session_timeout": milliseconds(idleTimeout),
	}
	maps.Copy(ours, c.RuntimeParams)
	maps.Copy(ours, settings)
	ours["timezone"] = "UTC"
	c.RuntimeParams = ours
	pool := stdlib.OpenDB(*c, stdlib.OptionAfterConnect(func(_ context.Context, conn *pgx.Conn) error {
		conn.TypeMap().RegisterType(&pgtype.Type{
			Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
		})
		return nil
	}))
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	pool.SetConnMaxIdleTime(connIdle)
	pool.SetConnMaxLifetime(connLife)
	return pool, nil
}
