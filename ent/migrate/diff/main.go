// Diff writes the next migration files: see package migrate. A table that is gone from ent's schema it leaves alone: write its DROP
// TABLE by hand.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	atlas "ariga.io/atlas/sql/migrate"
	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/scriptorium-dev/scriptorium/ent/db/migrate"
	"github.com/scriptorium-dev/scriptorium/internal/testservice"
)

// root is where the folders are, seen from the module's root.
const root = "ent/migrate"

func main() {
	hash := flag.Bool("hash", false, "only write the checksums of the files again")
	flag.Parse()
	if err := run(context.Background(), *hash, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "diff:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, hash bool, args []string) error {
	if hash {
		return errors.Join(writeSum("sqlite"), writeSum("postgres"))
	}
	if len(args) != 1 || !regexp.MustCompile(`^[a-z0-9_]+$`).MatchString(args[0]) {
		return errors.New("usage: go run ./ent/migrate/diff name_of_the_change")
	}
	version := atlas.NewVersion() // one for both
	if err := diffSQLite(ctx, version, args[0]); err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	if err := diffPostgres(ctx, version, args[0]); err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	return nil
}

// writeSum writes a folder's checksums.
func writeSum(folder string) error {
	dir, err := atlas.NewLocalDir(filepath.Join(root, folder))
	if err != nil {
		return err
	}
	sum, err := dir.Checksum()
	if err != nil {
		return err
	}
	return atlas.WriteSumFile(dir, sum)
}

func diffSQLite(ctx context.Context, version, name string) (err error) {
	folder, err := os.MkdirTemp("", "scriptorium-diff-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	return diff(ctx, "sqlite", dialect.SQLite, "sqlite", "file:"+filepath.Join(folder, "empty.db")+"?_pragma=foreign_keys(1)", version, name)
}

func diffPostgres(ctx context.Context, version, name string) (err error) {
	server, err := testservice.Postgres()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	return diff(ctx, "postgres", dialect.Postgres, "pgx", server.URL, version, name)
}

// formatter gives both folders' files the same version.
type formatter string

// Format is atlas' own with that version.
func (version formatter) Format(plan *atlas.Plan) ([]atlas.File, error) {
	plan.Version = string(version)
	return atlas.DefaultFormatter.Format(plan)
}

// diff compares what the files make of an empty database with ent's schema, and writes the file that is missing.
func diff(ctx context.Context, folder, dialect, driver, address, version, name string) (err error) {
	dir, err := atlas.NewLocalDir(filepath.Join(root, folder))
	if err != nil {
		return err
	}
	connection, err := sql.Open(driver, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, connection.Close()) }()
	m, err := schema.NewMigrate(entsql.OpenDB(dialect, connection),
		schema.WithDir(dir), schema.WithFormatter(formatter(version)), schema.WithDialect(dialect),
		schema.WithMigrationMode(schema.ModeReplay), schema.WithDropColumn(true), schema.WithDropIndex(true), schema.WithErrNoPlan(true),
		schema.WithIndent("  "))
	if err != nil {
		return err
	}
	switch err := m.NamedDiff(ctx, name, migrate.Tables...); {
	case errors.Is(err, atlas.ErrNoPlan):
		fmt.Printf("%s: nothing to do\n", folder)
		return nil
	case err != nil:
		return err
	}
	fmt.Printf("%s: %s\n", folder, filepath.Join(root, folder, version+"_"+name+".sql"))
	return nil
}
