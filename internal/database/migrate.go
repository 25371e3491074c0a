package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"strings"

	atlas "ariga.io/atlas/sql/migrate"
	atlaspostgres "ariga.io/atlas/sql/postgres"
	atlassqlite "ariga.io/atlas/sql/sqlite"

	"github.com/scriptorium-dev/scriptorium/ent/migrate"
)

// migrationLock is the number of PostgreSQL's advisory lock that a migration holds. Never change it: servers of two versions must
// agree on it.
const migrationLock = 7_236_281_946_112_450

// Migrate brings the tables up to date: it applies the migrations that the database has not seen, each with its entry in
// schema_migrations in one transaction. A database that is up to date is not touched. Several servers may do it at once: one migrates,
// the others wait as long as their context lives. It fails, with nothing changed by the file at fault, if a file fails, if a row would
// name a row that is not there, if an applied file was changed since, or if a newer version of the program migrated the database.
func (d *DB) Migrate(ctx context.Context) error {
	return d.migrate(ctx, migrate.Files)
}

// migrate is Migrate with the folders sqlite and postgres of any file system.
func (d *DB) migrate(ctx context.Context, files fs.FS) error {
	folder, use := "sqlite", d.sqliteMigrationConn
	if d.dialect == Postgres {
		folder, use = "postgres", d.postgresMigrationConn
	}
	dir, err := migrationDir(files, folder)
	if err != nil {
		return fmt.Errorf("migrations of %s: %w", folder, err)
	}
	defer dir.Close() //nolint:errcheck // memory
	err = use(ctx, func(conn *sql.Conn) error {
		return (&migration{conn, d.dialect, dir, d.config.Log}).run(ctx)
	})
	if err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return nil
}

// migrationDir copies a folder to memory, where atlas can read it, and checks it against its checksums.
func migrationDir(files fs.FS, folder string) (*atlas.MemDir, error) {
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		return nil, err
	}
	dir := &atlas.MemDir{}
	for _, entry := range entries {
		content, err := fs.ReadFile(files, path.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		if err := dir.WriteFile(entry.Name(), content); err != nil {
			return nil, err
		}
	}
	return dir, atlas.Validate(dir)
}

// sqliteMigrationConn lends the one writer, so that nothing else is written meanwhile, with foreign keys off: a table is changed by
// copying it, and dropping the old one would delete the rows that name its rows. PRAGMA foreign_keys does nothing inside a transaction.
func (d *DB) sqliteMigrationConn(ctx context.Context, f func(*sql.Conn) error) (err error) {
	conn, err := d.write.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // gives it back to the pool
	if _, err := conn.ExecContext(ctx, "PRAGMA foreign_keys = off"); err != nil {
		return err
	}
	defer func() { // this connection must not go on without foreign keys: the pool makes a new one
		err = errors.Join(err, discard(conn))
	}()
	return f(conn)
}

// postgresMigrationConn lends a session of its own, without a limit on the time of a statement, that holds the lock. It ends with the
// session, however that ends.
func (d *DB) postgresMigrationConn(ctx context.Context, f func(*sql.Conn) error) (err error) {
	pool, err := postgresPool(d.config, map[string]string{"statement_timeout": "0", "lock_timeout": "0"}, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // gives it back to the pool
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", migrationLock); err != nil {
		return fmt.Errorf("wait for another server's migration: %w", err)
	}
	return f(conn)
}

// discard makes the pool forget the connection.
func discard(conn *sql.Conn) error {
	if err := conn.Raw(func(any) error { return driver.ErrBadConn }); !errors.Is(err, driver.ErrBadConn) {
		return err
	}
	return nil
}

// migration is one run of Migrate, on a connection that nobody else migrates with.
type migration struct {
	conn    *sql.Conn
	dialect string
	dir     *atlas.MemDir
	log     *slog.Logger
}

