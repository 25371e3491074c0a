package idempotency

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/text"
)

const (
	// Kept is how long an answer is kept.
	Kept = 24 * time.Hour
	// MaxKey is the longest idempotencyKey, in characters.
	MaxKey = 255

	path = "input.idempotencyKey"
	// sweepEvery and sweepRows bound the work of removing rows that nobody needs any more.
	sweepEvery = 10 * time.Minute
	sweepRows  = 1000
)

// Request is one use of a mutation.
type Request struct {
	OrganizationID string
	KeyID          string
	Mutation       string  // its name in the SDL
	Key            *string // the client's idempotencyKey; nil: the mutation simply happens
	Input          any     // the whole input, as JSON can tell it
}

// Service remembers answers.
type Service struct {
	db  *database.DB
	now func() time.Time
}

// NewService makes the service.
func NewService(db *database.DB) *Service { return &Service{db: db, now: database.Now} }

// Check refuses an idempotencyKey that breaks the rules for one; call it with the other rules about an input's shape.
func Check(key *string) error {
	if key == nil {
		return nil
	}
	return text.Short(path, *key, MaxKey)
}

// Once calls do in the transaction and remembers what it answers: the ids (and other short strings) that make up the mutation's
// answer. Where an equal request has been answered, its answer comes back and replayed is true. Make it the first step of the
// transaction: an equal request in flight waits here.
func (s *Service) Once(ctx context.Context, tx *database.Tx, r Request, do func(context.Context) ([]string, error)) (answer []string, replayed bool, err error) {
	if r.Key == nil {
		answer, err = do(ctx)
		return answer, false, err
	}
	sum, err := digest(r.Input)
	if err != nil {
		return nil, false, err
	}
	now := s.now()
	kept, err := claim(ctx, tx, r, sum, now, now.Add(-Kept))
	if err != nil {
		return nil, false, err
	}
	if kept != nil {
		if !bytes.Equal(kept.sum, sum) {
			return nil, false, fault.Plain(fault.IdempotencyMismatch, path, "%s was used with another input within 24 hours", path)
		}
		return kept.answer, true, nil
	}
	if answer, err = do(ctx); err != nil {
		return nil, false, err
	}
	return answer, false, remember(ctx, tx, r, answer)
}

// Run removes rows that are kept no longer, until the context ends.
func (s *Service) Run(ctx context.Context) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if _, err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "old idempotency keys cannot be removed", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Sweep removes rows that are kept no longer, a bounded number at a time, and answers how many.
func (s *Service) Sweep(ctx context.Context) (int, error) {
	for total := 0; ; {
		removed, err := sweep(ctx, s.db, s.now().Add(-Kept), sweepRows)
		total += removed
		if err != nil || removed < sweepRows {
			return total, err
		}
	}
}

// digest tells inputs apart: the SHA-256 of their JSON. JSON values in them differ where their digits, their escapes or the order of their
// members do (1.0 is not 1, "<" not "\u003c"); white space between their tokens is no difference.
func digest(input any) ([]byte, error) {
	sum := sha256.New()
	encoder := json.NewEncoder(sum)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(input); err != nil {
		return nil, fmt.Errorf("idempotency: input has no JSON: %w", err)
	}
	return sum.Sum(nil), nil
}
