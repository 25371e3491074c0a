package runner

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// The bounds of a request; what passes them is refused before anything is sent.
const (
	maxChanges = 10_000
	maxArgs    = 1_000
	// maxArgBytes is what Linux takes for one argument or variable, its end mark included.
	maxArgBytes = 128 << 10
	// maxArgsBytes bounds arguments and environment together: what Linux takes for execve.
	maxArgsBytes = 2 << 20
	// minMemory is what the init needs for itself.
	minMemory = 64 << 20
)

// CheckSpec says why no computer would be made of it; the error wraps ErrInvalid.
func CheckSpec(s Spec) error {
	if n := len(s.ID); n < 1 || n > 64 {
		return fmt.Errorf("%w: id %q", ErrInvalid, s.ID)
	}
	for _, r := range s.ID {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' {
			return fmt.Errorf("%w: id %q", ErrInvalid, s.ID)
		}
	}
	if s.MemoryBytes != 0 && s.MemoryBytes < minMemory {
		return fmt.Errorf("%w: memory below %d bytes", ErrInvalid, minMemory)
	}
	if s.WorkspaceBytes < 0 || s.HomeBytes < 0 || s.TmpBytes < 0 || s.ScriptsBytes < 0 || s.Processes < 0 {
		return fmt.Errorf("%w: a size below 0", ErrInvalid)
	}
	return nil
}

// CheckFiles says why changes would be refused; the error wraps ErrInvalid or ErrTooLarge.
func CheckFiles(changes []FileChange) error {
	if len(changes) > maxChanges {
		return fmt.Errorf("%w: %d changes of files", ErrTooLarge, len(changes))
	}
	total := 0
	for i := range changes {
		c := &changes[i]
		if err := checkChange(c); err != nil {
			return fmt.Errorf("%w: change %d, %s %q: %w", ErrInvalid, i, c.Op, c.Path, err)
		}
		total += len(c.Content)
	}
	if total > MaxPayloadBytes {
		return fmt.Errorf("%w: %d bytes of files", ErrTooLarge, total)
	}
	return nil
}

func checkChange(c *FileChange) error {
	top := c.Path == "/workspace" || c.Path == "/home" || c.Path == "/tmp" || c.Path == Scripts
	below := strings.HasPrefix(c.Path, "/workspace/") || strings.HasPrefix(c.Path, "/home/") || strings.HasPrefix(c.Path, "/tmp/") || strings.HasPrefix(c.Path, Scripts+"/")
	switch {
	case path.Clean(c.Path) != c.Path || strings.ContainsRune(c.Path, 0) || len(c.Path) > 4000:
		return errors.New("not a clean path")
	case !below && (!top || c.Op != FilePrune):
		return errors.New("not inside /workspace, /home, /tmp or /scripts")
	case c.Mode&^0o1777 != 0:
		return errors.New("mode bits beyond 01777")
	case (c.UID != 0 && c.UID != ScriptUser) || (c.GID != 0 && c.GID != ScriptUser):
		return errors.New("an owner that is neither root nor the script's user")
	}
	for _, n := range strings.Split(c.Path[1:], "/") {
		if len(n) > 255 {
			return errors.New("a name of more than 255 bytes")
		}
	}
	switch c.Op {
	case FileWrite, FileMkdir, FileRemove, FilePrune:
		return nil
	case FileLink:
		if n := len(c.Target); n < 1 || n > 4095 || strings.ContainsRune(c.Target, 0) {
			return errors.New("not a link's target")
		}
		return nil
	}
	return errors.New("no such operation")
}

// CheckCall says why a call would be refused; the error wraps ErrInvalid or ErrTooLarge.
func CheckCall(c Call) error {
	switch {
	case len(c.Argv) == 0 || c.Argv[0] == "":
		return fmt.Errorf("%w: no program", ErrInvalid)
	case !path.IsAbs(c.Dir):
		return fmt.Errorf("%w: working directory %q", ErrInvalid, c.Dir)
	case len(c.Argv)+len(c.Env) > maxArgs:
		return fmt.Errorf("%w: %d arguments and variables", ErrTooLarge, len(c.Argv)+len(c.Env))
	case c.Outputs != "" && checkChange(&FileChange{Op: FilePrune, Path: c.Outputs}) != nil:
		return fmt.Errorf("%w: the folder of outputs %q", ErrInvalid, c.Outputs)
	case c.Timeout < 0:
		return fmt.Errorf("%w: a timeout below 0", ErrInvalid)
	case len(c.Stdin) > MaxPayloadBytes:
		return fmt.Errorf("%w: %d bytes of standard input", ErrTooLarge, len(c.Stdin))
	}
	total := 0
	for _, list := range [][]string{c.Argv, c.Env} {
		for _, a := range list {
			if strings.IndexByte(a, 0) >= 0 {
				return fmt.Errorf("%w: NUL in an argument or variable", ErrInvalid)
			}
			if len(a) >= maxArgBytes {
				return fmt.Errorf("%w: %d bytes in one argument or variable", ErrTooLarge, len(a))
			}
			total += len(a) + 1
		}
	}
	if total > maxArgsBytes {
		return fmt.Errorf("%w: %d bytes of arguments and environment", ErrTooLarge, total)
	}
	for _, e := range c.Env {
		if strings.IndexByte(e, '=') < 1 {
			return fmt.Errorf("%w: a variable without a name", ErrInvalid)
		}
	}
	return CheckFiles(c.Files)
}

// SignalNumber is the number of a signal's name ("SIGKILL": 9), 0 for an unknown one.
func SignalNumber(name string) int { return int(unix.SignalNum(name)) }

// signalName is the name of a number, "SIG35" for those without one.
func signalName(n int) string {
	if s := unix.SignalName(unix.Signal(n)); s != "" {
		return s
	}
	return fmt.Sprintf("SIG%d", n)
}
