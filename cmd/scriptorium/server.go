package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/scriptorium-dev/scriptorium/graph"
	"github.com/scriptorium-dev/scriptorium/internal/blob"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/blobbucket"
	"github.com/scriptorium-dev/scriptorium/internal/event"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/lifecycle"
	"github.com/scriptorium-dev/scriptorium/internal/output"
	"github.com/scriptorium-dev/scriptorium/internal/run"
	"github.com/scriptorium-dev/scriptorium/runner"
)

// How long the parts may take to stop: streams and requests, then running calls, then the rest by the default.
const (
	edgeBudget = 15 * time.Second
	hostBudget = 40 * time.Second
	drainTime  = 20 * time.Second // of running calls, within hostBudget
	busPing    = 2 * time.Second  // for the question at the start whether the bus is there
)

// server is a running Scriptorium: its parts in the order of their start.
type server struct {
	config *config
	log    *slog.Logger
	runner runner.Runner // nil until the computers are set up; tests give one of their own
	parts  lifecycle.Group

	db      *database.DB
	bus     event.Bus
	blobs   *blob.Store
	outputs *output.Log
	words   *words
	handler http.Handler
	edge    *graph.Handler
	address string

	listener net.Listener
	again    context.Context // ends when stopping is to wait for nothing more; nil where that never comes
}

// told is an error that says by itself what it is about.
type told struct{ error }

// start brings all parts up. On an error those that were started are stopped again.
func (s *server) start(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, s.parts.Stop(ctx))
		}
	}()
	for _, p := range []lifecycle.Part{
		s.addressPart(), s.folderPart(), s.databasePart(), s.busPart(), s.outputPart(), s.runnerPart(), s.wordsPart(), s.edgePart(), s.httpPart(),
	} {
		if err := s.parts.Start(ctx, p); err != nil {
			if t, ok := errors.AsType[told](err); ok {
				return t.error
			}
			return err
		}
	}
	return nil
}

