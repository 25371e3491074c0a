package page

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
)

// Bounds of a page.
const (
	Default = 50
	Max     = 100
)

// Args are a list's arguments as a client sent them.
type Args struct {
	First  *int
	After  *string
	Last   *int
	Before *string
}

// Window is what a store needs to know of Args: rows with a sort key behind After and before Before, in the list's order, or, where
// Backward, the last ones of them, from the end. Keys are "" where there is no bound. Limit is the page's size; a store reads
// Limit+1 rows, so that it is known whether there are more.
type Window struct {
	Order    string
	Limit    int
	Backward bool
	After    string
	Before   string
}

// Window checks the arguments for a list of the given order (a short name, such as "agents") whose sort keys are ids of a kind.
func (a Args) Window(order string, kind id.Kind) (Window, error) {
	return a.WindowOf(order, func(cursor string) (string, error) {
		key, err := Decode(order, cursor)
		if err == nil && !id.Is(kind, key) {
			err = fmt.Errorf("the cursor holds no id of the kind %s", kind)
		}
		return key, err
	})
}

// WindowOf is Window for a list with other sort keys; decode turns a cursor into one.
func (a Args) WindowOf(order string, decode func(cursor string) (string, error)) (Window, error) {
	w := Window{Order: order, Limit: Default}
	switch {
	case a.First != nil && a.Last != nil:
		return Window{}, fault.NewProblem(fault.BadRequest, "first and last cannot be used together")
	case a.First != nil:
		w.Limit = *a.First
	case a.Last != nil:
		w.Limit, w.Backward = *a.Last, true
	}
	if w.Limit < 1 || w.Limit > Max {
		return Window{}, fault.NewProblem(fault.BadRequest, "first and last must be from 1 to %d", Max)
	}
	for _, c := range []struct {
		name   string
		cursor *string
		key    *string
	}{{"after", a.After, &w.After}, {"before", a.Before, &w.Before}} {
		if c.cursor == nil {
			continue
		}
		key, err := decode(*c.cursor)
		if err != nil {
			return Window{}, fault.NewProblem(fault.BadCursor, "%s is not a cursor of this list", c.name).Because(err)
		}
		*c.key = key
	}
	return w, nil
}

// Encode makes the cursor of the row with the given sort key.
func Encode(order, key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte("1:" + order + ":" + key))
}

// Decode answers the sort key in a cursor that Encode made for the same order. Everything else is an error.
func Decode(order, cursor string) (string, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil {
		return "", err
	}
	key, ok := strings.CutPrefix(string(raw), "1:"+order+":")
	if !ok || key == "" || Encode(order, key) != cursor {
		return "", fault.NewProblem(fault.BadCursor, "not a cursor of this list")
	}
	return key, nil
}

// Info is a connection's pageInfo.
type Info struct {
	HasNextPage     bool
	HasPreviousPage bool
	StartCursor     *string
	EndCursor       *string
}

// Edge is a row with its cursor.
type Edge[T any] struct {
	Node   T
	Cursor string
}

// Connection is one page of a list.
type Connection[T any] struct {
	Edges    []*Edge[T]
	PageInfo *Info
	count    func(context.Context) (int, error)
}

// New makes the page of rows that a store read for the window: at most Limit+1 rows, in the window's direction. cursor answers a row's
// cursor; count answers how many rows the whole list has, and is called only where a client asks for totalCount.
func New[T any](w Window, rows []T, cursor func(T) string, count func(context.Context) (int, error)) *Connection[T] {
	more := len(rows) > w.Limit
	if more {
		rows = rows[:w.Limit]
	}
	edges := make([]*Edge[T], len(rows))
	for i, r := range rows {
		at := i
		if w.Backward {
			at = len(rows) - 1 - i
		}
		edges[at] = &Edge[T]{Node: r, Cursor: cursor(r)}
	}
	info := &Info{HasNextPage: more, HasPreviousPage: w.After != ""}
	if w.Backward {
		info.HasNextPage, info.HasPreviousPage = w.Before != "", more
	}
	if len(edges) > 0 {
		info.StartCursor, info.EndCursor = &edges[0].Cursor, &edges[len(edges)-1].Cursor
	}
	return &Connection[T]{Edges: edges, PageInfo: info, count: count}
}

// Nodes answers the page's rows without their cursors.
func (c *Connection[T]) Nodes() []T {
	nodes := make([]T, len(c.Edges))
	for i, e := range c.Edges {
		nodes[i] = e.Node
	}
	return nodes
}

// Each calls f with every row of the page.
func (c *Connection[T]) Each(f func(any)) {
	for _, e := range c.Edges {
		f(e.Node)
	}
}

// TotalCount answers how many rows the whole list has. It costs a query of its own.
func (c *Connection[T]) TotalCount(ctx context.Context) (int, error) { return c.count(ctx) }
