// The main thread from outside: a script is saved, a run takes its snapshot, a call runs it, and the model reads its text.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { callDocument, callFields, sha256, startServer, until } from './harness.mjs';

let server;
let agent;
before(async () => {
  server = await startServer({ name: 'thread' });
  agent = await server.createAgent('thread');
});
after(() => server?.stop());

const any = { type: 'object' };

/** Saves a script and answers a new run that has it. */
async function withScript(name, source, parameters) {
  await server.saveScript(agent, name, source, { parameters });
  return server.createRun(agent);
}

/** Calls a tool with arguments of exactly these bytes. */
async function callRaw(run, name, argumentBytes) {
  const body = `{"query":${JSON.stringify(callDocument)},"variables":{"input":{"run":"${run.id}","name":"${name}","wait":true,"arguments":${argumentBytes}}}}`;
  const answer = await server.send(body);
  assert.equal(answer.body.errors, undefined, JSON.stringify(answer.body.errors));
  assert.deepEqual(answer.body.data.toolCall.userErrors, []);
  return answer.body.data.toolCall.call;
}

test('arguments reach the script with their very bytes', { timeout: 60_000 }, async () => {
  const run = await withScript('echo', 'import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())\n', any);
  for (const bytes of [
    '{"z": 1.0, "a":9007199254740993,  "big":1e400, "nul":"\\u0000", "text":"\\u00e9é😀", "z2":[ ], "deep":{"b":1,"a":2}}',
    '{}',
  ]) {
    const call = await callRaw(run, 'echo', bytes);
    assert.equal(call.status, 'SUCCEEDED', call.text);
    assert.equal(call.stdout, bytes);
    assert.equal(call.output.stdoutSha256, sha256(bytes));
  }
  const none = await server.mutate(callDocument, { run: run.id, name: 'echo', wait: true });
  assert.equal(none.call.stdout, '{}', 'no arguments are an empty object');
  const text = await callRaw(run, 'echo', JSON.stringify('{"a": 1.50}'));
  assert.equal(text.stdout, '{"a": 1.50}', 'a string that holds an object is that object');
  for (const bytes of ['[1]', '"[1]"', '"no JSON"', '7', 'true']) {
    const call = await callRaw(run, 'echo', bytes);
    assert.deepEqual([call.status, call.errorCode, call.text], ['REFUSED', 'INVALID_ARGUMENTS', 'arguments must be a JSON object'], bytes);
  }
  await server.finishRun(run);
});

test('what the model reads', { timeout: 60_000 }, async () => {
  const run = await withScript('fails', 'import sys\nprint("out")\nprint("err", end="", file=sys.stderr)\nsys.exit(3)\n');
  const call = await server.callScript(run, 'fails', {}, { wait: true });
  assert.deepEqual([call.status, call.errorCode, call.exitCode, call.signal], ['FAILED', null, 3, null]);
  assert.equal(call.text, 'exit_code: 3\nstdout:\nout\nstderr:\nerr\n');
  assert.deepEqual([call.stdout, call.stderr, call.truncated], ['out\n', 'err', false]);

  await server.saveScript(agent, 'killed', 'import os\nprint("x", flush=True)\nos.kill(os.getpid(), 9)\n');
  const killed = await server.callScript(run, 'killed', {}, { wait: true });
  assert.deepEqual([killed.status, killed.exitCode, killed.signal], ['FAILED', 137, 'SIGKILL']);
  assert.ok(killed.text.startsWith('exit_code: 137\nsignal: SIGKILL\nstdout:\nx\n'), killed.text);
  await server.finishRun(run);
});

test('arguments are checked first, and nothing runs', { timeout: 60_000 }, async () => {
  const parameters = {
    type: 'object',
    required: ['slides'],
    properties: { slides: { type: 'array', items: { type: 'object', required: ['heading'], properties: { heading: { type: 'string' } } } } },
  };
  const run = await withScript('slides', 'print("ran")\n', parameters);
  const call = await callRaw(run, 'slides', '{"slides":[{"heading":"a"},{"title":"b"}]}');
  assert.deepEqual([call.status, call.errorCode, call.stdout], ['REFUSED', 'INVALID_ARGUMENTS', '']);
  assert.equal(call.text, 'Tool arguments were not valid.\n/slides/1/heading: required');
  const missing = await callRaw(run, 'no_such_tool', '{}');
  assert.deepEqual([missing.status, missing.errorCode, missing.text], ['REFUSED', 'UNKNOWN_TOOL', 'There is no tool of this name in this run.']);
  await server.finishRun(run);
});

test('a run keeps its snapshot; new scripts run from the live catalog', { timeout: 60_000 }, async () => {
  const run = await withScript('edited', 'print("first")\n', any);
  const saved = await server.saveScript(agent, 'edited', 'print("second")\n', { parameters: any });
  assert.deepEqual([saved.created, saved.takesEffect, saved.version.number], [false, 'NEXT_RUN', 2]);
  assert.equal((await callRaw(run, 'edited', '{}')).stdout, 'first\n');
  const late = await server.saveScript(agent, 'latecomer', 'print("late")\n', { parameters: any });
  assert.deepEqual([late.created, late.takesEffect], [true, 'NOW']);
  assert.equal((await server.callScript(run, 'latecomer', {}, { wait: true })).stdout, 'late\n');
  assert.equal((await callRaw(run, 'latecomer', '{}')).errorCode, 'UNKNOWN_TOOL', 'its own tool comes with the next run');
  const next = await server.createRun(agent);
  assert.equal((await callRaw(next, 'edited', '{}')).stdout, 'second\n');
  assert.equal((await callRaw(next, 'latecomer', '{}')).stdout, 'late\n');
  const data = await server.ask('query($id: ID!) { run(id: $id) { tools { name definition(format: MCP) } snapshot { entries { name version } } } }', {
    id: run.id,
  });
  const names = data.run.tools.map((tool) => tool.name);
  assert.ok(names.includes('edited') && names.includes('script_run') && !names.includes('latecomer'), names.join());
  assert.ok(data.run.tools.every((tool) => tool.definition.name === tool.name && tool.definition.inputSchema.type === 'object'));
  assert.equal(data.run.snapshot.entries.find((e) => e.name === 'edited').version, 1);
  for (const r of [run, next]) await server.finishRun(r);
});

test('a call that is cancelled', { timeout: 60_000 }, async () => {
  const run = await withScript('sleeps', 'import time\nprint("asleep", flush=True)\ntime.sleep(3600)\n');
  const call = await server.callScript(run, 'sleeps');
  await until(30_000, 'it prints', async () => (await server.getCall(call.id)).output.stdoutBytes === '7');
  const document = `mutation($input: CallCancelInput!) { callCancel(input: $input) { call { ${callFields} } userErrors { code message path } } }`;
  await server.mutate(document, { call: call.id });
  const ended = await server.callIs(call.id, ['CANCELLED'], 15_000);
  assert.equal(ended.errorCode, 'CANCELLED');
  assert.ok(ended.text.startsWith('The call was cancelled.\n'), ended.text);
  assert.equal(ended.stdout, 'asleep\n');
  const again = await server.mutate(document, { call: call.id });
  assert.deepEqual(again.call, ended, 'an ended call is answered unchanged');
  await server.finishRun(run);
});

test('a time limit stops everything that a call started', { timeout: 90_000 }, async () => {
  const { secret } = await server.mutate(
    'mutation($input: KeyCreateInput!) { keyCreate(input: $input) { secret userErrors { code message path } } }',
    { name: 'hasty', capabilities: ['TOOLING', 'COMPUTER'], execTimeoutSeconds: 2 },
  );
  const source = `
import os, signal, time
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork() == 0:
        time.sleep(3600)
    os._exit(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("stubborn", flush=True)
time.sleep(3600)
`;
  const list = `
import os
print(sorted(int(p) for p in os.listdir("/proc") if p.isdigit() and open(f"/proc/{p}/cmdline").read().count("stubborn")))
`;
  await server.saveScript(agent, 'stubborn', source);
  const run = await withScript('list', list);
  const input = { run: run.id, name: 'script_run', arguments: { name: 'stubborn' }, wait: true };
  const { call } = await server.mutate(callDocument, input, { secret });
  assert.deepEqual([call.status, call.errorCode], ['TIMED_OUT', 'TIMED_OUT']);
  assert.ok(call.text.startsWith('The script was stopped after 2 seconds.\n'), call.text);
  assert.equal(call.stdout, 'stubborn\n');
  assert.equal((await server.callScript(run, 'list', {}, { wait: true })).stdout, '[]\n');
  await server.finishRun(run);
});

test('a client that goes away does not cancel the call that it waits for', { timeout: 60_000 }, async () => {
  const run = await withScript('goes-on', 'import time\nprint("began", flush=True)\ntime.sleep(2)\nprint("ended")\n');
  const controller = new AbortController();
  const gone = fetch(server.graphql, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...server.authorization },
    body: JSON.stringify({ query: callDocument, variables: { input: { run: run.id, name: 'script_run', arguments: { name: 'goes-on' }, wait: true } } }),
    signal: controller.signal,
  });
  gone.catch(() => {});
  const call = await until(30_000, 'the call prints', async () => {
    const { run: r } = await server.ask('query($id: ID!) { run(id: $id) { calls(first: 1) { nodes { id output { stdoutBytes } } } } }', { id: run.id });
    return r.calls.nodes.find((c) => c.output.stdoutBytes !== '0');
  });
  controller.abort();
  await assert.rejects(gone, { name: 'AbortError' });
  const ended = await server.callIs(call.id, ['SUCCEEDED', 'FAILED', 'CANCELLED', 'LOST'], 30_000);
  assert.deepEqual([ended.status, ended.stdout], ['SUCCEEDED', 'began\nended\n']);
  await server.finishRun(run);
});

test('20 equal requests with one idempotencyKey are one call', { timeout: 60_000 }, async () => {
  const run = await withScript('once', 'print("once")\n');
  const input = { run: run.id, name: 'script_run', arguments: { name: 'once' }, wait: true, idempotencyKey: `once-${run.id}` };
  const payloads = await Promise.all([...Array(20)].map(() => server.mutate(callDocument, input)));
  assert.equal(new Set(payloads.map((p) => p.call.id)).size, 1);
  const data = await server.ask('query($id: ID!) { run(id: $id) { calls { totalCount } } }', { id: run.id });
  assert.equal(data.run.calls.totalCount, 1);
  await server.finishRun(run);
});

for (const [what, runsc] of [
  ['a runsc that fails', () => '/bin/false'],
  ['a runsc that is not there', (folder) => join(folder, 'nothing')],
]) {
  test(`no computers, because of ${what}: NOT_CONFIGURED, and nothing runs on this machine`, { timeout: 120_000 }, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'scriptorium-marker-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const own = await startServer({ name: what, args: ['--runsc', runsc(folder)] });
    t.after(() => own.stop());
    const { deployment } = await own.ask('{ deployment { image { digest } } }');
    assert.equal(deployment.image, null);
    const owner = await own.createAgent('nowhere');
    const marker = join(folder, 'marker');
    await own.saveScript(owner, 'marks', `open(${JSON.stringify(marker)}, "w").write("here")\n`);
    const run = await own.createRun(owner);
    const call = await own.callScript(run, 'marks', {}, { wait: true });
    assert.deepEqual(
      [call.status, call.errorCode, call.text, call.exitCode],
      ['REFUSED', 'NOT_CONFIGURED', 'This tool is not configured on this deployment.', null],
    );
    const answer = await own.post(
      'mutation($input: RunGenerationStartInput!) { runGenerationStart(input: $input) { run { id } userErrors { code ... on NotConfigured { reasonCode } } } }',
      { input: { run: run.id } },
    );
    assert.deepEqual(answer.body.data.runGenerationStart, { run: null, userErrors: [{ code: 'NOT_CONFIGURED', reasonCode: 'computer_not_configured' }] });
    assert.equal(existsSync(marker), false);
    await own.finishRun(run);
  });
}
