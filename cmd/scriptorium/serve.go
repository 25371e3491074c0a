package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/doctor"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/organization"
	"github.com/scriptorium-dev/scriptorium/internal/secret"
	"github.com/scriptorium-dev/scriptorium/runner"
)

// serve runs the server until the context ends.
func serve(ctx context.Context, c *config, out io.Writer) error {
	return (&server{config: c, log: slog.Default()}).run(ctx, out)
}

// run starts everything, and stops it when the context ends.
func (s *server) run(ctx context.Context, out io.Writer) error {
	if err := s.start(ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "Scriptorium is ready: http://%s/playground\n%s\n", s.address, s.whereKey())
	s.reportComputers(ctx, out)
	<-ctx.Done()
	// From here on a signal is the second one.
	again, release := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGINT, syscall.SIGTERM)
	defer release()
	s.again = again
	fmt.Fprintln(out, stopping(s.words.host.Running()))
	if err := s.stop(ctx); err != nil {
		return err
	}
	fmt.Fprintln(out, "Stopped.")
	return nil
}

// whereKey says where the operator's key is: only the server that made the database has the file, until somebody removes it.
func (s *server) whereKey() string {
	if _, err := os.Stat(s.path(key.AdminFile)); err != nil {
		return `The operator's key was given out at the first start; "scriptorium key" makes another one.`
	}
	return "The operator's key is in " + s.path(key.AdminFile)
}

// stopping says what is waited for.
func stopping(running int) string {
	switch seconds := int(drainTime / time.Second); running {
	case 0:
		return "Stopping: no call runs."
	case 1:
		return fmt.Sprintf("Stopping: 1 call runs and has %d s; Ctrl-C again stops at once.", seconds)
	default:
		return fmt.Sprintf("Stopping: %d calls run and have %d s; Ctrl-C again stops at once.", running, seconds)
	}
}

// reportComputers says what runs scripts here, loudly where it is not what one would want.
func (s *server) reportComputers(ctx context.Context, out io.Writer) {
	report, err := s.words.host.Report(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		fmt.Fprintf(out, "NO COMPUTERS: %v. Calls are refused; nothing ever runs outside of one. \"scriptorium doctor\" says what to do.\n", err)
	default:
		fmt.Fprintf(out, "Computers: gVisor %s, %s, %s\n", report.Gvisor, report.Platform, report.MemoryLimit)
		for _, l := range report.Lacks {
			fmt.Fprintf(out, "NOTE: less than full isolation: %s: %s.\n", l.Part, l.Why)
		}
	}
	if ctx.Err() == nil {
		s.reportMachine(report, out)
	}
}

// reportMachine says what is wrong around the computers, as far as it is seen without making one.
func (s *server) reportMachine(report *runner.Report, out io.Writer) {
	image, err := s.config.image()
	if err != nil { // said already
		return
	}
	digest := ""
	if report != nil && !report.Fallback {
		digest = report.Digest
	}
	for _, f := range doctor.AtStart(doctor.Config{Image: image, Computers: s.config.Computers}, digest) {
		fmt.Fprintf(out, "NOTE: %s: %s. %s\n", f.Name, f.Found, f.Advice)
	}
}

// migrate brings the database up to date.
func migrate(ctx context.Context, c *config, out io.Writer) error {
	db, err := openDatabase(ctx, c, slog.Default())
	if err != nil {
		return stopFirst(c, err)
	}
	fmt.Fprintln(out, "The database is up to date.")
	return db.Close()
}

// sqliteFile is the database in the data folder.
const sqliteFile = "scriptorium.db"

// stopFirst says what to do where a server has the database that a command needs.
func stopFirst(c *config, err error) error {
	if errors.Is(err, database.ErrDataInUse) {
		return fmt.Errorf("%s is in use by another server: stop it first", c.Data)
	}
	return err
}

// existingDatabase opens a database that is there already.
func existingDatabase(ctx context.Context, c *config) (*database.DB, error) {
	if c.DatabaseURL == "" {
		if _, err := os.Stat(filepath.Join(c.Data, sqliteFile)); errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("there is no database in %s: is --data right?", c.Data)
		}
	}
	db, err := openDatabase(ctx, c, slog.Default())
	return db, stopFirst(c, err)
}

// forgetSecrets removes the agents' secrets that the configured keys do not open.
func forgetSecrets(ctx context.Context, c *config, out io.Writer) (err error) {
	db, err := existingDatabase(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	n, err := secret.Forget(ctx, db, c.secretsKey())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "Secrets removed: %d\n", n)
	return err
}

// newKey makes another key of the operator, for where the first one was lost.
func newKey(ctx context.Context, c *config, out io.Writer) (err error) {
	db, err := existingDatabase(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	organizations := organization.NewService(db)
	keys := key.NewService(db, organizations)
	organizations.Join(keys)
	secret, err := keys.NewOperatorKey(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, secret)
	return err
}
