package runner

import (
	"os/exec"
	"runtime"
)

// spawn starts cmd from a thread that lives until cmd has ended, waits for that, and then calls after. A child with a
// parent-death signal dies with the thread that forked it, not with the process, and Go's threads come and go.
func spawn(cmd *exec.Cmd, after func()) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
			after()
		}
	}()
	return <-started
}
