package runner

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
)

// What a process has for itself is no page that it shares.
func TestOwnMemory(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]int64{
		"": 0,
		"Name:\tRssAnon\nVmRSS:\t  900 kB\nRssAnon:\t   100 kB\nRssFile:\t   300 kB\nRssShmem:\t   500 kB\nVmPTE:\t     8 kB\nThreads:\t1\n": 108 << 10,
		"RssAnon:\t100\nVmPTE:\tx kB\n": 0,
	} {
		if got := ownMemoryOf(status); got != want {
			t.Errorf("%q: %d and not %d", status, got, want)
		}
	}
	if got := ownMemory(os.Getpid()); got < 1<<20 || got > 16<<30 {
		t.Errorf("this process: %d bytes", got)
	}
}

// Grandchildren are found, whichever thread forked a child.
func TestWithChildren(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", "sleep 100 & echo $!; wait")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() {
		for _, pid := range withChildren([]int{cmd.Process.Pid})[1:] {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
		_ = cmd.Process.Kill()
	}()
	var grandchild int
	if _, err := fmt.Fscan(out, &grandchild); err != nil {
		t.Fatal(err)
	}
	if all := withChildren([]int{os.Getpid()}); !slices.Contains(all, cmd.Process.Pid) || !slices.Contains(all, grandchild) {
		t.Errorf("%d and %d are not among %v", cmd.Process.Pid, grandchild, all)
	}
}
