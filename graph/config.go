package graph

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
)

// Config is what the edge needs. Schema and Authenticate are required; everything else has a default.
type Config struct {
	// Schema is the generated executable schema with its resolvers.
	Schema graphql.ExecutableSchema
	// Authenticate looks up the key of an Authorization header ("Bearer …") and answers a context that carries its viewer. It
	// refuses with a fault.Problem: UNAUTHENTICATED for a bad or revoked key, UNAVAILABLE where it cannot tell.
	// It is called for every request, for every connection_init, again for each operation of a socket, and each
	// Timing.Recheck while a stream is open.
	Authenticate func(ctx context.Context, authorization string) (context.Context, error)
	// AllowedOrigins are the origins ("https://app.example.org") of pages that may call besides the server's own; "*" is any.
	AllowedOrigins []string
	// Limits bound a request; zero fields take DefaultLimits.
	Limits Limits
	// Timeout answers how long an operation may take where that is not Limits.Time, for instance for a mutation that waits for a
	// call; zero means Limits.Time. Subscriptions have no such bound.
	Timeout func(*graphql.OperationContext) time.Duration
	// Answer, where it is set, prepares the context in which one answer is made: a request's, or that of each event of a subscription.
	Answer func(context.Context) context.Context
	// Unreachable, where it is set, tells whether an error comes from something that the server needs and that does not answer, such as
	// the database: the caller gets UNAVAILABLE then, not INTERNAL.
	Unreachable func(error) bool
	// Timing is for tests; zero fields take the values that its comments name.
	Timing Timing
	// Logger takes internal errors; default slog.Default().
	Logger *slog.Logger
}

// Timing is how long the edge waits for its peers.
type Timing struct {
	// Init is how long a socket may take to send connection_init; default 10 s.
	Init time.Duration
	// Ping is the time between a socket's pings; a peer that lets two of them pass unanswered is gone; default 20 s.
	Ping time.Duration
	// Slow is how long one message may take to be taken by the peer before it counts as a slow reader; default 10 s.
	Slow time.Duration
	// Farewell is how long a slow reader may take afterwards to take the rest of the message and its close code; default 20 s.
	Farewell time.Duration
	// KeepAlive is the time between comments on a silent event stream; default 15 s.
	KeepAlive time.Duration
	// Recheck is the time between checks of the key of an open socket or event stream; default 30 s.
	Recheck time.Duration
}

// withDefaults answers t with its zero fields filled in.
func (t Timing) withDefaults() Timing {
	for _, f := range []struct {
		value *time.Duration
		other time.Duration
	}{
		{&t.Init, 10 * time.Second}, {&t.Ping, 20 * time.Second}, {&t.Slow, 10 * time.Second},
		{&t.Farewell, 20 * time.Second}, {&t.KeepAlive, 15 * time.Second}, {&t.Recheck, 30 * time.Second},
	} {
		if *f.value <= 0 {
			*f.value = f.other
		}
	}
	return t
}

// Handler answers the GraphQL endpoint over HTTP, WebSocket and event streams. It is an http.Handler for one path.
type Handler struct {
	schema       graphql.ExecutableSchema
	exec         *executor.Executor
	authenticate func(context.Context, string) (context.Context, error)
	timeout      func(*graphql.OperationContext) time.Duration
	unreachable  func(error) bool
	limits       Limits
	timing       Timing
	origins      origins
	documents    *documentCache
	introspected int // what the standard introspection query costs on this schema
	log          *slog.Logger
	uploading    uploading

	// stopping ends with ErrStopping as soon as Shutdown begins: streams listen to it. forced ends when Shutdown gives up waiting: it is the
	// parent of every operation.
	stopping, forced context.Context
	stop, force      context.CancelCauseFunc

	mu      sync.Mutex
	closing bool
	work    sync.WaitGroup // requests, sockets and operations
}

// ErrStopping is the cause of the contexts that Shutdown ends.
var ErrStopping = errors.New("the server is stopping")

// New makes the handler. It panics where Schema or Authenticate is missing: that is a mistake of the program.
func New(c Config) *Handler {
	if c.Schema == nil || c.Authenticate == nil {
		panic("graph.New: Schema and Authenticate are required")
	}
	h := &Handler{
		schema: c.Schema, exec: executor.New(c.Schema), authenticate: c.Authenticate, timeout: c.Timeout, unreachable: c.Unreachable,
		limits: c.Limits.withDefaults(), timing: c.Timing.withDefaults(), origins: newOrigins(c.AllowedOrigins), log: c.Logger,
	}
	if h.log == nil {
		h.log = slog.Default()
	}
	h.stopping, h.stop = context.WithCancelCause(context.Background())
	h.forced, h.force = context.WithCancelCause(context.Background())
	h.documents = newDocumentCache(h.limits.DocumentCache)
	h.introspected = introspectionCost(c.Schema.Schema(), standardIntrospection())
	h.exec.SetQueryCache(prepared{})
	h.exec.SetErrorPresenter(h.present)
	h.exec.SetRecoverFunc(recovered)
	if c.Answer != nil {
		h.exec.AroundResponses(func(ctx context.Context, next graphql.ResponseHandler) *graphql.Response { return next(c.Answer(ctx)) })
	}
	return h
}

// enter counts one more piece of work in, unless the handler is stopping. Its pair is h.work.Done.
func (h *Handler) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return false
	}
	h.work.Add(1)
	return true
}

// Shutdown takes no new operations, ends every event stream, waits for the other operations under way, and closes sockets with
// 1012. What is not done when ctx ends is cancelled, and ctx's error answered.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	h.closing = true
	h.mu.Unlock()
	h.stop(ErrStopping)
	done := make(chan struct{})
	go func() {
		h.work.Wait()
		close(done)
	}()
	select {
	case <-done:
		h.force(ErrStopping)
		return nil
	case <-ctx.Done():
		h.force(ErrStopping)
		select { // what listens to its context ends now; what does not is left alone
		case <-done:
		case <-time.After(h.timing.Slow):
		}
		return ctx.Err()
	}
}

var _ http.Handler = (*Handler)(nil)
