package batch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/page"
)

// In answers the right side of `column IN …` for the placeholder $n, whose argument is List's: the same statement for any number of
// values.
func In(dialect string, n int) string {
	if dialect == database.Postgres {
		return fmt.Sprintf("(SELECT jsonb_array_elements_text($%d::jsonb))", n)
	}
	return fmt.Sprintf("(SELECT value FROM json_each($%d))", n)
}

// List is the argument of In. No ids are the empty list, which nothing is in.
func List(ids []string) string {
	sorted := append([]string{}, ids...) // never nil: PostgreSQL takes JSON's null for no list
	slices.Sort(sorted)
	raw, err := json.Marshal(slices.Compact(sorted))
	if err != nil {
		panic(err) // a list of strings always has a JSON text
	}
	return string(raw)
}

// Counts answers how many rows the lists of many parents have, each by its parent's id, with one statement for all of them: it is sent
// when the first one is asked for.
func Counts(load func(ctx context.Context) (map[string]int, error)) func(parent string) func(context.Context) (int, error) {
	var mu sync.Mutex
	var counts map[string]int
	return func(parent string) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			if counts == nil {
				loaded, err := load(ctx)
				if err != nil {
					return 0, err
				}
				counts = loaded
			}
			return counts[parent], nil
		}
	}
}

// Pages makes each parent's page of the rows that a store read for all of them, at most w.Limit+1 a parent, each in the window's
// direction. Parents without rows get an empty page.
func Pages[T any](w page.Window, parents []string, rows []T, parent, cursor func(T) string,
	counts func(parent string) func(context.Context) (int, error),
) map[string]*page.Connection[T] {
	grouped := make(map[string][]T, len(parents))
	for _, row := range rows {
		grouped[parent(row)] = append(grouped[parent(row)], row)
	}
	pages := make(map[string]*page.Connection[T], len(parents))
	for _, p := range parents {
		pages[p] = page.New(w, grouped[p], cursor, counts(p))
	}
	return pages
}

// Grouped reads a statement's rows of a parent's id and a number.
func Grouped(ctx context.Context, q *database.Querier, statement string, args ...any) (map[string]int, error) {
	rows, err := q.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, fmt.Errorf("count: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	counts := map[string]int{}
	for rows.Next() {
		var parent string
		var n int
		if err := rows.Scan(&parent, &n); err != nil {
			return nil, fmt.Errorf("count: %w", err)
		}
		counts[parent] = n
	}
	return counts, rows.Err()
}
