package runner

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// This file is all that knows runsc: how a sandbox is started, asked and ended.

//go:embed init.py
var initSource []byte

//go:embed streams.py
var streamsSource []byte

var errNoPython = errors.New("there is no python3 in /usr/bin or /usr/local/bin for the computers")

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// runscAdapter drives one runsc binary with one state folder.
type runscAdapter struct {
	// binary is runsc's absolute path; it is never looked up in PATH.
	binary string
	// folder holds everything of this start: root (runsc's own state), rootfs, and a bundle for each computer.
	folder   string
	root     hostRoot
	rootless bool
	cgroups  *cgroups
	compiled atomic.Bool // the init is there in compiled form too
}

// sandbox is one that was started.
type sandbox struct {
	adapter *runscAdapter
	id      string
	cmd     *exec.Cmd
	group   *cgroup
	stderr  *tail
	exited  chan struct{} // closed when runsc is gone, and with it the sandbox
	oom     bool          // set before exited is closed
	shared  string        // the descriptor of the sandbox's memory, once found; its watcher's only
}

// newAdapter makes the folders that sandboxes share.
func newAdapter(binary, folder string, g *cgroups) (*runscAdapter, error) {
	if !filepath.IsAbs(binary) {
		return nil, fmt.Errorf("the path of runsc is not absolute: %s", binary)
	}
	root, err := readHostRoot()
	if err != nil {
		return nil, err
	}
	a := &runscAdapter{binary: binary, folder: folder, root: root, rootless: os.Geteuid() != 0, cgroups: g}
	for _, d := range []string{"root", "bundles", "rootfs"} {
		if err := os.MkdirAll(filepath.Join(folder, d), 0o755); err != nil {
			return nil, err
		}
	}
	return a, a.makeRootfs()
}

// makeRootfs makes the folders and links of the read-only root, and puts the init in it.
func (a *runscAdapter) makeRootfs() error {
	fs := filepath.Join(a.folder, "rootfs")
	for _, d := range append([]string{"proc", "dev", "sys", "etc", "workspace", "home", "tmp", initFolder}, a.root.Binds...) {
		if err := os.MkdirAll(filepath.Join(fs, d), 0o755); err != nil {
			return err
		}
	}
	for name, target := range a.root.Links {
		if err := os.Symlink(target, filepath.Join(fs, name)); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	files := map[string][]byte{initPath: initSource, "/" + initFolder + "/streams.py": streamsSource}
	// Where Debian's interpreters look for what to do at their start.
	for _, v := range a.root.versions() {
		files["/etc/"+v+"/sitecustomize.py"] = streamsSource
	}
	for name, b := range files {
		name = filepath.Join(fs, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, b, 0o444)); err != nil {
			return err
		}
	}
	return nil
}

// initFile is what the interpreter is given, inside.
func (a *runscAdapter) initFile() string {
	if a.compiled.Load() {
		return initPath + "c"
	}
	return initPath
}

// keepCompiled keeps the init's code as an interpreter in a computer compiled it, before any program ran there.
func (a *runscAdapter) keepCompiled(code []byte) error {
	f, err := os.CreateTemp(a.folder, "init")
	if err != nil {
		return err
	}
	_, err = f.Write(code)
	if err = errors.Join(err, f.Chmod(0o444), f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(a.folder, "rootfs", initPath+"c"))
	}
	if err == nil {
		a.compiled.Store(true)
	}
	return err
}

// flags come before runsc's command.
func (a *runscAdapter) flags() []string {
	f := []string{"--root=" + filepath.Join(a.folder, "root"), "--network=none", "--platform=systrap", "--ignore-cgroups"}
	if a.rootless {
		f = append(f, "--rootless")
	}
	return f
}

// version asks runsc for its own; it is bounded in time and a broken one is an error.
func (a *runscAdapter) version(ctx context.Context) (string, error) {
	out, err := a.output(ctx, "--version")
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(out), "\n")
	v, ok := strings.CutPrefix(line, "runsc version ")
	if !ok || strings.TrimSpace(v) == "" {
		return "", fmt.Errorf("%s does not say its version as runsc does", filepath.Base(a.binary))
	}
	return strings.TrimSpace(v), nil
}

