package gvisor

import (
	_ "unsafe" // for linkname

	"gvisor.dev/gvisor/pkg/seccomp/precompiledseccomp"
	"gvisor.dev/gvisor/runsc/boot/filter"
)

//go:generate go run filter_generate.go

// precompiled is where gVisor looks for seccomp filters of its sandboxes that need not be compiled at each start. Its own releases have them;
// its Go module leaves the map empty, and has no other way in.
//
//go:linkname precompiled gvisor.dev/gvisor/runsc/boot/filter.precompiledPrograms
var precompiled map[string]precompiledseccomp.Program

// useFilters gives this process the filters that were compiled when its source was generated: a tenth of a sandbox's start. Each is gVisor's own
// program for the options in its name, which TestFilters compares, instruction by instruction; for any other options gVisor compiles
// one, as before. Call it before gVisor's main.
func useFilters() {
	filter.GetPrecompiled("") // makes the map, once
	for _, p := range filters {
		precompiled[p.Name] = p
	}
}
