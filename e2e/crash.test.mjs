// kill -9 of the server in the middle of a call: what the next start finds, and what it leaves.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { graphqlWS, run as subscribe } from './clients.mjs';
import { Output, descendants, executable, outputDocument, remains, shared, startServer, until, within } from './harness.mjs';

const sentence = 'The computer was lost before the script finished.';

// Prints for ever, with a child that has gone its own way and takes no SIGTERM.
const endless = `
import os, signal, time

if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork() == 0:
        time.sleep(3600)
    os._exit(0)
n = 0
while True:
    print(f"line {n}")
    n += 1
    time.sleep(0.005)
`;

/** The folders of runner starts below a data folder, and the cgroups that they name. */
function starts(data) {
  const found = [];
  const walk = (path, depth) => {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      if (!entry.isDirectory() || depth > 4) continue;
      const below = join(path, entry.name);
      if (existsSync(join(below, 'bundles'))) {
        const file = join(below, 'cgroup');
        found.push({ folder: below, cgroup: existsSync(file) ? readFileSync(file, 'utf8') : null });
      } else walk(below, depth + 1);
    }
  };
  walk(data, 0);
  return found;
}

function follow(t, at, call, from) {
  const client = graphqlWS(at.ws, at.secret);
  t.after(() => client.dispose());
  const output = new Output(from);
  const done = subscribe(client, outputDocument, { call: call.id, after: from?.cursor ?? null }, (data) => output.add(data.callOutput));
  done.catch(() => {});
  return { output, done };
}

/** A server with a call that prints for ever, killed in the middle: what was there before. */
async function killed(t, server) {
  const agent = await server.createAgent('crash');
  await server.saveScript(agent, 'endless', endless);
  await server.saveScript(agent, 'short', 'print("again")');
  const run = await server.createRun(agent);
  const call = await server.callScript(run, 'endless');
  const waiting = await server.callScript(run, 'short'); // it waits for its turn
  const { output, done } = follow(t, server, call);
  await within(60_000, 'a part of the output', output.reaches((o) => o.sizes.STDOUT > 400));

  const family = descendants(server.pid);
  const runscs = family.filter((p) => executable(p.pid)?.endsWith('/runsc'));
  assert.ok(runscs.length > 0, 'a runsc process runs below the server');
  const before = starts(server.data);
  assert.ok(before.length > 0, 'there is a folder of this start');
  await server.signal('SIGKILL');
  await done.catch(() => {});
  assert.equal(output.finished, null);
  return { agent, run, call, waiting, output, family, before };
}

test('kill -9 in the middle of a call, then the next start', { timeout: 240_000 }, async (t) => {
  const server = await startServer({ name: 'crash, killed' });
  let next;
  t.after(async () => {
    if (next?.child.exitCode === null) await next.signal('SIGTERM');
    await server.stop();
  });
  const was = await killed(t, server);
  next = await startServer({ name: 'crash, started again', data: server.data, database: server.database });

  await t.test('no process, mount, cgroup or folder of the killed start is left', async () => {
    for (const { folder, cgroup } of was.before) {
      await until(20_000, `${folder} is gone`, () => !existsSync(folder)).catch((error) => {
        throw new Error(`${error.message}: ${readdirSync(folder)}`);
      });
      if (cgroup) assert.ok(!existsSync(cgroup), `${cgroup} is gone`);
      // The names of processes and mounts (null-netns among them) hold the folder.
      assert.deepEqual(remains(folder, was.family), []);
    }
  });

  const call = await next.callIs(was.call.id, ['LOST'], 60_000);
  await t.test('the call is LOST, with its sentence', () => {
    assert.equal(call.errorCode, 'COMPUTER_LOST');
    assert.equal(call.text.split('\n')[0], sentence);
    assert.equal(call.exitCode, null);
  });
  await t.test('its output is readable, from the start and from the cursor that a reader had', async () => {
    const whole = follow(t, next, was.call);
    const rest = follow(t, next, was.call, was.output);
    for (const { output, done } of [whole, rest]) {
      await within(30_000, 'the output', done);
      const text = output.bytes('STDOUT').toString();
      const lines = text.split('\n');
      lines.pop(); // the last line may be cut
      assert.deepEqual(lines, [...lines.keys()].map((n) => `line ${n}`));
      assert.ok(output.sizes.STDOUT >= was.output.sizes.STDOUT, 'nothing that a reader had is lost');
      output.prove({ STDOUT: Buffer.from(text), STDERR: Buffer.alloc(0) });
    }
    assert.equal(call.stdout.startsWith('line 0\nline 1\n'), true, 'the text for the model holds it, too');
  });
  await t.test('a call that waited has an end, too', async () => {
    const ended = await next.callIs(was.waiting.id, ['LOST', 'SUCCEEDED', 'CANCELLED'], 60_000);
    assert.ok(ended.text.length > 0);
  });
  await t.test('the run goes on, on a new computer', async () => {
    const again = await next.callScript(was.run, 'short', {}, { wait: true });
    assert.deepEqual([again.status, again.stdout], ['SUCCEEDED', 'again\n']);
    await next.finishRun(was.run);
  });
});

