// Rules of an agent's scripts that only a real computer can show, each under its id.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { callDocument, callFields, sha256, startServer } from './harness.mjs';

let server;
before(async () => {
  server = await startServer({ name: 'rules' });
});
after(() => server?.stop());

const any = { type: 'object' };
const generationDocument =
  'mutation($input: RunGenerationStartInput!) { runGenerationStart(input: $input) { run { generation } materialised removed userErrors { code message path } } }';
const deleteDocument = 'mutation($input: AgentScriptDeleteInput!) { agentScriptDelete(input: $input) { deletedId userErrors { code message path } } }';

async function started(scripts, more = {}, at = server) {
  const agent = await at.createAgent('rules');
  for (const [name, source] of Object.entries(scripts)) await at.saveScript(agent, name, source, more);
  return { agent, run: await at.createRun(agent) };
}

async function tool(run, name, args, at = server) {
  const { call } = await at.mutate(callDocument, { run: run.id, name, arguments: args, wait: true });
  return call;
}

/** Starts a generation. */
const generation = (run) => server.mutate(generationDocument, { run: run.id });

const tells = `import os, stat
print(os.getcwd())
for n in sorted(os.listdir("scripts")):
    s = os.lstat("scripts/" + n)
    print(n, s.st_uid, oct(s.st_mode))
`;

test('TestS1Home: each run has the scripts in the scripts folder of the agent\'s home', { timeout: 60_000 }, async () => {
  const { agent, run } = await started({ tells, other: 'pass' });
  const call = await tool(run, 'script_run', { name: 'tells' });
  assert.equal(call.stdout, `/home/${agent.id}\nother.py 0 0o100444\ntells.py 0 0o100444\n`);
  await server.finishRun(run);
});

test('TestS1Stdin: arguments come as JSON on standard input, {} where there are none', { timeout: 60_000 }, async () => {
  const { run } = await started({ echoes: 'import sys\nsys.stdout.write(sys.stdin.read())\n' }, { parameters: any });
  assert.equal((await tool(run, 'echoes', { a: [1, 'ü'] })).stdout, '{"a":[1,"ü"]}');
  for (const args of [{ name: 'echoes' }, { name: 'echoes', arguments: {} }]) assert.equal((await tool(run, 'script_run', args)).stdout, '{}');
  await server.finishRun(run);
});

test('TestS1Argstr: arguments as a string are parsed; what is no object is refused', { timeout: 60_000 }, async () => {
  const { run } = await started({ echoes: 'import sys\nsys.stdout.write(sys.stdin.read())\n' });
  const text = '{"n": 1.0, "deep": {"x": null}}';
  assert.equal((await tool(run, 'script_run', { name: 'echoes', arguments: text })).stdout, text);
  for (const args of ['[1]', '"text"', '12', 'null and void', '']) {
    const call = await tool(run, 'script_run', { name: 'echoes', arguments: args });
    assert.deepEqual([call.status, call.errorCode], ['REFUSED', 'INVALID_ARGUMENTS'], args);
    assert.equal(call.text, 'arguments must be a JSON object', args);
  }
  await server.finishRun(run);
});

test('TestS1Env: arguments are in GUILDS_SCRIPT_ARGS, on top of the usual environment', { timeout: 60_000 }, async () => {
  const { agent, run } = await started({
    shows: 'import json, os\nprint(json.dumps([os.environ["GUILDS_SCRIPT_ARGS"], os.environ["HOME"], os.environ["SCRIPTORIUM_RUN_ID"], open(os.environ["ARTIFIC_ARGUMENTS"]).read()]))\n',
  });
  const call = await tool(run, 'script_run', { name: 'shows', arguments: { a: 1 } });
  assert.deepEqual(JSON.parse(call.stdout), ['{"a":1}', `/home/${agent.id}`, run.id, '{"a":1}']);
  await server.finishRun(run);
});

test('TestS1Result: output and exit code are the tool\'s result, as they were printed', { timeout: 60_000 }, async () => {
  const { run } = await started({ speaks: 'import sys\nprint("out")\nprint("err", file=sys.stderr)\nsys.exit(3)\n' });
  const call = await tool(run, 'script_run', { name: 'speaks' });
  assert.deepEqual([call.status, call.errorCode, call.exitCode], ['FAILED', null, 3]);
  assert.equal(call.text, 'exit_code: 3\nstdout:\nout\nstderr:\nerr\n');
  assert.equal(call.output.stdoutSha256, sha256('out\n'));
  await server.finishRun(run);
});

test('TestS1Timeout: a run of a script has 120 seconds, and less where the deployment says so', { timeout: 90_000 }, async () => {
  const source = 'import time\nprint("up", flush=True)\ntime.sleep(600)\n';
  const { run } = await started({ quick: 'pass' });
  const { call } = await server.mutate(
    callDocument.replace(callFields, 'id status evidence { isolation { limits { timeoutSeconds } } }'),
    { run: run.id, name: 'script_run', arguments: { name: 'quick' }, wait: true },
  );
  assert.equal(call.evidence.isolation.limits.timeoutSeconds, 120);
  await server.finishRun(run);
  const hasty = await startServer({ name: 'rules, hasty', args: ['--call-timeout-limit', '2s'] });
  try {
    const { run: other } = await started({ sleeps: source, after: 'print("after")\n' }, {}, hasty);
    const late = await tool(other, 'script_run', { name: 'sleeps' }, hasty);
    assert.deepEqual([late.status, late.errorCode, late.exitCode], ['TIMED_OUT', 'TIMED_OUT', null]);
    assert.ok(late.text.startsWith('The script was stopped after 2 seconds.\nstdout:\nup\n') || late.text.startsWith('The script was stopped after 2 seconds.\n'), late.text);
    assert.equal((await tool(other, 'script_run', { name: 'after' }, hasty)).stdout, 'after\n');
  } finally {
    await hasty.stop();
  }
});

test('TestS1Mat, TestS1Matlive, TestS1Matprune: a generation writes the snapshot, then live scripts of other names, and removes what is neither', { timeout: 60_000 }, async () => {
  const { agent, run } = await started({ kept: 'print("one")\n', goes: 'pass', tells });
  const first = await generation(run);
  assert.deepEqual([first.run.generation, first.materialised.sort(), first.removed], [1, ['scripts/goes.py', 'scripts/kept.py', 'scripts/tells.py'], []]);
  await server.saveScript(agent, 'kept', 'print("two")\n');
  await server.saveScript(agent, 'lives', 'print("live")\n');
  await server.mutate(deleteDocument, { agent: agent.id, name: 'goes' });
  await generation(run);
  const call = await tool(run, 'script_run', { name: 'tells' });
  assert.equal(call.stdout, `/home/${agent.id}\nkept.py 0 0o100444\nlives.py 0 0o100444\ntells.py 0 0o100444\n`);
  assert.equal((await tool(run, 'script_run', { name: 'kept' })).stdout, 'one\n', 'the snapshot, not what is live');
  assert.equal((await tool(run, 'script_run', { name: 'lives' })).stdout, 'live\n');
  await server.finishRun(run);
});
