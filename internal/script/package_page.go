package script

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/page"
	"github.com/scriptorium-dev/scriptorium/internal/text"
)

// Filter says which of the organization's scripts; nil members do not count (SDL: ScriptFilter).
type Filter struct {
	NameContains *string
	Labels       []*Label
}

// Order is the order of the organization's scripts (SDL: ScriptOrder).
type Order string

// The orders. Names rise; times fall.
const (
	OrderName      Order = "NAME"
	OrderCreatedAt Order = "CREATED_AT"
	OrderUpdatedAt Order = "UPDATED_AT"
)

// nameParts is what parts of names are made of.
var nameParts = regexp.MustCompile(`^[a-z0-9_-]*$`)

// check refuses what the database cannot look for.
func (f *Filter) check() error {
	if f == nil {
		return nil
	}
	if len(f.Labels) > MaxLabels {
		return fault.NewProblem(fault.BadRequest, "filter.labels has more than %d labels", MaxLabels)
	}
	for i, l := range f.Labels {
		for _, s := range []string{l.Name, l.Value} {
			if err := text.Storable(fmt.Sprintf("filter.labels.%d", i), s); err != nil {
				return fault.NewProblem(fault.BadRequest, "%s", err.Error())
			}
		}
	}
	return nil
}

// none says that no name can fit.
func (f *Filter) none() bool {
	return f != nil && f.NameContains != nil && !nameParts.MatchString(*f.NameContains)
}

// PackagePage answers a page of the organization's scripts as the viewer sees them, in one statement (S2-list); no order is by name.
func (s *Service) PackagePage(ctx context.Context, organizationID string, filter *Filter, by *Order, args page.Args) (*Connection, error) {
	order := orDefault(by, OrderName)
	w, err := args.WindowOf("packages by "+string(order), func(cursor string) (string, error) {
		key, err := page.Decode("packages by "+string(order), cursor)
		if err == nil {
			_, err = placeOf(order, key)
		}
		return key, err
	})
	if err != nil {
		return nil, err
	}
	if err := filter.check(); err != nil {
		return nil, err
	}
	list := listing{organizationID, filter, order, seesDrafts(ctx)}
	var rows []*Script
	if !filter.none() {
		if rows, err = listPackages(ctx, s.db.SQL(), list, w); err != nil {
			return nil, err
		}
	}
	cursor := func(s *Script) string { return page.Encode(w.Order, keyOf(order, s)) }
	return page.New(w, rows, cursor, func(ctx context.Context) (int, error) {
		if filter.none() {
			return 0, nil
		}
		return countPackages(ctx, s.db.SQL(), list)
	}), nil
}

// position is a script's place in an order: the sort key, and the id where several have the same.
type position struct {
	key any // a name or a time
	id  string
}

// keyOf is a script's place as cursors hold it.
func keyOf(order Order, s *Script) string {
	switch order {
	case OrderCreatedAt:
		return s.CreatedAt.UTC().Format(time.RFC3339Nano) + " " + s.ID
	case OrderUpdatedAt:
		return s.UpdatedAt.UTC().Format(time.RFC3339Nano) + " " + s.ID
	}
	return s.Name + " " + s.ID
}

// placeOf reads what keyOf wrote; everything else is an error.
func placeOf(order Order, key string) (position, error) {
	first, scriptID, _ := strings.Cut(key, " ")
	if !id.Is(id.Script, scriptID) {
		return position{}, fmt.Errorf("%q ends with no script's id", key)
	}
	if order == OrderName {
		if !ValidPackageName(first) {
			return position{}, fmt.Errorf("%q is no script's name", first)
		}
		return position{first, scriptID}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, first)
	if err == nil && at.UTC().Format(time.RFC3339Nano) != first {
		err = fmt.Errorf("%q is another way to write a time", first)
	}
	return position{at, scriptID}, err
}
