package database

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

const (
	// fileName and lockName are SQLite's files in the data folder.
	fileName = "scriptorium.db"
	lockName = "scriptorium.lock"
	// busyTimeout is how long a statement waits for another process that has the file locked (a backup, say). Our own never wait for each
	// other: there is one writer.
	busyTimeout = 10 * time.Second
	// logLimit is what the write-ahead log is cut to after it was written back.
	logLimit = 64 << 20
)

// ErrDataInUse says that another server uses the data folder.
var ErrDataInUse = errors.New("the data folder is in use by another Scriptorium server")

// openSQLite locks the data folder and opens the writer and the readers on the file in it.
func (d *DB) openSQLite() error {
	d.dialect = SQLite
	folder, err := filepath.Abs(d.config.Data)
	if err != nil {
		return fmt.Errorf("cannot use the data folder %q: %w", d.config.Data, err)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("cannot make the data folder: %w", err)
	}
	lock := flock.New(filepath.Join(folder, lockName), flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	if err != nil {
		return fmt.Errorf("cannot lock the data folder: %w", err)
	}
	if !locked {
		return fmt.Errorf("%w: %s; stop that one, or give this one a folder of its own", ErrDataInUse, folder)
	}
	d.release = lock.Unlock

	file := filepath.Join(folder, fileName)
	if err := closeToOthers(file); err != nil {
		return fmt.Errorf("cannot make the database's file: %w", err)
	}
	if d.write, err = openKept(sqliteDSN(file, false, d.config.NoSync)); err != nil {
		return fmt.Errorf("cannot open the database: %w", err)
	}
	d.write.SetMaxOpenConns(1)
	d.write.SetMaxIdleConns(1)
	if d.read, err = openKept(sqliteDSN(file, true, d.config.NoSync)); err != nil {
		return fmt.Errorf("cannot open the database: %w", err)
	}
	readers := max(1, min(d.config.MaxConns/2, 2*runtime.GOMAXPROCS(0)+2)) // more than the CPUs can serve only cost memory
	d.read.SetMaxOpenConns(readers)
	d.read.SetMaxIdleConns(readers)
	return nil
}

// closeToOthers makes the database's file, and has it and those that SQLite puts beside it readable for the server's user only, in whatever folder they
// are: SQLite gives new ones the mode of the database's.
func closeToOthers(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(0o600), f.Close()); err != nil {
		return err
	}
	for _, beside := range []string{file + "-wal", file + "-shm"} {
		if err := os.Chmod(beside, 0o600); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// sqliteDSN is the driver's address of the file. A reader cannot write and begins deferred transactions, so that it never takes
// the writer's lock; the writer takes it at BEGIN, so that what it read first still holds when it writes.
func sqliteDSN(file string, reader, noSync bool) string {
	q := url.Values{
		"_time_format": {"sqlite"},
		"_timezone":    {"UTC"},
		"_dqs":         {"0"},
	}
	pragmas := []string{
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()),
		"foreign_keys(1)",
		fmt.Sprintf("journal_size_limit(%d)", logLimit),
	}
	if reader {
		pragmas = append(pragmas, "query_only(1)")
	} else {
		pragmas = append(pragmas, "journal_mode(WAL)")
		q.Set("_txlock", "immediate")
	}
	if noSync {
		pragmas = append(pragmas, "synchronous(OFF)")
	} else {
		pragmas = append(pragmas, "synchronous(FULL)")
	}
	q["_pragma"] = pragmas
	address := url.URL{Scheme: "file", Path: file, RawQuery: q.Encode()}
	return address.String()
}
