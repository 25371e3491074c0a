// The home of an agent that keeps it, on real computers: what goes on into the next run, what does not, and what programs plant there.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startServer, until } from './harness.mjs';

let server;
before(async () => {
  server = await startServer({ name: 'homes', args: ['--computer-idle', '1s'] });
});
after(() => server?.stop());

const update = 'mutation($input: AgentUpdateInput!) { agentUpdate(input: $input) { agent { id keepsHome } userErrors { code message path } } }';
const homeOf = 'query($id: ID!) { agent(id: $id) { keepsHome home { run { id } entries bytes leftOut keptAt } } }';

async function keeper(name, scripts) {
  const agent = await server.createAgent(name);
  await server.mutate(update, { agent: agent.id, keepsHome: true });
  for (const [n, source] of Object.entries(scripts)) await server.saveScript(agent, n, source);
  return agent;
}

async function kept(agent) {
  const { agent: found } = await server.ask(homeOf, { id: agent.id });
  return found.home;
}

async function run(agent, ...names) {
  const r = await server.createRun(agent);
  const printed = [];
  for (const name of names) {
    const call = await server.callScript(r, name, {}, { wait: true });
    assert.equal(call.status, 'SUCCEEDED', call.text);
    printed.push(call.stdout);
  }
  return { run: r, printed };
}

const makes = `import os
os.makedirs("data/deep/er")
open("data/deep/er/notes.txt", "w").write("remember")
open("tool.sh", "w").write("#!/bin/sh\\necho tool\\n"); os.chmod("tool.sh", 0o4755)
os.symlink("/etc/passwd", "data/link"); os.symlink("nowhere", "dangling")
os.mkfifo("pipe")
open("scripts/mine.py", "w").write("print('mine')")
open(b"strange \\xff\\n", "w").write("s")
os.link("tool.sh", "other name")
open("/workspace/gone", "w"); open("/tmp/gone", "w")
`;
const tells = `import os
for top, folders, files in os.walk("."):
    folders.sort()
    for n in sorted(folders + files):
        p = os.path.join(top, n)
        s = os.lstat(p)
        print(repr(p), oct(s.st_mode), s.st_uid, os.readlink(p) if os.path.islink(p) else "")
print(open("data/deep/er/notes.txt").read(), os.listdir("/workspace"), os.listdir("/tmp"))
`;

test('what programs made goes on into the next run', { timeout: 120_000 }, async () => {
  const agent = await keeper('keeps', { makes, tells });
  assert.equal(await kept(agent), null);
  const first = await run(agent, 'makes');
  await server.finishRun(first.run);
  const home = await kept(agent);
  assert.deepEqual([home.run.id, home.entries, home.leftOut], [first.run.id, 10, 1], 'the FIFO is left out');
  const second = await run(agent, 'tells');
  assert.equal(
    second.printed[0],
    [
      "'./dangling' 0o120777 1000 nowhere", "'./data' 0o40755 1000 ", "'./other name' 0o100755 1000 ", "'./scripts' 0o41777 0 ",
      "'./strange \\udcff\\n' 0o100644 1000 ", "'./tool.sh' 0o100755 1000 ", "'./data/deep' 0o40755 1000 ", "'./data/link' 0o120777 1000 /etc/passwd",
      "'./data/deep/er' 0o40755 1000 ", "'./data/deep/er/notes.txt' 0o100644 1000 ", "'./scripts/makes.py' 0o100444 0 ", "'./scripts/mine.py' 0o100644 1000 ",
      "'./scripts/tells.py' 0o100444 0 ", "remember ['.calls'] []", '',
    ].join('\n'),
  );
  await server.finishRun(second.run);
});

test('what stands in a script\'s place is replaced and not followed', { timeout: 120_000 }, async () => {
  const plants = `import os
os.makedirs("scripts/folder.py/full/of"); open("scripts/folder.py/full/of/things", "w")
os.symlink("/workspace/target", "scripts/link.py"); os.mkfifo("scripts/pipe.py"); open("scripts/file.py", "w").write("print('planted')")
open("/workspace/target", "w").write("untouched")
`;
  const agent = await keeper('plants', { plants });
  const first = await run(agent, 'plants');
  await server.finishRun(first.run);
  const names = ['folder', 'link', 'pipe', 'file'];
  for (const name of names) await server.saveScript(agent, name, `print("the script ${name}")\n`);
  const second = await run(agent, ...names);
  assert.deepEqual(second.printed, names.map((n) => `the script ${n}\n`));
  await server.finishRun(second.run);
});

