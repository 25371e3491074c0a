package database_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
)

func TestOpen_dataInUse(t *testing.T) {
	t.Parallel()
	config := databasetest.Config(t, database.SQLite)
	first, err := database.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := database.Open(t.Context(), config); !errors.Is(err, database.ErrDataInUse) || !strings.Contains(err.Error(), config.Data) {
		t.Errorf("a second server on the folder: %v, want one sentence that names it", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	databasetest.Open(t, config)
}

// A folder whose name means something in an address.
func TestOpen_strangeFolder(t *testing.T) {
	t.Parallel()
	config := database.Config{Data: filepath.Join(t.TempDir(), "a b?c=d&e#f%41", "deep")}
	d := databasetest.Open(t, config)
	if err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(config.Data, "scriptorium.db")); err != nil {
		t.Error(err)
	}
}

func TestOpen_refuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "scriptorium.db"), []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		config database.Config
		want   string
	}{
		"nothing":           {database.Config{}, "neither"},
		"MySQL":             {database.Config{URL: "mysql://u:geheim@h/d"}, "must begin with postgres://"},
		"malformed":         {database.Config{URL: "postgres://u:geheim@h:port/d"}, "not valid"},
		"nobody listens":    {database.Config{URL: "postgres://u:geheim@127.0.0.1:1/d"}, "cannot open the database"},
		"few connections":   {database.Config{Data: "x", MaxConns: 1}, "2 to 1000"},
		"many connections":  {database.Config{Data: "x", MaxConns: 1001}, "2 to 1000"},
		"negative timeout":  {database.Config{Data: "x", StatementTimeout: -1}, "negative"},
		"a file for a data": {database.Config{Data: file}, "data folder"},
		"no database":       {database.Config{Data: broken}, "not a database"},
	} {
		d, err := database.Open(t.Context(), c.config)
		switch {
		case err == nil:
			t.Errorf("%s: opened", name)
			_ = d.Close()
		case !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "geheim"):
			t.Errorf("%s: %q, want %q and no password", name, err, c.want)
		}
	}
	both := database.Config{MaxConns: 1, StatementTimeout: -1}.Check()
	if n := strings.Count(both.Error(), "\n"); n != 2 {
		t.Errorf("%q: want all three faults at once", both)
	}
}

// Times are stored in UTC, to the millisecond, and sort by time, whatever zone and precision they are given with.
func TestTimes(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		zone := time.FixedZone("east", 5*3600+1800)
		start := time.Date(2026, 3, 29, 0, 30, 0, 0, time.UTC)
		given := []time.Time{start, start.Add(100*time.Millisecond + 999).In(zone), start.Add(120 * time.Millisecond), start.Add(time.Second).In(zone)}
		err := d.InTx(t.Context(), func(ctx context.Context, tx *database.Tx) error {
			for i, at := range given {
				if err := tx.Ent().Organization.Create().SetID(string(rune('d' - i))).SetName("n").SetCreatedAt(at).Exec(ctx); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := d.SQL().QueryContext(t.Context(), "SELECT created_at FROM organizations WHERE created_at <= $1 ORDER BY created_at", given[3])
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close() //nolint:errcheck // Err tells
		i := 0
		for ; rows.Next(); i++ {
			var at time.Time
			if err := rows.Scan(&at); err != nil {
				t.Fatal(err)
			}
			if want := given[i].UTC().Truncate(time.Millisecond); at != want {
				t.Errorf("%v was stored as %v, want %v", given[i], at, want)
			}
		}
		if err := rows.Err(); err != nil || i != len(given) {
			t.Errorf("%d rows (%v), want %d", i, err, len(given))
		}
		for i, at := range given {
			if got := d.Read().Organization.GetX(t.Context(), string(rune('d'-i))).CreatedAt; got != at.UTC().Truncate(time.Millisecond) {
				t.Errorf("ent answers %v for %v", got, at)
			}
		}
	})
	if now := database.Now(); now.Location() != time.UTC || now.Nanosecond()%1e6 != 0 {
		t.Errorf("Now is %v", now)
	}
}

func TestStatementTimeout(t *testing.T) {
	t.Parallel()
	config := databasetest.Config(t, database.Postgres)
	config.StatementTimeout = 50 * time.Millisecond
	d := databasetest.Open(t, config)
	_, err := d.SQL().ExecContext(t.Context(), "SELECT pg_sleep($1)", patience.Seconds())
	if err == nil || !strings.Contains(err.Error(), "statement timeout") {
		t.Errorf("answered %v, want a statement timeout", err)
	}
}

func TestViolations(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		makeOrganization(t, d, "o")
		key := func(ctx context.Context, tx *database.Tx, id, organization string) error {
			return tx.Ent().Key.Create().SetID(id).SetOrganizationID(organization).SetName("n").SetPrefix("p").SetCreatedAt(database.Now()).
				SetSecretSha256([]byte("hash")).SetCapabilities(nil).Exec(ctx)
		}
		for name, c := range map[string]struct {
			f    func(ctx context.Context, tx *database.Tx) error
			want string
			is   bool
		}{
			"primary key": {func(ctx context.Context, tx *database.Tx) error { return createOrganization(ctx, tx, "o") }, "organizations_pkey", true},
			"index": {func(ctx context.Context, tx *database.Tx) error {
				return errors.Join(key(ctx, tx, "k", "o"), key(ctx, tx, "l", "o"))
			}, "key_secret_sha256", true},
			"foreign key": {func(ctx context.Context, tx *database.Tx) error { return key(ctx, tx, "k", "none") }, "", false},
			"other": {func(ctx context.Context, tx *database.Tx) error {
				return second(tx.SQL().ExecContext(ctx, "SELECT nothing"))
			}, "", false},
		} {
			err := d.InTx(t.Context(), c.f)
			if err == nil {
				t.Errorf("%s: no error", name)
			}
			constraint, is := database.IsUniqueViolation(err)
			if is != c.is || is && constraint != c.want {
				t.Errorf("%s: %q, %v, want %q, %v (%v)", name, constraint, is, c.want, c.is, err)
			}
			if is := database.IsForeignKeyViolation(err); is != (name == "foreign key") {
				t.Errorf("%s: a foreign key's violation: %v (%v)", name, is, err)
			}
		}
	})
}

func TestPing(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		if err := d.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := d.Ping(over); err == nil {
			t.Error("answers to a context that is over")
		}
	})
}

func TestIsUnreachable(t *testing.T) {
	t.Parallel()
	_, err := database.Open(t.Context(), database.Config{URL: "postgres://nobody:secret@127.0.0.1:1/none"})
	if !database.IsUnreachable(err) {
		t.Errorf("nothing listens: %v", err)
	}
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		if _, err := d.SQL().ExecContext(t.Context(), "SELECT nothing FROM nowhere"); err == nil || database.IsUnreachable(err) {
			t.Errorf("a bad statement: %v", err)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := d.Ping(over); database.IsUnreachable(err) {
			t.Errorf("a context that is over: %v", err)
		}
		if d.Dialect() != database.Postgres {
			return
		}
		if _, err := d.SQL().ExecContext(t.Context(), "SELECT pg_terminate_backend(pg_backend_pid())"); !database.IsUnreachable(err) {
			t.Errorf("a connection that the server ended: %v", err)
		}
	})
}
