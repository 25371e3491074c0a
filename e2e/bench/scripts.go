package main

import (
	"context"
	"fmt"
)

// program is one that is measured: the same text runs in a call, in a bare sandbox, in bubblewrap, and on the host.
type program struct {
	name, source string
	prints       string // all of it, where that is known
}

var (
	// hello reads what it is given and prints a line.
	hello = program{"hello", "import sys\nsys.stdin.read()\nprint('hello')\n", "hello\n"}

	// helloNode is the same for Node.
	helloNode = program{"hello.js", "require('fs').readFileSync(0)\nconsole.log('hello')\n", "hello\n"}

	// first prints in one write, and goes on for a while: what is timed is when that arrives.
	first = program{"first", "import os, sys, time\nsys.stdin.read()\nos.write(1, b'hello\\n')\ntime.sleep(0.02)\n", "hello\n"}

	// clock prints the time, again and again, after a moment in which its reader can settle. The pauses are of 0 to 40 ms: some
	// prints come after silence, others close behind the one before.
	clock = program{name: "clock", source: `import sys, time
sys.stdin.read()
time.sleep(0.3)
for i in range(40):
    time.sleep(i * 7 % 41 / 1000)
    print(time.time_ns(), flush=True)
`}

	// flood prints floodBytes as fast as they are taken: what a server keeps of a call. torrent prints torrentBytes, for a runner, which keeps nothing.
	flood   = program{name: "flood", source: floodOf(floodBytes)}
	torrent = program{name: "torrent", source: floodOf(torrentBytes)}
)

const (
	// clockLines is how many lines clock prints.
	clockLines = 40

	floodBytes   = 16 << 20
	torrentBytes = 64 << 20
	blockBytes   = 64 << 10
)

func floodOf(bytes int) string {
	return fmt.Sprintf(`import os, sys
sys.stdin.read()
block = b"0123456789abcde\n" * %d
for i in range(%d):
    at = 0
    while at < len(block):
        at += os.write(1, block[at:])
`, blockBytes/16, bytes/blockBytes)
}

// saveScripts makes an agent for each program.
func (s *served) saveScripts(ctx context.Context) error {
	for _, p := range []program{hello, first, clock, flood} {
		var made struct {
			AgentCreate struct{ Agent struct{ ID string } }
		}
		err := s.Do(ctx, `mutation($name: String!) { agentCreate(input: { name: $name }) { agent { id } userErrors { code message path } } }`,
			map[string]string{"name": p.name}, &made)
		if err != nil {
			return err
		}
		s.agents[p.name] = made.AgentCreate.Agent.ID
		err = s.Do(ctx, `mutation($agent: ID!, $name: String!, $source: String!) {
		  agentScriptSave(input: { agent: $agent, name: $name, description: "Is measured.", source: $source, parameters: { type: "object" } }) {
		    userErrors { code message path } } }`, map[string]string{"agent": s.agents[p.name], "name": p.name, "source": p.source}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// newRun makes a run of the agent that has the program; it has no computer yet.
func (s *served) newRun(ctx context.Context, p program) (string, error) {
	var made struct {
		RunCreate struct{ Run struct{ ID string } }
	}
	err := s.Do(ctx, `mutation($agent: ID!) { runCreate(input: { agent: $agent }) { run { id } userErrors { code message path } } }`,
		map[string]string{"agent": s.agents[p.name]}, &made)
	return made.RunCreate.Run.ID, err
}

// finish ends a run; its computer goes.
func (s *served) finish(ctx context.Context, run string) error {
	return s.Do(ctx, `mutation($run: ID!) { runFinish(input: { run: $run }) { userErrors { code message path } } }`, map[string]string{"run": run}, nil)
}

// callHello calls hello and waits for its end.
func (s *served) callHello(ctx context.Context, run string) error {
	var called struct {
		ToolCall struct {
			Call struct{ Status, Stdout string }
		}
	}
	err := s.Do(ctx, `mutation($run: ID!) { toolCall(input: { run: $run, name: "hello" }) {
	  call { status stdout } userErrors { code message path } } }`, map[string]string{"run": run}, &called)
	if c := called.ToolCall.Call; err == nil && (c.Status != "SUCCEEDED" || c.Stdout != hello.prints) {
		err = fmt.Errorf("the call is %s and printed %q", c.Status, c.Stdout)
	}
	return err
}

// publishHello registers hello as a script of the organization.
func (s *served) publishHello(ctx context.Context) error {
	return s.Do(ctx, `mutation($source: String!) { scriptCreate(input: { name: "hello", description: "Says hello.", entrypoint: ["python3", "main.py"],
	  files: [{ path: "main.py", content: $source }] }) { userErrors { code message path } } }`, map[string]string{"source": hello.source}, nil)
}

// callDirectly calls the organization's hello without a run, and waits for its end.
func (s *served) callDirectly(ctx context.Context) error {
	var called struct {
		ToolCall struct {
			Call struct{ Status, Stdout string }
		}
	}
	err := s.Do(ctx, `mutation { toolCall(input: { name: "script__hello" }) { call { status stdout } userErrors { code message path } } }`, nil, &called)
	if c := called.ToolCall.Call; err == nil && (c.Status != "SUCCEEDED" || c.Stdout != hello.prints) {
		err = fmt.Errorf("the call is %s and printed %q", c.Status, c.Stdout)
	}
	return err
}

// begin calls a tool without waiting for its end, and answers the call's id.
func (s *served) begin(ctx context.Context, run string, p program) (string, error) {
	var called struct {
		ToolCall struct{ Call struct{ ID string } }
	}
	err := s.Do(ctx, `mutation($run: ID!, $tool: String!) { toolCall(input: { run: $run, name: $tool, wait: false }) {
	  call { id } userErrors { code message path } } }`, map[string]string{"run": run, "tool": p.name}, &called)
	return called.ToolCall.Call.ID, err
}
