package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// watched looks at the memory of one sandbox, for where no cgroup counts it.
//
// What programs and files inside use is in a memfd of the sandbox's, of which each page counts once, whoever maps it. Beside it there are what gVisor keeps
// in its own heap, which a program can make it do (extended attributes, names, open files), and the page tables of all processes, of which a program
// can have many more than pages. Both count as they do in a cgroup.
type watched struct {
	sandbox *sandbox
	limit   int64

	mu     sync.Mutex
	memfd  string // the descriptor of the sandbox's memory, once found
	passed bool   // more was seen than there may be
	now    int64  // seen last
	base   int64  // seen when growth began to be measured
	most   int64  // seen since
}

// look says whether there is more than there may be, or was before.
func (w *watched) look() bool {
	pids := w.sandbox.hosts()
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.sandbox.exited: // its processes' numbers may be others' now
		return w.passed
	default:
	}
	now := w.shared(pids)
	for _, pid := range withChildren(pids) {
		now += ownMemory(pid)
	}
	w.passed = w.passed || now > w.limit
	w.now, w.most = now, max(w.most, now)
	return w.passed
}

// begin implements growth.
func (w *watched) begin() {
	w.look()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.base, w.most = w.now, w.now
}

// grown implements growth, as far as it was looked at.
func (w *watched) grown() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most - w.base
}

// end implements growth.
func (w *watched) end() {}

// shared is what the memfd holds; 0 is unknown. w.mu is held.
func (w *watched) shared(pids []int) int64 {
	if w.memfd == "" && len(pids) > 0 {
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pids[0]))
		for _, fd := range fds {
			if to, _ := os.Readlink(fd); strings.HasPrefix(to, "/memfd:runsc-memory") {
				w.memfd = fd
			}
		}
	}
	var st unix.Stat_t
	if w.memfd == "" || unix.Stat(w.memfd, &st) != nil {
		return 0
	}
	return st.Blocks * 512
}

// ownMemory is what a process has for itself alone: no page of a file, none of the memfd.
func ownMemory(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil { // it has ended
		return 0
	}
	return ownMemoryOf(string(b))
}

// ownMemoryOf reads /proc/<pid>/status.
func ownMemoryOf(status string) (sum int64) {
	for l := range strings.Lines(status) {
		name, value, _ := strings.Cut(l, ":")
		if name != "RssAnon" && name != "VmPTE" {
			continue
		}
		if f := strings.Fields(value); len(f) == 2 && f[1] == "kB" {
			kib, _ := strconv.ParseInt(f[0], 10, 64)
			sum += kib << 10
		}
	}
	return sum
}

// withChildren are the processes and all that they have forked, as far as they are there.
func withChildren(pids []int) []int {
	all := slices.Clone(pids)
	for i := 0; i < len(all); i++ {
		all = append(all, childrenOf(all[i])...)
	}
	return all
}

// childrenOf are a process's children, of all its threads; none where it has ended.
func childrenOf(process int) (pids []int) {
	tasks := fmt.Sprintf("/proc/%d/task", process)
	threads, _ := os.ReadDir(tasks)
	for _, t := range threads {
		b, _ := os.ReadFile(filepath.Join(tasks, t.Name(), "children"))
		for _, f := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(f); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
