package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Bare runs a Python program with `runsc run`, from nothing to nothing, on the computers' root and nothing of the runner's: what
// benchmarks compare computers with.
type Bare struct {
	runsc, folder string
	n             int
}

// NewBare makes a Bare with a folder of its own, which Close removes. image is the path of the computers' image, empty for the fallback.
func NewBare(runsc, image, folder, source string) (*Bare, error) {
	folder, held, err := startFolder(folder)
	if err != nil {
		return nil, err
	}
	held.Close()
	if image != "" {
		if err := CheckImage(image); err != nil {
			return nil, err
		}
	}
	r, err := findRoot(image)
	if err != nil {
		return nil, err
	}
	b := &Bare{runsc: runsc, folder: folder}
	for _, d := range []string{"root", "rootfs"} {
		if err := os.MkdirAll(filepath.Join(folder, d), 0o755); err != nil {
			return nil, err
		}
	}
	if err := r.make(filepath.Join(folder, "rootfs")); err != nil {
		return nil, err
	}
	c := ociConfig(Spec{ID: "bare"}.withDefaults(), r, filepath.Join(folder, "rootfs"))
	c.Process.Args = []string{r.Python, "-c", source}
	c.Process.Cwd, c.Process.Capabilities = "/workspace", nil
	c.Process.User.UID, c.Process.User.GID = ScriptUser, ScriptUser
	config, err := json.Marshal(c)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "config.json"), config, 0o600)
	}
	return b, err
}

// Command is `runsc run` of the program, not started yet: for who connects its standard streams otherwise than Run.
func (b *Bare) Command(ctx context.Context) *exec.Cmd {
	b.n++
	cmd := exec.CommandContext(ctx, b.runsc, "--root="+filepath.Join(b.folder, "root"), "--network=none", "--platform=systrap", "--ignore-cgroups",
		"run", "--bundle="+b.folder, fmt.Sprintf("bare%d", b.n))
	cmd.Env, cmd.Dir = []string{}, b.folder
	cmd.WaitDelay = time.Second
	return cmd
}

// Run runs the program once and returns its standard output, of at most 1 MiB.
func (b *Bare) Run(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := b.Command(ctx)
	var out bytes.Buffer
	errs := &tail{max: 2000}
	cmd.Stdout, cmd.Stderr = &limitedWriter{w: &out, left: 1 << 20}, errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("runsc run: %w %s", err, errs)
	}
	return out.Bytes(), nil
}

// Close removes the folder.
func (b *Bare) Close() error { return sweepFolder(b.folder) }

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
