package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cgroups makes a memory cgroup for each computer, beside the one that this process is in; a nil *cgroups and a nil
// *cgroup do nothing, for where there are none (not root, no memory controller).
//
// gVisor could make them from the OCI configuration, but takes them away before anyone can read from them why a
// sandbox died, and leaves them when it is killed. A computer's processes are moved in as they are made instead, and gVisor is told to ignore cgroups.
type cgroups struct {
	dir string // of this start
	v2  bool
}

const (
	cgroupMount   = "/sys/fs/cgroup/memory"
	cgroupV2Mount = "/sys/fs/cgroup"
)

// newCgroups makes the start's own group, or says why there is none.
func newCgroups(name string, rootless bool) (*cgroups, error) {
	if rootless {
		return nil, errors.New("the server is not root")
	}
	g := &cgroups{}
	if _, err := os.Stat(filepath.Join(cgroupMount, "memory.limit_in_bytes")); err == nil {
		own, err := ownCgroup()
		if err != nil {
			return nil, err
		}
		g.dir = filepath.Join(own, cgroupPrefix+name)
	} else if b, err := os.ReadFile(filepath.Join(cgroupV2Mount, "cgroup.subtree_control")); err == nil && strings.Contains(" "+string(b)+" ", "memory") {
		g.v2, g.dir = true, filepath.Join(cgroupV2Mount, cgroupPrefix+name)
	} else {
		return nil, errors.New("there is no cgroup memory controller here")
	}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, fmt.Errorf("no cgroup can be made here: %w", err)
	}
	if g.v2 {
		if err := os.WriteFile(filepath.Join(g.dir, "cgroup.subtree_control"), []byte("+memory"), 0); err != nil {
			return nil, errors.Join(err, g.close())
		}
	}
	return g, nil
}

const cgroupPrefix = "scriptorium-"

// ownCgroup is this process's memory group, as a folder.
func ownCgroup() (string, error) {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for l := range strings.Lines(string(b)) {
		parts := strings.SplitN(strings.TrimSpace(l), ":", 3)
		if len(parts) == 3 && parts[1] == "memory" {
			d := filepath.Join(cgroupMount, parts[2])
			if _, err := os.Stat(d); err != nil { // the mount shows another part of the tree
				d = cgroupMount
			}
			return d, nil
		}
	}
	return "", errors.New("this process has no memory cgroup")
}

type cgroup struct {
	dir  string
	v2   bool
	peak peak
}

// make makes a computer's group.
func (g *cgroups) make(id string, limit int64) (*cgroup, error) {
	if g == nil {
		return nil, nil
	}
	c := &cgroup{dir: filepath.Join(g.dir, id), v2: g.v2}
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		return nil, err
	}
	file := "memory.limit_in_bytes"
	if g.v2 {
		file = "memory.max"
	}
	// The sandbox's own needs come on top of what programs may use.
	if err := os.WriteFile(filepath.Join(c.dir, file), []byte(itoa(limit+sandboxOverhead)), 0); err != nil {
		return nil, errors.Join(err, c.remove())
	}
	return c, nil
}

// sandboxOverhead is what gVisor itself may take of a computer's cgroup.
const sandboxOverhead = 64 << 20

// add moves processes to the group, with what they have forked. A sandbox's are moved before anything of the computer's runs in them.
func (c *cgroup) add(pids []int) error {
	if c == nil {
		return nil
	}
	for i := 0; i < len(pids); i++ {
		err := os.WriteFile(filepath.Join(c.dir, "cgroup.procs"), []byte(strconv.Itoa(pids[i])), 0)
		if errors.Is(err, unix.ESRCH) { // it has ended meanwhile
			continue
		}
		if err != nil {
			return fmt.Errorf("the sandbox's memory cgroup: %w", err)
		}
		pids = append(pids, childrenOf(pids[i])...)
	}
	return nil
}

// kills counts the group's processes that the kernel killed for their memory.
func (c *cgroup) kills() int {
	if c == nil {
		return 0
	}
	file := "memory.oom_control"
	if c.v2 {
		file = "memory.events"
	}
	b, _ := os.ReadFile(filepath.Join(c.dir, file))
	for l := range strings.Lines(string(b)) {
		if n, ok := strings.CutPrefix(l, "oom_kill "); ok {
			k, _ := strconv.Atoi(strings.TrimSpace(n))
			return k
		}
	}
	return 0
}

// remove takes the group away once its processes are gone, which takes a moment after they were killed.
func (c *cgroup) remove() error {
	if c == nil {
		return nil
	}
	return removeGroup(c.dir)
}

func removeGroup(dir string) (err error) {
	for range 100 {
		if err = unix.Rmdir(dir); err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

func (g *cgroups) close() error {
	if g == nil {
		return nil
	}
	return sweepGroup(g.dir)
}

// sweepGroup removes a start's group with those of its computers.
func sweepGroup(dir string) error {
	subs, _ := filepath.Glob(filepath.Join(dir, "*", "cgroup.procs"))
	var errs []error
	for _, s := range subs {
		errs = append(errs, removeGroup(filepath.Dir(s)))
	}
	return errors.Join(append(errs, removeGroup(dir))...)
}
