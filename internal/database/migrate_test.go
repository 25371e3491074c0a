package database_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"ariga.io/atlas/sql/migrate"
	atlaspostgres "ariga.io/atlas/sql/postgres"
	atlas "ariga.io/atlas/sql/schema"
	atlassqlite "ariga.io/atlas/sql/sqlite"
	entsql "entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"

	tables "github.com/scriptorium-dev/scriptorium/ent/db/migrate"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
)

// raw opens the database of the configuration past everything of ours.
func raw(t *testing.T, config database.Config) *sql.DB {
	t.Helper()
	driver, address := "pgx", config.URL
	if config.URL == "" {
		driver, address = "sqlite", "file:"+filepath.Join(config.Data, "scriptorium.db")+"?_pragma=foreign_keys(1)&_pragma=busy_timeout(10000)"
	}
	pool, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return pool
}

func run(t *testing.T, pool *sql.DB, statement string) {
	t.Helper()
	if _, err := pool.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func count(t *testing.T, pool *sql.DB, query string) (n int) {
	t.Helper()
	if err := pool.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// inspect answers what is in a database, but for the table of migrations.
func inspect(t *testing.T, dialect string, pool *sql.DB) (migrate.Driver, *atlas.Schema) {
	t.Helper()
	open, name := atlassqlite.Open, "main"
	if dialect == database.Postgres {
		open, name = atlaspostgres.Open, "public"
	}
	driver, err := open(pool)
	if err != nil {
		t.Fatal(err)
	}
	s, err := driver.InspectSchema(t.Context(), name, &atlas.InspectOptions{Exclude: []string{"schema_migrations"}})
	if err != nil {
		t.Fatal(err)
	}
	return driver, s
}

// differences is what would have to be done to make the first database like the second, in words.
func differences(t *testing.T, dialect string, first, other *sql.DB) (all []string) {
	t.Helper()
	driver, from := inspect(t, dialect, first)
	_, to := inspect(t, dialect, other)
	changes, err := driver.SchemaDiff(from, to)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := driver.PlanChanges(t.Context(), "difference", changes)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range plan.Changes {
		all = append(all, c.Cmd)
	}
	return all
}

// The files make what ent's schema says, on both databases.
func TestMigrate_isEntsSchema(t *testing.T) {
	t.Parallel()
	for _, dialect := range databasetest.Dialects {
		t.Run(dialect, func(t *testing.T) { // not side by side: ent keeps what it works out in its tables, which are shared
			migrated := raw(t, databasetest.Config(t, dialect))
			ents := raw(t, databasetest.Empty(t, dialect))
			m, err := schema.NewMigrate(entsql.OpenDB(dialect, ents))
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Create(t.Context(), tables.Tables...); err != nil {
				t.Fatal(err)
			}
			for _, d := range differences(t, dialect, migrated, ents) {
				t.Errorf("ent/schema says more or else than ent/migrate: %s\n(go run ./ent/migrate/diff name_of_the_change makes the file)", d)
			}
			for _, change := range []string{
				"ALTER TABLE organizations ADD COLUMN extra text",
				"DROP INDEX key_secret_sha256",
				"CREATE TABLE extra (id text)",
			} {
				before := len(differences(t, dialect, migrated, ents))
				run(t, ents, change)
				if len(differences(t, dialect, migrated, ents)) <= before {
					t.Errorf("this comparison does not see %q", change)
				}
			}
		})
	}
}

// Servers that start at the same time on an empty database all come up.
func TestMigrate_atOnce(t *testing.T) {
	t.Parallel()
	for _, dialect := range databasetest.Dialects {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			config := databasetest.Empty(t, dialect)
			servers := []*database.DB{databasetest.Open(t, config)}
			for len(servers) < 4 {
				if dialect == database.SQLite { // its folder has one server
					servers = append(servers, servers[0])
				} else {
					servers = append(servers, databasetest.Open(t, config))
				}
			}
			failed := make(chan error)
			for _, d := range servers {
				go func() { failed <- d.Migrate(t.Context()) }()
			}
			for range servers {
				if err := <-failed; err != nil {
					t.Error(err)
				}
			}
			makeOrganization(t, servers[0], "o")
			if n := head(t, servers[1], "o"); n != 0 {
				t.Errorf("the other one sees %d", n)
			}
		})
	}
}

