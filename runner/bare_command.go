package runner

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// Command is `runsc run` of the program, not started yet: for who connects its standard streams otherwise than Run.
func (b *Bare) Command(ctx context.Context) *exec.Cmd {
	b.n++
	args := append(b.adapter.flags(), "run", "--bundle="+filepath.Join(b.adapter.folder, "bundles"), fmt.Sprintf("bare%d", b.n))
	cmd := exec.CommandContext(ctx, b.adapter.binary, args...)
	cmd.Env, cmd.Dir = []string{}, b.adapter.folder
	return cmd
}
