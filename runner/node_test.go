package runner_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// nodeCases are programs by file name and source: what they print, and how they end, is the same in the node that waits and
// in one that is started for them. The file's own name comes behind the name of the case.
var nodeCases = map[string]string{
	"module.cjs":       "console.log(require.main === module, module.id, module.filename, module.parent, module.children.length, module.paths, module.loaded, __filename, __dirname, this === module.exports, arguments.length, require.resolve('./helper.cjs'), Object.keys(require.cache), require.extensions['.json'].name);\nconst h = require('./helper.cjs');\nconsole.log(h, module.children.length, require.main === h.main, Object.keys(require.cache).length, require('module').globalPaths, require('module')._preloadModules.length, process.mainModule === module);\n",
	"process.js":       "console.log(process.argv, process.argv0, process.execPath, process.execArgv, process.title, process.cwd(), process.ppid, process.getuid(), process.geteuid(), process.getgid(), process.umask(), process.exitCode, process.connected, process.channel, process.debugPort, process.eventNames(), process.listeners('exit').length, process.getActiveResourcesInfo(), process._getActiveHandles().length);\nconsole.log(Object.getOwnPropertyNames(process).sort().join(), Object.getOwnPropertyNames(globalThis).join());\nconsole.log(process._eval, process._preload_modules, process.noDeprecation, process.report?.signal, process.allowedNodeEnvironmentFlags.size);\n",
	"environment.js":   "console.log(Object.entries(process.env).sort(), 'HOME' in process.env, require('os').homedir(), require('os').tmpdir(), process.env.X);\nconsole.log(require('child_process').execFileSync('env').toString().split('\\n').sort());\nconsole.log(new Date(0).toString(), Intl.DateTimeFormat().resolvedOptions().locale, [1234.5].toLocaleString());\n",
	"descriptors.js":   "const fs = require('fs');\nfor (const fd of [0, 1, 2]) { const s = fs.fstatSync(fd); console.log(fd, s.isFIFO(), s.mode & 0o7777, s.uid) }\nfor (const s of [process.stdin, process.stdout, process.stderr]) console.log(s.fd, s.constructor.name, s.isTTY, s.writableHighWaterMark, s._type);\nconsole.log(fs.readdirSync('/proc/self/fd').slice(0, 3), fs.readFileSync('/proc/self/limits', 'utf8').replace(/ +/g, ' '));\nconsole.log(fs.readFileSync('/proc/self/status', 'utf8').match(/(Uid|Gid|Groups|Cap...|NoNewPrivs|Seccomp|Threads):.*/g));\n",
	"stdin sync.js":    "console.log(require('fs').readFileSync(0, 'utf8'));\n",
	"stdin.mjs":        "import { createInterface } from 'node:readline';\nfor await (const l of createInterface({ input: process.stdin })) console.log('line', l);\nconsole.log('end', process.stdin.readableEnded);\n",
	"stdin unread.js":  "console.log('no');\n",
	"large output.js":  "process.stdout.write('é'.repeat(300000));\nprocess.stderr.write('y'.repeat(300000));\nconsole.log('z'.repeat(300000));\nprocess.exitCode = 2;\n",
	"esm.mjs":          "import fs, { readFileSync } from 'node:fs';\nimport path from 'path';\nimport { createRequire } from 'module';\nimport helper from './helper.cjs';\nimport * as other from './other.mjs';\nconsole.log(import.meta.url, import.meta.filename, import.meta.dirname, Object.keys(import.meta), typeof require, this, process.mainModule, process.argv);\nconsole.log(createRequire(import.meta.url)('./helper.cjs') === helper, other, await Promise.resolve(4), (await import('./other.mjs')) === other, import.meta.resolve('./other.mjs'));\n",
	"esm by syntax.js": "import { X } from './other.mjs';\nconsole.log(X, import.meta.url);\n",
	"esm by type.js":   "console.log(import.meta.url, await 5);\n",
	"typescript.ts":    "const x: number = 1;\nconsole.log(x);\n",
	"no extension":     "console.log(__filename);\n",
	"json.json":        "{\"a\": 1}",
	"empty.js":         "",
	"hashbang.js":      "#!/usr/bin/env node\nconsole.log('on');\n",
	"import.cjs":       "import('./other.mjs').then((m) => console.log(m.X, require('./helper.cjs').X));\ntry { require('./missing.js') } catch (e) { console.log(e.code, e.requireStack) }\nconsole.log(require('./data.json'), require('module').builtinModules.length);\n",
	"exit code.js":     "process.exitCode = 7;\nprocess.on('exit', (c) => console.log('exit', c));\nprocess.on('beforeExit', (c) => console.log('before', c));\n",
	"exit.js":          "process.on('exit', (c) => { console.log('exit', c); process.exitCode = 9 });\nsetTimeout(() => console.log('never'), 1000);\nprocess.exit(3);\n",
	"thrown.js":        "function f(n) { return g(n) }\nconst g = (n) => n.x.y;\n\nf({});\n",
	"thrown.mjs":       "const f = () => { throw new TypeError('no', { cause: new Error('why') }) };\nf();\n",
	"thrown text.js":   "throw 'text';\n",
	"thrown later.js":  "setTimeout(() => { throw new RangeError('late') });\n",
	"syntax.js":        "const x = ;\n",
	"syntax.mjs":       "const x = ;\n",
	"rejected.js":      "Promise.reject(new Error('rejected'));\nsetTimeout(() => console.log('never'), 100);\n",
	"rejected text.js": "Promise.reject('text');\n",
	"handled.js":       "process.on('uncaughtException', (e, o) => console.log(o, e.message, e.stack.split('\\n').length));\nprocess.on('unhandledRejection', (e) => console.log('rejection', e.message));\nPromise.reject(new Error('r'));\nsetImmediate(() => console.log('on'));\nthrow new Error('u');\n",
	"unsettled.mjs":    "process.on('exit', (c) => console.log(c));\nawait new Promise(() => {});\n",
	"order.js":         "const log = (x) => () => console.log(x);\nPromise.resolve().then(log('promise'));\nprocess.nextTick(log('tick'));\nqueueMicrotask(log('microtask'));\nsetImmediate(log('immediate'));\n(async () => { console.log('async'); await null; console.log('awaited') })();\nconsole.log('main');\n",
	"order.mjs":        "const log = (x) => () => console.log(x);\nPromise.resolve().then(log('promise'));\nprocess.nextTick(log('tick'));\nsetImmediate(log('immediate'));\nconsole.log('main');\nawait null;\nconsole.log('awaited');\n",
	"warnings.js":      "process.emitWarning('careful', 'DeprecationWarning', 'X1');\nnew Buffer(1);\nrequire('util')._extend;\nprocess.on('x', () => {});\nfor (let i = 0; i < 11; i++) process.on('y', () => {});\n",
	"signal.js":        "process.on('SIGTERM', (s, n) => { console.log(s, n); process.kill(process.pid, 'SIGKILL') });\nprocess.on('SIGUSR2', (s) => { console.log(s); process.kill(process.pid, 'SIGTERM') });\nprocess.kill(process.pid, 'SIGUSR2');\nsetInterval(() => {}, 1000);\n",
	"terminated.js":    "process.kill(process.pid, 'SIGTERM');\nsetInterval(() => {}, 1000);\n",
	"aborted.js":       "console.log('a');\nprocess.abort();\n",
	"children.js":      "const cp = require('child_process');\nconsole.log(cp.execSync('cat; echo $0 $HOME; exit 0', { input: 'x' }).toString(), cp.spawnSync(process.execPath, ['-p', 'process.argv.length + process.execArgv.join()'], { encoding: 'utf8' }).stdout);\nconsole.log(cp.spawnSync('sh', ['-c', 'cat; echo to stdout; echo to stderr >&2; exit 5'], { stdio: 'inherit' }).status);\nconst f = cp.fork('./helper.cjs', ['x'], { cwd: __dirname });\nf.on('message', (m) => { console.log(m); f.disconnect() });\nf.on('exit', (c) => console.log('forked', c));\n",
	"workers.js":       "const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');\nif (isMainThread) {\n  const w = new Worker(__filename, { workerData: 4 });\n  w.on('message', (m) => console.log('from it', m));\n  w.on('error', (e) => console.log(e.message));\n  w.on('exit', (c) => { console.log('exit', c); new Worker('require(\"worker_threads\").parentPort.postMessage(process.argv.length + require.main)', { eval: true }).on('message', console.log) });\n} else {\n  parentPort.postMessage([workerData * 2, require.main === module, process.argv, __filename, process.env.HOME, Object.keys(require.cache).length]);\n  throw new Error('in a worker');\n}\n",
	"network.mjs":      "import http from 'http';\nimport { once } from 'events';\nconst s = http.createServer((q, r) => r.end('hello ' + q.url)).listen(0, '127.0.0.1');\nawait once(s, 'listening');\nconsole.log(await (await fetch(`http://127.0.0.1:${s.address().port}/x`)).text());\ns.closeAllConnections(); s.close();\n",
	"libraries.mjs":    "import zlib from 'zlib';\nimport crypto from 'crypto';\nimport fs from 'fs/promises';\nimport vm from 'vm';\nimport { AsyncLocalStorage } from 'async_hooks';\nimport { setTimeout as sleep } from 'timers/promises';\nconsole.log(zlib.gunzipSync(zlib.gzipSync('x')).toString(), crypto.createHash('sha256').update('x').digest('hex'), (await fs.readdir('/workspace/scripts')).includes('helper.cjs'), vm.runInNewContext('1 + 1'));\nconst s = new AsyncLocalStorage();\nconsole.log(await s.run(5, async () => { await sleep(1); return s.getStore() }), structuredClone(new Map([[1, 2]])), await crypto.subtle.digest('SHA-1', new Uint8Array(2)), new Intl.PluralRules('ar').select(3), 'ß'.localeCompare('t', 'de'));\nawait fs.writeFile('/tmp/from-node', 'x', { mode: 0o600 });\nconst st = await fs.stat('/tmp/from-node');\nconsole.log(st.uid, st.gid, st.mode & 0o777);\nconst m = await WebAssembly.instantiate(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]));\nconsole.log(Object.keys(m.instance.exports));\n",
	"stack.js":         "function f() { console.log(new Error('x').stack); console.trace('y') }\nf();\nError.stackTraceLimit = 50;\nconsole.log(new Error('deep').stack);\n",
	"deep.js":          "let n = 0;\nconst f = () => { n++; f() };\ntry { f() } catch (e) { console.log(e.message, n > 5000) }\n",
	"permissions.js":   "const fs = require('fs');\nfor (const f of [() => process.setuid(0), () => process.setgid(0), () => process.setgroups([0]), () => fs.writeFileSync('/x', ''), () => fs.readFileSync('/proc/1/environ'), () => process.kill(1, 9), () => fs.writeFileSync(__filename, ''), () => fs.chownSync('/workspace', 0, 0)])\n  try { f(); console.log('could') } catch (e) { console.log(e.code, e.syscall) }\n",
}

