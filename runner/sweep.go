package runner

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Every start of a runner process has a fresh folder <state>/<start>, and its sandboxes' processes have that folder in
// their argument vectors. What an earlier start left (it was killed) is found by it: processes, mounts, cgroups, files.

const (
	lockFile   = "lock"   // held while the start lives
	cgroupFile = "cgroup" // the path of the start's cgroup
)

// startFolder makes the folder of a new start and holds its lock until the file is closed.
func startFolder(state string) (folder string, held *os.File, err error) {
	if err := os.MkdirAll(state, 0o711); err != nil {
		return "", nil, err
	}
	// Links are resolved: gVisor wants a root path without them, and mounts are listed without them.
	if state, err = filepath.EvalSymlinks(state); err != nil {
		return "", nil, err
	}
	if state, err = filepath.Abs(state); err != nil {
		return "", nil, err
	}
	gate, err := lockFolder(state, true) // between making a folder and locking it nobody sweeps
	if err != nil {
		return "", nil, err
	}
	defer gate.Close()
	if folder, err = os.MkdirTemp(state, "s"); err != nil {
		return "", nil, err
	}
	if err := os.Chmod(folder, 0o711); err != nil {
		return "", nil, err
	}
	held, err = lockFolder(folder, true)
	return folder, held, err
}

// lockFolder locks a folder's lock file; without wait it fails where another process has it.
func lockFolder(dir string, wait bool) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	how := unix.LOCK_EX
	if !wait {
		how |= unix.LOCK_NB
	}
	for {
		if err = unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// sweepState removes what earlier starts left in the state folder, but for those that live.
func sweepState(state string) error {
	state, err := filepath.EvalSymlinks(state)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if state, err = filepath.Abs(state); err != nil {
		return err
	}
	gate, err := lockFolder(state, true)
	if err != nil {
		return err
	}
	defer gate.Close()
	entries, err := os.ReadDir(state)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		folder := filepath.Join(state, e.Name())
		held, err := lockFolder(folder, false)
		if err != nil {
			continue // it lives
		}
		errs = append(errs, sweepFolder(folder), held.Close())
	}
	return errors.Join(errs...)
}

// sweepFolder ends the processes of a start, then removes its mounts, its cgroup and its files.
func sweepFolder(folder string) error {
	deadline := time.Now().Add(5 * time.Second)
	for pids := processesOf(folder); len(pids) > 0; pids = processesOf(folder) {
		if time.Now().After(deadline) {
			return fmt.Errorf("processes of %s do not end: %v", folder, pids)
		}
		for _, pid := range pids {
			killIfOurs(pid, folder)
		}
		time.Sleep(5 * time.Millisecond)
	}
	errs := []error{unmountBelow(folder)}
	if b, err := os.ReadFile(filepath.Join(folder, cgroupFile)); err == nil {
		if dir := string(b); strings.HasPrefix(filepath.Base(dir), cgroupPrefix) {
			errs = append(errs, sweepGroup(dir))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err // with its folder, what is left can still be found
	}
	return os.RemoveAll(folder)
}

// mentions says whether a process's arguments are those of a sandbox of the start's folder, or of the bundle.
func mentions(pid int, folder string) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && (bytes.Contains(b, []byte("--root="+filepath.Join(folder, "root")+"\x00")) || bytes.Contains(b, []byte("--bundle="+folder+"\x00")))
}

// processesOf are the processes of a start's sandboxes, on the host.
func processesOf(folder string) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && mentions(pid, folder) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// killIfOurs kills a process that belongs to the folder. The descriptor keeps the number from meaning another process
// between looking and killing.
func killIfOurs(pid int, folder string) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if mentions(pid, folder) {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}

// unmountBelow takes away the mounts in a folder, the last one first.
func unmountBelow(folder string) error {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	var points []string
	for l := range strings.Lines(string(b)) {
		if f := strings.Fields(l); len(f) > 4 {
			if p := unescapeMount(f[4]); strings.HasPrefix(p, folder+"/") {
				points = append(points, p)
			}
		}
	}
	var errs []error
	for i := len(points) - 1; i >= 0; i-- {
		if err := unix.Unmount(points[i], unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil && !errors.Is(err, unix.EINVAL) {
			errs = append(errs, fmt.Errorf("unmounting %s: %w", points[i], err))
		}
	}
	return errors.Join(errs...)
}

// unescapeMount reads the octal escapes of mountinfo.
func unescapeMount(s string) string {
	for _, e := range [][2]string{{`\040`, " "}, {`\011`, "\t"}, {`\012`, "\n"}, {`\134`, `\`}} {
		s = strings.ReplaceAll(s, e[0], e[1])
	}
	return s
}
