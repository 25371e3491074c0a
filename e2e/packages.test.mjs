// Packages of files on real computers: what a program finds, what is kept of what it writes, and what hostile programs leave: after each the next
// call of the same run works.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createHash } from 'node:crypto';
import { deferred, sha256, startServer, until } from './harness.mjs';

const MiB = 1024 * 1024;
const { promise: ready, resolve: isReady } = deferred();
let server;
let run; // of all the hostile programs
before(async () => {
  server = await startServer({ name: 'packages', args: ['--computers', '4'] });
  await publish('does', { 'main.py': does, 'data/words.txt': 'words\n' });
  await publish('well', { 'main.mjs': well, 'lib/words.mjs': "export const words = 'all is well';\n" }, { entrypoint: ['node', 'main.mjs'] });
  run = await server.createRun(null, { tools: [{ name: 'script__*' }] });
  isReady();
});
after(() => server?.stop());

/** Runs the code that it is given. */
const does = `import json, os, sys
OUT = os.environ["ARTIFIC_OUTPUTS"]
exec(json.load(open(os.environ["ARTIFIC_ARGUMENTS"]))["code"])
`;
const well = `import { readFileSync } from 'node:fs';
import { words } from './lib/words.mjs';
console.log(words, readFileSync(0, 'utf8'));
`;

const create = `mutation($input: ScriptCreateInput!) { scriptCreate(input: $input) { script { id name } userErrors { code message path } } }`;
const call = `mutation($input: ToolCallInput!) {
  toolCall(input: $input) {
    call {
      id status errorCode text exitCode signal stdout stderr truncated run { id } version { number } leftOnComputer
      output { stdoutBytes stdoutSha256 stderrBytes stderrSha256 url dropped } artifacts { id name size sha256 contentType url content }
      evidence { processesKilled isolation { processesLeft } }
    }
    userErrors { code message path }
  }
}`;

async function publish(name, files, more = {}) {
  const { script } = await server.mutate(create, {
    name, description: `${name}, for a test`, entrypoint: ['python3', 'main.py'], files: Object.entries(files).map(([path, content]) => ({ path, content })), ...more,
  });
  return script;
}

async function tool(name, args, { where = { run: run.id }, ...more } = {}) {
  const { call: made } = await server.mutate(call, { ...where, name: `script__${name}`, arguments: args, ...more });
  return made;
}

/** Calls a program of this code. */
const python = (code, options) => tool('does', { code }, options);

/** The run is as good as before. */
async function allIsWell(where) {
  const made = await tool('well', { n: 1 }, where && { where });
  assert.equal(made.text, 'exit_code: 0\nstdout:\nall is well {"n":1}\nstderr:\n\n');
  assert.deepEqual(made.artifacts, []);
  assert.equal(made.evidence.isolation.processesLeft, 0);
}

test('S2-cwd: a program runs in its package, with its arguments and a folder of outputs', { timeout: 120_000 }, async () => {
  const made = await python(`
print(os.getcwd(), open("data/words.txt").read().strip(), sys.stdin.read() == open(os.environ["ARTIFIC_ARGUMENTS"]).read(), os.environ["HOME"])
for top, folders, files in os.walk("."):
    for n in sorted(folders + files):
        s = os.lstat(os.path.join(top, n)); print(n, oct(s.st_mode), s.st_uid)
try: open("main.py", "w")
except OSError as e: print(e.strerror)
open("/workspace/shared", "w").write("from does"); open(OUT + "/made.txt", "w").write("made")`);
  assert.equal(made.status, 'SUCCEEDED', made.text);
  assert.equal(
    made.stdout,
    `/scripts/does/1 words True /workspace/.calls/${made.id}/home\n`+'data 0o40555 0\nmain.py 0o100444 0\nwords.txt 0o100444 0\n'.replaceAll('0o100444', made.stdout.includes('0o100555') ? '0o100555' : '0o100444') + 'Permission denied\n',
  );
  assert.deepEqual(made.artifacts.map((a) => [a.name, a.size, a.contentType, Buffer.from(a.content, 'base64').toString()]), [['made.txt', 4, 'text/plain; charset=utf-8', 'made']]);
  assert.equal((await python('print(open("/workspace/shared").read())')).stdout, 'from does\n');
  await allIsWell();
});

