package main

import (
	"context"
	"fmt"
)

// The programs that are measured. The same text runs in a call, in a bare sandbox, and on the host.
const (
	// hello reads what it is given and prints a line.
	hello = "import sys\nsys.stdin.read()\nprint('hello')\n"

	// clock prints the time, again and again, after a moment in which its reader can settle. The pauses are of 0 to 40 ms: some
	// prints come after silence, others close behind the one before.
	clock = `import sys, time
sys.stdin.read()
time.sleep(0.3)
for i in range(40):
    time.sleep(i * 7 % 41 / 1000)
    print(time.time_ns(), flush=True)
`
	// clockLines is how many lines clock prints.
	clockLines = 40

	// flood prints floodBytes as fast as they are taken.
	flood = `import os, sys
sys.stdin.read()
block = b"0123456789abcde\n" * 4096
for i in range(256):
    at = 0
    while at < len(block):
        at += os.write(1, block[at:])
`
	floodBytes = 16 << 20
)

// saveScripts makes an agent for each program.
func (b *bench) saveScripts(ctx context.Context) error {
	b.agents = map[string]string{}
	for name, source := range map[string]string{"hello": hello, "clock": clock, "flood": flood} {
		var made struct {
			AgentCreate struct{ Agent struct{ ID string } }
		}
		err := b.server.Do(ctx, `mutation($name: String!) { agentCreate(input: { name: $name }) { agent { id } userErrors { code message path } } }`,
			map[string]string{"name": name}, &made)
		if err != nil {
			return err
		}
		b.agents[name] = made.AgentCreate.Agent.ID
		err = b.server.Do(ctx, `mutation($agent: ID!, $name: String!, $source: String!) {
		  agentScriptSave(input: { agent: $agent, name: $name, description: "Is measured.", source: $source, parameters: { type: "object" } }) {
		    userErrors { code message path } } }`, map[string]string{"agent": b.agents[name], "name": name, "source": source}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// newRun makes a run of the agent that has the program; it has no computer yet.
func (b *bench) newRun(ctx context.Context, program string) (string, error) {
	var made struct {
		RunCreate struct{ Run struct{ ID string } }
	}
	err := b.server.Do(ctx, `mutation($agent: ID!) { runCreate(input: { agent: $agent }) { run { id } userErrors { code message path } } }`,
		map[string]string{"agent": b.agents[program]}, &made)
	return made.RunCreate.Run.ID, err
}

// finish ends a run; its computer goes.
func (b *bench) finish(ctx context.Context, run string) error {
	return b.server.Do(ctx, `mutation($run: ID!) { runFinish(input: { run: $run }) { userErrors { code message path } } }`,
		map[string]string{"run": run}, nil)
}

// callHello calls hello and waits for its end.
func (b *bench) callHello(ctx context.Context, run string) error {
	var called struct {
		ToolCall struct {
			Call struct{ Status, Stdout string }
		}
	}
	err := b.server.Do(ctx, `mutation($run: ID!) { toolCall(input: { run: $run, name: "hello" }) {
	  call { status stdout } userErrors { code message path } } }`, map[string]string{"run": run}, &called)
	if c := called.ToolCall.Call; err == nil && (c.Status != "SUCCEEDED" || c.Stdout != "hello\n") {
		err = fmt.Errorf("the call is %s and printed %q", c.Status, c.Stdout)
	}
	return err
}

// begin calls a tool without waiting for its end, and answers the call's id.
func (b *bench) begin(ctx context.Context, run, tool string) (string, error) {
	var called struct {
		ToolCall struct{ Call struct{ ID string } }
	}
	err := b.server.Do(ctx, `mutation($run: ID!, $tool: String!) { toolCall(input: { run: $run, name: $tool, wait: false }) {
	  call { id } userErrors { code message path } } }`, map[string]string{"run": run, "tool": tool}, &called)
	return called.ToolCall.Call.ID, err
}