test('a path that is too long is left out, and the rest goes on', { timeout: 120_000 }, async () => {
  const agent = await keeper('deep', {
    nests: 'import os\nopen("aa", "w").write("kept")\nfor i in range(18):\n    os.mkdir("x" * 240); os.chdir("x" * 240)\nopen("deep", "w")\nos.chdir(os.environ["HOME"])\nopen("zz", "w")\n',
    lists: 'import os\nprint(sorted(os.listdir(".")), open("aa").read())\n',
  });
  const first = await run(agent, 'nests');
  await server.finishRun(first.run);
  assert.ok((await kept(agent)).leftOut > 0);
  const second = await run(agent, 'lists');
  assert.equal(second.printed[0], `['aa', 'scripts', '${'x'.repeat(240)}', 'zz'] kept\n`);
  await server.finishRun(second.run);
});

test('a home that is not kept is empty, in each run and on each computer', { timeout: 120_000 }, async () => {
  const agent = await server.createAgent('forgets');
  await server.saveScript(agent, 'counts', 'import os\nprint(len(os.listdir(".")))\nopen("left", "w")\n');
  const first = await run(agent, 'counts', 'counts');
  assert.deepEqual(first.printed, ['1\n', '2\n']);
  await server.finishRun(first.run);
  const second = await run(agent, 'counts');
  assert.deepEqual(second.printed, ['1\n']);
  await server.finishRun(second.run);
  assert.equal(await kept(agent), null);
});

test('a kept home outlives the computer of a run that is idle, and goes with its agent', { timeout: 120_000 }, async () => {
  const agent = await keeper('idles', { counts: 'import os\nprint(len(os.listdir(".")))\nopen("left", "w").write("x" * 1000)\n' });
  const first = await run(agent, 'counts');
  await until(30_000, 'the idle computer is given back', async () => (await kept(agent)) !== null);
  const { call } = { call: await server.callScript(first.run, 'counts', {}, { wait: true }) };
  assert.equal(call.stdout, '2\n');
  await server.finishRun(first.run);
  assert.deepEqual([(await kept(agent)).bytes, (await kept(agent)).entries], ['1000', 1]);
  await server.mutate('mutation($input: AgentDeleteInput!) { agentDelete(input: $input) { deletedId userErrors { code message path } } }', { agent: agent.id });
  assert.equal((await server.ask(homeOf, { id: agent.id })).agent, null);
});

const fills = `import os
for i in range(2): open("large %d" % i, "wb").write(os.urandom(30 << 20))
os.makedirs("deep" + "/down" * 30)
for i in range(1000): open("deep" + "/down" * 30 + "/%d" % i, "w").write(str(i))
`;
const finds = `import os
print(sum(len(folders) + len(files) for _, folders, files in os.walk(".")), [os.path.getsize("large %d" % i) >> 20 for i in range(2)], open("deep" + "/down" * 30 + "/999").read())
`;

test('homes that are kept at once wait for each other, and none is lost', { timeout: 240_000 }, async () => {
  const agents = await Promise.all(Array.from({ length: 6 }, (_, i) => keeper(`at_once_${i}`, { fills, finds })));
  const first = await Promise.all(agents.map((a) => run(a, 'fills')));
  await Promise.all(first.map(({ run }) => server.finishRun(run)));
  await until(120_000, 'all are kept', async () => (await Promise.all(agents.map(kept))).every((h) => h && h.leftOut === 0 && h.entries === 1033));
  const second = await Promise.all(agents.map((a) => run(a, 'finds')));
  for (const { printed } of second) assert.deepEqual(printed, ['1036 [30, 30] 999\n']); // and the scripts
  await Promise.all(second.map(({ run }) => server.finishRun(run)));
});
