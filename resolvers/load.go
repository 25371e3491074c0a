package resolvers

import (
	"context"
	"reflect"
	"sync"

	"github.com/99designs/gqlgen/graphql"

	"github.com/scriptorium-dev/scriptorium/internal/agent"

	"github.com/scriptorium-dev/scriptorium/internal/page"
	"github.com/scriptorium-dev/scriptorium/internal/run"
	"github.com/scriptorium-dev/scriptorium/internal/script"
)

// What belongs to an object (a script's versions, a call's run) is loaded for all objects of its family at once: those that came into
// the answer together, by one statement or as one list. So an answer costs as many statements as its document has levels, however long its
// lists are. Families last for one answer, and for one event of a subscription: nothing is kept longer.

// families are the families of one answer.
type families struct {
	mu    sync.Mutex
	of    map[any]*family // by object
	texts script.TextBudget
	// contents counts the bytes that the answer has as values.
	contents int
}

// family are objects that came together, and what has been loaded for them.
type family struct {
	members []any
	mu      sync.Mutex
	loaded  map[loadKey]func() any
}

// loadKey is a field with its arguments, which must be comparable.
type loadKey struct {
	field string
	args  any
}

type familiesKey struct{}

// WithFamilies gives one answer, or one event, its families: what the edge does with the context of each.
func WithFamilies(ctx context.Context) context.Context {
	return context.WithValue(ctx, familiesKey{}, &families{of: map[any]*family{}})
}

// takeContent takes so many bytes of the most that one answer has as values; false where there is no room for them.
func takeContent(ctx context.Context, size, most int) bool {
	f := ctx.Value(familiesKey{}).(*families)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.contents+size > most {
		return false
	}
	f.contents += size
	return true
}

// textBudget is how many bytes of files' texts the answer still reads.
func textBudget(ctx context.Context) *script.TextBudget {
	return &ctx.Value(familiesKey{}).(*families).texts
}

// join makes a family of objects; those that have one keep it.
func (f *families) join(members []any) *family {
	f.mu.Lock()
	defer f.mu.Unlock()
	made := &family{members: members, loaded: map[loadKey]func() any{}}
	for _, m := range members {
		if _, ok := f.of[m]; !ok {
			f.of[m] = made
		}
	}
	return made
}

// family answers an object's family. An object that came in a list straight from a root field makes one with that list.
func familyOf[P comparable](ctx context.Context, f *families, obj P) *family {
	f.mu.Lock()
	found := f.of[obj]
	f.mu.Unlock()
	if found != nil {
		return found
	}
	f.join(siblings(ctx, obj))
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of[obj]
}

// siblings answers the list in which an object is being resolved, or the object alone.
func siblings[P comparable](ctx context.Context, obj P) []any {
	var all []any
	for fc := graphql.GetFieldContext(ctx); fc != nil && all == nil; fc = fc.Parent {
		switch list := fc.Result.(type) {
		case []P:
			for _, p := range list {
				all = append(all, p)
			}
		case []*page.Edge[P]:
			for _, e := range list {
				all = append(all, e.Node)
			}
		}
	}
	for _, m := range all {
		if m == any(obj) {
			return all
		}
	}
	return []any{obj}
}

// lister is a list whose items make a family: a page.
type lister interface{ Each(func(any)) }

// loaded is what fetch answered, once for a family.
type loaded[V any] struct {
	values map[string]V
	err    error
}

// load answers what belongs to obj: fetch is asked once for the ids of its whole family. An id that is "" has nothing; one that fetch does not
// answer gets V's zero value.
func load[P comparable, V any](
	ctx context.Context, obj P, key loadKey, idOf func(P) string,
	fetch func(ctx context.Context, organizationID string, ids []string) (map[string]V, error),
) (V, error) {
	all := ctx.Value(familiesKey{}).(*families)
	of := familyOf(ctx, all, obj)
	of.mu.Lock()
	once, ok := of.loaded[key]
	if !ok {
		once = sync.OnceValue(func() any {
			values, err := fetch(ctx, organizationOf(ctx), ids(of.members, idOf))
			adopt(all, values)
			return loaded[V]{values, err}
		})
		of.loaded[key] = once
	}
	of.mu.Unlock()
	answer := once().(loaded[V])
	return answer.values[idOf(obj)], answer.err
}

// ids answers the ids of a family's members of one kind, each once.
func ids[P comparable](members []any, idOf func(P) string) []string {
	seen := map[string]bool{"": true}
	var out []string
	for _, m := range members {
		p, ok := m.(P)
		if !ok {
			continue
		}
		if s := idOf(p); !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// adopt makes a family of what was loaded together: the objects, or the items of all the lists.
func adopt[V any](f *families, values map[string]V) {
	var members []any
	for _, v := range values {
		switch v := any(v).(type) {
		case lister:
			v.Each(func(item any) { members = append(members, item) })
		default:
			switch value := reflect.ValueOf(v); {
			case value.Kind() == reflect.Pointer: // an object
				members = append(members, v)
			case value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Pointer: // a list that is no page
				for i := range value.Len() {
					members = append(members, value.Index(i).Interface())
				}
			}
		}
	}
	if len(members) > 1 {
		f.join(members)
	}
}

// listArgs are page.Args and one more argument, by value, so that they are comparable.
type listArgs struct {
	first, last           int
	after, before, filter string
	given                 [5]bool // which of the above, in their order
}

// byArgs is the key of a list's field.
func byArgs(field string, a page.Args, filter *string) loadKey {
	var k listArgs
	take(&k.first, &k.given[0], a.First)
	take(&k.last, &k.given[1], a.Last)
	take(&k.after, &k.given[2], a.After)
	take(&k.before, &k.given[3], a.Before)
	take(&k.filter, &k.given[4], filter)
	return loadKey{field, k}
}

func take[T any](to *T, given *bool, from *T) {
	if from != nil {
		*to, *given = *from, true
	}
}

// byValue makes an argument that may be missing comparable.
func byValue(n *int) any {
	if n == nil {
		return nil
	}
	return *n
}

// optional answers the id that may be missing.
func optional(id *string) string {
	if id == nil {
		return ""
	}
	return *id
}

// loadList is load for a page of a list that belongs to obj.
func loadList[P comparable, T any](
	ctx context.Context, obj P, field string, idOf func(P) string, args page.Args,
	fetch func(ctx context.Context, organizationID string, parents []string, args page.Args) (map[string]*page.Connection[T], error),
) (*page.Connection[T], error) {
	return load(ctx, obj, byArgs(field, args, nil), idOf, func(ctx context.Context, organizationID string, parents []string) (map[string]*page.Connection[T], error) {
		return fetch(ctx, organizationID, parents, args)
	})
}

// find answers the organization's object with this id, or V's zero value.
func find[V any](ctx context.Context, id string, fetch func(ctx context.Context, organizationID string, ids []string) (map[string]V, error)) (V, error) {
	found, err := fetch(ctx, organizationOf(ctx), []string{id})
	return found[id], err
}

func agentID(a *agent.Agent) string      { return a.ID }
func runID(r *run.Run) string            { return r.ID }
func scriptID(s *script.Script) string   { return s.ID }
func versionID(v *script.Version) string { return v.ID }