// What of a folder's start is on this machine: processes, mounts and cgroups.
function startRemains({ folder, cgroup }) {
  const left = remains(folder);
  if (cgroup && existsSync(cgroup)) left.push(`cgroup ${cgroup}`);
  return left;
}

test('kill -9 while 20 calls run, of the process that makes computers, and of the server', { timeout: 240_000 }, async (t) => {
  const many = 20;
  const server = await startServer({ name: 'crash, 20 calls', args: ['--spare-computers', '0'] });
  let next;
  t.after(async () => {
    if (next?.child.exitCode === null) await next.signal('SIGTERM');
    await server.stop();
  });
  const agent = await server.createAgent('crash');
  await server.saveScript(agent, 'endless', endless.replace('0.005', '0.2'));
  await server.saveScript(agent, 'short', 'print("again")');
  const runs = [];
  for (let i = 0; i < many; i++) runs.push(await server.createRun(agent));

  /** A call that runs on each of the runs, and has printed. */
  const everywhere = async () => {
    const calls = await Promise.all(runs.map((run) => server.callScript(run, 'endless')));
    for (const call of calls) {
      await until(60_000, `${call.id} prints`, async () => (await server.getCall(call.id)).output.stdoutBytes > 0);
    }
    return calls;
  };
  /** All calls are LOST within the time, with the sentence. */
  const lost = async (at, calls, ms) => {
    const deadline = Date.now() + ms;
    for (const { id } of calls) {
      const call = await at.callIs(id, ['LOST'], Math.max(deadline - Date.now(), 1));
      assert.deepEqual([call.errorCode, call.text.split('\n')[0], call.exitCode], ['COMPUTER_LOST', sentence, null]);
    }
  };

  await t.test('the process that makes computers', async () => {
    const calls = await everywhere();
    const [runner] = descendants(server.pid); // the server's only child
    assert.ok(executable(runner.pid)?.endsWith('/runsc'), 'it is the one');
    const [before] = starts(server.data);
    const family = descendants(runner.pid);
    assert.ok(family.length >= many, `${family.length} processes below it`);
    process.kill(runner.pid, 'SIGKILL');
    const killed = Date.now();
    await until(5_000, 'its sandboxes end', () => remains(before.folder, family).filter((line) => line.startsWith('process')).length === 0);
    await lost(server, calls, 30_000 - (Date.now() - killed));
    // The next call makes another one, which removes what is left; all runs go on.
    for (const run of runs) {
      const again = await server.callScript(run, 'short', {}, { wait: true });
      assert.deepEqual([again.status, again.stdout], ['SUCCEEDED', 'again\n']);
    }
    assert.deepEqual(startRemains(before), []);
    assert.ok(!existsSync(before.folder), 'and the folder of the old one');
  });

  await t.test('the server', async () => {
    const calls = await everywhere();
    const family = descendants(server.pid);
    const before = starts(server.data);
    await server.signal('SIGKILL');
    await until(5_000, 'nothing is left', () => [...remains(server.data, family), ...before.flatMap(startRemains)].length === 0).catch((error) => {
      throw new Error(`${error.message}:\n${[...remains(server.data, family), ...before.flatMap(startRemains)].join('\n')}`);
    });
    next = await startServer({ name: 'crash, 20 calls, started again', data: server.data, database: server.database });
    await lost(next, calls, 30_000);
    for (const { folder } of before) assert.ok(!existsSync(folder), `${folder} is gone`);
    const again = await next.callScript(runs[0], 'short', {}, { wait: true });
    assert.deepEqual([again.status, again.stdout], ['SUCCEEDED', 'again\n']);
  });
});

if (shared) {
  test('kill -9 of one server: another one ends its call', { timeout: 240_000 }, async (t) => {
    const server = await startServer({ name: 'crash, killed beside another' });
    const other = await startServer({ name: 'crash, the other', beside: server });
    t.after(async () => {
      await other.stop();
      await server.stop();
    });
    const seen = { before: null };
    Object.assign(seen, await killed(t, server));
    const live = follow(t, other, seen.call);
    const call = await other.callIs(seen.call.id, ['LOST'], 90_000);
    assert.equal(call.errorCode, 'COMPUTER_LOST');
    await within(30_000, "the other server's stream ends", live.done);
    assert.equal(live.output.finished.status, 'LOST');
    const again = await other.callScript(seen.run, 'short', {}, { wait: true });
    assert.deepEqual([again.status, again.stdout], ['SUCCEEDED', 'again\n'], 'the run goes on at the other server');
    await other.finishRun(seen.run);
    // What the killed server left on this machine is its own next start's to clean.
    const next = await startServer({ name: 'crash, started beside the other', data: server.data, beside: server });
    await next.signal('SIGTERM');
    for (const { folder } of seen.before) assert.ok(!existsSync(folder), `${folder} is gone from ${dirname(folder)}`);
  });
}
