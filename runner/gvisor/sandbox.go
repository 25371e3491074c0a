package gvisor

import (
	"runtime/debug"
	"slices"
	"sync"
	"time"
	_ "unsafe" // for linkname

	"gvisor.dev/gvisor/pkg/log"
	_ "gvisor.dev/gvisor/pkg/sentry/seccheck" // so that it is there to link to
)

// tracesOnce is for what gVisor sets up once for its trace sessions: what is to be known of each system call, checked by reflection.
//
//go:linkname tracesOnce gvisor.dev/gvisor/pkg/sentry/seccheck.initOnce
var tracesOnce sync.Once

// leaveOutTraces has nothing set up for trace sessions, of which a sandbox of the runner's has none: 2 ms.
func leaveOutTraces() { tracesOnce.Do(func() {}) }

const (
	// startTime is how long a sandbox's start takes at most, and a call that was waiting for it.
	startTime = 2 * time.Second
	// startMemory is what may be allocated without a collection meanwhile.
	startMemory = 64 << 20
)

// Sandbox prepares a process for gVisor's main: one that is to become a sandbox gets filters that need not be compiled, and does not collect garbage while it
// starts, of which there is little; it asks the processor for each thing once, and sets up no points for traces. Together they are a fifth of the processor time of a computer that is made
// for one call.
func Sandbox(args []string) {
	if !slices.Contains(args, "boot") { // the command that gVisor gives itself
		return
	}
	useFilters()
	readCPU()
	leaveOutTraces()
	log.SetLevel(log.Warning) // what is less would be put into words, and thrown away
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(startMemory)
	time.AfterFunc(startTime, func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
}
