package databasetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/database"
)

const (
	// conns is how many connections a test's database has at most; many tests share a server.
	conns = 8
	// patience is how long making or removing a database may take on a busy machine.
	patience = 2 * time.Minute
)

// Dialects are the databases that everything is tested on.
var Dialects = []string{database.SQLite, database.Postgres}

// Each runs f as a parallel subtest for each database, named sqlite3 and postgres.
func Each(t *testing.T, f func(t *testing.T, d *database.DB)) {
	t.Helper()
	for _, dialect := range Dialects {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			f(t, New(t, dialect))
		})
	}
}

// New is a fresh, migrated database, closed and removed with the test.
func New(t testing.TB, dialect string) *database.DB {
	t.Helper()
	return Open(t, Config(t, dialect))
}

// Open opens a database of Config, and closes it with the test; a second one on the same Config is a second server's. Count works
// with it, unless the configuration has an OnStatement of its own.
func Open(t testing.TB, config database.Config) *database.DB {
	t.Helper()
	watched := &watched{}
	if config.OnStatement == nil {
		config.OnStatement = watched.seen
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	d, err := database.Open(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	all.Store(d, watched)
	t.Cleanup(func() {
		all.Delete(d)
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// Config is the configuration of a fresh, migrated database, which is removed with the test: for tests that open it themselves.
func Config(t testing.TB, dialect string) database.Config {
	t.Helper()
	if dialect == database.Postgres {
		return database.Config{URL: postgresDatabase(t, true), MaxConns: conns}
	}
	content, err := sqliteTemplate()
	if err != nil {
		t.Fatal(err)
	}
	config := Empty(t, dialect)
	if err := os.WriteFile(filepath.Join(config.Data, "scriptorium.db"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	return config
}

// Empty is the configuration of a database without any tables, which is removed with the test: for tests of migrations.
func Empty(t testing.TB, dialect string) database.Config {
	t.Helper()
	if dialect == database.Postgres {
		return database.Config{URL: postgresDatabase(t, false), MaxConns: conns}
	}
	return database.Config{Data: t.TempDir(), MaxConns: conns, NoSync: true}
}

// sqliteTemplate is the content of a migrated database's file.
var sqliteTemplate = sync.OnceValues(func() ([]byte, error) {
	folder, err := os.MkdirTemp("", "scriptorium-template-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a few kilobytes
	if err := migrateNew(database.Config{Data: folder, NoSync: true}); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(folder, "scriptorium.db"))
})

// migrateNew migrates an empty database and closes it.
func migrateNew(config database.Config) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	d, err := database.Open(ctx, config)
	if err != nil {
		return err
	}
	if err := d.Migrate(ctx); err != nil {
		return errors.Join(err, d.Close())
	}
	return d.Close()
}