// output runs runsc for a short answer.
func (a *runscAdapter) output(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, a.binary, args...)
	cmd.Env, cmd.Dir = []string{}, a.folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	errs := &tail{max: 2000}
	cmd.Stdout, cmd.Stderr = &limitedWriter{w: &out, left: 1 << 20}, errs
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = errors.New("it did not answer in time")
		}
		return nil, fmt.Errorf("%s: %w %s", filepath.Base(a.binary), err, errs)
	}
	return out.Bytes(), nil
}

// start starts a sandbox whose init has the two sockets; they are the caller's to close. It does not wait for the init.
func (a *runscAdapter) start(s Spec, work, control *os.File) (*sandbox, error) {
	bundle := filepath.Join(a.folder, "bundles", s.ID)
	if err := os.Mkdir(bundle, 0o755); err != nil {
		return nil, err
	}
	b, err := json.Marshal(ociConfig(s, a.root, filepath.Join(a.folder, "rootfs"), a.initFile()))
	if err == nil {
		err = os.WriteFile(filepath.Join(bundle, "config.json"), b, 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(bundle))
	}
	// What saves time: the root is read-only, so no overlay is wanted; what is bound is read-only, too, so the sandbox need not ask the
	// host again and again whether it has changed; the host's settings are not the runner's to judge.
	args := append(a.flags(), "--overlay2=none", "--file-access-mounts=exclusive", "--host-settings=ignore", "run", "--bundle="+bundle, "--pid-file="+filepath.Join(bundle, "pid"),
		fmt.Sprintf("--pass-fd=3:%d", initWork), fmt.Sprintf("--pass-fd=4:%d", initControl), s.ID)
	sb := &sandbox{adapter: a, id: s.ID, stderr: &tail{max: 4000}, exited: make(chan struct{})}
	sb.cmd = exec.Command(a.binary, args...)
	sb.cmd.Env, sb.cmd.Dir = []string{}, bundle
	sb.cmd.ExtraFiles = []*os.File{work, control}
	// The init's standard streams are pipes, as programs' are: its interpreter's own stream objects serve them too.
	stdin, hold, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(bundle))
	}
	defer stdin.Close()
	sb.cmd.Stdin, sb.cmd.Stdout, sb.cmd.Stderr = stdin, sb.stderr, sb.stderr
	sb.cmd.WaitDelay = time.Second
	// runsc runs attached: it kills its sandbox when it dies, and dies with the thread that started it.
	sb.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if sb.group, err = a.cgroups.make(s.ID, s.MemoryBytes); err == nil {
		err = spawn(sb.cmd, sb.group, func() {
			hold.Close()
			sb.oom = sb.group.kills() > 0
			sb.tidy()
			close(sb.exited)
		})
	}
	if err != nil {
		hold.Close()
		return nil, errors.Join(err, sb.group.remove(), os.RemoveAll(bundle))
	}
	return sb, nil
}

// tidy removes what a sandbox that ended may have left: runsc does it itself, unless it was killed.
func (sb *sandbox) tidy() {
	if pid := sb.pid(); pid > 0 {
		killIfOurs(pid, sb.adapter.folder)
	}
	_ = sb.group.remove()
	left, _ := filepath.Glob(filepath.Join(sb.adapter.folder, "root", sb.id+"_*"))
	for _, f := range left {
		_ = os.Remove(f)
	}
	_ = os.RemoveAll(filepath.Join(sb.adapter.folder, "bundles", sb.id))
}

// pid is the sandbox's process on the host, 0 while it has none.
func (sb *sandbox) pid() int {
	b, err := os.ReadFile(filepath.Join(sb.adapter.folder, "bundles", sb.id, "pid"))
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return pid
}

