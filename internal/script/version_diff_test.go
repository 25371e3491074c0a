package script_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/script"
	"github.com/scriptorium-dev/scriptorium/internal/script/scripttest"
)

func TestS1HistDiff(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		org := w.viewer.Organization.ID
		one := w.Save(w.ctx, t, w.agent.ID, "deck", scripttest.Source("a = 1\nb = 2\n")).Version.ID
		two := w.Save(w.ctx, t, w.agent.ID, "deck", scripttest.Source("a = 1\nb = 3\nc = 4")).Version.ID
		same := w.Save(w.ctx, t, w.agent.ID, "deck", scripttest.Source("a = 1\nb = 3\nc = 4")).Version.ID
		counter := databasetest.Count(t, w.DB)
		diffs := func(from *int) map[string]*string {
			t.Helper()
			counter.Take()
			found, err := w.Scripts.Diffs(w.ctx, org, []string{one, two, same, "ver_\x00"}, from)
			if err != nil || counter.Take() != 1 {
				t.Fatalf("%v, or more than one statement", err)
			}
			return found
		}
		const added = "--- /dev/null\n+++ scripts/deck.py\tversion 1\n@@ -0,0 +1,2 @@\n+a = 1\n+b = 2\n"
		const changed = "--- scripts/deck.py\tversion 1\n+++ scripts/deck.py\tversion 2\n@@ -1,2 +1,3 @@\n a = 1\n-b = 2\n+b = 3\n+c = 4\n\\ No newline at end of file\n"
		got := diffs(nil)
		if len(got) != 3 || *got[one] != added || *got[two] != changed || *got[same] != "" {
			t.Errorf("from the ones before: %q", deref(got))
		}
		if got := diffs(ptr(0)); len(got) != 3 || *got[one] != added || !strings.HasPrefix(*got[same], "--- /dev/null\n+++ scripts/deck.py\tversion 3\n@@ -0,0 +1,3 @@\n") {
			t.Errorf("from nothing: %q", deref(got))
		}
		if got := diffs(ptr(2)); len(got) != 3 || *got[two] != "" || *got[same] != "" || !strings.Contains(*got[one], "-b = 3\n-c = 4\n\\ No newline at end of file\n+b = 2\n") {
			t.Errorf("from version 2: %q", deref(got))
		}
		for _, none := range []int{4, -1, 1 << 31} {
			if got := diffs(&none); len(got) != 0 {
				t.Errorf("from version %d: %q", none, deref(got))
			}
		}
		if got, err := w.Scripts.Diffs(w.ctx, "org_other", []string{two}, nil); err != nil || len(got) != 0 {
			t.Errorf("another organization's: %v %v", got, err)
		}
		if _, err := w.Scripts.Delete(w.ctx, script.DeleteInput{Agent: w.agent.ID, Name: "deck"}); err != nil {
			t.Fatal(err)
		}
		if got := diffs(nil); *got[two] != changed {
			t.Errorf("after its deletion: %q", deref(got))
		}
	})
}

func deref(m map[string]*string) []string {
	var all []string
	for _, s := range m {
		all = append(all, *s)
	}
	return all
}

// TestDiffIsBounded: the largest sources, with little in common, take no long time; too many of them are refused.
func TestDiffIsBounded(t *testing.T) {
	t.Parallel()
	w := on(t, databasetest.New(t, database.SQLite))
	var ids []string
	for i := range 36 {
		var b strings.Builder
		for n := 0; b.Len() < script.MaxSource-16; n++ {
			fmt.Fprintf(&b, "%x\n", n*(i+7)%60_000)
		}
		ids = append(ids, w.Save(w.ctx, t, w.agent.ID, "big", scripttest.Source(b.String())).Version.ID)
	}
	begun := time.Now()
	found, err := w.Scripts.Diffs(w.ctx, w.viewer.Organization.ID, ids[:2], nil)
	if took := time.Since(begun); err != nil || len(*found[ids[1]]) < script.MaxSource || took > time.Minute {
		t.Errorf("%v, after %s", err, took)
	}
	var problem *fault.Problem
	if _, err := w.Scripts.Diffs(w.ctx, w.viewer.Organization.ID, ids, nil); !errors.As(err, &problem) || problem.Code != fault.LimitExceeded {
		t.Errorf("36 of them: %v", err)
	}
}
