package runner_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// Calls that end, are cancelled at any moment, run out of time or leave children, mixed on a few computers: each is
// answered as what it was, and the computer takes the next.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	p, _ := newProcess(t)
	var wg sync.WaitGroup
	for k := range 3 {
		c := runnertest.Start(t, p, runner.Spec{})
		wg.Go(func() {
			for i := range 40 {
				oneOfMany(t, c, k*7+i)
			}
			initOnly(t, c)
		})
	}
	wg.Wait()
}

func oneOfMany(t *testing.T, c runner.Computer, i int) {
	switch i % 4 {
	case 0:
		if res, out := runnertest.Run(t, c, runnertest.Python(fmt.Sprintf("print(%d)\nimport sys\nsys.exit(%d)", i, i%200))); res.ExitCode != i%200 || out.Stdout.String() != fmt.Sprintf("%d\n", i) {
			t.Errorf("call %d: %+v %q", i, res, out.Stdout.String())
		}
	case 1: // anywhere between before its start and its running
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*200*time.Microsecond)
		defer cancel()
		if res, err := c.Call(ctx, runnertest.Python("while True: pass"), runner.Discard); (err == nil && res.Reason != runner.ReasonCancelled) || (err != nil && ctx.Err() == nil) {
			t.Errorf("call %d: %+v %v", i, res, err)
		}
	case 2:
		if res, _ := runnertest.Run(t, c, runnertest.Python("import os\nfor i in range(5):\n    if os.fork() == 0:\n        while True: pass\nos.write(1, b'x' * 100)")); res.ExitCode != 0 || res.LeftOver != 5 {
			t.Errorf("call %d: %+v", i, res)
		}
	case 3:
		call := runnertest.Python("import time\ntime.sleep(100)")
		call.Timeout = time.Duration(i) * time.Millisecond
		if res, _ := runnertest.Run(t, c, call); res.Reason != runner.ReasonTimeout {
			t.Errorf("call %d: %+v", i, res)
		}
	}
}
