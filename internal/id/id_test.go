package id_test

import (
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/id"
)

func TestNew(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	last := ""
	for range 10_000 {
		s := id.New(id.Script)
		if !id.Is(id.Script, s) || id.KindOf(s) != id.Script || seen[s] {
			t.Fatalf("New answered %q (seen before: %v)", s, seen[s])
		}
		if s <= last {
			t.Fatalf("%q does not sort behind %q", s, last)
		}
		seen[s], last = true, s
	}
}

func TestIs(t *testing.T) {
	t.Parallel()
	good := id.New(id.Run)
	bad := []string{"", "run", "run_", "scr_" + good[4:], good + "0", good[:len(good)-1], strings.ToUpper(good), "run_8" + good[5:],
		good[:len(good)-1] + "u", good[:len(good)-1] + "\n", " " + good}
	for _, s := range bad {
		if id.Is(id.Run, s) {
			t.Errorf("Is accepts %q", s)
		}
	}
	if !id.Is(id.Run, good) || id.Is(id.Call, good) {
		t.Errorf("Is is wrong about %q", good)
	}
}
