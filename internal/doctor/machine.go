package doctor

import (
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// Machine is what /proc and /sys say of a machine. What cannot be read is its zero value, or -1 where 0 means something.
type Machine struct {
	// UID is the user of this process.
	UID int
	// Kernel is the kernel's release.
	Kernel string
	// CgroupVersion is 1 or 2 where there is a memory controller of that version, else 0.
	CgroupVersion int
	// CgroupDelegated is true where the memory controller is handed down from the root of version 2; with version 1 it always is.
	CgroupDelegated bool
	// MaxUserNamespaces is how many user namespaces a user may have; -1 unknown.
	MaxUserNamespaces int64
	// UserNamespacesOff names the setting that keeps other users than root from having them, empty where there is none.
	UserNamespacesOff string
	// Seccomp is true where the kernel has the seccomp filters that gVisor needs; SeccompKnown is false where it does not say.
	Seccomp, SeccompKnown bool
	// PtraceScope is Yama's setting; -1 where there is no Yama. gVisor traces the processes that it makes.
	PtraceScope int64
	// MemoryTotal and MemoryAvailable are bytes; MemoryLimit is that of the cgroup in which computers are made, 0 for none.
	MemoryTotal, MemoryAvailable, MemoryLimit int64
	// OpenFiles is how many files a process of this user may have open at once, the hard limit: what the user may raise is raised. 0 is unknown.
	OpenFiles int64
}

// ReadMachine reads them below root, which is the machine's / (os.DirFS("/")).
func ReadMachine(root fs.FS, uid int) Machine {
	r := reader{root}
	m := Machine{
		UID: uid, Kernel: r.text("proc/sys/kernel/osrelease"),
		MaxUserNamespaces: r.number("proc/sys/user/max_user_namespaces", -1),
		PtraceScope:       r.number("proc/sys/kernel/yama/ptrace_scope", -1),
	}
	switch {
	case r.number("proc/sys/kernel/unprivileged_userns_clone", 1) == 0:
		m.UserNamespacesOff = "kernel.unprivileged_userns_clone=1"
	case r.number("proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0) != 0:
		m.UserNamespacesOff = "kernel.apparmor_restrict_unprivileged_userns=0"
	case m.MaxUserNamespaces == 0:
		m.UserNamespacesOff = "user.max_user_namespaces=10000"
	}
	actions := " " + r.text("proc/sys/kernel/seccomp/actions_avail") + " "
	m.SeccompKnown = actions != "  "
	m.Seccomp = strings.Contains(actions, " trap ") && strings.Contains(actions, " allow ")
	m.OpenFiles = r.openFiles()
	m.readMemory(r)
	m.readCgroups(r)
	return m
}

func (m *Machine) readMemory(r reader) {
	for l := range strings.Lines(r.text("proc/meminfo")) {
		f := strings.Fields(l)
		if len(f) < 2 {
			continue
		}
		kib, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil || kib < 0 || kib > math.MaxInt64>>10 {
			continue
		}
		switch f[0] {
		case "MemTotal:":
			m.MemoryTotal = kib << 10
		case "MemAvailable:":
			m.MemoryAvailable = kib << 10
		}
	}
}

// The places of the memory controllers, as the runner looks for them.
const (
	cgroupV1 = "sys/fs/cgroup/memory"
	cgroupV2 = "sys/fs/cgroup"
)

func (m *Machine) readCgroups(r reader) {
	limit := func(file string) {
		// Version 1 says a number near the largest one for no limit, version 2 "max".
		if n := r.number(file, 0); n > 0 && n < math.MaxInt64/2 && (m.MemoryLimit == 0 || n < m.MemoryLimit) {
			m.MemoryLimit = n
		}
	}
	if r.there(cgroupV1 + "/memory.limit_in_bytes") {
		m.CgroupVersion, m.CgroupDelegated = 1, true
		for at := ownGroup(r.text("proc/self/cgroup")); ; at = path.Dir(at) {
			limit(path.Join(cgroupV1, at, "memory.limit_in_bytes"))
			if at == "/" {
				return
			}
		}
	}
	if strings.Contains(" "+r.text(cgroupV2+"/cgroup.controllers")+" ", " memory ") {
		m.CgroupVersion = 2
		m.CgroupDelegated = strings.Contains(" "+r.text(cgroupV2+"/cgroup.subtree_control")+" ", " memory ")
		limit(cgroupV2 + "/memory.max")
	}
}

// ownGroup is the memory group of version 1 in /proc/self/cgroup, "/" where there is none.
func ownGroup(text string) string {
	for l := range strings.Lines(text) {
		if f := strings.SplitN(strings.TrimSpace(l), ":", 3); len(f) == 3 && f[1] == "memory" {
			return path.Join("/", f[2])
		}
	}
	return "/"
}

// reader reads small files, each of which may be missing.
type reader struct{ root fs.FS }

func (r reader) there(name string) bool {
	_, err := fs.Stat(r.root, name)
	return err == nil
}

func (r reader) text(name string) string {
	b, err := fs.ReadFile(r.root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// number is a file's number, or what to take where it has none.
func (r reader) number(name string, otherwise int64) int64 {
	n, err := strconv.ParseInt(r.text(name), 10, 64)
	if err != nil {
		return otherwise
	}
	return n
}

// openFiles is the hard limit in a line of /proc/self/limits: "Max open files  <soft>  <hard>  files".
func (r reader) openFiles() int64 {
	for l := range strings.Lines(r.text("proc/self/limits")) {
		rest, ok := strings.CutPrefix(l, "Max open files ")
		if f := strings.Fields(rest); ok && len(f) > 1 {
			if f[1] == "unlimited" {
				return math.MaxInt64
			}
			n, err := strconv.ParseInt(f[1], 10, 64)
			if err == nil && n > 0 {
				return n
			}
		}
	}
	return 0
}
