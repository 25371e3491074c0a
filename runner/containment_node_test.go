package runner_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
)

// Programs of Node's end as those of Python's do: with all that they started, at every limit.
func TestContainNode(t *testing.T) {
	t.Parallel()
	js := func(source string) func(*runner.Call) {
		return func(c *runner.Call) {
			call := nodeCall("const { spawn, spawnSync, execFileSync } = require('child_process'), fs = require('fs'), log = (...x) => fs.writeSync(1, x.join(' ') + '\\n');\n" + source)
			c.Argv, c.Files = call.Argv, call.Files
		}
	}
	contain(t, 2, runner.Spec{MemoryBytes: 256 << 20, WorkspaceBytes: 16 << 20, TmpBytes: 4 << 20, Processes: 64}, []attempt{
		{name: "a child that outlives it", says: "parent\n", ends: ending{leftOver: 1, most: 10 * time.Second}, with: js(`
spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' }).unref(); log('parent')`)},
		{name: "a child that holds stdout", says: "parent\n", ends: ending{leftOver: 1, most: 10 * time.Second}, with: js(`
spawn('sleep', ['1000'], { detached: true, stdio: 'inherit' }).unref(); log('parent')`)},
		{name: "a double fork", says: "parent\n", ends: ending{leftOver: -1, most: 10 * time.Second}, with: js(`
execFileSync('sh', ['-c', '(sleep 1000 > /dev/null 2>&1 &) &']); log('parent')`)},
		{name: "a fork bomb", says: "up\n", timeout: time.Second, ends: ending{reason: runner.ReasonTimeout, signal: "SIGTERM or SIGKILL", leftOver: -1, most: 10 * time.Second}, with: js(`
log('up'); spawn('sh', ['-c', 'f() { f | f & f; }; f'], { stdio: 'ignore' }); for (;;) ;`)},
		{name: "SIGTERM ignored", says: "up\n", timeout: 500 * time.Millisecond, ends: ending{reason: runner.ReasonTimeout, signal: "SIGKILL", leftOver: -1, most: 8 * time.Second}, with: js(`
process.on('SIGTERM', () => {}); log('up'); setInterval(() => {}, 1000)`)},
		{name: "death by a signal", ends: ending{reason: runner.ReasonSignal, signal: "SIGKILL"}, with: js(`process.kill(process.pid, 'SIGKILL'); for (;;) ;`)},
		{name: "exit 137", ends: ending{exitCode: 137}, with: js(`process.exit(137)`)},
		{name: "input that is never read", says: "not read\n", ends: ending{most: 10 * time.Second}, with: func(c *runner.Call) {
			js(`log('not read')`)(c)
			c.Stdin = bytes.Repeat([]byte("0123456789"), 90<<10)
		}},
		{name: "900 KB of input", says: "921600\n", with: func(c *runner.Call) {
			js(`log(fs.readFileSync(0).length)`)(c)
			c.Stdin = bytes.Repeat([]byte("0123456789"), 90<<10)
		}},
		{name: "full folders", says: "workspace ENOSPC\ntmp ENOSPC\nshm ENOSPC\nscripts EACCES\n", with: js(`
for (const [n, d] of [['workspace', '/workspace'], ['tmp', '/tmp'], ['shm', '/dev/shm'], ['scripts', '/scripts']]) {
  try { const f = fs.openSync(d + '/full', 'w'); for (;;) fs.writeSync(f, Buffer.alloc(65536)) } catch (e) { log(n, e.code) }
  fs.rmSync(d + '/full', { force: true })
}`)},
		{name: "memory beside the heap", ends: ending{reason: runner.ReasonMemory, signal: "SIGKILL", most: 20 * time.Second}, with: js(`
const held = []; for (;;) held.push(Buffer.alloc(8 << 20, 1))`), check: isGone},
	})
}
