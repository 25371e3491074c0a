package runner_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// What a Result says of its isolation is what a program finds: the limits in force, and the mounts.
func TestIsolation(t *testing.T) {
	t.Parallel()
	p, _ := newProcess(t)
	report, err := p.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := runnertest.Start(t, p, runner.Spec{WorkspaceBytes: 8 << 20})
	call := runnertest.Python(`import os, resource
for name in "AS FSIZE NOFILE NPROC".split():
    print(resource.getrlimit(getattr(resource, "RLIMIT_" + name))[0])
for p in "/workspace", "/home", "/tmp":
    s = os.statvfs(p)
    print(s.f_blocks * s.f_frsize)
for line in open("/proc/self/mounts"):
    print(line.split()[1], line.split()[3].split(",")[0])
if os.fork() == 0:
    while True: pass
`)
	call.Timeout, call.Limits.OpenFiles = 20*time.Second, 100
	res, out := runnertest.Run(t, c, call)
	i := res.Isolation
	if i == nil {
		t.Fatalf("%+v", res)
	}
	if i.Gvisor != report.Gvisor || i.Platform != report.Platform || i.ImageDigest != report.Digest || i.Network != "none" || i.MemoryLimit != report.MemoryLimit {
		t.Errorf("%+v, report %+v", i, report)
	}
	if res.LeftOver != 1 || i.Remaining != 0 || i.Limits.Timeout != call.Timeout || i.Limits.OpenFiles != 100 || i.Limits.MemoryBytes != runner.DefaultMemoryBytes {
		t.Errorf("%+v %+v", res, i)
	}
	lines := strings.Fields(strings.ReplaceAll(out.Stdout.String(), "\n", " "))
	l := i.Limits
	for n, want := range []int64{l.AddressSpaceBytes, l.FileSizeBytes, int64(l.OpenFiles), int64(l.Processes), l.WorkspaceBytes, l.HomeBytes, l.TmpBytes} {
		if lines[n] != strconv.FormatInt(want, 10) {
			t.Errorf("limit %d: a program finds %s, the report says %d", n, lines[n], want)
		}
	}
	var found, said []string
	for n := 7; n+1 < len(lines); n += 2 {
		found = append(found, lines[n]+" "+lines[n+1])
	}
	for _, m := range i.Mounts {
		mode := "rw"
		if m.ReadOnly {
			mode = "ro"
		}
		said = append(said, m.Path+" "+mode)
	}
	slices.Sort(found)
	slices.Sort(said)
	if !slices.Equal(found, said) {
		t.Errorf("mounts that a program finds: %q, that the report names: %q", found, said)
	}
}
