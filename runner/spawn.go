package runner

import (
	"os/exec"
	"runtime"
)

// spawn starts cmd from a thread that lives until cmd has ended, waits for that, and then calls after. A child with a
// parent-death signal dies with the thread that forked it, not with the process, and Go's threads come and go. The
// thread is also how a child is born in a cgroup of version 1: its parent's thread is there for that moment.
func spawn(cmd *exec.Cmd, g *cgroup, after func()) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
		leave, err := g.enter(cmd)
		if err == nil {
			err = cmd.Start()
			leave()
		}
		started <- err
		if err == nil {
			_ = cmd.Wait()
			after()
		}
	}()
	return <-started
}
