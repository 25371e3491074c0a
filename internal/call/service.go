package call

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/artifact"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/event"
	"github.com/scriptorium-dev/scriptorium/internal/idempotency"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/output"
	"github.com/scriptorium-dev/scriptorium/internal/run"
	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/internal/secret"
)

// Config of the calls; zero values are the defaults.
type Config struct {
	// TimeoutLimit is the longest that any call may run (600 s), in whole seconds (S2-mintime).
	TimeoutLimit time.Duration
	// MaxQueued is how many calls of a run wait at most (DefaultMaxQueued); further ones get COMPUTER_UNAVAILABLE.
	MaxQueued int
	// MaskWait is how long output that may begin a secret's value waits for more (secret.MaxWait).
	MaskWait time.Duration
	Log      *slog.Logger
}

// DefaultMaxQueued is how many calls of a run wait at most, where nothing else is said.
const DefaultMaxQueued = 100

func (c Config) withDefaults() Config {
	if c.TimeoutLimit == 0 {
		c.TimeoutLimit = 600 * time.Second
	}
	if c.MaxQueued == 0 {
		c.MaxQueued = DefaultMaxQueued
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

// Service holds the use cases of calls, and runs them (it is the run.Calls).
type Service struct {
	db        *database.DB
	bus       event.Bus
	output    *output.Log
	scripts   *script.Service
	secrets   *secret.Service
	keys      *key.Service
	artifacts *artifact.Service
	once      *idempotency.Service
	host      *run.Host
	config    Config
	log       *slog.Logger
	now       func() time.Time
	schemas   schemas

	mu      sync.Mutex
	waiters map[string][]chan *Call // those who wait for a call's end, by its id
}

var _ run.Calls = (*Service)(nil)

// NewService makes the service. The host is joined with it in turn.
func NewService(
	db *database.DB, bus event.Bus, log *output.Log, scripts *script.Service, secrets *secret.Service, keys *key.Service, artifacts *artifact.Service, once *idempotency.Service, host *run.Host, config Config,
) *Service {
	config = config.withDefaults()
	return &Service{
		db: db, bus: bus, output: log, scripts: scripts, secrets: secrets, keys: keys, artifacts: artifacts, once: once, host: host, config: config, log: config.Log, now: database.Now,
		waiters: map[string][]chan *Call{},
	}
}

// endedTopic tells that a call has ended; it is there for its signal only.
func endedTopic(callID string) event.Topic { return event.Topic("ended/" + callID) }

// wait registers someone who waits for a call's end; forget him when he waits no more.
func (s *Service) waiter(callID string) (ended <-chan *Call, forget func()) {
	c := make(chan *Call, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiters[callID] = append(s.waiters[callID], c)
	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		var others []chan *Call
		for _, other := range s.waiters[callID] {
			if other != c {
				others = append(others, other)
			}
		}
		if s.waiters[callID] = others; len(others) == 0 {
			delete(s.waiters, callID)
		}
	}
}

// awaited answers the ids of those calls that somebody here waits for; with none given, of all.
func (s *Service) awaited(ids ...string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := []string{}
	if len(ids) == 0 {
		for id := range s.waiters {
			found = append(found, id)
		}
		return found
	}
	for _, id := range ids {
		if len(s.waiters[id]) > 0 {
			found = append(found, id)
		}
	}
	return found
}

// deliver gives ended calls to those who wait for them.
func (s *Service) deliver(calls ...*Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range calls {
		for _, w := range s.waiters[c.ID] {
			select {
			case w <- c:
			default: // told already
			}
		}
	}
}

// tellEnded tells all who wait for or watch calls that ended without having been run here.
func (s *Service) tellEnded(ctx context.Context, ended map[string]output.Summary) {
	ids := make([]string, 0, len(ended))
	for id, summary := range ended {
		ids = append(ids, id)
		if err := s.output.Ended(ctx, id, summary, []byte(id)); err != nil {
			s.log.WarnContext(ctx, "the end of a call was not told: its watchers find it later", "call", id, "error", err)
		}
		s.signal(ctx, id)
	}
	here := s.awaited(ids...)
	if len(ids) == 0 || len(here) == 0 {
		return
	}
	calls, err := readAnywhere(ctx, s.db, here)
	if err != nil {
		s.log.WarnContext(ctx, "calls that ended cannot be read: those who wait learn it later", "error", err)
	}
	s.deliver(calls...)
}

// signal wakes those on other servers who wait for a call's end.
func (s *Service) signal(ctx context.Context, callID string) {
	if err := s.bus.Publish(ctx, endedTopic(callID), event.Event{Offset: 1}); err != nil {
		s.log.DebugContext(ctx, "the end of a call was not told: those who wait find it later", "call", callID, "error", err)
	}
}