var (
	// bottomFrame is the last line of a main module's stack: the one place where it shows that node had waited.
	bottomFrame = regexp.MustCompile(`((process\.)?processTicksAndRejections \(node:internal/process/task_queues|node:internal/main/run_main_module):[0-9:]+\)?`)
	nodePIDs    = regexp.MustCompile(`\(node:[0-9]+\)|#[ 0-9]+: 0x[0-9a-f]+.*|0x[0-9a-f]+|[0-9]+ ms: .*`)
)

func node(file string, args ...string) runner.Call {
	call := runnertest.Python("")
	call.Argv, call.Files = append([]string{"node", file}, args...), nil
	call.Env = runnertest.Env("X=a=b", "NODE_PATH=/workspace/lib", "NODE_ENV=production")
	return call
}

// warmNode makes a computer on which a node waits.
func warmNode(t testing.TB, spec runner.Spec) runner.Computer {
	t.Helper()
	c := newComputer(t, spec)
	call := node("main.js")
	call.Files = []runner.FileChange{{Op: runner.FileWrite, Path: "/workspace/main.js", Mode: 0o444, Content: []byte("process.exitCode = 4")}}
	if res, out := runnertest.Run(t, c, call); res.ExitCode != 4 {
		t.Fatalf("these tests need node in the computers: %+v %s", res, out.Stderr.String())
	}
	return c
}