test('S2-verify: what one program leaves runs in no other package', { timeout: 120_000 }, async () => {
  for (const freshInterpreter of [false, true]) {
    await publish(`optional_${freshInterpreter}`, { 'main.py': 'import sys\ntry: import absent\nexcept ImportError as e: print(e, sys.path[-1])\n' }, { freshInterpreter });
    const js = "try { require('absent') } catch (e) { console.log(e.code) }\n";
    await publish(`optional_node_${freshInterpreter}`, { 'main.js': js }, { freshInterpreter, entrypoint: ['node', 'main.js'] });
    // What a package starts, and a library of the image that reads code from HOME.
    await publish(`starts_${freshInterpreter}`, { 'main.py': 'import subprocess, reportlab.rl_config, os\nprint(subprocess.check_output(["node", "child.js"]), os.listdir(os.environ["HOME"]))\n', 'child.js': js }, { freshInterpreter });
  }
  const where = { run: (await server.createRun(null, { tools: [{ name: 'script__*' }] })).id };
  const planted = await python(`
def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "w").write(text)
for d in os.environ["HOME"], "/workspace":
    at = d + "/.local/lib/python%d.%d/site-packages/" % sys.version_info[:2]
    for name in "a.pth", "absent.py", "usercustomize.py": put(at + name, "import sys; print('planted')\\n")
    for name in ".reportlab_mods", ".reportlab_settings": put(d + "/" + name, "print('planted')")
    put(d + "/package.json", '{"type": "module"')
    for n in "node_modules", ".node_modules", ".node_libraries": put(d + "/" + n + "/absent/index.js", "console.log('planted')")
`, { where });
  assert.equal(planted.status, 'SUCCEEDED', planted.text);
  for (const fresh of [false, true]) {
    assert.equal((await tool(`optional_${fresh}`, {}, { where })).text, "exit_code: 0\nstdout:\nNo module named 'absent' /usr/lib/python3/dist-packages\nstderr:\n\n");
    assert.equal((await tool(`optional_node_${fresh}`, {}, { where })).text, 'exit_code: 0\nstdout:\nMODULE_NOT_FOUND\nstderr:\n\n');
    assert.equal((await tool(`starts_${fresh}`, {}, { where })).text, "exit_code: 0\nstdout:\nb'MODULE_NOT_FOUND\\n' []\nstderr:\n\n");
  }
  await allIsWell(where);
});

