package page_test

import (
	"context"
	"errors"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/page"
)

func ptr[T any](v T) *T { return &v }

func TestWindow(t *testing.T) {
	t.Parallel()
	agent := id.New(id.Agent)
	good := page.Encode("agents", agent)
	cases := []struct {
		name string
		args page.Args
		want page.Window
		code fault.ProblemCode
	}{
		{"none", page.Args{}, page.Window{Order: "agents", Limit: 50}, ""},
		{"first", page.Args{First: ptr(100), After: &good}, page.Window{Order: "agents", Limit: 100, After: agent}, ""},
		{"last", page.Args{Last: ptr(1), Before: &good}, page.Window{Order: "agents", Limit: 1, Backward: true, Before: agent}, ""},
		{"both", page.Args{First: ptr(1), Last: ptr(1)}, page.Window{}, fault.BadRequest},
		{"zero", page.Args{First: ptr(0)}, page.Window{}, fault.BadRequest},
		{"too many", page.Args{Last: ptr(101)}, page.Window{}, fault.BadRequest},
		{"another list's", page.Args{After: ptr(page.Encode("runs", agent))}, page.Window{}, fault.BadCursor},
		{"no id", page.Args{After: ptr(page.Encode("agents", "agt_\x00"))}, page.Window{}, fault.BadCursor},
		{"another kind's", page.Args{After: ptr(page.Encode("agents", id.New(id.Run)))}, page.Window{}, fault.BadCursor},
		{"empty", page.Args{After: ptr("")}, page.Window{}, fault.BadCursor},
		{"padded", page.Args{Before: ptr(good + "=")}, page.Window{}, fault.BadCursor},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := c.args.Window("agents", id.Agent)
			var p *fault.Problem
			if errors.As(err, &p) != (c.code != "") || (p != nil && p.Code != c.code) || got != c.want {
				t.Fatalf("Window = %+v, %v", got, err)
			}
		})
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	count := func(context.Context) (int, error) { return 7, nil }
	same := func(s string) string { return s }
	forward := page.New(page.Window{Limit: 2, After: "a"}, []string{"b", "c", "d"}, same, count)
	if n := forward.Nodes(); len(n) != 2 || n[0] != "b" || !forward.PageInfo.HasNextPage || !forward.PageInfo.HasPreviousPage || *forward.PageInfo.EndCursor != "c" {
		t.Errorf("forward: %v %+v", n, forward.PageInfo)
	}
	backward := page.New(page.Window{Limit: 2, Backward: true}, []string{"d", "c"}, same, count)
	if n := backward.Nodes(); n[0] != "c" || n[1] != "d" || backward.PageInfo.HasNextPage || backward.PageInfo.HasPreviousPage {
		t.Errorf("backward: %v %+v", n, backward.PageInfo)
	}
	empty := page.New(page.Window{Limit: 2}, nil, same, count)
	if empty.PageInfo.EndCursor != nil || len(empty.Edges) != 0 {
		t.Errorf("empty: %+v", empty)
	}
	if n, err := empty.TotalCount(t.Context()); n != 7 || err != nil {
		t.Errorf("TotalCount = %d, %v", n, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(page.Encode("agents", "agt_1"))
	f.Add("MTphZ2VudHM6")
	f.Fuzz(func(t *testing.T, cursor string) {
		if key, err := page.Decode("agents", cursor); err == nil && page.Encode("agents", key) != cursor {
			t.Fatalf("two cursors for %q", key)
		}
	})
}
