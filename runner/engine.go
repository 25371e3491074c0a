package runner

import (
	"context"
	"os"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// Engine makes sandboxes: all that the runner process needs of gVisor. Package runner/gvisor is the real one; it is
// linked into the runner's binary only, so that servers stay small.
type Engine interface {
	// Version is gVisor's own; empty where it is not known, which no runner process accepts.
	Version() string
	// Boot makes a sandbox and starts its init; it does not wait for the init's first word. The sandbox's processes die with this process.
	Boot(b Boot) (Booted, error)
}

// EngineConfig is what an Engine is made with.
type EngineConfig struct {
	// Root is the absolute path, free of links, of the folder for gVisor's own state. It is in the arguments of every
	// process of a sandbox, as --root=…: that is how what a start left is found.
	Root string
	// Rootless is true where this process is not root on the host.
	Rootless bool
	// Image is true where the computers' root is an image that the sandbox itself reads, with no file server beside it.
	Image bool
}

// Boot is one sandbox to make.
type Boot struct {
	// ID is unique among the engine's sandboxes.
	ID string
	// Bundle is the absolute path of a folder that holds Spec as config.json.
	Bundle string
	Spec   *specs.Spec
	// Files are the init's descriptors from 3 on; they stay the caller's.
	Files []*os.File
	// Stdin, Stdout and Stderr are the init's; they stay the caller's.
	Stdin, Stdout, Stderr *os.File
	// Made is called with the sandbox's processes when they are there, before anything of a computer's runs in them.
	Made func(pids []int) error
}

// Booted is a sandbox.
type Booted interface {
	// Wait returns when all processes of the sandbox have ended and nothing of its state is left.
	Wait()
	// Processes is the sandbox's own list of what runs inside.
	Processes(ctx context.Context) ([]ProcessInfo, error)
}
