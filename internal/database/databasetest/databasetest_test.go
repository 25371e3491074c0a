package databasetest_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Two databases at a time are two: what is written to one is not in the other.
func TestEach_isFresh(t *testing.T) {
	t.Parallel()
	for range 2 {
		databasetest.Each(t, func(t *testing.T, d *database.DB) {
			if n := d.Read().Organization.Query().CountX(t.Context()); n != 0 {
				t.Fatalf("%d organizations in a fresh database", n)
			}
			makeOrganization(t, d, "org")
			if n := d.Read().Organization.Query().CountX(t.Context()); n != 1 {
				t.Fatalf("%d organizations after one was made", n)
			}
		})
	}
}

func makeOrganization(t *testing.T, d *database.DB, id string) {
	t.Helper()
	err := d.InTx(t.Context(), func(ctx context.Context, tx *database.Tx) error {
		return tx.Ent().Organization.Create().SetID(id).SetName(id).SetCreatedAt(database.Now()).Exec(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		counter := databasetest.Count(t, d)
		makeOrganization(t, d, "org")
		d.Read().Organization.Query().CountX(t.Context())
		if err := d.SQL().QueryRowContext(t.Context(), "SELECT 1").Err(); err != nil {
			t.Fatal(err)
		}
		if s := counter.Statements(); counter.Take() != 3 || s[2] != "SELECT 1" {
			t.Errorf("counted %q, want an INSERT and two SELECTs", s)
		}
		if counter.Take() != 0 {
			t.Error("Take does not forget")
		}
		ctx := counter.Only(t.Context())
		d.Read().Organization.Query().CountX(t.Context())
		d.Read().Organization.Query().CountX(ctx)
		if n := counter.Take(); n != 1 {
			t.Errorf("counted %d statements of one context, want 1", n)
		}
	})
}
