package batch_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/scriptorium-dev/scriptorium/internal/batch"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestIn: one statement for any number of values, none included.
func TestIn(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		for want, ids := range map[int][][]string{
			0: {nil, {}, {""}, {"d"}, {`"`, `a","b`}},
			1: {{"a"}, {"a", "a", "d"}},
			3: {{"c", "b", "a"}},
		} {
			for _, list := range ids {
				var n int
				err := d.SQL().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM (SELECT 'a' AS x UNION SELECT 'b' UNION SELECT 'c') t WHERE x IN "+
					batch.In(d.Dialect(), 1), batch.List(list)).Scan(&n)
				if err != nil || n != want {
					t.Errorf("%q: %d, want %d, %v", list, n, want, err)
				}
			}
		}
	})
}
