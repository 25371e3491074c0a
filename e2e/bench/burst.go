package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// burstCalls is how many calls come at once.
const burstCalls = 50

// burst makes many calls at once, each on a computer of its own, at a runner and at a server with its queue, beside as many interpreters of the
// host's own.
func (b *bench) burst(ctx context.Context) (rows []row, err error) {
	var runs []string
	for range burstCalls {
		run, err := b.server.newRun(ctx, hello)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	atRunner, order, err := atOnce(ctx, func(ctx context.Context, _ int) (func() error, error) {
		c, err := b.computer(ctx)
		if err != nil {
			return nil, err
		}
		return func() error { return drop(c) }, callOn(ctx, c, hello, "python3")
	})
	if err != nil {
		return nil, fmt.Errorf("%d calls at once at the runner: %w", burstCalls, err)
	}
	atServer, serverOrder, err := atOnce(ctx, func(ctx context.Context, i int) (func() error, error) {
		return func() error { return b.server.finish(ctx, runs[i]) }, b.server.callHello(ctx, runs[i])
	})
	if err != nil {
		return nil, fmt.Errorf("%d calls at once at the server: %w", burstCalls, err)
	}
	if err := b.server.publishHello(ctx); err != nil {
		return nil, err
	}
	direct, directOrder, err := atOnce(ctx, func(ctx context.Context, _ int) (func() error, error) { return nil, b.server.callDirectly(ctx) })
	if err != nil {
		return nil, fmt.Errorf("%d direct calls at once: %w", burstCalls, err)
	}
	reference, _, err := atOnce(ctx, func(ctx context.Context, _ int) (func() error, error) {
		return nil, says(native(ctx, b.python, "-c", hello.source), hello.prints)
	})
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("%d calls at once, each on a computer of its own, all succeed, p95 / as many native python3 -c", burstCalls)
	return []row{
		ratio("runner: "+what, atRunner.ms(.95), reference.ms(.95), 0, "ms"),
		words("the same: how far from the order of their coming they end, half of them, most", order),
		ratio("GraphQL: "+what, atServer.ms(.95), reference.ms(.95), 0, "ms"),
		words("the same: how far from the order of their coming they end, half of them, most", serverOrder),
		ratio(fmt.Sprintf("GraphQL: %d direct calls at once, all succeed and leave no computer, p95 / as many native python3 -c", burstCalls), direct.ms(.95), reference.ms(.95), 0, "ms"),
		words("the same: how far from the order of their coming they end, half of them, most", directOrder),
	}, nil
}

// atOnce does f many times at once; it answers how long each took, from the common start, and how far from the order of their coming they ended.
// What f answers is done afterwards, out of that time: it gives the computer back, so that the next one can have it.
func atOnce(ctx context.Context, f func(ctx context.Context, i int) (after func() error, err error)) (times sample, order string, err error) {
	if err := quiet(ctx); err != nil {
		return nil, "", err
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	var came atomic.Int64
	var ended []int
	began := time.Now()
	for range burstCalls {
		all.Go(func() {
			i := int(came.Add(1)) - 1
			after, e := f(ctx, i)
			mu.Lock()
			ended, times = append(ended, i), append(times, time.Since(began))
			mu.Unlock()
			if after != nil {
				e = errors.Join(e, after())
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				err = e
			}
		})
	}
	all.Wait()
	return times, displaced(ended), err
}

// displaced says how many places those who ended are from where they were in the order of coming.
func displaced(ended []int) string {
	var places []int
	for at, i := range ended {
		places = append(places, max(at-i, i-at))
	}
	slices.Sort(places)
	return fmt.Sprintf("%d, %d places", places[len(places)/2], places[len(places)-1])
}
