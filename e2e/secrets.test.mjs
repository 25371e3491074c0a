// An agent's secrets from outside: in the environment of its calls, and nowhere else.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sha256, startServer } from './harness.mjs';

let server;
let agent;
before(async () => {
  server = await startServer({ name: 'secrets' });
  agent = await server.createAgent('secrets');
});
after(() => server?.stop());

const setDocument = `mutation($input: AgentSecretSetInput!) {
  agentSecretSet(input: $input) { secret { name description } created userErrors { code message path } }
}`;
const set = (name, value) => server.mutate(setDocument, { agent: agent.id, name, description: `${name}, for a test`, value });

const value = 's3cret-value-äöü\nof-two-lines';

/** What a script prints by ways that differ: all of them are masked alike. */
const ways = {
  'at once': 'out.write(secret)',
  'in two writes': 'out.write(secret[:9]); out.flush(); out.write(secret[9:])',
  'byte by byte': 'for i in range(len(secret)):\n        out.write(secret[i:i+1]); out.flush()',
};

test('a secret is masked, however it is printed', { timeout: 120_000 }, async () => {
  await set('SHOP_TOKEN', 'one that is replaced');
  assert.deepEqual(await set('SHOP_TOKEN', value), {
    secret: { name: 'SHOP_TOKEN', description: 'SHOP_TOKEN, for a test' },
    created: false,
    userErrors: [],
  });
  for (const [i, [way, print]] of Object.entries(ways).entries()) {
    const source = `import os, sys
secret = os.environb[b"SHOP_TOKEN"]
for out in (sys.stdout.buffer, sys.stderr.buffer):
    out.write(b"x" * 16380)
    ${print}
    out.write(b"|" + secret + secret[:10])
    out.flush()
`;
    await server.saveScript(agent, `prints_${i}`, source);
    const run = await server.createRun(agent, { environment: { SHOP_TOKEN: 'of the run' } });
    const want = `${'x'.repeat(16380)}***|***s3cret-val`;
    let call;
    // A machine that pauses the program for more than 20 ms in the middle shows a beginning, as it must: then it is printed again.
    for (let attempt = 0; attempt < 5 && call?.output.stdoutSha256 !== sha256(want); attempt += 1) {
      call = await server.callScript(run, `prints_${i}`, {}, { wait: true });
      assert.equal(call.status, 'SUCCEEDED', call.text);
      assert.ok(!JSON.stringify(call).includes('of-two-lines'), `${way}: the end of the value is shown`);
    }
    assert.equal(call.output.stdoutSha256, sha256(want), `${way}: ${call.stdout.slice(16380)}`);
    assert.equal(call.output.stdoutBytes, String(want.length));
    const raw = await fetch(server.url + call.output.url + '?stream=STDOUT', { headers: server.authorization });
    assert.equal(await raw.text(), want);
    assert.ok(call.text.includes('***|***s3cret-val'), call.text.slice(-200));
    await server.finishRun(run);
  }
});

/** The files below a folder with what is in them: path → bytes. */
function files(folder) {
  const found = new Map();
  for (const name of readdirSync(folder, { recursive: true })) {
    const path = join(folder, name);
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) continue;
    try {
      found.set(path, readFileSync(path));
    } catch (error) {
      // A namespace, which gVisor keeps as a mount, cannot be read; and files of computers come and go.
      if (!['EINVAL', 'ENOENT'].includes(error.code)) throw error;
    }
  }
  return found;
}

test('a secret is in no file and no log of the server', { timeout: 60_000 }, async () => {
  await set('ON_DISK', 'looked-for-on-the-disk');
  await server.saveScript(agent, 'leaks', 'import os\nprint(os.environ["ON_DISK"])\nraise SystemExit(os.environ["ON_DISK"])\n');
  const run = await server.createRun(agent);
  const call = await server.callScript(run, 'leaks', {}, { wait: true });
  assert.equal(call.text, 'exit_code: 1\nstdout:\n***\nstderr:\n***\n');
  const all = files(server.data);
  assert.ok(all.has(join(server.data, 'secrets.key')) && all.size > 3, [...all.keys()].join());
  for (const [path, bytes] of all) assert.ok(!bytes.includes('looked-for-on-the-disk'), `it is in ${path}`);
  assert.ok(!server.log.text.includes('looked-for-on-the-disk'));
  const { agentSecretDelete } = await server.ask(
    'mutation($id: ID!) { agentSecretDelete(input: { agent: $id, name: "ON_DISK" }) { deletedId agent { secrets { name } } userErrors { code } } }',
    { id: agent.id },
  );
  assert.deepEqual(agentSecretDelete, { deletedId: 'ON_DISK', agent: { secrets: [{ name: 'SHOP_TOKEN' }] }, userErrors: [] });
  const without = await server.callScript(run, 'leaks', {}, { wait: true });
  assert.ok(without.stderr.includes("KeyError: 'ON_DISK'"), without.text);
  await server.finishRun(run);
});
