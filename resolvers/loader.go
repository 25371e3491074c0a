package resolvers

import (
	"context"
	"time"

	"github.com/vikstrous/dataloadgen"

	"github.com/scriptorium-dev/scriptorium/internal/page"
)

const (
	// loaderWait is how long a loader collects keys after the first one. The executor resolves the items of a list side by side, so
	// their keys come within microseconds of each other.
	loaderWait = time.Millisecond
	// loaderBatch bounds the keys of one statement: PostgreSQL and SQLite both take more parameters than that.
	loaderBatch = 1000
)

// newLoader makes a loader that asks for many keys at once. A key that fetch does not answer gets V's zero value. Nothing is cached: a
// mutation's later fields, and each event of a subscription, see the state as it is then.
func newLoader[K comparable, V any](fetch func(context.Context, []K) (map[K]V, error)) *dataloadgen.Loader[K, V] {
	return dataloadgen.NewLoader(func(ctx context.Context, keys []K) ([]V, []error) {
		found, err := fetch(ctx, unique(keys))
		if err != nil {
			return nil, []error{err}
		}
		values := make([]V, len(keys))
		for i, k := range keys {
			values[i] = found[k]
		}
		return values, nil
	}, dataloadgen.WithWait(loaderWait), dataloadgen.WithBatchCapacity(loaderBatch), dataloadgen.WithoutCache())
}

// unique answers the keys without repetitions, in order.
func unique[K comparable](keys []K) []K {
	seen := make(map[K]bool, len(keys))
	out := make([]K, 0, len(keys))
	for _, k := range keys {
		if !seen[k] {
			seen[k] = true
			out = append(out, k)
		}
	}
	return out
}

// grouped turns a look-up for many parents with one and the same argument into one for any keys: it is asked once an argument.
func grouped[K, A comparable, V any](split func(K) (parent string, arg A), fetch func(context.Context, []string, A) (map[string]V, error)) func(context.Context, []K) (map[K]V, error) {
	return func(ctx context.Context, keys []K) (map[K]V, error) {
		parents := map[A][]string{}
		for _, k := range keys {
			parent, arg := split(k)
			parents[arg] = append(parents[arg], parent)
		}
		answers := make(map[A]map[string]V, len(parents))
		for arg, ids := range parents {
			found, err := fetch(ctx, ids, arg)
			if err != nil {
				return nil, err
			}
			answers[arg] = found
		}
		values := make(map[K]V, len(keys))
		for _, k := range keys {
			parent, arg := split(k)
			if v, ok := answers[arg][parent]; ok {
				values[k] = v
			}
		}
		return values, nil
	}
}

// listKey asks for one page of a list that belongs to a parent. It is comparable, so that equal questions about many parents
// (agents(first: 20) { nodes { scripts(first: 5) { … } } }) become one statement.
type listKey struct {
	parent string
	args   listArgs
}

// listArgs are page.Args and one more argument, by value.
type listArgs struct {
	first, last           int
	after, before, filter string
	given                 [5]bool // which of the above, in their order
}

// newListKey makes the key of a parent's list.
func newListKey(parent string, a page.Args, filter *string) listKey {
	k := listKey{parent: parent}
	take(&k.args.first, &k.args.given[0], a.First)
	take(&k.args.last, &k.args.given[1], a.Last)
	take(&k.args.after, &k.args.given[2], a.After)
	take(&k.args.before, &k.args.given[3], a.Before)
	take(&k.args.filter, &k.args.given[4], filter)
	return k
}

func take[T any](to *T, given *bool, from *T) {
	if from != nil {
		*to, *given = *from, true
	}
}

func give[T any](from T, given bool) *T {
	if !given {
		return nil
	}
	return &from
}

// pageArgs answers the arguments as they were.
func (a listArgs) pageArgs() page.Args {
	return page.Args{
		First: give(a.first, a.given[0]), Last: give(a.last, a.given[1]),
		After: give(a.after, a.given[2]), Before: give(a.before, a.given[3]),
	}
}

// filterArg answers the argument that is not of the page.
func (a listArgs) filterArg() *string { return give(a.filter, a.given[4]) }

// newListLoader makes a loader of lists: fetch is asked once for all parents whose lists are asked for with the same arguments.
func newListLoader[T any](fetch func(context.Context, []string, listArgs) (map[string]*page.Connection[T], error)) listOf[T] {
	return newLoader(grouped(func(k listKey) (string, listArgs) { return k.parent, k.args }, fetch))
}
