package database

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"entgo.io/ent/dialect"
)

// The two values of DB.Dialect and Tx.Dialect: ent's names.
const (
	SQLite   = dialect.SQLite
	Postgres = dialect.Postgres
)

// Limits of the configuration.
const (
	// DefaultMaxConns is how many connections a server holds at most if the configuration does not say.
	DefaultMaxConns = 16
	// DefaultStatementTimeout is how long PostgreSQL runs a statement at most if the configuration does not say.
	DefaultStatementTimeout = 30 * time.Second

	minConns = 2
	maxConns = 1000
)

// Config says which database, and how it is used.
type Config struct {
	// URL is postgres://… (or postgresql://…) for PostgreSQL; empty means SQLite in Data.
	URL string
	// Data is the folder that holds SQLite's file scriptorium.db and its lock; it is made if missing. Not used by PostgreSQL.
	Data string
	// MaxConns is how many connections are held at most, half of them for reading; 2 to 1000, 0 means DefaultMaxConns. SQLite always
	// has one writer besides.
	MaxConns int
	// StatementTimeout is how long PostgreSQL runs one statement at most, 0 means DefaultStatementTimeout. A statement_timeout in
	// the URL goes before it. On SQLite the context alone limits a statement.
	StatementTimeout time.Duration
	// NoSync lets SQLite answer before the disk has the data. For databases that are thrown away, such as those of tests.
	NoSync bool
	// Log is told of migrations; nil means nobody is.
	Log *slog.Logger
	// OnStatement, if not nil, is called before each SQL statement with the context and text that the caller gave, from many
	// goroutines at once. BEGIN, COMMIT, ROLLBACK and migrations are not reported.
	OnStatement func(ctx context.Context, statement string)
}

// Check says what is wrong with the configuration, all of it at once, or nil. It never repeats the URL, which may hold a password.
func (c Config) Check() error {
	var faults []error
	if c.URL == "" && c.Data == "" {
		faults = append(faults, errors.New("neither a database URL nor a data folder is given"))
	}
	if c.URL != "" && !strings.HasPrefix(c.URL, "postgres://") && !strings.HasPrefix(c.URL, "postgresql://") {
		faults = append(faults, errors.New("the database URL must begin with postgres:// (leave it out for SQLite)"))
	}
	if c.MaxConns != 0 && (c.MaxConns < minConns || c.MaxConns > maxConns) {
		faults = append(faults, errors.New("the number of database connections must be 2 to 1000"))
	}
	if c.StatementTimeout < 0 {
		faults = append(faults, errors.New("the statement timeout must not be negative"))
	}
	return errors.Join(faults...)
}

// withDefaults fills what was left out.
func (c Config) withDefaults() Config {
	if c.MaxConns == 0 {
		c.MaxConns = DefaultMaxConns
	}
	if c.StatementTimeout == 0 {
		c.StatementTimeout = DefaultStatementTimeout
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}
