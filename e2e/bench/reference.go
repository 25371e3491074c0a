package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/scriptorium-dev/scriptorium/runner"
)

// environment is what programs have, here and there.
var environment = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "TZ=UTC", "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1"}

// hostProgram is one that computers have, too: not what PATH says, which may be a wrapper that takes its time. Empty: there is none.
func hostProgram(name string) string {
	for _, folder := range []string{"/usr/bin", "/usr/local/bin"} {
		p := filepath.Join(folder, name)
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return ""
}

// native is a program of the host's own, as it is started by who does not care what it does to the host.
func native(ctx context.Context, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = environment
	return cmd
}

// inBubblewrap is a program in namespaces of its own, with nothing of the host's but /usr, read-only: a container on the host's own kernel.
func (b *bench) inBubblewrap(ctx context.Context, argv ...string) *exec.Cmd {
	around := []string{b.bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin",
		"--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/workspace",
		"--chdir", "/workspace"}
	return native(ctx, append(around, argv...)...)
}

// says runs a command whose output is known.
func says(cmd *exec.Cmd, want string) error {
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return fmt.Errorf("%s: %w: %s", cmd.Path, err, exit.Stderr)
		}
		return fmt.Errorf("%s: %w", cmd.Path, err)
	}
	if string(out) != want {
		return fmt.Errorf("%s printed %q", cmd.Path, out)
	}
	return nil
}

// bareRun is a cold `runsc run` of hello, from nothing to nothing.
func bareRun(ctx context.Context, bare *runner.Bare) error {
	out, err := bare.Run(ctx)
	if err == nil && string(out) != hello.prints {
		err = fmt.Errorf("the bare sandbox printed %q", out)
	}
	return err
}

// buildStock builds gVisor's own runsc into a folder: what runs here is made of the same sources, but starts its sandboxes otherwise.
func buildStock(ctx context.Context, folder string) (path string, err error) {
	path = filepath.Join(folder, "runsc")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "gvisor.dev/gvisor/runsc")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building runsc: %w: %s", err, out)
	}
	return path, nil
}

// bares makes one Bare for each processor, which can be used at once, on an image, or without one on folders of this machine's. Close them.
func (b *bench) bares(source, image string) (all []*runner.Bare, closeAll func() error, err error) {
	closeAll = func() (err error) {
		for _, bare := range all {
			err = errors.Join(err, bare.Close())
		}
		return err
	}
	for range runtime.NumCPU() {
		folder, err := os.MkdirTemp(b.folder, "bare-")
		if err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
		bare, err := runner.NewBare(b.stock, image, folder, source)
		if err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
		all = append(all, bare)
	}
	return all, closeAll, nil
}
