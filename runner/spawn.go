package runner

import (
	"os/exec"
	"runtime"
	"sync"
)

type lock = sync.Mutex

// spawner starts children from one thread that lives as long as the process: a child with a parent-death signal dies
// with the thread that forked it, not with the process, and threads of Go's come and go. It is also how a child is
// born in a cgroup of the old kind: its parent's thread is in it for that moment.
type spawner struct {
	once sync.Once
	work chan func()
}

var spawn spawner

// start starts cmd on the spawner's thread, in the group if there is one.
func (s *spawner) start(cmd *exec.Cmd, g *cgroup) error {
	s.once.Do(func() {
		s.work = make(chan func())
		go func() {
			runtime.LockOSThread()
			for f := range s.work {
				f()
			}
		}()
	})
	done := make(chan error)
	s.work <- func() {
		leave, err := g.enter(cmd)
		if err == nil {
			err = cmd.Start()
			leave()
		}
		done <- err
	}
	return <-done
}