// waiting is the pid of the node that waits; it fails where none comes to.
func waiting(t testing.TB, c runner.Computer) int {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); <-tick.C {
		ps, err := c.Processes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range ps {
			if p.Command == "node" && p.UID == 0 && p.Init {
				return p.PID
			}
		}
	}
	t.Fatal("no node waits")
	return 0
}

// A program cannot tell the node that had waited for it from one that was started for it.
func TestNodeLikeOneOfItsOwn(t *testing.T) {
	t.Parallel()
	c := warmNode(t, runner.Spec{})
	write := func(path, content string) runner.FileChange {
		return runner.FileChange{Op: runner.FileWrite, Path: "/workspace/" + path, Mode: 0o444, Content: []byte(content)}
	}
	for name, src := range nodeCases {
		t.Run(name, func(t *testing.T) {
			call := node("scripts/"+name, "a", "ü", "")
			call.Files = []runner.FileChange{{Op: runner.FileMkdir, Path: "/workspace/scripts", Mode: 0o1777}, write("scripts/"+name, src),
				write("scripts/helper.cjs", "exports.X = 1; exports.main = require.main;\nif (process.send) process.send([process.argv.length, process.execArgv, require.main === module]);\n"),
				write("scripts/other.mjs", "export const X = 2;\n"), write("scripts/data.json", `{"a": [1]}`), write("lib/there.js", "module.exports = __filename")}
			if name == "esm by type.js" {
				call.Argv[1] = "typed/" + name
				call.Files = append(call.Files, write("typed/"+name, src), write("typed/package.json", `{"type": "module"}`))
			}
			call.Stdin = []byte("one\ntwö\nthree")
			pid := waiting(t, c)
			defer func() {
				if now := waiting(t, c); now == pid {
					t.Errorf("%d still waits: it was not used", pid)
				}
			}()
			both(t, c, call, func(s string) string {
				return nodePIDs.ReplaceAllString(bottomFrame.ReplaceAllString(s, "bottom"), "#")
			})
		})
	}
}

