package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
)

func show(changes []runner.FileChange) []string {
	var lines []string
	for _, c := range changes {
		lines = append(lines, fmt.Sprintf("%s %s %o %d %s%v", c.Op, c.Path, c.Mode, c.UID, c.Content, c.Keep))
	}
	return lines
}

func TestS1MatPlan(t *testing.T) {
	t.Parallel()
	should := []homeFile{{"b", "ver_2", 0}, {"a", "ver_1", 1}}
	sources := map[string]string{"ver_1": "one", "ver_2": "two"}
	folders := []string{"mkdir /home/agt_1 1777 0 []", "mkdir /home/agt_1/scripts 1777 0 []"}
	b, a := "write /home/agt_1/scripts/b.py 444 0 two[]", "write /home/agt_1/scripts/a.py 444 0 one[]"
	end := "prune /home/agt_1/scripts 0 0 [b.py a.py]"
	for name, c := range map[string]struct {
		holds map[string]string
		want  []string
		gone  int
	}{
		"an empty home":      {nil, []string{b, a, end}, 0},
		"all there":          {map[string]string{"a": "ver_1", "b": "ver_2"}, []string{end}, 0},
		"another version":    {map[string]string{"a": "ver_0", "b": "ver_2"}, []string{a, end}, 0},
		"one that must go":   {map[string]string{"a": "ver_1", "b": "ver_2", "c": "ver_3"}, []string{end}, 1},
		"everything at once": {map[string]string{"b": "ver_9", "z": "ver_1", "y": "ver_1"}, []string{b, a, end}, 2},
	} {
		p := planHome(c.holds, should)
		if got := show(p.changes(Home("agt_1"), sources)); !slices.Equal(got, append(slices.Clone(folders), c.want...)) {
			t.Errorf("%s: %q", name, got)
		}
		if len(p.remove) != c.gone {
			t.Errorf("%s: %v go", name, p.remove)
		}
	}
}

func TestBatches(t *testing.T) {
	t.Parallel()
	size := func(n int) runner.FileChange { return runner.FileChange{Content: make([]byte, n)} }
	for _, c := range []struct {
		sizes []int
		want  []int
	}{
		{nil, []int{0}},
		{[]int{5, 5}, []int{2}},
		{[]int{5, 6}, []int{1, 1}},
		{[]int{11, 1, 9, 0, 1}, []int{1, 3, 1}},
		{make([]int, 1001), []int{1000, 1}},
	} {
		var changes []runner.FileChange
		for _, n := range c.sizes {
			changes = append(changes, size(n))
		}
		var got []int
		for _, b := range batches(changes, 10) {
			got = append(got, len(b))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%d changes: %v, want %v", len(c.sizes), got, c.want)
		}
	}
}

// TestHomeTurns: as many homes are packed and unpacked at once as there are turns; the others wait, and the time that one has begins with its turn.
func TestHomeTurns(t *testing.T) {
	t.Parallel()
	h := &Host{homes: make(chan struct{}, 1)}
	h.ctx, h.cancel = context.WithCancel(t.Context())
	first, done, err := h.turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type turn struct {
		ctx  context.Context
		done func()
		err  error
	}
	waiting := make(chan turn)
	go func() {
		ctx, done, err := h.turn(t.Context())
		waiting <- turn{ctx, done, err}
	}()
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, _, err := h.turn(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("who went away: %v", err)
	}
	select {
	case <-waiting:
		t.Error("two at once")
	default:
	}
	if first.Err() != nil {
		t.Errorf("its turn is over: %v", first.Err())
	}
	before := time.Now()
	done()
	next := <-waiting
	if next.err != nil {
		t.Fatal(next.err)
	}
	if until, ok := next.ctx.Deadline(); !ok || until.Before(before.Add(keepTime)) {
		t.Errorf("its time has begun before its turn: it ends at %s, the turn began at %s", until, before)
	}
	h.cancel() // the server has waited long enough
	<-next.ctx.Done()
	next.done()
	if len(h.homes) != 0 {
		t.Error("a turn has not ended")
	}
	h.homes <- struct{}{}
	if _, _, err := h.turn(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("at a server that has stopped: %v", err)
	}
}
