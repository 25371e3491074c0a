package runner

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// platform is how gVisor runs programs.
const platform = "systrap"

// bootstrap is what the init's interpreter is told to do: run the code that comes in its pipe, compiled or not. Its descriptors are 3 and 4, the
// sockets of init.py, and 5, that pipe.
const bootstrap = `import os
with open(5, "rb") as f: b = f.read()
if b[:1] == b"c":
    import marshal
    c = marshal.loads(b[1:])
else:
    n = 9 + int(b[1:9])
    c = compile(b[9:n], "streams.py", "exec"), compile(b[n:], "init.py", "exec")
_code = c
exec(c[1])`

// root is what the computers' read-only root is made of: an image, or, where there is none, the host's folders with programs and libraries.
type root struct {
	// Image is the path of an EROFS image, empty for the fallback. It has every mount point, and python3 in /usr/bin.
	Image string
	// Binds are the host's folders, shown read-only at the same path.
	Binds []string
	// Links are the host's links in /, as name and target ("/bin", "usr/bin").
	Links map[string]string
	// Python is the absolute path of the interpreter that runs the init.
	Python string
}

// findRoot is the root of an image, or the fallback where its path is empty.
func findRoot(image string) (root, error) {
	if image == "" {
		return readHostRoot()
	}
	return root{Image: image, Python: "/usr/bin/python3"}, nil
}

// readHostRoot looks at the host's /; nothing of /etc, /root or /home is ever part of it.
func readHostRoot(pythons ...string) (root, error) {
	r := root{Binds: []string{"/usr"}, Links: map[string]string{}}
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

// make makes the folder that sandboxes get as their root: mount points, links, and what interpreters read as they start. With an image it
// stays empty.
func (r root) make(folder string) error {
	if r.Image != "" {
		return nil
	}
	for _, d := range append([]string{"proc", "dev", "sys", "etc", "workspace", "scripts", "home", "tmp"}, r.Binds...) {
		if err := os.MkdirAll(filepath.Join(folder, d), 0o755); err != nil {
			return err
		}
	}
	for name, target := range r.Links {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	// Where Debian's interpreters look for what to do at their start.
	for _, v := range r.versions() {
		name := filepath.Join(folder, "etc", v, "sitecustomize.py")
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(streamsSource), 0o444)); err != nil {
			return err
		}
	}
	return nil
}

// versions are the interpreters of the root that look in /etc as they start, as "python3.11".
func (r root) versions() (list []string) {
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
func ociConfig(s Spec, r root, rootfs string) *specs.Spec {
	caps := []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_KILL", "CAP_SETGID", "CAP_SETUID"}
	limit := func(name string, v int64) specs.POSIXRlimit {
		return specs.POSIXRlimit{Type: name, Soft: uint64(v), Hard: uint64(v)}
	}
	c := &specs.Spec{
		Version:  "1.0.0",
		Hostname: "computer",
		Process: &specs.Process{
			Args: []string{r.Python, "-c", bootstrap},
			// What the init's interpreter reads as it starts, so that programs that run in it find it as a new one; and one arena of memory for all
			// threads: each further one reserves 64 MiB of the address space.
			Env:             []string{"PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1", "LANG=C.UTF-8", "TZ=UTC", "HOME=/nonexistent", "PATH=/usr/bin:/bin", "MALLOC_ARENA_MAX=1"},
			Cwd:             "/",
			Capabilities:    &specs.LinuxCapabilities{Bounding: caps, Effective: caps, Permitted: caps},
			NoNewPrivileges: true,
			// The init's are its children's, the programs'. RLIMIT_NPROC counts a user's processes, so the init's own do not count. That of the
			// address space can be raised: it is for a MemoryError in time, and some programs reserve far more than they use.
			Rlimits: []specs.POSIXRlimit{
				{Type: "RLIMIT_AS", Soft: uint64(s.MemoryBytes), Hard: math.MaxUint64}, limit("RLIMIT_CORE", 0),
				limit("RLIMIT_FSIZE", max(s.WorkspaceBytes, s.HomeBytes, s.TmpBytes, s.ScriptsBytes)),
				limit("RLIMIT_NOFILE", DefaultOpenFiles), limit("RLIMIT_NPROC", int64(s.Processes)),
			},
		},
		Root:  &specs.Root{Path: rootfs, Readonly: true},
		Linux: &specs.Linux{Namespaces: []specs.LinuxNamespace{{Type: "pid"}, {Type: "network"}, {Type: "ipc"}, {Type: "uts"}, {Type: "mount"}}},
	}
	if r.Image != "" {
		c.Annotations = map[string]string{"dev.gvisor.spec.rootfs.source": r.Image, "dev.gvisor.spec.rootfs.type": "erofs"}
	}
	c.Mounts = append(c.Mounts, specs.Mount{Destination: "/proc", Type: "proc", Source: "proc"},
		specs.Mount{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"ro"}})
	for _, b := range r.Binds {
		c.Mounts = append(c.Mounts, specs.Mount{Destination: b, Type: "bind", Source: b, Options: []string{"ro", "rbind"}})
	}
	for _, t := range []struct {
		at, mode string
		size     int64
	}{{"/workspace", "1777", s.WorkspaceBytes}, {Calls, "0755", s.WorkspaceBytes}, {Scripts, "0555", s.ScriptsBytes}, {"/home", "0755", s.HomeBytes}, {"/tmp", "1777", s.TmpBytes}, {"/dev/shm", "1777", s.TmpBytes}} {
		c.Mounts = append(c.Mounts, specs.Mount{Destination: t.at, Type: "tmpfs", Source: "tmpfs",
			Options: []string{"mode=" + t.mode, "size=" + itoa(t.size)}})
	}
	return c
}
