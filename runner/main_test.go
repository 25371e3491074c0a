package runner_test

import (
	"os"
	"testing"

	"github.com/scriptorium-dev/scriptorium/runner"
)

// TestMain makes this test binary its own runner process, as the server's binary is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == runner.MainArg {
		os.Exit(runner.Main(os.Args[2:]))
	}
	os.Exit(m.Run())
}