// run applies what is missing.
func (m *migration) run(ctx context.Context) error {
	var files []atlas.File
	err := m.inTx(ctx, func(tx *sql.Tx, executor *atlas.Executor) (err error) {
		files, err = m.pending(ctx, tx, executor)
		return err
	})
	if err != nil {
		return err
	}
	for _, file := range files {
		err := m.inTx(ctx, func(tx *sql.Tx, executor *atlas.Executor) error {
			if err := executor.Execute(ctx, file); err != nil {
				return err
			}
			return m.checkForeignKeys(ctx, tx)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", file.Name(), err)
		}
		m.log.InfoContext(ctx, "database migrated", "version", file.Version(), "file", file.Name())
	}
	return nil
}

// inTx runs f in a transaction, with an executor that works in it.
func (m *migration) inTx(ctx context.Context, f func(*sql.Tx, *atlas.Executor) error) (err error) {
	tx, err := m.conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // nothing to do after a commit
	open := atlassqlite.Open
	if m.dialect == Postgres {
		open = atlaspostgres.Open
	}
	drv, err := open(tx)
	if err != nil {
		return err
	}
	executor, err := atlas.NewExecutor(drv, m.dir, revisions{tx}, atlas.WithAllowDirty(true)) // isOurs looks
	if err != nil {
		return err
	}
	if err := f(tx, executor); err != nil {
		return err
	}
	return tx.Commit()
}

// pending makes schema_migrations if need be, compares what it says with our files, and answers the files to apply.
func (m *migration) pending(ctx context.Context, tx *sql.Tx, executor *atlas.Executor) ([]atlas.File, error) {
	r := revisions{tx}
	there, err := m.isOurs(ctx, tx)
	if err != nil {
		return nil, err
	}
	if !there { // not IF NOT EXISTS: that asks for the right to make tables, for nothing
		if err := r.create(ctx); err != nil {
			return nil, err
		}
	}
	applied, err := r.ReadRevisions(ctx)
	if err != nil {
		return nil, err
	}
	sums, err := m.dir.Checksum()
	if err != nil {
		return nil, err
	}
	ours := make(map[string]string, len(sums)) // version -> checksum
	for _, s := range sums {
		ours[atlas.NewLocalFile(s.N, nil).Version()] = s.H
	}
	for _, a := range applied {
		switch sum, known := ours[a.Version]; {
		case !known:
			return nil, fmt.Errorf("the database has migration %s, which this version of Scriptorium does not know: run the newer version", a.Version)
		case sum != a.Hash:
			return nil, fmt.Errorf("migration %s was applied with another content, or after other migrations, than it has now", a.Version)
		}
	}
	files, err := executor.Pending(ctx)
	if errors.Is(err, atlas.ErrNoPendingFiles) {
		return nil, nil
	}
	return files, err
}

// isOurs tells whether schema_migrations is there, and refuses a database that has other tables but not that: it is somebody else's.
func (m *migration) isOurs(ctx context.Context, tx *sql.Tx) (bool, error) {
	tables := `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'`
	if m.dialect == Postgres {
		tables = `SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()`
	}
	var ours, others int
	var example sql.NullString
	err := tx.QueryRowContext(ctx, `SELECT count(CASE WHEN name = $1 THEN 1 END), count(CASE WHEN name <> $1 THEN 1 END), min(name)
		FROM (`+tables+`) t`, revisionTable).Scan(&ours, &others, &example)
	if err == nil && ours == 0 && others > 0 {
		err = fmt.Errorf("the database is not empty and not Scriptorium's (it has a table %q): give it an empty one", example.String)
	}
	return ours > 0, err
}

// checkForeignKeys looks for rows that name a row that is not there; SQLite was not looking while the file ran.
func (m *migration) checkForeignKeys(ctx context.Context, tx *sql.Tx) error {
	if m.dialect != SQLite {
		return nil
	}
	rows, err := tx.QueryContext(ctx, `SELECT DISTINCT "table", "parent" FROM pragma_foreign_key_check`)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var broken []string
	for rows.Next() {
		var table, parent string
		if err := rows.Scan(&table, &parent); err != nil {
			return err
		}
		broken = append(broken, fmt.Sprintf("%s -> %s", table, parent))
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if len(broken) > 0 {
		return fmt.Errorf("rows name rows that are not there: %s", strings.Join(broken, ", "))
	}
	return nil
}
