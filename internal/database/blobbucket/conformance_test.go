package blobbucket

import (
	"context"
	"net/http"
	"testing"

	"go.uber.org/goleak"
	"gocloud.dev/blob/driver"
	"gocloud.dev/blob/drivertest"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// harness gives the library's tests one bucket.
type harness struct{ bucket driver.Bucket }

func (h harness) MakeDriver(context.Context) (driver.Bucket, error) { return h.bucket, nil }
func (h harness) MakeDriverForNonexistentBucket(context.Context) (driver.Bucket, error) {
	return nil, nil // there is none: the tables are there or the server does not start
}
func (harness) HTTPClient() *http.Client         { return nil }
func (harness) SupportsCopy() bool               { return true }
func (harness) SupportsNonSlashDelimiters() bool { return true }
func (harness) SkipDownloadAt() bool             { return false }
func (harness) Close()                           {}

// TestConformance is what the library asks of every driver, for names as they are and below a prefix.
func TestConformance(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		for name, b := range map[string]driver.Bucket{
			"whole": bucket{d, t.TempDir()}, "prefix": driver.NewPrefixedBucket(bucket{d, t.TempDir()}, "a/prefix/"),
		} {
			t.Run(name, func(t *testing.T) {
				drivertest.RunConformanceTests(t, func(context.Context, *testing.T) (drivertest.Harness, error) { return harness{b}, nil }, nil)
			})
		}
	})
}
