// scriptChanges: live, in order, resumable, the same rows as the change log.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createClient as createSSEClient } from 'graphql-sse';
import { graphqlWS, run as subscribe } from './clients.mjs';
import { Arrivals, shared, startServer, within } from './harness.mjs';

const document = `subscription($agent: ID, $after: Cursor) {
  scriptChanges(agent: $agent, after: $after) {
    __typename
    ... on ScriptChange {
      id cursor action name at agent { id } script { id name } version { id number } author { __typename ... on ApiKey { id } }
    }
    ... on StreamGap { cursor reason }
  }
}`;

let server;
let second;
before(async () => {
  server = await startServer({ name: 'changes' });
  if (shared) second = await startServer({ name: 'changes, second server', beside: server });
});
after(async () => {
  await second?.stop();
  await server?.stop();
});

/** Follows changes until the test ends: an Arrivals. */
function follow(t, at, variables, over = 'ws') {
  const client =
    over === 'ws' ? graphqlWS(at.ws, at.secret) : createSSEClient({ url: at.graphql, headers: at.authorization, retryAttempts: 0 });
  const seen = new Arrivals();
  let ended = false;
  t.after(async () => {
    assert.equal(ended, false, `the stream ended by itself: ${seen.error}`);
    await client.dispose();
  });
  subscribe(client, document, variables, ({ scriptChanges }) => seen.add(scriptChanges)).then(
    () => (ended = true),
    (error) => {
      ended = true;
      seen.error = error;
    },
  );
  return seen;
}

async function head(agent) {
  const data = await server.ask('query($agent: ID) { scriptChangeLog(agent: $agent, last: 1) { pageInfo { endCursor } } }', { agent });
  return data.scriptChangeLog.pageInfo.endCursor;
}

const remove = (agent, name) =>
  server.mutate(
    'mutation($input: AgentScriptDeleteInput!) { agentScriptDelete(input: $input) { deletedId userErrors { code message path } } }',
    { agent: agent.id, name },
  );
const clear = (agent) =>
  server.mutate(
    'mutation($input: AgentScriptClearInput!) { agentScriptClear(input: $input) { deletedIds userErrors { code message path } } }',
    { agent: agent.id },
  );

/** What a list of changes tells, without what differs from run to run. */
const told = (changes) => changes.map((c) => [c.action, c.name, c.version?.number ?? null]);

const story = [
  ['CREATE', 'one', 1],
  ['CREATE', 'one', 2],
  ['CREATE', 'two', 1],
  ['DELETE', 'one', null],
  ['CLEAR', null, null],
];

async function tell(agent) {
  await server.saveScript(agent, 'one', 'print(1)');
  await server.saveScript(agent, 'one', 'print(2)');
  await server.saveScript(agent, 'two', 'print(1)');
  await remove(agent, 'one');
  await clear(agent);
}

for (const over of ['ws', 'sse']) {
  test(`live and resumed over ${over}`, { timeout: 60_000 }, async (t) => {
    const agent = await server.createAgent(`changes over ${over}`);
    const other = await server.createAgent('another one');
    const start = await head(null);
    const everything = follow(t, server, { after: start }, over);
    const ofAgent = follow(t, server, { agent: agent.id, after: start }, over);
    const elsewhere = second && follow(t, second, { after: start }, over);
    await server.saveScript(other, 'noise', 'print(0)');
    await tell(agent);

    await within(20_000, 'all changes', everything.reaches((s) => s.events.length >= story.length + 1));
    await within(20_000, "the agent's changes", ofAgent.reaches((s) => s.events.length >= story.length));
    assert.deepEqual(told(everything.events), [['CREATE', 'noise', 1], ...story]);
    assert.deepEqual(told(ofAgent.events), story);
    assert.deepEqual(ofAgent.events.map((e) => e.cursor), everything.events.slice(1).map((e) => e.cursor), 'one cursor for one change');
    assert.ok(ofAgent.events.every((e) => e.agent.id === agent.id && e.author.__typename === 'ApiKey'));
    if (elsewhere) {
      await within(20_000, 'all changes on the second server', elsewhere.reaches((s) => s.events.length >= story.length + 1));
      assert.deepEqual(elsewhere.events.map((e) => e.cursor), everything.events.map((e) => e.cursor));
    }

    const rest = follow(t, server, { agent: agent.id, after: ofAgent.events[1].cursor }, over);
    await within(20_000, 'the rest', rest.reaches((s) => s.events.length >= 3));
    assert.deepEqual(rest.events.map((e) => e.cursor), ofAgent.events.slice(2).map((e) => e.cursor), 'exactly those behind the cursor');

    await server.saveScript(agent, 'three', 'print(3)');
    for (const [what, seen] of Object.entries({ everything, ofAgent, rest })) {
      await within(20_000, `the new change for ${what}`, seen.reaches((s) => s.events.at(-1).name === 'three'));
    }
    assert.equal(rest.events.length, 4, 'history and live events join without a seam');
  });
}

test('the change log has the same rows and cursors', { timeout: 60_000 }, async (t) => {
  const agent = await server.createAgent('log');
  const start = await head(agent.id);
  assert.ok(start, 'endCursor is never null');
  const seen = follow(t, server, { agent: agent.id, after: start });
  await tell(agent);
  await within(20_000, 'the changes', seen.reaches((s) => s.events.length >= story.length));
  const { scriptChangeLog: log } = await server.ask(
    `query($agent: ID, $after: Cursor) {
      scriptChangeLog(agent: $agent, after: $after) { totalCount pageInfo { hasNextPage endCursor } edges { cursor node { id cursor action name } } }
    }`,
    { agent: agent.id, after: start },
  );
  assert.deepEqual(log.edges.map((e) => [e.cursor, e.node.id]), seen.events.map((e) => [e.cursor, e.id]));
  assert.ok(log.edges.every((e) => e.cursor === e.node.cursor));
  assert.equal(log.pageInfo.hasNextPage, false);
  assert.equal(log.pageInfo.endCursor, seen.events.at(-1).cursor);
});

test('what an event tells is visible to a query made on its receipt', { timeout: 60_000 }, async (t) => {
  const agent = await server.createAgent('receipt');
  const at = second ?? server;
  const seen = follow(t, at, { agent: agent.id, after: await head(null) });
  for (let n = 1; n <= 5; n++) {
    await server.saveScript(agent, 'seen', `print(${n})`);
    await within(20_000, `change ${n}`, seen.reaches((s) => s.events.length >= n));
    const data = await at.ask('query($id: ID!) { agent(id: $id) { script(name: "seen") { latestVersion { number source } } } }', { id: agent.id });
    assert.deepEqual(data.agent.script.latestVersion, { number: n, source: `print(${n})` });
  }
});

test('what was refused has no event', { timeout: 60_000 }, async (t) => {
  const agent = await server.createAgent('refused');
  const seen = follow(t, server, { agent: agent.id, after: await head(null) });
  const { agentScriptSave } = await server.ask(
    'mutation($input: AgentScriptSaveInput!) { agentScriptSave(input: $input) { script { id } userErrors { code path } } }',
    { input: { agent: agent.id, name: 'Not A Name', description: 'x', source: 'print()' } },
  );
  assert.deepEqual(agentScriptSave, { script: null, userErrors: [{ code: 'INVALID', path: ['input', 'name'] }] });
  await server.saveScript(agent, 'fine', 'print()');
  await within(20_000, 'the change', seen.reaches((s) => s.events.length >= 1));
  assert.deepEqual(told(seen.events), [['CREATE', 'fine', 1]]);
});
