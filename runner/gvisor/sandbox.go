package gvisor

import (
	"runtime/debug"
	"slices"
	"time"

	"gvisor.dev/gvisor/pkg/log"
)

const (
	// startTime is how long a sandbox's start takes at most, and a call that was waiting for it.
	startTime = 2 * time.Second
	// startMemory is what may be allocated without a collection meanwhile.
	startMemory = 64 << 20
)

// Sandbox prepares a process for gVisor's main: one that is to become a sandbox gets filters that need not be compiled, and does not collect garbage while it
// starts, of which there is little. Both together are a sixth of the processor time of a computer that is made for one call.
func Sandbox(args []string) {
	if !slices.Contains(args, "boot") { // the command that gVisor gives itself
		return
	}
	useFilters()
	log.SetLevel(log.Warning) // what is less would be put into words, and thrown away
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(startMemory)
	time.AfterFunc(startTime, func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
}