const printed = {
  '1 GiB of output': {
    code: 'b = b"x" * (1 << 20)\nfor i in range(1024): sys.stdout.buffer.write(b)',
    check: (c) => {
      assert.equal(c.truncated, true);
      assert.equal(BigInt(c.output.stdoutBytes) + BigInt(c.output.dropped), 1024n * BigInt(MiB));
      assert.ok(c.text.length < 40_000 && /\n\[\d+ bytes left out\]\n/.test(c.text));
    },
  },
  'one line of 50 MiB': {
    code: 'os.write(1, b""); sys.stdout.write("y" * (50 << 20))',
    check: (c) => assert.equal(BigInt(c.output.stdoutBytes) + BigInt(c.output.dropped), 50n * BigInt(MiB)),
  },
  'no newline at the end': { code: 'sys.stdout.write("end"); sys.stderr.write("err")', check: (c) => assert.equal(c.text, 'exit_code: 0\nstdout:\nend\nstderr:\nerr\n') },
  'half a character': {
    code: 'import time\nfor i in range(40):\n    for b in "é😀".encode(): os.write(1, bytes([b])); time.sleep(0.002)\nos.write(1, b"\\xe2\\x82")',
    check: (c) => assert.equal(c.stdout, 'é😀'.repeat(40) + '\uFFFD\uFFFD'),
  },
  'NUL, CR and CRLF': {
    code: 'os.write(1, b"a\\0b\\rc\\r\\nd\\0")',
    check: (c) => {
      assert.equal(c.stdout, 'a\0b\rc\r\nd\0');
      assert.equal(c.output.stdoutSha256, sha256(Buffer.from('a\0b\rc\r\nd\0')));
    },
  },
  'both streams in turn': {
    code: 'for i in range(1000): os.write(1, b"o%d\\n" % i); os.write(2, b"e%d\\n" % i)',
    check: (c) => {
      assert.equal(c.stdout, Array.from({ length: 1000 }, (_, i) => `o${i}\n`).join(''));
      assert.equal(c.stderr, Array.from({ length: 1000 }, (_, i) => `e${i}\n`).join(''));
    },
  },
};
for (const [name, { code, check }] of Object.entries(printed)) {
  test(`S2-cut: ${name}`, { timeout: 180_000 }, async () => {
    await ready;
    const made = await python(code);
    assert.equal(made.status, 'SUCCEEDED', made.text.slice(0, 1000));
    check(made);
    await allIsWell();
  });
}

test('S2-art, S2-left: what is kept and what is left of a hostile folder of outputs', { timeout: 120_000 }, async () => {
  const made = await python(`
import socket
os.symlink("/etc/passwd", OUT + "/link"); os.symlink("nowhere", OUT + "/dangling"); os.symlink(".", OUT + "/loop")
open("/workspace/other", "w").write("other"); 
try: os.link("/workspace/other", OUT + "/hard")
except OSError: pass
open(OUT + "/one", "w").write("1"); os.link(OUT + "/one", OUT + "/two")
os.mkfifo(OUT + "/fifo"); socket.socket(socket.AF_UNIX).bind(OUT + "/socket")
os.makedirs(OUT + "/folder/deep"); open(OUT + "/folder/deep/file", "w").write("x")
try: open(OUT + "/" + "n" * 300, "w"); print("300 bytes")
except OSError as e: print(e.strerror)
open(OUT + "/" + "m" * 255, "w").write("m")
open(OUT + "/new\\nline: kept as an artifact", "w").write("n")
open(OUT + "/报告 ñ😀.txt", "w").write("报告")
open(OUT.encode() + b"/half \\xe2\\x82.bin", "wb").write(b"\\0\\1")
os.chmod(OUT + "/报告 ñ😀.txt", 0)
os.chmod(OUT, 0)
`);
  assert.equal(made.status, 'SUCCEEDED', made.text);
  assert.equal(made.stdout, 'File name too long\n');
  const names = made.artifacts.map((a) => a.name);
  assert.deepEqual(names, ['half \uFFFD\uFFFD.bin', 'm'.repeat(255), 'new\nline: kept as an artifact', '报告 ñ😀.txt']);
  assert.equal(Buffer.from(made.artifacts[3].content, 'base64').toString(), '报告');
  assert.deepEqual(made.leftOnComputer.filter((n) => n !== 'hard'), ['dangling', 'fifo', 'folder', 'link', 'loop', 'one', 'socket', 'two']);
  const files = made.text.slice(made.text.indexOf('files:\n'));
  assert.match(files, /^link: left on the computer$/m);
  assert.match(files, /^"new\\nline: kept as an artifact": kept as an artifact$/m);
  assert.match(files, /^报告 ñ😀\.txt: kept as an artifact$/m);
  for (const a of made.artifacts) {
    const answer = await fetch(server.url + a.url, { headers: server.authorization });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('etag'), `"${a.sha256}"`);
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(sha256(Buffer.from(await answer.arrayBuffer())), a.sha256);
  }
  assert.equal((await fetch(server.url + made.artifacts[0].url)).status, 401);
  await allIsWell();
});

