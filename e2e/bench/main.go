package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/scriptorium-dev/scriptorium/e2e/client"
	"github.com/scriptorium-dev/scriptorium/runner"
)

const (
	// limit is the most time that everything may take.
	limit = 4 * time.Minute

	// spares is how many computers wait, at the runner as at a server that is told nothing.
	spares = 2
)

func main() {
	bin := flag.String("bin", "bin", "the `folder` of scriptorium, runsc and the computers' image")
	pattern := flag.String("run", ".", "measure only what matches the `pattern`: warm, node, direct, throughput, idle, first, toolcall, firstoutput, delay, stream, burst")
	flag.Parse()
	only, err := regexp.Compile(*pattern)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: -run:", err)
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *bin, only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		cancel()
		os.Exit(1)
	}
}

// run starts what is measured, measures it, prints the table, and answers an error where a row is past its bar.
func run(ctx context.Context, bin string, only *regexp.Regexp) (err error) {
	began := time.Now()
	b, err := newBench(ctx, bin)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	var t table
	for _, measure := range []struct {
		name string
		rows func(context.Context) ([]row, error)
	}{
		{"warm", b.warm}, {"node", b.warmNode}, {"direct", b.direct}, {"throughput", b.throughput}, {"idle", b.idle},
		{"first", b.firstCalls}, {"toolcall", b.toolCall}, {"firstoutput", b.firstOutput}, {"delay", b.delay}, {"stream", b.stream}, {"burst", b.burst},
	} {
		if !only.MatchString(measure.name) {
			continue
		}
		rows, err := measure.rows(ctx)
		if err != nil {
			if ctx.Err() != nil {
				err = fmt.Errorf("not done within %s, or interrupted: %w", limit, err)
			}
			return errors.Join(fmt.Errorf("%s: %w\nthe end of the server's log:\n%s", measure.name, err, b.server.Log()), t.print(os.Stdout))
		}
		t = append(t, rows...)
	}
	root := "an image"
	if b.image == "" {
		root = "this machine's own /usr"
	}
	fmt.Printf("%s on %d processors; computers of %s; done in %.0f s. What is compared is measured in turns; times are medians, ratios those of pairs.\n\n",
		runtime.GOARCH, runtime.NumCPU(), root, time.Since(began).Seconds())
	if err := t.print(os.Stdout); err != nil {
		return err
	}
	return t.pastBars()
}

// bench is what all measurements share.
type bench struct {
	runner    *runner.Process
	computers atomic.Int64 // that the runner was asked for
	server    *served      // one that is told nothing
	bootsAll  *served      // one whose computers are made as they are needed

	runsc  string // absolute path
	stock  string // gVisor's own runsc, of the same version, as anybody builds it
	image  string // absolute path; empty where there is none, and computers are made of this machine's /usr
	python string // absolute path of the host's own
	node   string // the same; empty where there is none
	bwrap  string // bubblewrap; empty where there is none
	folder string // for the runner and for what bare sandboxes need
}

// served is a server with the programs in it.
type served struct {
	*client.Server
	agents map[string]string // by program
}

// newBench finds everything, and starts it.
func newBench(ctx context.Context, bin string) (b *bench, err error) {
	b = &bench{python: hostProgram("python3"), node: hostProgram("node"), bwrap: hostProgram("bwrap")}
	if b.python == "" {
		return nil, errors.New("python3 is needed in /usr/bin or /usr/local/bin")
	}
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
	if b.folder, err = os.MkdirTemp("", "scriptorium-bench-"); err != nil {
		return nil, err
	}
	if b.stock, err = buildStock(ctx, b.folder); err != nil {
		return nil, errors.Join(err, b.close())
	}
	if err := b.start(ctx, bin); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// start starts the runner and the servers.
func (b *bench) start(ctx context.Context, bin string) (err error) {
	b.runner, err = runner.New(runner.Config{Runsc: b.runsc, Image: b.image, State: filepath.Join(b.folder, "runner"), Spares: spares,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	if _, err := b.runner.Check(ctx); err != nil {
		return err
	}
	if b.server, err = serve(ctx, bin); err != nil {
		return err
	}
	b.bootsAll, err = serve(ctx, bin, "--spare-computers=0")
	return err
}

// serve starts a server and saves the programs.
func serve(ctx context.Context, bin string, flags ...string) (*served, error) {
	server, err := client.Start(ctx, filepath.Join(bin, "scriptorium"), flags...)
	if err != nil {
		return nil, err
	}
	s := &served{Server: server, agents: map[string]string{}}
	if err := s.saveScripts(ctx); err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	return s, nil
}

func (b *bench) close() (err error) {
	for _, s := range []*served{b.server, b.bootsAll} {
		if s != nil {
			err = errors.Join(err, s.Stop())
		}
	}
	if b.runner != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		err = errors.Join(err, b.runner.Close(ctx))
	}
	return errors.Join(err, os.RemoveAll(b.folder))
}
