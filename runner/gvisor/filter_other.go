//go:build !amd64

package gvisor

import "gvisor.dev/gvisor/pkg/seccomp/precompiledseccomp"

// filters are none: on this architecture, sandboxes compile theirs.
var filters []precompiledseccomp.Program