// What asks for another start than the node that waits had, gets a node of its own.
func TestNodeOfItsOwn(t *testing.T) {
	t.Parallel()
	c := warmNode(t, runner.Spec{})
	src := "console.log(process.pid, process.argv0, JSON.stringify(process.execArgv), new Date(0).getHours(), process.argv.slice(2).join())\n"
	file := []runner.FileChange{{Op: runner.FileWrite, Path: "/workspace/main.js", Mode: 0o444, Content: []byte(src)}}
	for _, k := range []struct {
		name   string
		change func(c *runner.Call)
		warm   bool
		want   string
	}{
		{"plain", func(c *runner.Call) {}, true, `node ["--max-old-space-size=384"] 0 x`},
		{"time zone", func(c *runner.Call) { c.Env = append(c.Env, "TZ=Asia/Tokyo") }, true, `node ["--max-old-space-size=384"] 9 x`},
		{"fresh", func(c *runner.Call) { c.Fresh = true }, false, `node ["--max-old-space-size=384"] 0 x`},
		{"an option", func(c *runner.Call) { c.Argv = []string{"node", "--no-warnings", "main.js", "x"} }, false, `node ["--max-old-space-size=384","--no-warnings"] 0 x`},
		{"an option of ours", func(c *runner.Call) { c.Argv = []string{"node", "--max-old-space-size=100", "main.js", "x"} }, false, `node ["--max-old-space-size=384","--max-old-space-size=100"] 0 x`},
		{"a path", func(c *runner.Call) { c.Argv[0] = "/usr/bin/node" }, false, `/usr/bin/node ["--max-old-space-size=384"] 0 x`},
		{"options in the environment", func(c *runner.Call) { c.Env = append(c.Env, "NODE_OPTIONS=--no-warnings") }, false, `node ["--max-old-space-size=384"] 0 x`},
		{"limits", func(c *runner.Call) { c.Limits.OpenFiles = 200 }, false, `node ["--max-old-space-size=384"] 0 x`},
		{"bytes", func(c *runner.Call) { c.Argv[2] = "\xff" }, false, "node [\"--max-old-space-size=384\"] 0 \ufffd"},
		{"plain again", func(c *runner.Call) {}, true, `node ["--max-old-space-size=384"] 0 x`},
	} {
		pid := waiting(t, c)
		call := node("main.js", "x")
		call.Files = file
		k.change(&call)
		res, out := runnertest.Run(t, c, call)
		got, rest, _ := strings.Cut(strings.TrimSpace(out.Stdout.String()), " ")
		if res.ExitCode != 0 || rest != k.want || (got == fmt.Sprint(pid)) != k.warm {
			t.Errorf("%s: %+v, process %s while %d waited: %s%s", k.name, res, got, pid, rest, out.Stderr.String())
		}
	}
}

