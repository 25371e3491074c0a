package gvisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/log"
	"gvisor.dev/gvisor/pkg/sentry/control"
	"gvisor.dev/gvisor/runsc/config"
	"gvisor.dev/gvisor/runsc/container"
	"gvisor.dev/gvisor/runsc/flag"
	"gvisor.dev/gvisor/runsc/version"

	"github.com/scriptorium-dev/scriptorium/runner"
)

// engine is a runner.Engine.
type engine struct {
	conf *config.Config
	// stdio: gVisor hands its own process's standard streams to a sandbox, so they are exchanged while one is made.
	stdio sync.Mutex
}

// New makes the engine. Nothing is started.
func New(c runner.EngineConfig) (runner.Engine, error) {
	log.SetTarget(log.GoogleEmitter{Writer: &log.Writer{Next: io.Discard}})
	fs := flag.NewFlagSet("runsc", flag.ContinueOnError)
	config.RegisterFlags(fs)
	if err := fs.Parse(flags(c)); err != nil {
		return nil, fmt.Errorf("gVisor's settings: %w", err)
	}
	conf, err := config.NewFromFlags(fs)
	if err != nil {
		return nil, fmt.Errorf("gVisor's settings: %w", err)
	}
	return &engine{conf: conf}, nil
}

// flags are gVisor's settings, in the words of its command line.
func flags(c runner.EngineConfig) []string {
	f := []string{"--root=" + c.Root, "--network=none", "--platform=systrap",
		"--ignore-cgroups", // they are the runner's own: see its cgroup.go
		// What saves time: the root is read-only, so no overlay is wanted; the host's settings are not the runner's to judge.
		"--overlay2=none", "--host-settings=ignore"}
	if c.Image {
		// The sentry reads the image by a descriptor: it runs as nobody, without capabilities, and opens nothing.
		f = append(f, "--directfs=false")
	} else {
		// What is bound is read-only, so the sandbox need not ask the host again and again whether it has changed.
		f = append(f, "--file-access-mounts=exclusive")
	}
	if c.Rootless {
		f = append(f, "--rootless")
	}
	return f
}

// Version implements runner.Engine.
func (e *engine) Version() string { return version.Version() }

// booted is a runner.Booted.
type booted struct {
	c    *container.Container
	pid  int
	mu   sync.Mutex // gVisor's type is not for several goroutines
	gone bool
}

// Boot implements runner.Engine.
func (e *engine) Boot(b runner.Boot) (runner.Booted, error) {
	pass := map[int]*os.File{}
	for i, f := range b.Files {
		pass[3+i] = f
	}
	c, err := e.make(b, container.Args{ID: b.ID, Spec: b.Spec, BundleDir: b.Bundle, Attached: true, PassFiles: pass})
	if err != nil {
		return nil, err
	}
	pids := []int{c.SandboxPid()}
	if gofer := c.GoferPid.Load(); gofer != 0 {
		pids = append(pids, gofer)
	}
	if err = b.Made(pids); err == nil {
		err = c.Start(e.conf)
	}
	if err != nil {
		return nil, errors.Join(err, c.Destroy())
	}
	return &booted{c: c, pid: pids[0]}, nil
}

// make makes the sandbox's processes, with the init's streams.
func (e *engine) make(b runner.Boot, args container.Args) (*container.Container, error) {
	e.stdio.Lock()
	defer e.stdio.Unlock()
	in, out, errs := os.Stdin, os.Stdout, os.Stderr
	defer func() { os.Stdin, os.Stdout, os.Stderr = in, out, errs }()
	os.Stdin, os.Stdout, os.Stderr = b.Stdin, b.Stdout, b.Stderr
	return container.New(e.conf, args)
}

// Wait implements runner.Booted.
func (s *booted) Wait() {
	// A descriptor, for the process's end must be seen without taking its exit status, which is Destroy's to take.
	if fd, err := unix.PidfdOpen(s.pid, 0); err == nil {
		for {
			if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); !errors.Is(err, unix.EINTR) {
				break
			}
		}
		unix.Close(fd)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	// What cannot be removed is the sweep's.
	_ = s.c.Destroy()
}

// Processes implements runner.Booted.
func (s *booted) Processes(ctx context.Context) ([]runner.ProcessInfo, error) {
	type answer struct {
		ps  []*control.Process
		err error
	}
	done := make(chan answer, 1)
	go func() { // ends with the sandbox, if not before
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.gone {
			done <- answer{err: errors.New("the sandbox has ended")}
			return
		}
		ps, err := s.c.Processes()
		done <- answer{ps, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case a := <-done:
		if a.err != nil {
			return nil, a.err
		}
		var list []runner.ProcessInfo
		for _, p := range a.ps {
			list = append(list, runner.ProcessInfo{UID: int(p.UID), PID: int(p.PID), PPID: int(p.PPID), Command: p.Cmd})
		}
		slices.SortFunc(list, func(a, b runner.ProcessInfo) int { return a.PID - b.PID })
		return list, nil
	}
}
