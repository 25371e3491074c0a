package database_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/scriptorium-dev/scriptorium/ent/db/organization"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

func makeOrganization(t *testing.T, d *database.DB, id string) {
	t.Helper()
	err := d.InTx(t.Context(), func(ctx context.Context, tx *database.Tx) error { return createOrganization(ctx, tx, id) })
	if err != nil {
		t.Fatal(err)
	}
}

func createOrganization(ctx context.Context, tx *database.Tx, id string) error {
	return tx.Ent().Organization.Create().SetID(id).SetName("name").SetCreatedAt(database.Now()).Exec(ctx)
}

// increment reads the row under a lock and writes one more: what 20 at a time must not lose.
func increment(ctx context.Context, tx *database.Tx, id string) error {
	row, err := tx.Ent().Organization.Query().Where(organization.ID(id), database.ForUpdate).Only(ctx)
	if err != nil {
		return err
	}
	return tx.Ent().Organization.UpdateOneID(id).SetChangeHead(row.ChangeHead + 1).Exec(ctx)
}

func head(t *testing.T, d *database.DB, id string) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	row, err := d.Read().Organization.Get(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	return int64(row.ChangeHead)
}

func TestInTx_parallel(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		makeOrganization(t, d, "o")
		const writers = 20
		failed := make(chan error, writers)
		for range writers {
			go func() {
				failed <- d.InTx(t.Context(), func(ctx context.Context, tx *database.Tx) error { return increment(ctx, tx, "o") })
			}()
		}
		for range writers {
			if err := <-failed; err != nil {
				t.Error(err)
			}
		}
		if n := head(t, d, "o"); n != writers {
			t.Errorf("%d increments survived of %d", n, writers)
		}
	})
}

// Two transactions that lock two rows the other way round: PostgreSQL ends one of them, which is begun again.
func TestInTx_deadlock(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		makeOrganization(t, d, "a")
		makeOrganization(t, d, "b")
		var first sync.WaitGroup
		first.Add(2)
		failed := make(chan error, 2)
		for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
			go func() {
				meet := sync.OnceFunc(func() {
					first.Done()
					if d.Dialect() == database.Postgres { // SQLite does not let the other one begin
						first.Wait()
					}
				})
				failed <- d.InTx(t.Context(), func(ctx context.Context, tx *database.Tx) error {
					if err := increment(ctx, tx, order[0]); err != nil {
						return err
					}
					meet()
					return increment(ctx, tx, order[1])
				})
			}()
		}
		for range 2 {
			if err := <-failed; err != nil {
				t.Error(err)
			}
		}
		if a, b := head(t, d, "a"), head(t, d, "b"); a != 2 || b != 2 {
			t.Errorf("%d and %d increments survived of 2 and 2", a, b)
		}
	})
}

func TestInTx_readersGoOn(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		makeOrganization(t, d, "o")
		err := d.InTx(t.Context(), func(ctx context.Context, tx *database.Tx) error {
			if err := increment(ctx, tx, "o"); err != nil {
				return err
			}
			if n := head(t, d, "o"); n != 0 {
				t.Errorf("a reader sees %d, which is not committed", n)
			}
			return d.InReadTx(t.Context(), func(ctx context.Context, tx *database.Tx) error {
				n, err := tx.Ent().Organization.Query().Where(organization.ChangeHead(0)).Count(ctx)
				if n != 1 {
					t.Errorf("a reading transaction sees %d rows, want the one before the change", n)
				}
				return err
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := head(t, d, "o"); n != 1 {
			t.Errorf("after the commit a reader sees %d", n)
		}
	})
}

func TestInReadTx_onePointInTime(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		makeOrganization(t, d, "o")
		err := d.InReadTx(t.Context(), func(ctx context.Context, tx *database.Tx) error {
			before := tx.Ent().Organization.GetX(ctx, "o").ChangeHead
			err := d.InTx(t.Context(), func(ctx context.Context, tx *database.Tx) error { return increment(ctx, tx, "o") })
			if after := tx.Ent().Organization.GetX(ctx, "o").ChangeHead; after != before {
				t.Errorf("saw %d, then %d", before, after)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		makeOrganization(t, d, "o")
		const write = "UPDATE organizations SET name = $1"
		for name, err := range map[string]error{
			"ent":     d.Read().Organization.UpdateOneID("o").SetName("other").Exec(t.Context()),
			"ent all": d.Read().Organization.Update().SetName("other").Exec(t.Context()),
			"SQL":     second(d.SQL().ExecContext(t.Context(), write, "other")),
			"transaction": d.InReadTx(t.Context(), func(ctx context.Context, tx *database.Tx) error {
				return second(tx.SQL().ExecContext(ctx, write, "other"))
			}),
		} {
			if err == nil {
				t.Errorf("%s: wrote where only reading is for", name)
			}
		}
		if n := d.Read().Organization.Query().Where(organization.Name("name")).CountX(t.Context()); n != 1 {
			t.Error("the row was changed")
		}
	})
}

func second[T any](_ T, err error) error { return err }

func TestInTx_rollback(t *testing.T) {
	t.Parallel()
	failure := errors.New("failure")
	ways := map[string]func() error{
		"error": func() error { return failure },
		"panic": func() error { panic(failure) },
		"exit":  func() error { runtime.Goexit(); return nil },
	}
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		for way, leave := range ways {
			var got error
			ended := make(chan any)
			go func() {
				defer func() { ended <- recover() }()
				got = d.InTx(t.Context(), func(ctx context.Context, tx *database.Tx) error {
					tx.AfterCommit(func() { t.Errorf("%s: told of a commit that was none", way) })
					if err := createOrganization(ctx, tx, "o"); err != nil {
						return err
					}
					return leave()
				})
			}()
			panicked := <-ended
			if way == "error" && !errors.Is(got, failure) {
				t.Errorf("error: answered %v, want the function's error", got)
			}
			if way == "panic" && panicked != error(failure) {
				t.Errorf("panic: recovered %v, want the function's panic", panicked)
			}
			if n := d.Read().Organization.Query().CountX(t.Context()); n != 0 {
				t.Errorf("%s: %d rows are left", way, n)
			}
		}
		makeOrganization(t, d, "o") // the connection is free
	})
}

func TestInTx_afterCommit(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		var told []string
		attempt := 0
		err := d.InTx(t.Context(), func(ctx context.Context, tx *database.Tx) error {
			attempt++
			for _, word := range []string{"first", "second", "third"} {
				tx.AfterCommit(func() {
					if n := d.Read().Organization.Query().CountX(t.Context()); n != 1 {
						t.Errorf("%s is told before the commit can be seen", word)
					}
					told = append(told, word)
				})
			}
			if attempt == 1 {
				return &pgconn.PgError{Code: "40001"}
			}
			return createOrganization(ctx, tx, "o")
		})
		if err != nil {
			t.Fatal(err)
		}
		if attempt != 2 || !slices.Equal(told, []string{"first", "second", "third"}) {
			t.Errorf("after %d attempts told %q", attempt, told)
		}
	})
}

