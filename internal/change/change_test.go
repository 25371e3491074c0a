package change_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/change"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/event"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/key/keytest"
	"github.com/scriptorium-dev/scriptorium/internal/page"
)

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

func ptr[T any](v T) *T { return &v }

type world struct {
	db      *database.DB
	changes *change.Service
	org     string
	keyID   string
	agents  []string // the log needs no rows of theirs
}

func each(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		bus := event.NewMemory()
		t.Cleanup(func() { _ = bus.Close() })
		v := keytest.Viewer(t, d)
		f(t, &world{d, change.NewService(d, bus), v.Organization.ID, v.Key.ID, []string{id.New(id.Agent), id.New(id.Agent)}})
	})
}

// write appends n changes of the agent's in one transaction.
func (w *world) write(t *testing.T, agent, n int) {
	t.Helper()
	news := make([]change.New, n)
	for i := range news {
		news[i] = change.New{Action: change.Create, AgentID: &w.agents[agent], Name: ptr(fmt.Sprintf("s%d", i)), Author: change.Author{KeyID: w.keyID}}
	}
	err := w.db.InTx(t.Context(), func(ctx context.Context, tx *database.Tx) error {
		_, err := w.changes.Append(ctx, tx, w.org, news)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func offsets(changes []*change.Change) (all []int64) {
	for _, c := range changes {
		all = append(all, c.Offset)
	}
	return all
}

// next waits for the next item.
func next(t *testing.T, items <-chan change.Item) change.Item {
	t.Helper()
	select {
	case item, ok := <-items:
		if !ok {
			t.Fatal("the stream ended")
		}
		return item
	case <-time.After(patience):
		t.Fatal("nothing came")
	}
	return nil
}

func TestS1EventGapless(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		live, err := w.changes.Watch(ctx, w.org, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		rolledBack := errors.New("rolled back")
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				if i%4 == 0 {
					err := w.db.InTx(ctx, func(ctx context.Context, tx *database.Tx) error {
						if _, err := w.changes.Append(ctx, tx, w.org, []change.New{{Action: change.Clear, AgentID: &w.agents[0], Author: change.Author{KeyID: w.keyID}}}); err != nil {
							return err
						}
						return rolledBack
					})
					if !errors.Is(err, rolledBack) {
						t.Error(err)
					}
				}
				w.write(t, i%2, 1+i%3)
			})
		}
		const written = 39 // the sum of 1+i%3
		for want := int64(1); want <= written; want++ {
			c, ok := next(t, live).(*change.Change)
			if !ok || c.Offset != want || c.Action != change.Create {
				t.Fatalf("%+v instead of change %d", c, want)
			}
			found, err := w.changes.ByIDs(ctx, w.org, []string{c.ID})
			if err != nil || found[c.ID] == nil || *found[c.ID].Name != *c.Name {
				t.Fatalf("what change %d tells is not visible: %v", want, err)
			}
		}
		all.Wait()
		log, err := w.changes.Log(ctx, w.org, nil, page.Args{First: ptr(100)})
		if err != nil || len(log.Edges) != written {
			t.Fatalf("%d rows: %v", len(log.Edges), err)
		}
		for i, c := range log.Nodes() {
			if c.Offset != int64(i+1) {
				t.Fatalf("offsets %v", offsets(log.Nodes()))
			}
		}
		stop()
		for range live { // ends
		}
	})
}

// TestWatchResumes: from each position, exactly what lies behind comes, whether it happened or happens.
func TestWatchResumes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		start, err := w.changes.Head(ctx, w.org)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			w.write(t, i%2, 1)
		}
		cursors := []string{string(start)}
		log, err := w.changes.Log(ctx, w.org, nil, page.Args{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range log.Edges {
			if e.Cursor != string(e.Node.Cursor()) {
				t.Errorf("two cursors for change %d", e.Node.Offset)
			}
			cursors = append(cursors, e.Cursor)
		}
		var streams []<-chan change.Item
		for i := range cursors {
			stream, err := w.changes.Watch(ctx, w.org, nil, &cursors[i])
			if err != nil {
				t.Fatal(err)
			}
			streams = append(streams, stream)
		}
		for i := range 3 {
			w.write(t, i%2, 1)
		}
		for i, stream := range streams {
			for want := int64(i + 1); want <= 8; want++ {
				if c, ok := next(t, stream).(*change.Change); !ok || c.Offset != want {
					t.Fatalf("from %d: %+v instead of %d", i, c, want)
				}
			}
		}
		filtered, err := w.changes.Watch(ctx, w.org, &w.agents[1], &cursors[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []int64{2, 4, 7} {
			if c := next(t, filtered).(*change.Change); c.Offset != want || *c.AgentID != w.agents[1] {
				t.Fatalf("of one agent: %+v instead of %d", c, want)
			}
		}
		stop()
		for _, stream := range append(streams, filtered) {
			for range stream { // ends
			}
		}
	})
}

func TestWatchRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.write(t, 0, 1)
		other := keytest.Viewer(t, w.db).Organization.ID
		foreign, err := w.changes.Head(t.Context(), other)
		if err != nil {
			t.Fatal(err)
		}
		bad := []string{"", "x", string(foreign), page.Encode("changes", "1"), string(event.NewCursor(event.RunTopic(w.org), event.Position{Epoch: "1", Offset: 1}))}
		for _, cursor := range bad {
			items, err := w.changes.Watch(t.Context(), w.org, nil, &cursor)
			var problem *fault.Problem
			if !errors.As(err, &problem) || problem.Code != fault.BadCursor || items != nil {
				t.Errorf("Watch(%q) = %v", cursor, err)
			}
			if _, err := w.changes.Log(t.Context(), w.org, nil, page.Args{After: &cursor}); !errors.As(err, &problem) || problem.Code != fault.BadCursor {
				t.Errorf("Log(%q) = %v", cursor, err)
			}
		}
	})
}

