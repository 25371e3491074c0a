// relay-compiler accepts the schema as the server tells it, and what it makes works: a connection is paged by the refetch query that it generated, a
// mutation updates the store by the object's global id.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { buildClientSchema, getIntrospectionQuery, printSchema, validateSchema } from 'graphql';
import { startServer } from './harness.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(import.meta.url);
const relay = require('relay-runtime');

let server;
let folder;
before(async () => {
  server = await startServer({ name: 'relay' });
  folder = mkdtempSync(join(tmpdir(), 'scriptorium-relay-'));
});
after(async () => {
  if (folder) rmSync(folder, { recursive: true, force: true });
  await server?.stop();
});

/** Compiles relay/agent.js against the running server's schema, and answers the generated artifacts by name. */
async function compile() {
  const introspection = await server.ask(getIntrospectionQuery({ inputValueDeprecation: true, specifiedByUrl: true, directiveIsRepeatable: true }));
  const schema = buildClientSchema(introspection);
  assert.deepEqual(validateSchema(schema), []);
  writeFileSync(join(folder, 'schema.graphql'), printSchema(schema));
  mkdirSync(join(folder, 'artifacts'));
  cpSync(join(here, 'relay'), join(folder, 'src'), { recursive: true });
  writeFileSync(join(folder, 'artifacts', 'package.json'), '{"type":"commonjs"}');
  writeFileSync(
    join(folder, 'relay.config.json'),
    JSON.stringify({ src: './src', schema: './schema.graphql', language: 'javascript', artifactDirectory: './artifacts', eagerEsModules: false }),
  );
  const compiler = require('relay-compiler');
  const { status, stdout, stderr } = spawnSync(compiler, ['relay.config.json'], { cwd: folder, encoding: 'utf8', timeout: 60_000 });
  assert.equal(status, 0, `${stdout}\n${stderr}`);
  const artifacts = {};
  for (const file of readdirSync(join(folder, 'artifacts'))) {
    const name = /^(\w+)\.graphql\.js$/.exec(file)?.[1];
    if (name) artifacts[name] = require(join(folder, 'artifacts', file));
  }
  return artifacts;
}

const promised = (observable) => observable.toPromise();

test('relay-compiler takes the schema, and its artifacts work', { timeout: 120_000 }, async () => {
  const artifacts = await compile();
  assert.deepEqual(Object.keys(artifacts).sort(), [
    'agentOutputSubscription',
    'agentQuery',
    'agentSaveMutation',
    'agentScript',
    'agentScriptsRefetchQuery',
    'agentScripts',
  ].sort());
  const { connection, refetch } = artifacts.agentScripts.metadata;
  assert.deepEqual(connection[0].path, ['scripts']);
  assert.equal(refetch.identifierInfo?.identifierField ?? refetch.identifierField, 'id', 'the fragment is refetched through node(id:)');

  const agent = await server.createAgent('relay');
  const names = ['alpha', 'beta', 'gamma', 'omega', 'zeta'];
  for (const name of names) await server.saveScript(agent, name, `print("${name}")`);

  const environment = new relay.Environment({
    network: relay.Network.create(async (request, variables) => (await server.post(request.text, variables)).body),
    store: new relay.Store(new relay.RecordSource()),
  });
  const retained = [];
  const fetchAndRead = async (artifact, variables) => {
    const operation = relay.createOperationDescriptor(artifact, variables);
    retained.push(environment.retain(operation));
    await promised(relay.fetchQuery(environment, artifact, variables));
    return environment.lookup(operation.fragment).data;
  };
  const scripts = (owner) => environment.lookup(relay.getSingularSelector(artifacts.agentScripts, owner)).data.scripts;

  const first = await fetchAndRead(artifacts.agentQuery, { id: agent.id });
  assert.equal(first.node.__typename, 'Agent');
  let page = scripts(first.agent);
  const seen = page.edges.map((e) => e.node);
  while (page.pageInfo.hasNextPage) {
    assert.ok(seen.length <= names.length, 'paging comes to an end');
    const data = await fetchAndRead(artifacts.agentScriptsRefetchQuery, { id: agent.id, count: 2, cursor: page.pageInfo.endCursor });
    page = scripts(data.node);
    const known = new Set(seen.map((n) => n.id));
    seen.push(...page.edges.map((e) => e.node).filter((n) => !known.has(n.id)));
  }
  const read = (node) => environment.lookup(relay.getSingularSelector(artifacts.agentScript, node)).data;
  assert.deepEqual(seen.map((n) => read(n).name), names);
  assert.equal(read(seen[0]).latestVersion.number, 1);

  await new Promise((resolve, reject) => {
    relay.commitMutation(environment, {
      mutation: artifacts.agentSaveMutation,
      variables: { input: { agent: agent.id, name: 'alpha', description: 'Changed.', source: 'print(2)' } },
      onCompleted: (response, errors) => (errors ? reject(new Error(JSON.stringify(errors))) : resolve(response)),
      onError: reject,
    });
  });
  assert.deepEqual([read(seen[0]).description, read(seen[0]).latestVersion.number], ['Changed.', 2], 'the store knows the script by its id');
  for (const r of retained) r.dispose();
});
