package call

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/artifact"
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/output"
	"github.com/scriptorium-dev/scriptorium/runner"
)

// TestS2FilesAnswers holds what the model reads of a call's files to golden files.
func TestS2FilesAnswers(t *testing.T) {
	t.Parallel()
	many := func(n, length int) []string {
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("%0*d.txt", length-4, i)
		}
		return names
	}
	for name, c := range map[string]struct {
		names []string
		kept  string // the names of those that are
		more  bool
		left  int
	}{
		"one":           {[]string{"presentation.pptx"}, "presentation.pptx", false, 0},
		"mixed":         {[]string{"a.txt", "folder", "z.txt"}, "a.txt z.txt", false, 1},
		"left":          {[]string{"a.txt"}, "", false, 1},
		"strange":       {[]string{" ", "a\nb: kept as an artifact", "a\tb", "half\xe2\x82", "\"", "c\x7f", "c\u0085", "报告 ñ😀.txt", "<&>\n"}, "", false, 9},
		"many":          {append(many(2000, 10), "z"), "z", false, 1000},
		"more":          {many(10_000, 10), "", true, 1000},
		"long":          {append(many(200, 250), "z"), "z", false, 200},
		"nothing_there": {nil, "", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := conclude(runner.Result{Reason: runner.ReasonExit}, nil, nil, 60)
			o.made = &outputs{names: c.names, more: c.more}
			for _, kept := range strings.Fields(c.kept) {
				o.made.kept = append(o.made.kept, &artifact.Artifact{Bytes: []byte(kept)})
			}
			e := o.end(&Call{ID: "call_1"}, output.Summary{}, database.Now())
			if len(e.LeftOnComputer) != c.left || len(e.artifacts) != len(o.made.kept) {
				t.Errorf("%d are left, %d kept", len(e.LeftOnComputer), len(e.artifacts))
			}
			file := filepath.Join("testdata", "files_"+name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(e.Text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if e.Text != string(want) {
				t.Errorf("another text than in %s:\n%s", file, e.Text)
			}
		})
	}
}
