package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func files(texts map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range texts {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

func TestReadMachine(t *testing.T) {
	t.Parallel()
	const meminfo = "MemTotal:       2048 kB\nMemFree: 1 kB\nMemAvailable:    1024 kB\nBroken: x kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  Machine
	}{
		"a machine with version 1": {map[string]string{
			"proc/sys/kernel/osrelease":                            "6.1.0\n",
			"proc/meminfo":                                         meminfo,
			"proc/sys/user/max_user_namespaces":                    "90\n",
			"proc/sys/kernel/seccomp/actions_avail":                "kill_process trap errno log allow\n",
			"proc/sys/kernel/yama/ptrace_scope":                    "1\n",
			"proc/self/cgroup":                                     "9:name=systemd:/\n4:memory:/a/b\n0::/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":           "9223372036854771712\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes":         "700\n",
			"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes":       "900\n",
			"sys/fs/cgroup/memory/elsewhere/memory.limit_in_bytes": "1\n",
		}, Machine{Kernel: "6.1.0", CgroupVersion: 1, CgroupDelegated: true, MaxUserNamespaces: 90, Seccomp: true, SeccompKnown: true, PtraceScope: 1,
			MemoryTotal: 2 << 20, MemoryAvailable: 1 << 20, MemoryLimit: 700}},
		"version 2, handed down, in a container": {map[string]string{
			"sys/fs/cgroup/cgroup.controllers":     "cpu memory pids\n",
			"sys/fs/cgroup/cgroup.subtree_control": "memory pids\n",
			"sys/fs/cgroup/memory.max":             "4096\n",
			"proc/self/limits":                     "Limit      Soft Limit   Hard Limit   Units\nMax processes  1  2  processes\nMax open files    256    4096    files\n",
		}, Machine{CgroupVersion: 2, CgroupDelegated: true, MaxUserNamespaces: -1, PtraceScope: -1, MemoryLimit: 4096, OpenFiles: 4096}},
		"version 2, not handed down, without a limit": {map[string]string{
			"sys/fs/cgroup/cgroup.controllers":     "cpu memory",
			"sys/fs/cgroup/cgroup.subtree_control": "",
			"sys/fs/cgroup/memory.max":             "max\n",
		}, Machine{CgroupVersion: 2, MaxUserNamespaces: -1, PtraceScope: -1}},
		"namespaces off as Debian had it": {map[string]string{"proc/sys/kernel/unprivileged_userns_clone": "0\n", "proc/sys/user/max_user_namespaces": "5"},
			Machine{MaxUserNamespaces: 5, UserNamespacesOff: "kernel.unprivileged_userns_clone=1", PtraceScope: -1}},
		"namespaces off as Ubuntu has it": {map[string]string{"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n"},
			Machine{MaxUserNamespaces: -1, UserNamespacesOff: "kernel.apparmor_restrict_unprivileged_userns=0", PtraceScope: -1}},
		"no namespaces at all": {map[string]string{"proc/sys/user/max_user_namespaces": "0\n"},
			Machine{UserNamespacesOff: "user.max_user_namespaces=10000", PtraceScope: -1}},
		"seccomp without trap": {map[string]string{"proc/sys/kernel/seccomp/actions_avail": "kill allow"},
			Machine{MaxUserNamespaces: -1, SeccompKnown: true, PtraceScope: -1}},
		"nothing can be read": {nil, Machine{MaxUserNamespaces: -1, PtraceScope: -1}},
	} {
		if got := ReadMachine(files(c.files), 0); got != c.want {
			t.Errorf("%s:\n%+v, want\n%+v", name, got, c.want)
		}
	}
}

// FuzzReadMachine: whatever the files say, sizes are not below 0.
func FuzzReadMachine(f *testing.F) {
	f.Add("MemTotal: 12 kB\n", "4:memory:/a/../..\n", "900")
	f.Fuzz(func(t *testing.T, meminfo, groups, limit string) {
		m := ReadMachine(files(map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": groups, cgroupV1 + "/memory.limit_in_bytes": limit}), 0)
		if m.MemoryTotal < 0 || m.MemoryAvailable < 0 || m.MemoryLimit < 0 {
			t.Errorf("%+v", m)
		}
	})
}

func TestReadManifest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name+".erofs")
	}
	m, err := ReadManifest(write("good", `{"digest": "sha256:0", "size": 7, "release": "Debian", "left_out": ["a"], "packages": []}`))
	if err != nil || m.Digest != "sha256:0" || m.Size != 7 || m.Release != "Debian" || len(m.LeftOut) != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err := ReadManifest(filepath.Join(dir, "none.erofs")); m != nil || err != nil {
		t.Errorf("of one that is not there: %+v, %v", m, err)
	}
	if m, err := ReadManifest(write("broken", `{"digest": 1}`)); m != nil || err == nil {
		t.Errorf("of a broken one: %+v, %v", m, err)
	}
	if m, err := ReadManifest(write("long", `{"release": "`+strings.Repeat("x", maxManifest)+`"}`)); m != nil || err == nil {
		t.Errorf("of a long one: %v", err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err := ReadManifest(filepath.Join(dir, "fifo.erofs")); m != nil || err == nil {
		t.Errorf("of a FIFO: %v", err)
	}
}

func TestReadFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if f := ReadFolder(dir); !f.Exists || !f.Writable || f.Free <= 0 || f.Path != dir {
		t.Errorf("%+v", f)
	}
	if f := ReadFolder(filepath.Join(dir, "a", "b")); f.Exists || !f.Writable || f.Free <= 0 {
		t.Errorf("one to be made: %+v", f)
	}
	if _, err := os.Stat(filepath.Join(dir, "a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("looking made a folder: %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, filepath.Join(file, "below")} {
		if f := ReadFolder(name); f.Writable {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if f := ReadFolder("/proc/1/none"); f.Writable {
		t.Errorf("in /proc: %+v", f)
	}
}