// files are the same migrations for both databases, with their checksums; a name and a content each.
func files(t *testing.T, pairs ...string) fstest.MapFS {
	t.Helper()
	all := fstest.MapFS{}
	for _, folder := range []string{"sqlite", "postgres"} {
		dir := &migrate.MemDir{}
		for i := 0; i < len(pairs); i += 2 {
			if err := dir.WriteFile(pairs[i], []byte(pairs[i+1])); err != nil {
				t.Fatal(err)
			}
			all[folder+"/"+pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
		}
		sum, err := dir.Checksum()
		if err != nil {
			t.Fatal(err)
		}
		text, err := sum.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		all[folder+"/"+migrate.HashFileName] = &fstest.MapFile{Data: text}
	}
	return all
}

const (
	firstFile  = "20260101000000_first.sql"
	secondFile = "20260102000000_second.sql"
	thirdFile  = "20260103000000_third.sql"

	third   = "CREATE TABLE third (id integer);\n"
	parents = `
CREATE TABLE parents (id integer NOT NULL PRIMARY KEY, name text);
CREATE TABLE children (id integer NOT NULL PRIMARY KEY, parent_id integer NOT NULL REFERENCES parents (id) ON DELETE CASCADE);
`
	// copied changes a table as ent does on SQLite.
	copied = `
-- Disable the enforcement of foreign-keys constraints
PRAGMA foreign_keys = off;
CREATE TABLE new_parents (id integer NOT NULL PRIMARY KEY, name text NOT NULL DEFAULT 'nobody');
INSERT INTO new_parents (id, name) SELECT id, IFNULL(name, 'nobody') FROM parents;
DROP TABLE parents;
ALTER TABLE new_parents RENAME TO parents;
-- Enable back the enforcement of foreign-keys constraints
PRAGMA foreign_keys = on;
`
	altered = `
UPDATE parents SET name = 'nobody' WHERE name IS NULL;
ALTER TABLE parents ALTER COLUMN name SET DEFAULT 'nobody', ALTER COLUMN name SET NOT NULL;
`
)

// A table that others name the rows of is changed, and no row is lost.
func TestMigrate_filled(t *testing.T) {
	t.Parallel()
	for dialect, change := range map[string]string{database.SQLite: copied, database.Postgres: altered} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			config := databasetest.Empty(t, dialect)
			d := databasetest.Open(t, config)
			if err := d.MigrateFiles(t.Context(), files(t, firstFile, parents)); err != nil {
				t.Fatal(err)
			}
			pool := raw(t, config)
			run(t, pool, "INSERT INTO parents (id, name) VALUES (1, 'one'), (2, NULL)")
			run(t, pool, "INSERT INTO children (id, parent_id) VALUES (1, 1), (2, 2), (3, 2)")
			for range 2 { // the second time there is nothing to do
				if err := d.MigrateFiles(t.Context(), files(t, firstFile, parents, secondFile, change)); err != nil {
					t.Fatal(err)
				}
			}
			if n := count(t, pool, "SELECT count(*) FROM children c JOIN parents p ON p.id = c.parent_id WHERE p.name IN ('one', 'nobody')"); n != 3 {
				t.Errorf("%d children are left of 3", n)
			}
			if n := count(t, pool, "SELECT count(*) FROM schema_migrations"); n != 2 {
				t.Errorf("%d migrations are noted, want 2", n)
			}
			err := d.InTx(t.Context(), func(ctx context.Context, tx *database.Tx) error {
				return second(tx.SQL().ExecContext(ctx, "INSERT INTO children (id, parent_id) VALUES (9, 9)"))
			})
			if !database.IsForeignKeyViolation(err) {
				t.Errorf("after the migration foreign keys hold no more: %v", err)
			}
			if _, err := d.SQL().ExecContext(t.Context(), "DELETE FROM children"); err == nil {
				t.Error("after the migration a reader may write")
			}
		})
	}
}