// memory is what the programs and files inside use, as the host sees it: for where no cgroup counts it. 0 is unknown.
func (sb *sandbox) memory() int64 {
	if sb.shared == "" {
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", sb.pid()))
		for _, fd := range fds {
			if to, _ := os.Readlink(fd); strings.HasPrefix(to, "/memfd:runsc-memory") {
				sb.shared = fd
			}
		}
	}
	var st unix.Stat_t
	if sb.shared == "" || unix.Stat(sb.shared, &st) != nil {
		return 0
	}
	return st.Blocks * 512
}

// kill ends the sandbox at once; exited is closed soon after.
func (sb *sandbox) kill(grace time.Duration) {
	if pid := sb.pid(); pid > 0 {
		killIfOurs(pid, sb.adapter.folder)
		select {
		case <-sb.exited:
			return
		case <-time.After(grace):
		}
	}
	_ = unix.Kill(-sb.cmd.Process.Pid, unix.SIGKILL)
	<-sb.exited
}

// processes asks the sandbox, not the init: the kernel's own list.
func (sb *sandbox) processes(ctx context.Context) ([]ProcessInfo, error) {
	out, err := sb.adapter.output(ctx, append(sb.adapter.flags(), "ps", "--format=table", sb.id)...)
	if err != nil {
		return nil, err
	}
	var list []ProcessInfo
	for line := range strings.Lines(string(out)) { // UID PID PPID PGID C TTY STIME TIME CMD
		f := strings.Fields(line)
		if len(f) < 9 || f[0] == "UID" {
			continue
		}
		var n [3]int
		for i := range n {
			if n[i], err = strconv.Atoi(f[i]); err != nil {
				return nil, fmt.Errorf("runsc ps: %w", err)
			}
		}
		list = append(list, ProcessInfo{UID: n[0], PID: n[1], PPID: n[2], Command: strings.Join(f[8:], " ")})
	}
	slices.SortFunc(list, func(a, b ProcessInfo) int { return a.PID - b.PID })
	return list, nil
}

// close removes what all sandboxes of this start shared.
func (a *runscAdapter) close() error {
	return errors.Join(sweepFolder(a.folder), a.cgroups.close())
}

// tail keeps the last bytes written to it, for messages.
type tail struct {
	max int
	mu  sync.Mutex
	b   []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if over := len(t.b) - t.max; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.b), "?"))
}

// limitedWriter refuses what passes its bound.
type limitedWriter struct {
	w    io.Writer
	left int
}

func (l *limitedWriter) Write(p []byte) (int, error) {
	if len(p) > l.left {
		return 0, errors.New("too much output")
	}
	l.left -= len(p)
	return l.w.Write(p)
}

// Bare runs a Python program with `runsc run`, on the computers' root and nothing of the runner's: what benchmarks
// compare computers with.
type Bare struct {
	adapter *runscAdapter
	n       int
}

// NewBare makes a Bare with a folder of its own, which Close removes.
func NewBare(runsc, folder, source string) (*Bare, error) {
	folder, held, err := startFolder(folder)
	if err != nil {
		return nil, err
	}
	held.Close()
	a, err := newAdapter(runsc, folder, nil)
	if err != nil {
		return nil, err
	}
	c := ociConfig(Spec{ID: "bare"}.withDefaults(), a.root, filepath.Join(folder, "rootfs"), initPath)
	c.Process.Args = []string{a.root.Python, "/" + initFolder + "/main.py"}
	c.Process.Cwd, c.Process.Capabilities = "/workspace", nil
	c.Process.User.UID, c.Process.User.GID = ScriptUser, ScriptUser
	b, err := json.Marshal(c)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "rootfs", initFolder, "main.py"), []byte(source), 0o444)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "bundles", "config.json"), b, 0o600)
	}
	return &Bare{adapter: a}, err
}

// Run runs the program once, from nothing to nothing, and returns its standard output.
func (b *Bare) Run(ctx context.Context) ([]byte, error) {
	b.n++
	args := append(b.adapter.flags(), "run", "--bundle="+filepath.Join(b.adapter.folder, "bundles"), fmt.Sprintf("bare%d", b.n))
	return b.adapter.output(ctx, args...)
}

// Close removes the folder.
func (b *Bare) Close() error { return b.adapter.close() }
