package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/organization"
)

// serve runs the server until the context ends.
func serve(ctx context.Context, c *config, out io.Writer) error {
	s := &server{config: c, log: slog.Default()}
	if err := s.start(ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "Scriptorium is ready: http://%s/playground\nThe operator's key is in %s\n", s.address, s.path(key.AdminFile))
	s.reportComputers(ctx, out)
	<-ctx.Done()
	fmt.Fprintln(out, "Stopping: running calls have a moment to finish.")
	return s.stop(ctx)
}

// reportComputers says what runs scripts here, loudly where it is not what one would want.
func (s *server) reportComputers(ctx context.Context, out io.Writer) {
	report, err := s.words.host.Report(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		fmt.Fprintf(out, "NO COMPUTERS: %v. Calls are refused; nothing ever runs outside of one.\n", err)
	default:
		fmt.Fprintf(out, "Computers: gVisor %s, %s, %s\n", report.Gvisor, report.Platform, report.MemoryLimit)
		if report.Fallback {
			fmt.Fprintln(out, "NOTE: computers use this machine's own /usr, read-only, as their root.")
		}
	}
}

// migrate brings the database up to date.
func migrate(ctx context.Context, c *config, out io.Writer) error {
	db, err := openDatabase(ctx, c, slog.Default())
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "The database is up to date.")
	return db.Close()
}

// newKey makes another key of the operator, for where the first one was lost.
func newKey(ctx context.Context, c *config, out io.Writer) (err error) {
	db, err := openDatabase(ctx, c, slog.Default())
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
