package runner

import (
	"os"
	"path/filepath"
	"testing"
)

// A cgroup's growth is what its largest usage passes what was used at the beginning, and never what was used before.
func TestCgroupGrowth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v2        bool
		now, most string
	}{{false, "memory.usage_in_bytes", "memory.max_usage_in_bytes"}, {true, "memory.current", "memory.peak"}} {
		g := &cgroup{dir: t.TempDir(), v2: c.v2}
		write := func(name, text string) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		is := func(what string, want int64) {
			t.Helper()
			if got := g.grown(); got != want {
				t.Errorf("version 2 %t, %s: %d and not %d", c.v2, what, got, want)
			}
		}
		g.begin() // without the files
		is("nothing to read", 0)
		write(c.now, "1000\n")
		write(c.most, "9000\n")
		g.begin()
		if b, err := os.ReadFile(filepath.Join(g.dir, c.most)); err != nil || b[0] != '0' {
			t.Errorf("the largest usage does not begin anew: %q %v", b, err)
		}
		write(c.most, "1000\n")
		is("no growth", 0)
		write(c.most, "1500\n")
		is("growth", 500)
		write(c.most, "")
		is("a group that is gone", 500)
		g.end()
		is("an end", 500)
		write(c.most, "4000\n")
		g.begin()
		is("another beginning", 0)
		g.peak.before = 4000 // as where the kernel does not let it begin anew
		write(c.most, "4000\n")
		is("what was before", 0)
		write(c.most, "4001\n")
		is("more than before", 3001)
		g.end()
	}
	var none *cgroup
	none.begin()
	none.end()
	if none.grown() != 0 {
		t.Error("no group has grown")
	}
}
