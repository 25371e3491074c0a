package key

import (
	"context"
	"log/slog"
	"time"
)

const (
	// usedEvery is how exact a key's LastUsedAt is.
	usedEvery = time.Minute
	// maxUsed is how many keys wait to be marked at most; more are marked at a later use.
	maxUsed = 1024
	// touchTimeout bounds one write of the marks.
	touchTimeout = 10 * time.Second
)

// Authenticate answers who asks with this Authorization header: `Bearer <secret>`. Whatever is wrong with it is the same
// UNAUTHENTICATED Problem.
func (s *Service) Authenticate(ctx context.Context, authorizationHeader string) (*Viewer, error) {
	secret := bearer(authorizationHeader)
	if secret == "" {
		return nil, errUnauthenticated()
	}
	v, err := viewerBySecret(ctx, s.db.SQL(), hash(secret))
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, errUnauthenticated()
	}
	if last := v.Key.LastUsedAt; last == nil || s.now().Sub(*last) >= usedEvery {
		select {
		case s.used <- v.Key.ID:
		default: // the queue is full: its next use will mark it
		}
	}
	return v, nil
}

// Run writes when keys were used, at most once a minute each, until the context ends. Requests never wait for it.
func (s *Service) Run(ctx context.Context) error {
	marked := map[string]time.Time{} // since the database said so, which requests in flight do not know yet
	for {
		select {
		case <-ctx.Done():
			return nil
		case first := <-s.used:
			s.mark(ctx, first, marked)
		}
	}
}

// mark writes the marks of the key and of all that wait.
func (s *Service) mark(ctx context.Context, first string, marked map[string]time.Time) {
	now := s.now()
	for id, at := range marked {
		if now.Sub(at) >= usedEvery {
			delete(marked, id)
		}
	}
	ids := map[string]bool{first: true}
	for waiting := len(s.used); waiting > 0; waiting-- {
		ids[<-s.used] = true
	}
	var due []string
	for id := range ids {
		if _, done := marked[id]; !done {
			due = append(due, id)
		}
	}
	if len(due) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, touchTimeout)
	defer cancel()
	if err := touch(ctx, s.db, due, now); err != nil {
		slog.WarnContext(ctx, "when keys were used cannot be written", "error", err)
		return
	}
	for _, id := range due {
		marked[id] = now
	}
}
