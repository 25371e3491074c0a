// Command runsc is gVisor's own runsc, of the version that is pinned in go.mod, with Scriptorium's runner process as one more
// command. A sandbox is this binary executed again, so it is linked statically and holds nothing that a sandbox does not need.
package main

import (
	"os"

	"gvisor.dev/gvisor/runsc/cli/maincli"

	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/gvisor"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == runner.MainArg {
		os.Exit(runner.Main(os.Args[2:], gvisor.New))
	}
	gvisor.Sandbox(os.Args[1:])
	maincli.Main()
}