const reach = `import ctypes, os, resource, signal, sys, time
pid = next(int(p) for p in os.listdir("/proc") if p.isdigit() and open("/proc/%s/comm" % p).read() == "node\n")
libc = ctypes.CDLL(None, use_errno=True)
def ptrace(request):
    if libc.ptrace(request, pid, 0, 0) < 0: raise OSError(ctypes.get_errno(), "")
def read(name):
    open("/proc/%d/%s" % (pid, name), "rb").read()
for f in [lambda s=s: os.kill(pid, s) for s in (0, signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGUSR1)] + [
    lambda: ptrace(16), lambda: ptrace(0x4206), lambda: read("mem"), lambda: read("environ"), lambda: os.listdir("/proc/%d/fd" % pid),
    lambda: os.readlink("/proc/%d/exe" % pid), lambda: os.open("/proc/%d/fd/3" % pid, os.O_RDWR), lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, 3)),
    lambda: os.setpriority(os.PRIO_PROCESS, pid, 19), lambda: os.killpg(pid, 9), lambda: os.setpgid(pid, 0)]:
    try:
        f()
        print("could")
    except OSError as e: pass
if os.fork() == 0:
    os.kill(-1, 9)
time.sleep(60)
`

// Programs cannot reach the node that waits, and those that are killed do not take it along.
func TestNodeThatWaitsIsOutOfReach(t *testing.T) {
	t.Parallel()
	c := warmNode(t, runner.Spec{})
	pid := waiting(t, c)
	for name, src := range map[string]string{
		"reach": reach, "bomb": "import os, time\nos.setsid() if os.fork() == 0 else 0\nt = time.time()\nwhile time.time() < t + 0.5:\n    try: os.fork()\n    except OSError: pass\n",
		"planted": "import os\nfor d in '/workspace', '/tmp', '/dev/shm':\n    for n in '.node_modules', 'node_modules': os.makedirs(d + '/' + n, exist_ok=True); open(d + '/' + n + '/fs.js', 'w').write('process.exit(66)')\n    open(d + '/node', 'w').write('#!/bin/sh\\nexit 67\\n'); os.chmod(d + '/node', 0o777); open(d + '/package.json', 'w').write('{}')\n",
	} {
		call := runnertest.Python(src)
		if res, out := runnertest.Run(t, c, call); out.Stdout.Len() > 0 {
			t.Errorf("%s: %+v %s%s", name, res, out.Stdout.String(), out.Stderr.String())
		}
		initOnly(t, c)
		if now := waiting(t, c); now != pid {
			t.Errorf("%s: another node waits, %d instead of %d", name, now, pid)
		}
	}
	timeout := runnertest.Python("import time, signal\nsignal.signal(15, signal.SIG_IGN)\nwhile True: time.sleep(1)\n")
	timeout.Timeout = 300 * time.Millisecond
	if res, _ := runnertest.Run(t, c, timeout); res.Reason != runner.ReasonTimeout {
		t.Errorf("%+v", res)
	}
	call := node("scripts/main.js")
	call.Files = []runner.FileChange{{Op: runner.FileWrite, Path: "/workspace/scripts/main.js", Mode: 0o444, Content: []byte("console.log(process.pid, process.getuid(), Object.keys(require('fs')).length > 50)")}}
	if res, out := runnertest.Run(t, c, call); out.Stdout.String() != fmt.Sprintf("%d 1000 true\n", pid) {
		t.Errorf("%+v %s%s", res, out.Stdout.String(), out.Stderr.String())
	}
}

