package databasetest

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/database"
)

// all maps each open *database.DB of New and Open to its *watched.
var all sync.Map

// watched is a database with its counters.
type watched struct {
	mu       sync.Mutex
	counters []*Counter
}

func (w *watched) seen(ctx context.Context, statement string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.counters {
		c.seen(ctx, statement)
	}
}

// Counter counts the SQL statements that are sent to a database from its making on; BEGIN and COMMIT do not count. Two ways of
// use: all statements of a database that nothing else works with, or, with Only, those of some contexts.
type Counter struct {
	mu         sync.Mutex
	only       bool
	statements []string
}

// Count counts the statements of a database that New or Open of this package opened, until the test ends.
func Count(t testing.TB, d *database.DB) *Counter {
	t.Helper()
	w, ok := all.Load(d)
	if !ok {
		t.Fatal("databasetest.Count: not a database of databasetest")
	}
	c := &Counter{}
	watched := w.(*watched)
	watched.mu.Lock()
	defer watched.mu.Unlock()
	watched.counters = append(watched.counters, c)
	t.Cleanup(func() { watched.forget(c) })
	return c
}

func (w *watched) forget(c *Counter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counters = slices.DeleteFunc(w.counters, func(other *Counter) bool { return other == c })
}

// counterKey marks the contexts that a Counter counts.
type counterKey struct{ c *Counter }

// Only makes the counter count, from now on, only statements whose context comes from one that it answered: for databases that others
// work with meanwhile.
func (c *Counter) Only(ctx context.Context) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.only = true
	return context.WithValue(ctx, counterKey{c}, true)
}

func (c *Counter) seen(ctx context.Context, statement string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.only || ctx.Value(counterKey{c}) != nil {
		c.statements = append(c.statements, statement)
	}
}

// Statements are the statements so far, in the order they were sent.
func (c *Counter) Statements() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.statements)
}

// Take is how many statements were counted since the last Take, and forgets them.
func (c *Counter) Take() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.statements)
	c.statements = nil
	return n
}