// TestWatchGap: a cursor beyond the head, of a database that was put back, is told by a gap.
func TestWatchGap(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		w.write(t, 0, 2)
		beyond := string(event.NewCursor(event.ChangesTopic(w.org), event.Position{Epoch: "1", Offset: 7}))
		items, err := w.changes.Watch(ctx, w.org, nil, &beyond)
		if err != nil {
			t.Fatal(err)
		}
		gap, ok := next(t, items).(*event.StreamGap)
		if head, err := w.changes.Head(ctx, w.org); !ok || err != nil || gap.Cursor != head || gap.Reason == "" {
			t.Fatalf("%+v: %v", gap, err)
		}
		w.write(t, 0, 1)
		if c, ok := next(t, items).(*change.Change); !ok || c.Offset != 3 {
			t.Fatalf("%+v instead of change 3", c)
		}
		stop()
		for range items { // ends
		}
	})
}

func TestLog(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		empty, err := w.changes.Log(ctx, w.org, nil, page.Args{})
		head, err2 := w.changes.Head(ctx, w.org)
		if err != nil || err2 != nil || len(empty.Edges) != 0 || empty.PageInfo.EndCursor == nil || *empty.PageInfo.EndCursor != string(head) {
			t.Fatalf("%v %v: %+v, head %s", err, err2, empty.PageInfo, head)
		}
		w.write(t, 0, 3)
		w.write(t, 1, 4)
		mine, err := w.changes.Log(ctx, w.org, &w.agents[1], page.Args{First: ptr(3)})
		if err != nil || fmt.Sprint(offsets(mine.Nodes())) != "[4 5 6]" || !mine.PageInfo.HasNextPage {
			t.Fatalf("%v: %v", err, offsets(mine.Nodes()))
		}
		if n, err := mine.TotalCount(ctx); n != 4 || err != nil {
			t.Errorf("totalCount %d: %v", n, err)
		}
		last, err := w.changes.Log(ctx, w.org, nil, page.Args{Last: ptr(2), Before: mine.PageInfo.StartCursor})
		if err != nil || fmt.Sprint(offsets(last.Nodes())) != "[2 3]" {
			t.Errorf("%v: %v", err, offsets(last.Nodes()))
		}
		for _, nobody := range []string{id.New(id.Agent), "agt_\x00", "\xff", ""} {
			none, err := w.changes.Log(ctx, w.org, &nobody, page.Args{})
			end, err2 := w.changes.Head(ctx, w.org)
			if err != nil || err2 != nil || len(none.Edges) != 0 || *none.PageInfo.EndCursor != string(end) {
				t.Errorf("of %q: %v %v", nobody, err, none)
			}
		}
	})
}

func TestS1Hist(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.write(t, 0, 3)
		w.write(t, 1, 2)
		w.write(t, 0, 2)
		both, err := w.changes.History(ctx, w.org, w.agents, nil, page.Args{First: ptr(3)})
		if err != nil || fmt.Sprint(offsets(both[w.agents[0]].Nodes())) != "[7 6 3]" || fmt.Sprint(offsets(both[w.agents[1]].Nodes())) != "[5 4]" {
			t.Fatalf("%v: %v %v", err, offsets(both[w.agents[0]].Nodes()), offsets(both[w.agents[1]].Nodes()))
		}
		if n, err := both[w.agents[0]].TotalCount(ctx); n != 5 || err != nil {
			t.Errorf("totalCount %d: %v", n, err)
		}
		rest, err := w.changes.History(ctx, w.org, w.agents[:1], nil, page.Args{After: both[w.agents[0]].PageInfo.EndCursor})
		if err != nil || fmt.Sprint(offsets(rest[w.agents[0]].Nodes())) != "[2 1]" {
			t.Errorf("%v: %v", err, offsets(rest[w.agents[0]].Nodes()))
		}
		named, err := w.changes.History(ctx, w.org, w.agents, ptr("s1"), page.Args{})
		if err != nil || fmt.Sprint(offsets(named[w.agents[0]].Nodes())) != "[7 2]" {
			t.Errorf("%v: %v", err, offsets(named[w.agents[0]].Nodes()))
		}
		if n, err := named[w.agents[0]].TotalCount(ctx); n != 2 || err != nil {
			t.Errorf("totalCount of a name %d: %v", n, err)
		}
		for _, name := range []string{"none", "\x00", "\xff"} {
			none, err := w.changes.History(ctx, w.org, w.agents, &name, page.Args{})
			if err != nil || len(none[w.agents[0]].Edges) != 0 || none[w.agents[0]].PageInfo.EndCursor == nil {
				t.Errorf("of %q: %v %v", name, err, none)
			}
		}
	})
}