// hurried stops something that waits for others: until the context ends, or a second signal comes. What is given up then is no error.
func (s *server) hurried(ctx context.Context, stop func(context.Context) error) error {
	if s.again == nil {
		return stop(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.again, cancel)()
	err := stop(ctx)
	if s.again.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// stop stops all parts. No call is started from here on: a request that waits for a queued one is answered at once.
func (s *server) stop(ctx context.Context) error {
	s.words.host.Drain()
	return s.parts.Stop(ctx)
}

// path is a path in the data folder.
func (s *server) path(names ...string) string {
	return filepath.Join(append([]string{s.config.Data}, names...)...)
}

// addressPart takes the address, before anything is written. It is served on at last: who comes earlier waits.
func (s *server) addressPart() lifecycle.Part {
	return lifecycle.Part{
		Name: "the address",
		Start: func(context.Context) (err error) {
			s.listener, err = net.Listen("tcp", s.config.Listen)
			if errors.Is(err, syscall.EADDRINUSE) {
				return told{fmt.Errorf("%s is in use: give another one with --listen (make run LISTEN=127.0.0.1:8081)", s.config.Listen)}
			}
			return err
		},
		Stop: func(context.Context) error {
			if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) { // the HTTP server closes it
				return err
			}
			return nil
		},
	}
}

// inUse says that another server has the data folder.
func (s *server) inUse() error {
	return told{fmt.Errorf("%s is in use by another server: stop it, or give this one a --data of its own", s.config.Data)}
}

// folderPart makes the data folder, and keeps every other server out of it: spools and computers in it belong to one.
func (s *server) folderPart() lifecycle.Part {
	var lock *flock.Flock
	return lifecycle.Part{
		Name: "the data folder",
		Start: func(context.Context) error {
			if err := os.MkdirAll(s.config.Data, 0o700); err != nil {
				return err
			}
			lock = flock.New(s.path("server.lock"))
			ok, err := lock.TryLock()
			if err == nil && !ok {
				err = s.inUse()
			}
			return err
		},
		Stop: func(context.Context) error { return lock.Unlock() },
	}
}

// openDatabase opens the database of the configuration and brings it up to date.
func openDatabase(ctx context.Context, c *config, log *slog.Logger) (*database.DB, error) {
	db, err := database.Open(ctx, database.Config{URL: c.DatabaseURL, Data: c.Data, Log: log, OnStatement: c.onStatement})
	if err != nil {
		return nil, err
	}
	if err := db.Migrate(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func (s *server) databasePart() lifecycle.Part {
	return lifecycle.Part{
		Name: "the database",
		Start: func(ctx context.Context) (err error) {
			s.db, err = openDatabase(ctx, s.config, s.log)
			if errors.Is(err, database.ErrDataInUse) {
				return s.inUse()
			}
			return err
		},
		Stop: func(context.Context) error { return s.db.Close() },
	}
}

func (s *server) busPart() lifecycle.Part {
	return lifecycle.Part{
		Name: "the event bus",
		Start: func(ctx context.Context) (err error) {
			if s.config.RedisURL == "" {
				s.bus = event.NewMemory()
				return nil
			}
			if s.bus, err = event.NewRedis(s.config.RedisURL, s.config.redisPrefix); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(ctx, busPing)
			defer cancel()
			if err := s.bus.Ping(ctx); err != nil {
				s.log.Warn("the event bus does not answer: events from other servers are late", "error", err)
			}
			return nil
		},
		Stop: func(context.Context) error { return s.bus.Close() },
	}
}

// openBlobs opens the blobs where all servers of the deployment have them.
func (s *server) openBlobs() (*blob.Store, error) {
	switch {
	case s.config.BlobURL != "":
		return blob.Open(s.config.BlobURL)
	case s.config.DatabaseURL != "":
		return blob.New(blobbucket.Open(s.db, s.config.Data)), nil
	default:
		return blob.Open(s.path("blobs"))
	}
}

func (s *server) outputPart() lifecycle.Part {
	return lifecycle.Part{
		Name: "the output of calls",
		Start: func(context.Context) (err error) {
			if s.blobs, err = s.openBlobs(); err != nil {
				return err
			}
			if s.outputs, err = output.Open(output.Options{Dir: s.path("spool"), Bus: s.bus, Blobs: s.blobs}); err != nil {
				return errors.Join(err, s.blobs.Close())
			}
			return nil
		},
		Stop: func(context.Context) error { return errors.Join(s.outputs.Close(), s.blobs.Close()) },
	}
}

func (s *server) runnerPart() lifecycle.Part {
	return lifecycle.Part{
		Name: "the computers",
		Start: func(context.Context) error {
			if s.runner != nil {
				return nil
			}
			runsc, err := s.config.runsc()
			if err != nil {
				return err
			}
			image, err := s.config.image()
			if err != nil {
				return err
			}
			if image == "" && s.config.Isolation == string(runner.IsolationAny) {
				s.log.Warn("computers are made of this machine's own /usr, read-only, not of an image (make image builds one)")
			}
			s.runner, err = runner.New(runner.Config{Runsc: runsc, Image: image, State: s.path("runner"), MaxComputers: s.config.Computers,
				Spares: min(s.config.SpareComputers, s.config.Computers), Isolation: runner.IsolationLevel(s.config.Isolation),
				Log: s.log})
			return err
		},
		Stop: func(ctx context.Context) error { return s.runner.Close(ctx) },
	}
}

// wordsPart joins the words of the domain, makes the first organization and key, ends what an earlier process of this server left,
// and starts what runs calls.
func (s *server) wordsPart() lifecycle.Part {
	return lifecycle.Part{
		Name: "the services",
		Start: func(ctx context.Context) error {
			name, err := s.name()
			if err != nil {
				return err
			}
			s.words, err = s.joinWords(run.Config{
				Server: name, MaxComputers: s.config.Computers, MaxQueued: s.config.Queue, Idle: s.config.ComputerIdle,
				Drain: drainTime, Log: s.log,
			})
			if err != nil {
				return err
			}
			return s.words.start(ctx, s)
		},
		Stop:   func(ctx context.Context) error { return s.words.stop(ctx, s) },
		Budget: hostBudget,
	}
}

// name answers this server's name in leases. It is kept in the data folder: a server that comes back under its name knows what it left.
func (s *server) name() (string, error) {
	file := s.path("server.id")
	text, err := os.ReadFile(file)
	if name := strings.TrimSpace(string(text)); err == nil && id.Is(id.Server, name) {
		return name, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	name := id.New(id.Server)
	return name, os.WriteFile(file, []byte(name+"\n"), 0o600)
}

func (s *server) edgePart() lifecycle.Part {
	return lifecycle.Part{
		Name:   "the API",
		Start:  func(context.Context) error { return s.buildEdge() },
		Stop:   func(ctx context.Context) error { return s.hurried(ctx, s.edge.Shutdown) },
		Budget: edgeBudget,
	}
}

// httpPart serves. Its server is closed before the edge is: what is under way on open connections is waited for by the edge.
func (s *server) httpPart() lifecycle.Part {
	var served chan error
	var h *http.Server
	return lifecycle.Part{
		Name: "the listener",
		Start: func(context.Context) error {
			s.address = s.listener.Addr().String()
			h = &http.Server{
				Handler:           graph.TimeBodies(s.handler, graph.DefaultLimits.Time),
				ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
				ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
			}
			served = make(chan error, 1)
			go func() { served <- h.Serve(s.listener) }()
			return nil
		},
		Stop: func(ctx context.Context) error {
			err := s.hurried(ctx, s.edge.Shutdown) // streams and sockets first: http.Server does not know of them
			err = errors.Join(err, s.hurried(ctx, h.Shutdown))
			if e := <-served; !errors.Is(e, http.ErrServerClosed) {
				err = errors.Join(err, e)
			}
			return err
		},
		Budget: edgeBudget,
	}
}
