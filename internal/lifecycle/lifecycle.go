package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Part is something that is started and stopped. Either function may be nil.
type Part struct {
	Name string
	// Start brings the part up and returns; what goes on in the background is stopped by Stop.
	Start func(ctx context.Context) error
	// Stop ends the part. It must return soon after its context ends.
	Stop func(ctx context.Context) error
	// Budget bounds Stop; 0 is DefaultBudget.
	Budget time.Duration
}

// DefaultBudget bounds a Stop that names no budget of its own.
const DefaultBudget = 10 * time.Second

// Group is a list of parts, each of which may need those before it.
type Group struct{ started []Part }

// Start starts a part and keeps it for Stop. A part whose Start fails is not kept.
func (g *Group) Start(ctx context.Context, p Part) error {
	if p.Start != nil {
		if err := p.Start(ctx); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	g.started = append(g.started, p)
	return nil
}

// Stop stops the parts that were started, the last one first, and answers everything that failed. A part that fails or takes too
// long does not keep the others from being stopped. A second Stop does nothing.
func (g *Group) Stop(ctx context.Context) error {
	var errs []error
	for i := len(g.started) - 1; i >= 0; i-- {
		if err := stop(ctx, g.started[i]); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", g.started[i].Name, err))
		}
	}
	g.started = nil
	return errors.Join(errs...)
}

// stop stops one part on a context that ends in time, though the given one has ended.
func stop(ctx context.Context, p Part) error {
	if p.Stop == nil {
		return nil
	}
	budget := p.Budget
	if budget == 0 {
		budget = DefaultBudget
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), budget)
	defer cancel()
	return p.Stop(ctx)
}
