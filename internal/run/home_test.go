package run

import (
	"fmt"
	"slices"
	"testing"

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
