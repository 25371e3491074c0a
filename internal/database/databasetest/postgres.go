package databasetest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/scriptorium-dev/scriptorium/ent/migrate"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/testservice"
)

// templateLock is the number of the advisory lock that the maker of a template holds.
const templateLock = 7_236_281_946_112_451

// postgresServer is the URL of the server: the one we are told to use, or one of our own, which ends with the process.
var postgresServer = sync.OnceValues(func() (string, error) {
	if given := os.Getenv(testservice.PostgresEnv); given != "" {
		return given, nil
	}
	service, err := testservice.Postgres()
	if err != nil {
		return "", err
	}
	return service.URL, nil
})

// making bounds how many databases are made at once: the server copies files.
var making = make(chan struct{}, 2)

// postgresDatabase makes a database, a copy of the migrated template or an empty one, removes it with the test, and answers its URL.
func postgresDatabase(t testing.TB, migrated bool) string {
	t.Helper()
	server, err := postgresServer()
	if err != nil {
		t.Fatal(err)
	}
	template := "template0"
	if migrated {
		if template, err = postgresTemplate(); err != nil {
			t.Fatal(err)
		}
	}
	name := "test_" + rand.Text()
	making <- struct{}{}
	err = administer(server, "CREATE DATABASE "+quoted(name)+" TEMPLATE "+quoted(template))
	<-making
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := administer(server, "DROP DATABASE "+quoted(name)+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	address, err := withDatabase(server, name)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// postgresTemplate is the name of the server's migrated database, made by the first test process with these migrations.
var postgresTemplate = sync.OnceValues(func() (_ string, err error) {
	server, err := postgresServer()
	if err != nil {
		return "", err
	}
	name, err := templateName()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }() // and gives the lock free
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", templateLock); err != nil {
		return "", err
	}
	var there bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&there); err != nil || there {
		return name, err
	}
	return name, makeTemplate(ctx, conn, server, name)
})

// makeTemplate makes it under another name first, so that one that failed half way is never used.
func makeTemplate(ctx context.Context, conn *pgx.Conn, server, name string) error {
	draft := name + "_draft"
	for _, statement := range []string{"DROP DATABASE IF EXISTS " + quoted(draft) + " WITH (FORCE)", "CREATE DATABASE " + quoted(draft)} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	address, err := withDatabase(server, draft)
	if err != nil {
		return err
	}
	if err := migrateNew(database.Config{URL: address, MaxConns: 2}); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "ALTER DATABASE "+quoted(draft)+" RENAME TO "+quoted(name))
	return err
}

// templateName tells the migrations apart, for a server that outlives a change of them.
func templateName() (string, error) {
	files, err := fs.Sub(migrate.Files, "postgres")
	if err != nil {
		return "", err
	}
	sum, err := fs.ReadFile(files, "atlas.sum")
	if err != nil {
		return "", err
	}
	hash := sha256.Sum256(sum)
	return "template_" + hex.EncodeToString(hash[:8]), nil
}

// administer runs one statement on the server's own database, on a connection that is closed at once: what a pool keeps running
// would look like a leak to the tests.
func administer(server, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return fmt.Errorf("the tests' PostgreSQL server: %w", err)
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// withDatabase is the server's URL with another database.
func withDatabase(server, name string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// quoted is name as an identifier.
func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }
