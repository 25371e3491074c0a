// An agent's scripts on real computers: what a run executes while its scripts are created, replaced and deleted, by people and by itself.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { callDocument, callFields, sha256, startServer, until } from './harness.mjs';

let server;
before(async () => {
  server = await startServer({ name: 'scripts' });
});
after(() => server?.stop());

const any = { type: 'object' };
const fields = `${callFields} script { id name } version { number sourceHash }`;
const document = callDocument.replace(callFields, fields);

/** Calls a tool and answers the call when it has ended. */
async function tool(run, name, args, more = {}) {
  const { call } = await server.mutate(document, { run: run.id, name, arguments: args, wait: true, ...more });
  return call;
}

/** What script_run of a script prints; where it does not run, its error code. */
async function prints(run, name) {
  const call = await tool(run, 'script_run', { name });
  return call.errorCode ?? call.stdout;
}

const create = (run, name, source, more = {}) => tool(run, 'script_create', { name, description: `${name}, for a test`, source, ...more });

/** A script that lists the agent's scripts folder. */
const lists = 'import os\nprint(" ".join(sorted(os.listdir("scripts"))))\n';

test('TestS1Five, TestS1Newlive: an agent writes a script in its run, and calls it by its own name in the next', { timeout: 120_000 }, async () => {
  const agent = await server.createAgent('writes');
  const run = await server.createRun(agent);
  const source = 'import json, sys\nn = json.load(sys.stdin)["n"]\nprint(sum(range(n)))\n';
  const parameters = { type: 'object', properties: { n: { type: 'integer', minimum: 0 } }, required: ['n'] };
  const made = await create(run, 'total', source, { parameters });
  assert.equal(made.status, 'SUCCEEDED', made.text);
  assert.equal(
    made.text,
    'Created the script total, version 1.\nscript_run runs it from now on.\nFrom the next run on it is also a tool of its own, under the name total.\n',
  );
  assert.deepEqual([made.script.name, made.version.sourceHash], ['total', sha256(source)]);
  assert.equal((await tool(run, 'script_run', { name: 'total', arguments: { n: 5 } })).stdout, '10\n');
  assert.equal((await tool(run, 'total', { n: 5 })).errorCode, 'UNKNOWN_TOOL');
  assert.equal((await create(run, 'total', source.replace('sum', '-sum'), { parameters })).status, 'SUCCEEDED');
  assert.equal((await tool(run, 'script_run', { name: 'total', arguments: { n: 5 } })).stdout, '-10\n', 'it runs from live source');
  const read = await tool(run, 'script_read', { name: 'total' });
  assert.ok(read.text.endsWith(`source, ${source.length + 1} bytes:\n${source.replace('sum', '-sum')}`), read.text);
  const next = await server.createRun(agent);
  assert.equal((await tool(next, 'total', { n: 4 })).stdout, '-6\n');
  assert.equal((await tool(next, 'total', { n: -1 })).text, 'Tool arguments were not valid.\n/n: minimum');
  for (const r of [run, next]) await server.finishRun(r);
});

test('TestS1Snaprun, TestS1Editnext: a run executes its snapshot though the script is replaced', { timeout: 120_000 }, async () => {
  const agent = await server.createAgent('edits');
  await server.saveScript(agent, 'deck', 'print(1)\n', { parameters: any });
  const run = await server.createRun(agent);
  for (const n of [2, 3]) {
    const told = await create(run, 'deck', `print(${n})\n`, { parameters: any });
    assert.equal(
      told.text,
      `Replaced the script deck: it is version ${n} now.\nThis run goes on with version 1, which it began with; version ${n} takes effect from the next run.\n`,
    );
    assert.equal(await prints(run, 'deck'), '1\n');
    const own = await tool(run, 'deck', {});
    assert.deepEqual([own.stdout, own.version.number], ['1\n', 1]);
  }
  const next = await server.createRun(agent);
  assert.equal(await prints(next, 'deck'), '3\n');
  for (const r of [run, next]) await server.finishRun(r);
});

test('TestS1Delnow: deletion stops a call at once, and the name runs nothing until it is created again', { timeout: 120_000 }, async () => {
  const agent = await server.createAgent('deletes');
  await server.saveScript(agent, 'sleeps', 'import time\nprint("asleep", flush=True)\ntime.sleep(3600)\n', { parameters: any });
  await server.saveScript(agent, 'lists', lists);
  const run = await server.createRun(agent);
  const begin = () => tool(run, 'sleeps', {}, { wait: false });
  const running = await begin();
  await until(30_000, 'it prints', async () => (await server.getCall(running.id)).output.stdoutBytes === '7');
  const waiting = await begin();
  const begun = Date.now();
  assert.equal((await tool(run, 'script_delete', { name: 'sleeps' })).status, 'SUCCEEDED');
  const stopped = await server.callIs(running.id, ['CANCELLED'], 15_000);
  const took = Date.now() - begun;
  assert.ok(took < 10_000, `it took ${took} ms`);
  assert.deepEqual([stopped.errorCode, stopped.text], ['SCRIPT_DELETED', 'The script was deleted, and stopped.\nstdout:\nasleep\nstderr:\n\n']);
  const never = await server.callIs(waiting.id, ['CANCELLED'], 15_000);
  assert.deepEqual([never.errorCode, never.text], ['SCRIPT_DELETED', 'The script was deleted, and stopped.']);
  assert.equal(await prints(run, 'lists'), 'lists.py\n', 'it has left the home');
  assert.equal(await prints(run, 'sleeps'), 'UNKNOWN_TOOL');
  assert.equal((await tool(run, 'sleeps', {})).errorCode, 'UNKNOWN_TOOL');
  for (const n of [1, 2, 3]) {
    await create(run, 'sleeps', `print("anew ${n}")\n`);
    assert.equal(await prints(run, 'sleeps'), `anew ${n}\n`);
    assert.equal(await prints(run, 'lists'), 'lists.py sleeps.py\n');
    await tool(run, 'script_delete', { name: 'sleeps' });
    assert.equal(await prints(run, 'lists'), 'lists.py\n');
  }
  await server.finishRun(run);
});

test('TestS1DelnowRace: calls, deletions and creations of one name at once', { timeout: 180_000 }, async () => {
  const agent = await server.createAgent('races');
  const run = await server.createRun(agent);
  for (let round = 0; round < 8; round++) {
    await server.saveScript(agent, 'brief', `print(${round})\n`);
    const calls = Array.from({ length: 4 }, () => tool(run, 'script_run', { name: 'brief' }));
    const gone = tool(run, 'script_delete', { name: 'brief' });
    for (const call of await Promise.all(calls)) {
      const ran = call.status === 'SUCCEEDED' && call.stdout === `${round}\n`;
      assert.ok(ran || ['SCRIPT_DELETED', 'UNKNOWN_TOOL'].includes(call.errorCode), `round ${round}: ${call.status} ${call.text}`);
    }
    assert.equal((await gone).status, 'SUCCEEDED');
  }
  await server.finishRun(run);
});

test('TestS1Mat: a source of 900 KB is replaced 50 times while 50 calls print its SHA-256: each sees one whole version', { timeout: 300_000 }, async () => {
  const agent = await server.createAgent('whole');
  const run = await server.createRun(agent); // the script comes after it: each save reaches the running machine
  const source = (n) => {
    const code = `N = ${n}\nimport hashlib\nprint(N, hashlib.sha256(open(__file__, "rb").read()).hexdigest())\n`;
    return code + `# ${String(n).padStart(61, '.')}\n`.repeat(Math.floor((900_000 - code.length) / 64));
  };
  const hashes = new Map(); // by N
  const save = async (n) => {
    const text = source(n);
    hashes.set(n, sha256(text));
    const { version } = await server.saveScript(agent, 'whole', text);
    assert.equal(version.sourceHash, hashes.get(n));
  };
  await save(0);
  const seen = [];
  await Promise.all([
    (async () => {
      for (let n = 1; n <= 50; n++) await save(n);
    })(),
    (async () => {
      for (let i = 0; i < 50; i++) seen.push(await tool(run, 'script_run', { name: 'whole' }));
    })(),
  ]);
  for (const call of seen) {
    assert.equal(call.status, 'SUCCEEDED', call.text);
    const [n, hash] = call.stdout.trim().split(' ');
    assert.equal(hash, hashes.get(Number(n)), `what ran was version ${n}, what it read ${hash}`);
    assert.equal(hash, call.version.sourceHash, 'it is the version that the call names');
  }
  assert.ok(new Set(seen.map((call) => call.version.number)).size > 1, 'the calls met several versions');
  await server.finishRun(run);
});
