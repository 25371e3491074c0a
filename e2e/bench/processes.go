package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// parentOf is the process that started one; 0 where it has ended.
func parentOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// PID (NAME) STATE PARENT …; the name may hold anything.
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(f) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(f[1]))
	return parent
}

// descendants are all processes that a process has started and that live, and those that they started.
func descendants(pid int) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	children := map[int][]int{}
	for _, e := range entries {
		if p, err := strconv.Atoi(e.Name()); err == nil {
			parent := parentOf(p)
			children[parent] = append(children[parent], p)
		}
	}
	var all []int
	for next := children[pid]; len(next) > 0; {
		p := next[0]
		next = append(next[1:], children[p]...)
		all = append(all, p)
	}
	return all, nil
}

// firstArgument is a process's; empty where it has none, or has ended.
func firstArgument(pid int) string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	args := strings.Split(string(line), "\x00")
	return args[min(1, len(args)-1)]
}

// cpuOf is the processor time of the processes, all of their threads that live.
func cpuOf(pids []int) time.Duration {
	total := time.Duration(0)
	for _, pid := range pids {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		for _, t := range threads {
			if b, err := os.ReadFile(t); err == nil { // nanoseconds that it ran, that it waited, how often
				ran, _, _ := strings.Cut(string(b), " ")
				n, _ := strconv.ParseInt(ran, 10, 64)
				total += time.Duration(n)
			}
		}
	}
	return total
}

// pssOf is the memory of the processes, in bytes; what they share with others counts in parts.
func pssOf(pids []int) (int64, error) {
	total := int64(0)
	for _, pid := range pids {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); len(f) == 3 && f[0] == "Pss:" {
				n, _ := strconv.ParseInt(f[1], 10, 64)
				total += n << 10
			}
		}
	}
	return total, nil
}

const (
	quietLook = 25 * time.Millisecond
	quietMost = quietLook / 25
)

// quiet waits until nothing that this program has started is at work: a spare computer that is booted, one that is taken down. What
// follows one measure must not slow the next one.
func quiet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	tick := time.NewTicker(quietLook)
	defer tick.Stop()
	before, used := "", time.Duration(0)
	for calm := 0; calm < 2; {
		select {
		case <-ctx.Done():
			return fmt.Errorf("what was started does not come to rest: %w", ctx.Err())
		case <-tick.C:
		}
		pids, err := descendants(os.Getpid())
		if err != nil {
			return err
		}
		now, all := cpuOf(pids), fmt.Sprint(pids)
		if all == before && now-used <= quietMost {
			calm++
		} else {
			calm = 0
		}
		before, used = all, now
	}
	return nil
}
