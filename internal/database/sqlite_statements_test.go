package database

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
)

// Statements that are kept answer as new ones: after the schema has changed, after an error, and past the bound.
func TestKeptStatements(t *testing.T) {
	t.Parallel()
	d, err := openKept("file:" + filepath.Join(t.TempDir(), "kept.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // a test's
	d.SetMaxOpenConns(1)
	conn, err := d.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // a test's
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := conn.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	numbers := func(ctx context.Context, query string, args ...any) (found []int, err error) {
		rows, err := conn.QueryContext(ctx, query, args...)
		if err != nil {
			return nil, err
		}
		defer rows.Close() //nolint:errcheck // Err tells
		for rows.Next() {
			var n sql.NullInt64
			if err := rows.Scan(&n); err != nil {
				return nil, err
			}
			found = append(found, int(n.Int64))
		}
		return found, rows.Err()
	}
	exec("CREATE TABLE t (n INTEGER UNIQUE)")
	for n := range 3 {
		exec("INSERT INTO t (n) VALUES ($1)", n)
	}
	const all = "SELECT n FROM t WHERE n >= $1 ORDER BY n"
	for range 3 {
		if got, err := numbers(t.Context(), all, 0); err != nil || fmt.Sprint(got) != "[0 1 2]" {
			t.Errorf("%v %v", got, err)
		}
	}
	if _, err := conn.ExecContext(t.Context(), "INSERT INTO t (n) VALUES ($1)", 1); err == nil {
		t.Error("a number twice")
	}
	exec("INSERT INTO t (n) VALUES ($1)", 3)
	exec("DELETE FROM t WHERE n = $1", 3)
	exec("ALTER TABLE t ADD COLUMN m INTEGER DEFAULT 7")
	if got, err := numbers(t.Context(), "SELECT m FROM t WHERE n >= $1", 0); err != nil || fmt.Sprint(got) != "[7 7 7]" {
		t.Errorf("%v %v", got, err)
	}
	for n := range keptStatements + 10 {
		if got, err := numbers(t.Context(), fmt.Sprintf("SELECT %d FROM t WHERE n = $1", n), 0); err != nil || fmt.Sprint(got) != fmt.Sprintf("[%d]", n) {
			t.Fatalf("%v %v", got, err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := numbers(ended, all, 0); err == nil {
		t.Error("a context that has ended")
	}
	if got, err := numbers(t.Context(), all, 1); err != nil || fmt.Sprint(got) != "[1 2]" {
		t.Errorf("%v %v", got, err)
	}
	rows, err := conn.QueryContext(t.Context(), all, 0)
	if err != nil || !rows.Next() {
		t.Fatal(err)
	}
	if got, err := numbers(t.Context(), all, 2); err != nil || fmt.Sprint(got) != "[2]" {
		t.Errorf("beside open rows: %v %v", got, err)
	}
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
}