func TestInTx_triesAreBounded(t *testing.T) {
	t.Parallel()
	d := databasetest.New(t, database.SQLite)
	n := 0
	err := d.InTx(t.Context(), func(context.Context, *database.Tx) error {
		n++
		return &pgconn.PgError{Code: "40P01"}
	})
	if err == nil || n != database.Attempts {
		t.Errorf("begun %d times (%v), want %d", n, err, database.Attempts)
	}
}

func TestInTx_nested(t *testing.T) {
	t.Parallel()
	d := databasetest.New(t, database.SQLite)
	err := d.InTx(t.Context(), func(ctx context.Context, _ *database.Tx) error {
		return d.InTx(ctx, func(context.Context, *database.Tx) error { return nil })
	})
	if err == nil {
		t.Error("a transaction inside another one would wait for itself for ever")
	}
}

// TestJoin: what joins a transaction is undone with it, and what has none to join has its own.
func TestJoin(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		write := func(id string) func(context.Context, *database.Tx) error {
			return func(ctx context.Context, tx *database.Tx) error {
				return tx.Ent().Organization.Create().SetID(id).SetName(id).SetCreatedAt(database.Now()).Exec(ctx)
			}
		}
		undone := errors.New("undone")
		err := d.InTx(t.Context(), func(ctx context.Context, _ *database.Tx) error {
			return errors.Join(d.Join(ctx, write("joined")), undone)
		})
		if !errors.Is(err, undone) {
			t.Error(err)
		}
		if err := d.Join(t.Context(), write("alone")); err != nil {
			t.Error(err)
		}
		if ids := d.Read().Organization.Query().IDsX(t.Context()); len(ids) != 1 || ids[0] != "alone" {
			t.Errorf("written: %v", ids)
		}
	})
}

func TestInTx_context(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		over, cancel := context.WithCancel(t.Context())
		cancel()
		err := d.InTx(over, func(context.Context, *database.Tx) error {
			t.Error("runs though its context is over")
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("answered %v for a context that is over", err)
		}

		over, cancel = context.WithCancel(t.Context())
		defer cancel()
		err = d.InTx(over, func(ctx context.Context, tx *database.Tx) error {
			if err := createOrganization(ctx, tx, "o"); err != nil {
				return err
			}
			cancel()
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("answered %v for a context that ended before the commit", err)
		}
		if n := d.Read().Organization.Query().CountX(t.Context()); n != 0 {
			t.Error("committed after its context ended")
		}

		err = d.InTx(t.Context(), func(context.Context, *database.Tx) error { // the writer waits in a queue, but not for ever
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			if d.Dialect() == database.SQLite {
				err := d.InTx(ctx, func(context.Context, *database.Tx) error { return nil })
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("answered %v to one that waited for the writer too long", err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// What ent takes for its own transaction (it opens one around a mutation with edges) is ours: it rolls back with it.
func TestTx_entsOwn(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		failure := errors.New("failure")
		err := d.InTx(t.Context(), func(ctx context.Context, tx *database.Tx) error {
			inner, err := tx.Ent().Tx(ctx)
			if err != nil {
				return err
			}
			if err := inner.Organization.Create().SetID("o").SetName("n").SetCreatedAt(database.Now()).Exec(ctx); err != nil {
				return err
			}
			if err := inner.Commit(); err != nil {
				return err
			}
			var n int
			if err := tx.SQL().QueryRowContext(ctx, "SELECT count(*) FROM organizations WHERE id = $1", "o").Scan(&n); err != nil || n != 1 {
				t.Errorf("raw SQL sees %d rows (%v) of ent's in the same transaction", n, err)
			}
			return failure
		})
		if !errors.Is(err, failure) {
			t.Fatal(err)
		}
		if n := d.Read().Organization.Query().CountX(t.Context()); n != 0 {
			t.Error("ent committed on its own")
		}
	})
}
