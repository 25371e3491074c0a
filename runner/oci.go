package runner

import (
	"math"
	"os"
	"path/filepath"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// The init's place in a computer's root, and its descriptors there.
const (
	initFolder  = ".scriptorium"
	initPath    = "/" + initFolder + "/init.py"
	initWork    = 3
	initControl = 4
)

// hostRoot is what the fallback root is made of: which of the host's folders are bound, which of its links are made
// again, and the interpreter that runs the init.
type hostRoot struct {
	// Binds are the host's folders, shown read-only at the same path.
	Binds []string
	// Links are the host's links in /, as name and target ("/bin", "usr/bin").
	Links map[string]string
	// Python is the absolute path of the interpreter.
	Python string
}

// readHostRoot looks at the host's /; nothing of /etc, /root or /home is ever part of it.
func readHostRoot(pythons ...string) (hostRoot, error) {
	r := hostRoot{Binds: []string{"/usr"}, Links: map[string]string{}}
	for _, d := range []string{"/bin", "/lib", "/lib64", "/sbin"} {
		st, err := os.Lstat(d)
		switch {
		case err != nil:
		case st.Mode()&os.ModeSymlink != 0:
			if t, err := os.Readlink(d); err == nil && strings.HasPrefix(filepath.Join("/", t), "/usr/") {
				r.Links[d] = t
			}
		case st.IsDir():
			r.Binds = append(r.Binds, d)
		}
	}
	if len(pythons) == 0 {
		pythons = []string{"/usr/bin/python3", "/usr/local/bin/python3"}
	}
	for _, p := range pythons {
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			r.Python = p
			return r, nil
		}
	}
	return r, errNoPython
}

// versions are the interpreters of the root that look in /etc as they start, as "python3.11".
func (r hostRoot) versions() (list []string) {
	links, _ := filepath.Glob("/usr/lib/python3.*/sitecustomize.py")
	for _, l := range links {
		v := filepath.Base(filepath.Dir(l))
		if t, err := os.Readlink(l); err == nil && t == "/etc/"+v+"/sitecustomize.py" {
			list = append(list, v)
		}
	}
	return list
}

// ociConfig is the sandbox's OCI configuration: a pure function, held by golden files.
func ociConfig(s Spec, root hostRoot, rootfs, initFile string) *specs.Spec {
	caps := []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_KILL", "CAP_SETGID", "CAP_SETUID"}
	limit := func(name string, v int64) specs.POSIXRlimit {
		return specs.POSIXRlimit{Type: name, Soft: uint64(v), Hard: uint64(v)}
	}
	c := &specs.Spec{
		Version:  "1.0.0",
		Hostname: "computer",
		Process: &specs.Process{
			Args: []string{root.Python, initFile},
			// What the init's interpreter reads as it starts, so that programs that run in it find it as a new one.
			Env:             []string{"PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1", "LANG=C.UTF-8", "TZ=UTC", "HOME=/nonexistent", "PATH=/usr/bin:/bin"},
			Cwd:             "/",
			Capabilities:    &specs.LinuxCapabilities{Bounding: caps, Effective: caps, Permitted: caps},
			NoNewPrivileges: true,
			// The init's are its children's, the programs'. RLIMIT_NPROC counts a user's processes, so the init's own do not count. That of the
			// address space can be raised: it is for a MemoryError in time, and some programs reserve far more than they use.
			Rlimits: []specs.POSIXRlimit{
				{Type: "RLIMIT_AS", Soft: uint64(s.MemoryBytes), Hard: math.MaxUint64}, limit("RLIMIT_CORE", 0),
				limit("RLIMIT_FSIZE", max(s.WorkspaceBytes, s.HomeBytes, s.TmpBytes)),
				limit("RLIMIT_NOFILE", DefaultOpenFiles), limit("RLIMIT_NPROC", int64(s.Processes)),
			},
		},
		Root:  &specs.Root{Path: rootfs, Readonly: true},
		Linux: &specs.Linux{Namespaces: []specs.LinuxNamespace{{Type: "pid"}, {Type: "network"}, {Type: "ipc"}, {Type: "uts"}, {Type: "mount"}}},
	}
	c.Mounts = append(c.Mounts, specs.Mount{Destination: "/proc", Type: "proc", Source: "proc"})
	for _, b := range root.Binds {
		c.Mounts = append(c.Mounts, specs.Mount{Destination: b, Type: "bind", Source: b, Options: []string{"ro", "rbind"}})
	}
	for _, t := range []struct {
		at, mode string
		size     int64
	}{{"/workspace", "1777", s.WorkspaceBytes}, {"/home", "0755", s.HomeBytes}, {"/tmp", "1777", s.TmpBytes}, {"/dev/shm", "1777", s.TmpBytes}} {
		c.Mounts = append(c.Mounts, specs.Mount{Destination: t.at, Type: "tmpfs", Source: "tmpfs",
			Options: []string{"mode=" + t.mode, "size=" + itoa(t.size)}})
	}
	return c
}