// A program of the node that waited ends as others do: by time with all that it started, by cancelling, and what it used is its own.
func TestNodeIsStopped(t *testing.T) {
	t.Parallel()
	c := warmNode(t, runner.Spec{})
	for _, src := range []string{
		"process.on('SIGTERM', () => {}); const { spawn } = require('child_process'); spawn('sleep', ['1000'], { detached: true }); setInterval(() => {}, 1000)",
		"process.on('SIGTERM', () => {}); for (;;) ;",
	} {
		waiting(t, c)
		call := node("main.js")
		call.Files = []runner.FileChange{{Op: runner.FileWrite, Path: "/workspace/main.js", Mode: 0o444, Content: []byte(src)}}
		call.Timeout = 500 * time.Millisecond
		res, err := c.Call(t.Context(), call, runner.Discard)
		if err != nil || res.Reason != runner.ReasonTimeout || res.Signal != "SIGKILL" {
			t.Errorf("%+v %v", res, err)
		}
		initOnly(t, c)
	}
	waiting(t, c)
	call := node("main.js")
	call.Files = []runner.FileChange{{Op: runner.FileWrite, Path: "/workspace/main.js", Mode: 0o444, Content: []byte("const t = process.cpuUsage().user; while (process.cpuUsage().user < t + 300000) ;")}}
	if res, _ := runnertest.Run(t, c, call); res.ExitCode != 0 || res.CPU < 250*time.Millisecond || res.PeakMemoryBytes < 20<<20 {
		t.Errorf("%+v", res)
	}
}

// Node's heap is bounded below the computer's memory: a program that fills it dies alone.
func TestNodeMemory(t *testing.T) {
	t.Parallel()
	c := warmNode(t, runner.Spec{MemoryBytes: 128 << 20})
	for _, fresh := range []bool{false, true} {
		call := node("main.js")
		call.Fresh = fresh
		call.Files = []runner.FileChange{{Op: runner.FileWrite, Path: "/workspace/main.js", Mode: 0o444, Content: []byte("const a = []; for (;;) a.push(new Array(100).fill(a.length + 0.5))")}}
		res, out := runnertest.Run(t, c, call)
		if res.Reason != runner.ReasonSignal || !strings.Contains(out.Stderr.String(), "JavaScript heap out of memory") {
			t.Errorf("fresh %v: %+v %s", fresh, res, out.Stderr.String())
		}
	}
	if res, out := runnertest.Run(t, c, runnertest.Python("print('fine')")); out.Stdout.String() != "fine\n" {
		t.Errorf("the next call: %+v", res)
	}
}

// A node waits on computers that run programs of Node's, and no longer than they do.
func TestNodeWaitsWhereItIsUsed(t *testing.T) {
	t.Parallel()
	none := newComputer(t, runner.Spec{})
	runnertest.Run(t, none, runnertest.Python(""))
	c := warmNode(t, runner.Spec{})
	waiting(t, c)
	for range 20 {
		runnertest.Run(t, c, runnertest.Python(""))
	}
	for i, c := range []runner.Computer{none, c} {
		ps, err := c.Processes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range ps {
			if p.Command == "node" {
				t.Errorf("computer %d: %+v", i, ps)
			}
		}
	}
}

const barNodeCall = 0.60 // a further call of Node's / the host's own node

func BenchmarkNodeCall(b *testing.B) {
	c := warmNode(b, runner.Spec{})
	host := filepath.Join(b.TempDir(), "main.js")
	src := []byte("console.log('hello', require('fs').readFileSync(0).length)\n")
	if err := os.WriteFile(host, src, 0o600); err != nil {
		b.Fatal(err)
	}
	call := node("main.js")
	call.Files = []runner.FileChange{{Op: runner.FileWrite, Path: "/workspace/main.js", Mode: 0o444, Content: src}}
	var ours, theirs []time.Duration
	for b.Loop() {
		t := time.Now()
		if out, err := exec.Command("/usr/bin/node", host).Output(); err != nil || string(out) != "hello 0\n" {
			b.Fatalf("%q %v", out, err)
		}
		theirs = append(theirs, time.Since(t))
		waiting(b, c)
		time.Sleep(300 * time.Millisecond) // it is there, and starts
		t = time.Now()
		if res, _ := runnertest.Run(b, c, call); res.ExitCode != 0 {
			b.Fatalf("%+v", res)
		}
		ours = append(ours, time.Since(t))
	}
	report(b, "a call of Node's", ours, theirs, barNodeCall)
}