test('S2-art: at most 10 files of 25 MiB; 5 MiB come as a value', { timeout: 180_000 }, async () => {
  const made = await python(`
for i in range(11): open(OUT + "/f%02d" % i, "wb").write(b"x" * (25 << 20 if i < 2 else i))
open(OUT + "/a_too_large", "wb").write(b"x" * ((25 << 20) + 1))
open(OUT + "/a5", "wb").write(b"x" * (5 << 20))`);
  assert.equal(made.status, 'SUCCEEDED', made.text);
  assert.deepEqual(made.artifacts.map((a) => a.name), ['a5', 'f00', 'f01', 'f02', 'f03', 'f04', 'f05', 'f06', 'f07', 'f08']);
  assert.deepEqual(made.leftOnComputer, ['a_too_large', 'f09', 'f10']);
  assert.deepEqual(made.artifacts.slice(0, 3).map((a) => a.content === null), [false, true, true]);
  const whole = createHash('sha256').update(Buffer.alloc(25 * MiB, 'x')).digest('hex');
  assert.deepEqual([made.artifacts[1].sha256, made.artifacts[1].size], [whole, 25 * MiB]);
  await allIsWell();
});

test('S2-art: a program that would swap its folder of outputs, or what is in it', { timeout: 120_000 }, async () => {
  for (const code of [
    // Its folder is in one of root's, where it can change nothing.
    `import shutil
for change in (lambda: shutil.rmtree(OUT), lambda: os.rmdir(OUT), lambda: os.rename(OUT, OUT + "2"), lambda: os.symlink("/etc", os.path.dirname(OUT) + "/x")):
    try: change(); print("changed")
    except OSError: pass`,
    // A child would swap a file for a link while it is collected; it has ended by then.
    `open(OUT + "/f", "w").write("x" * 1000000)
if os.fork() == 0:
    os.setsid(); os.close(1); os.close(2)
    while True:
        try: os.unlink(OUT + "/f"); os.symlink("/etc/passwd", OUT + "/f")
        except OSError: pass
        try: os.unlink(OUT + "/f"); open(OUT + "/f", "w").write("x")
        except OSError: pass`,
  ]) {
    const made = await python(code);
    assert.equal(made.status, 'SUCCEEDED', made.text);
    assert.equal(made.stdout, '');
    for (const a of made.artifacts) assert.equal(Buffer.from(a.content, 'base64').toString().replaceAll('x', ''), '');
    await allIsWell();
  }
});

const processes = {
  'children that outlive the entrypoint': ['import subprocess\nfor i in range(5): subprocess.Popen(["sleep", "600"])', 'SUCCEEDED'],
  'a double fork': ['if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        import time; time.sleep(600)\n    os._exit(0)', 'SUCCEEDED'],
  'a child that holds stdout': ['if os.fork() == 0:\n    import time; time.sleep(600)\nprint("parent")', 'SUCCEEDED'],
  'a fork bomb': ['import time\nend = time.time() + 3\nwhile time.time() < end:\n    try: os.fork()\n    except OSError: pass\nos._exit(0)', null],
  'a memory bomb': ['b = []\nwhile True: b.append(bytearray(os.urandom(1) * (8 << 20)))', 'FAILED'],
  'a full disk': ['for top in ("/workspace", "/tmp", OUT):\n    try:\n        with open(top + "/full", "wb") as f:\n            while True: f.write(b"x" * (1 << 20))\n    except OSError as e: print(e.strerror)', null],
  'SIGTERM ignored': ['import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint("waits", flush=True)\ntime.sleep(600)', 'TIMED_OUT', 'short'],
  'death by signal': ['import signal; os.kill(os.getpid(), signal.SIGKILL)', 'FAILED', null, { exitCode: 137, signal: 'SIGKILL' }],
  'sys.exit(137)': ['sys.exit(137)', 'FAILED', null, { exitCode: 137, signal: null }],
  'stdin never read': ['print("done")', 'SUCCEEDED'],
};
for (const [name, [code, status, how, more]] of Object.entries(processes)) {
  test(`a program with ${name} is over when it ends`, { timeout: 180_000 }, async () => {
    await ready;
    let made;
    if (how === 'short') {
      const script = await publish('short', { 'main.py': does }, { timeoutSeconds: 2 });
      const own = await server.createRun(null, { tools: [{ name: 'script__*' }] });
      made = await tool('short', { code }, { where: { run: own.id } });
      assert.equal(made.text, 'The script was stopped after 2 seconds.\nstdout:\nwaits\nstderr:\n\n');
      await allIsWell({ run: own.id });
      await server.finishRun(own);
      assert.ok(script.id);
    } else {
      made = await python(code);
    }
    if (status) assert.equal(made.status, status, made.text);
    if (more) for (const [key, value] of Object.entries(more)) assert.equal(made[key], value);
    assert.equal(/^signal: /m.test(made.text), more?.signal != null);
    await allIsWell();
  });
}

