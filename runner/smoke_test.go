package runner_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
)

func TestSmoke(t *testing.T) {
	p, err := runner.New(runner.Config{Runsc: "/work/main/bin/runsc", State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t0 := time.Now()
	rep, err := p.Check(t.Context())
	fmt.Println(rep, err, time.Since(t0))
	c, err := p.Start(t.Context(), runner.Spec{ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		t0 = time.Now()
		res, err := c.Call(t.Context(), runner.Call{Argv: []string{"python3", "x.py", "arg"}, Dir: "/workspace", Stdin: []byte("{}"),
			Env:   []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1", "HOME=/workspace"},
			Files: []runner.FileChange{{Op: runner.FileWrite, Path: "/workspace/x.py", Mode: 0o444, Content: []byte("import sys,os\nprint(sys.argv, sys.path, __file__, os.getuid(), os.listdir('/proc/self/fd'), sys.stdin.read())\nraise ValueError('x')")}},
		}, runner.SinkFunc(func(s runner.Stream, b []byte) error {
			if i == 0 {
				fmt.Println(s, string(b))
			}
			return nil
		}))
		fmt.Printf("%+v %v %v\n", res, err, time.Since(t0))
	}
	fmt.Println(c.Processes(t.Context()))
	t0 = time.Now()
	fmt.Println(c.Close(t.Context()), time.Since(t0))
	t0 = time.Now()
	fmt.Println(p.Close(t.Context()), time.Since(t0))
}