// What is refused changes nothing.
func TestMigrate_refuses(t *testing.T) {
	t.Parallel()
	good := files(t, firstFile, parents)
	forged := files(t, firstFile, parents)
	for name, f := range forged {
		if strings.HasSuffix(name, ".sql") {
			forged[name] = &fstest.MapFile{Data: append([]byte("-- other\n"), f.Data...)}
		}
	}
	cases := map[string]struct {
		before fstest.MapFS // nil: a database with a foreign table
		then   fstest.MapFS
		want   string
	}{
		"a failing statement": {good, files(t, firstFile, parents, secondFile, third+"CREATE TABLE parents (id integer);"), "parents"},
		"a changed file":      {good, files(t, firstFile, parents+"-- more\nCREATE TABLE more (id integer);"), "another content"},
		"a newer database":    {files(t, firstFile, parents, secondFile, third), good, "newer version"},
		"a file in between": {files(t, firstFile, parents, thirdFile, third),
			files(t, firstFile, parents, secondFile, "SELECT 1;", thirdFile, third), "after other migrations"},
		"a wrong checksum": {good, forged, "checksum mismatch"},
		"somebody else's":  {nil, good, `a table "foreigners"`},
	}
	for _, dialect := range databasetest.Dialects {
		for name, c := range cases {
			t.Run(fmt.Sprintf("%s/%s", dialect, name), func(t *testing.T) {
				t.Parallel()
				config := databasetest.Empty(t, dialect)
				d := databasetest.Open(t, config)
				pool := raw(t, config)
				if c.before == nil {
					run(t, pool, "CREATE TABLE foreigners (id integer)")
				} else if err := d.MigrateFiles(t.Context(), c.before); err != nil {
					t.Fatal(err)
				}
				_, before := inspect(t, dialect, pool)
				err := d.MigrateFiles(t.Context(), c.then)
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("answered %v, want %q", err, c.want)
				}
				_, after := inspect(t, dialect, pool)
				if len(after.Tables) != len(before.Tables) {
					t.Errorf("%d tables, before it were %d", len(after.Tables), len(before.Tables))
				}
				if c.before == nil {
					return
				}
				if err := d.MigrateFiles(t.Context(), c.before); err != nil {
					t.Errorf("what was there is not good any more: %v", err)
				}
			})
		}
	}
}

// A file that leaves rows naming rows that are not there is refused: SQLite does not look by itself while it runs.
func TestMigrate_brokenReferences(t *testing.T) {
	t.Parallel()
	config := databasetest.Empty(t, database.SQLite)
	d := databasetest.Open(t, config)
	if err := d.MigrateFiles(t.Context(), files(t, firstFile, parents)); err != nil {
		t.Fatal(err)
	}
	pool := raw(t, config)
	run(t, pool, "INSERT INTO parents (id) VALUES (1)")
	run(t, pool, "INSERT INTO children (id, parent_id) VALUES (1, 1)")
	err := d.MigrateFiles(t.Context(), files(t, firstFile, parents, secondFile, "DELETE FROM parents;"))
	if err == nil || !strings.Contains(err.Error(), "children -> parents") {
		t.Errorf("answered %v, want the tables at fault", err)
	}
	if n := count(t, pool, "SELECT count(*) FROM parents"); n != 1 {
		t.Errorf("%d parents are left", n)
	}
}

// The context ends the wait for another server's migration.
func TestMigrate_waitEnds(t *testing.T) {
	t.Parallel()
	config := databasetest.Empty(t, database.Postgres)
	d := databasetest.Open(t, config)
	if err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	pool := raw(t, config)
	holder, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close() //nolint:errcheck // its pool is closed
	if _, err := holder.ExecContext(t.Context(), "SELECT pg_advisory_lock($1)", database.MigrationLock); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Migrate(ctx) }()
	waiting := "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database " +
		"WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted"
	for count(t, pool, waiting) == 0 {
		select {
		case err := <-ended:
			t.Fatalf("did not wait: %v", err)
		case <-t.Context().Done():
			t.Fatal("never waits")
		default:
		}
	}
	cancel()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "another server's migration") {
		t.Errorf("answered %v", err)
	}
}