test('a full folder of outputs does not keep the next call from starting', { timeout: 120_000 }, async () => {
  await python('open("/workspace/kept", "w").write("kept")');
  const made = await python('try:\n    with open(OUT + "/full", "wb", 0) as f:\n        while True: f.write(b"x" * (1 << 20))\nexcept OSError as e: print(e.strerror)');
  assert.equal(made.stdout, 'No space left on device\n', made.text);
  assert.deepEqual(made.leftOnComputer, ['full']);
  await allIsWell();
  assert.equal((await python('print(open("/workspace/kept").read())')).stdout, 'kept\n');
});

test('900 KB of arguments', { timeout: 120_000 }, async () => {
  const made = await tool('does', { code: 'print(len(sys.stdin.read()), "GUILDS_SCRIPT_ARGS" in os.environ)', more: 'x'.repeat(900_000) });
  assert.equal(made.status, 'SUCCEEDED', made.text.slice(0, 500));
  assert.match(made.stdout, /^9000\d\d False\n$/);
  await allIsWell();
});

test('S2-direct1: a direct call leaves nothing behind', { timeout: 120_000 }, async () => {
  const direct = { where: {} };
  const first = await python('open("/workspace/mine", "w").write("x"); open(OUT + "/made", "w").write("made"); print(os.listdir("/workspace"))', direct);
  assert.equal(first.run, null);
  assert.deepEqual(first.artifacts.map((a) => a.name), ['made']);
  const second = await python('print(os.path.exists("/workspace/mine"))', direct);
  assert.equal(second.stdout, 'False\n');
  await allIsWell();
});

test('S2-direct: 50 direct calls at once', { timeout: 180_000 }, async () => {
  const all = await Promise.all(Array.from({ length: 50 }, (_, n) => python(`print(${n})`, { where: {} })));
  all.forEach((made, n) => assert.equal(made.stdout, `${n}\n`, made.text));
});

test('after the run nothing of its computer is left', { timeout: 60_000 }, async () => {
  await server.finishRun(run);
  await until(10_000, 'its computer is gone', async () => (await tool('well', {}, { where: {} })).status === 'SUCCEEDED');
});

test('a call behind one that left sockets nobody can close gets another computer', { timeout: 120_000 }, async () => {
  const where = { run: (await server.createRun(null, { tools: [{ name: 'script__*' }] })).id };
  const left = await python('import socket\na, b = socket.socketpair()\nsocket.send_fds(a, [b"x"], [b.fileno()])\nopen("/workspace/there", "w").close()\nprint("left")', { where });
  assert.equal(left.text, 'exit_code: 0\nstdout:\nleft\nstderr:\n\n');
  assert.equal((await python('print(os.path.exists("/workspace/there"))', { where })).text, 'exit_code: 0\nstdout:\nFalse\nstderr:\n\n');
  await allIsWell(where);
});
