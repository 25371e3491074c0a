package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/scriptorium-dev/scriptorium/e2e/client"
)

// limit is the most time that everything may take.
const limit = 2 * time.Minute

func main() {
	bin := flag.String("bin", "bin", "the `folder` of scriptorium and runsc")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *bin); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		cancel()
		os.Exit(1)
	}
}

// run starts a server, measures it, prints the table, and answers an error where a row is past its bar.
func run(ctx context.Context, bin string) (err error) {
	b, err := start(ctx, bin)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	fmt.Printf("%s on %d processors; what is compared is measured in turns; times are medians, ratios those of pairs.\n\n", runtime.GOARCH, runtime.NumCPU())
	var t table
	for _, measure := range []func(context.Context) ([]row, error){b.firstCall, b.warmCall, b.delay, b.stream} {
		rows, err := measure(ctx)
		if err != nil {
			if ctx.Err() != nil {
				err = fmt.Errorf("not done within %s, or interrupted: %w", limit, err)
			}
			return fmt.Errorf("%w\nthe end of the server's log:\n%s", err, b.server.Log())
		}
		t = append(t, rows...)
	}
	if err := t.print(os.Stdout); err != nil {
		return err
	}
	return t.pastBars()
}

// bench is what all measurements share.
type bench struct {
	server *client.Server
	agents map[string]string // by program
	runsc  string            // absolute path
	image  string            // absolute path; empty where there is none, and computers are made of this machine's /usr
	python string            // absolute path of the host's own
	folder string            // for what bare sandboxes need
}

// start starts the server, and saves the programs.
func start(ctx context.Context, bin string) (*bench, error) {
	b := &bench{}
	var err error
	if b.runsc, err = filepath.Abs(filepath.Join(bin, "runsc")); err != nil {
		return nil, err
	}
	for _, path := range []string{b.runsc, filepath.Join(bin, "scriptorium")} {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("%s is missing: run make build", path)
		}
	}
	b.image = filepath.Join(filepath.Dir(b.runsc), "computer.erofs")
	if _, err := os.Stat(b.image); err != nil {
		b.image = ""
	}
	if b.python, err = hostPython(); err != nil {
		return nil, err
	}
	if b.folder, err = os.MkdirTemp("", "scriptorium-bench-"); err != nil {
		return nil, err
	}
	if b.server, err = client.Start(ctx, filepath.Join(bin, "scriptorium")); err != nil {
		return nil, errors.Join(err, os.RemoveAll(b.folder))
	}
	if err := b.saveScripts(ctx); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// hostPython is the interpreter that computers have, too: not what PATH says, which may be a wrapper that takes its time.
func hostPython() (string, error) {
	for _, p := range []string{"/usr/bin/python3", "/usr/local/bin/python3"} {
		if _, err := os.Stat(p); err == nil {
			return p, nil
		}
	}
	return "", errors.New("python3 is needed in /usr/bin or /usr/local/bin")
}

func (b *bench) close() error {
	return errors.Join(b.server.Stop(), os.RemoveAll(b.folder))
}
