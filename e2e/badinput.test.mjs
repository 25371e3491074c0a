// Bad input over HTTP: each gets a clear error with its code and path, and changes nothing.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { saveDocument, startServer } from './harness.mjs';

const refusal = '__typename code message path';
const documents = {
  agentCreate: `mutation($input: AgentCreateInput!) { agentCreate(input: $input) { agent { id } userErrors { ${refusal} } } }`,
  agentUpdate: `mutation($input: AgentUpdateInput!) { agentUpdate(input: $input) { agent { id } userErrors { ${refusal} } } }`,
  agentDelete: `mutation($input: AgentDeleteInput!) { agentDelete(input: $input) { deletedId userErrors { ${refusal} } } }`,
  agentScriptSave: `mutation($input: AgentScriptSaveInput!) { agentScriptSave(input: $input) {
    script { id } userErrors { ${refusal} ... on SchemaInvalid { pointer keyword } ... on VersionConflict { current { number } } ... on NameTaken { takenBy } } } }`,
  agentScriptDelete: `mutation($input: AgentScriptDeleteInput!) { agentScriptDelete(input: $input) { deletedId userErrors { ${refusal} } } }`,
  agentScriptClear: `mutation($input: AgentScriptClearInput!) { agentScriptClear(input: $input) { deletedIds userErrors { ${refusal} } } }`,
  runCreate: `mutation($input: RunCreateInput!) { runCreate(input: $input) { run { id } userErrors { ${refusal} } } }`,
  runGenerationStart: `mutation($input: RunGenerationStartInput!) { runGenerationStart(input: $input) { run { id } userErrors { ${refusal} } } }`,
  runFinish: `mutation($input: RunFinishInput!) { runFinish(input: $input) { run { id } userErrors { ${refusal} } } }`,
  toolCall: `mutation($input: ToolCallInput!) { toolCall(input: $input) { call { id } userErrors { ${refusal} } } }`,
  callCancel: `mutation($input: CallCancelInput!) { callCancel(input: $input) { call { id } userErrors { ${refusal} } } }`,
  keyCreate: `mutation($input: KeyCreateInput!) { keyCreate(input: $input) { key { id } secret userErrors { ${refusal} } } }`,
  keyRevoke: `mutation($input: KeyRevokeInput!) { keyRevoke(input: $input) { key { id } userErrors { ${refusal} } } }`,
  organizationCreate: `mutation($input: OrganizationCreateInput!) { organizationCreate(input: $input) { organization { id } secret userErrors { ${refusal} } } }`,
};

let server;
let agent;
let run;
let operator;
let foreign; // ids of another organization
before(async () => {
  server = await startServer({ name: 'badinput' });
  operator = { secret: server.secret };
  foreign = await anotherOrganization();
  // The tests' own organization is one like any other: the operator may do more.
  server.secret = (await server.mutate(documents.organizationCreate, { name: 'ours' }, operator)).secret;
  agent = await server.createAgent('bad input');
  await server.saveScript(agent, 'kept', 'print("kept")');
  run = await server.createRun(agent);
});
after(() => server?.stop());

async function anotherOrganization() {
  const made = await server.mutate(documents.organizationCreate, { name: 'another' });
  const secret = { secret: made.secret };
  const data = async (name, input) => {
    const payload = await server.mutate(documents[name], input, secret);
    return Object.values(payload).find((value) => value?.id);
  };
  const agent = await data('agentCreate', { name: 'theirs' });
  const script = await data('agentScriptSave', { agent: agent.id, name: 'theirs', description: 'x', source: 'print()' });
  const theirs = await data('runCreate', { agent: agent.id });
  const call = await data('toolCall', { run: theirs.id, name: 'no_such_tool', wait: true });
  const key = await data('keyCreate', { name: 'theirs', capabilities: ['TOOLING'] });
  const { snapshot } = (await server.ask('query($id: ID!) { run(id: $id) { snapshot { id } } }', { id: theirs.id }, secret)).run;
  return { agent: agent.id, script: script.id, run: theirs.id, call: call.id, key: key.id, snapshot: snapshot.id, organization: made.organization.id };
}

/** What a refused request must leave as it was. */
async function state() {
  const all = await server.ask(`{
    agents(first: 100) { totalCount nodes { id name maxScripts updatedAt scripts(first: 10) { nodes { id name updatedAt latestVersion { id number } } } } }
    runs(first: 1) { totalCount nodes { id status generation } }
    calls(first: 1) { totalCount }
    scriptChangeLog(last: 1) { totalCount pageInfo { endCursor } }
  }`);
  return all;
}

/** A test that the request is refused and changes nothing. */
function refused(name, act, check) {
  test(name, { timeout: 60_000 }, async () => {
    const was = await state();
    const answer = await act();
    const text = JSON.stringify(answer.body);
    assert.doesNotMatch(text, /panic|runtime error|goroutine|\.go:\d|pq:|SQLSTATE|sqlite/i, 'an error tells nothing of the inside');
    assert.ok(text.length < 4096, 'an error is short');
    await check(answer);
    assert.deepEqual(await state(), was, 'nothing has changed');
  });
}

/** A mutation that is refused with one user error of this code and path. */
function userError(name, mutation, input, code, path, more = {}, options = () => ({})) {
  refused(
    name,
    () => server.post(documents[mutation], { input: typeof input === 'function' ? input() : input }, options()),
    ({ status, body }) => {
      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(body.errors, undefined, JSON.stringify(body.errors));
      const { userErrors, ...rest } = body.data[mutation];
      assert.equal(userErrors.length, 1, JSON.stringify(userErrors));
      const [error] = userErrors;
      assert.deepEqual({ code: error.code, path: error.path }, { code, path }, JSON.stringify(error));
      assert.ok(error.message.length > 3 && error.message.length <= 400);
      for (const [key, value] of Object.entries(more)) assert.deepEqual(error[key], value, key);
      for (const value of Object.values(rest)) assert.equal(value, null);
    },
  );
}

/** A request that is refused as a whole. */
function topError(name, act, code, status, check = () => {}) {
  refused(name, act, async (answer) => {
    const { status: got, body } = answer;
    assert.equal(body.errors?.length, 1, JSON.stringify(body).slice(0, 300));
    const [error] = body.errors;
    assert.match(error.extensions.code, new RegExp(`^(${code})$`), error.message);
    assert.ok(error.extensions.requestId);
    assert.equal(got, status, JSON.stringify(error));
    assert.ok(error.message.length > 3);
    await check(error, body);
  });
}

const save = (more) => () => ({ agent: agent.id, name: 'fine', description: 'Fine.', source: 'print()', ...more });

// ---- Ids -------------------------------------------------------------------------------------------------------

const byId = [
  ['agentUpdate', 'agent', (id) => ({ agent: id, name: 'taken over' })],
  ['agentDelete', 'agent', (id) => ({ agent: id })],
  ['agentScriptSave', 'agent', (id) => ({ agent: id, name: 'fine', description: 'Fine.', source: 'print()' })],
  ['agentScriptDelete', 'agent', (id) => ({ agent: id, name: 'theirs' })],
  ['agentScriptClear', 'agent', (id) => ({ agent: id })],
  ['runCreate', 'agent', (id) => ({ agent: id })],
  ['runGenerationStart', 'run', (id) => ({ run: id })],
  ['runFinish', 'run', (id) => ({ run: id })],
  ['toolCall', 'run', (id) => ({ run: id, name: 'script_run' })],
  ['callCancel', 'call', (id) => ({ call: id })],
  ['keyRevoke', 'key', (id) => ({ key: id })],
];
const prefixes = { agent: 'agt', run: 'run', call: 'call', key: 'key' };
for (const [mutation, kind, input] of byId) {
  const missing = `${prefixes[kind]}_${'0'.repeat(26)}`;
  userError(`${mutation}: an unknown id`, mutation, () => input(missing), 'NOT_FOUND', ['input', kind]);
  userError(`${mutation}: an id that is none`, mutation, () => input('nope'), 'NOT_FOUND', ['input', kind]);
  userError(`${mutation}: an empty id`, mutation, () => input(''), 'NOT_FOUND', ['input', kind]);
  userError(`${mutation}: an id with NUL`, mutation, () => input(`${prefixes[kind]}_\0`), 'NOT_FOUND', ['input', kind]);
  userError(`${mutation}: an id of another kind`, mutation, () => input(kind === 'run' ? agent.id : run.id), 'NOT_FOUND', ['input', kind]);
  userError(`${mutation}: another organization's id`, mutation, () => input(foreign[kind]), 'NOT_FOUND', ['input', kind]);
}
for (const kind of ['agent', 'script', 'run', 'call', 'key', 'snapshot', 'organization']) {
  refused(
    `node: another organization's ${kind}`,
    () => server.post('query($id: ID!) { node(id: $id) { id } nodes(ids: [$id, "nope"]) { id } }', { id: foreign[kind] }),
    ({ body }) => assert.deepEqual(body, { data: { node: null, nodes: [null, null] } }),
  );
}
for (const kind of ['agent', 'run', 'call']) {
  refused(
    `${kind}: another organization's`,
    () => server.post(`query($id: ID!) { ${kind}(id: $id) { id } }`, { id: foreign[kind] }),
    ({ body }) => assert.deepEqual(body, { data: { [kind]: null } }),
  );
}

// ---- Cursors and pages -----------------------------------------------------------------------------------------

const cursorOf = async (query) => Object.values(await server.ask(query))[0].pageInfo.startCursor;
for (const [name, cursor] of Object.entries({
  'no cursor': async () => 'nope',
  'an empty one': async () => '',
  'one with NUL': async () => 'a\0b',
  'a long one': async () => 'A'.repeat(5000),
  "another list's": () => cursorOf('{ agents(first: 1) { pageInfo { startCursor } } }'),
  'a tampered one': async () => {
    const cursor = await cursorOf('{ runs(first: 1) { pageInfo { startCursor } } }');
    return cursor.slice(0, -2) + (cursor.at(-2) === 'x' ? 'yy' : 'xx');
  },
})) {
  topError(
    `a malformed cursor: ${name}`,
    async () => server.post('query($after: Cursor) { runs(first: 1, after: $after) { totalCount } }', { after: await cursor() }),
    'BAD_CURSOR',
    200,
    (error, body) => {
      assert.equal(body.data ?? null, null);
      assert.deepEqual(error.path, ['runs']);
    },
  );
}
for (const [name, args] of Object.entries({
  'first: 0': 'first: 0',
  'first: 101': 'first: 101',
  'first: -1': 'first: -1',
  'last: 0': 'last: 0',
  'last: 101': 'last: 101',
  'first and last': 'first: 1, last: 1',
})) {
  topError(`a page of ${name}`, () => server.post(`{ runs(${args}) { totalCount } }`), 'BAD_REQUEST', 200, (error) =>
    assert.deepEqual(error.path, ['runs']),
  );
}
topError(
  'nodes: 101 ids',
  () => server.post('query($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids: Array(101).fill('nope') }),
  'BAD_REQUEST|LIMIT_EXCEEDED',
  200,
);

// ---- Names, texts, schemas, numbers ----------------------------------------------------------------------------

for (const [what, name] of Object.entries({
  empty: '',
  'a capital': 'Report',
  'a digit first': '1st',
  'a space': 'a b',
  'a newline behind it': 'report\n',
  'a dot': '../report',
  'another alphabet': 'bericht_ä',
  '64 characters': 'a'.repeat(64),
  NUL: 'a\0',
})) {
  userError(`a script's name: ${what}`, 'agentScriptSave', save({ name }), 'INVALID', ['input', 'name']);
}
for (const name of ['manifest', 'script__x', 'alias__x']) {
  userError(`a script's name: ${name}`, 'agentScriptSave', save({ name }), 'NAME_RESERVED', ['input', 'name']);
}
userError('the name of a tool of the system', 'agentScriptSave', save({ name: 'script_run' }), 'NAME_TAKEN', ['input', 'name'], {
  __typename: 'NameTaken',
});
for (const [what, description] of Object.entries({ blank: ' \n', empty: '', NUL: 'a\0b' })) {
  userError(`a description: ${what}`, 'agentScriptSave', save({ description }), 'INVALID', ['input', 'description']);
}
userError('a description of 401 characters', 'agentScriptSave', save({ description: 'ä'.repeat(401) }), 'INVALID', [
  'input',
  'description',
]);
for (const [what, source] of Object.entries({ blank: ' \n\t', empty: '', NUL: 'print("\0")' })) {
  userError(`a source: ${what}`, 'agentScriptSave', save({ source }), 'INVALID', ['input', 'source']);
}
for (const [what, parameters, pointer, keyword] of [
  ['a number', 5, '', 'type'],
  ['a boolean', true, '', 'type'],
  ['of another type', { type: 'string' }, '', 'type'],
  ['no type', {}, '', 'type'],
  ['properties that are none', { type: 'object', properties: 5 }, '/properties', undefined],
  ['an unknown type', { type: 'object', properties: { a: { type: 'text' } } }, '/properties/a/type', undefined],
  ['another draft', { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' }, undefined, '$schema'],
  ['a pattern that is no RE2', { type: 'object', properties: { a: { pattern: '(?=x)' } } }, undefined, 'pattern'],
  ['a reference to a file', { type: 'object', properties: { a: { $ref: 'file:///etc/passwd' } } }, undefined, '$ref'],
]) {
  userError(`a schema that is no schema: ${what}`, 'agentScriptSave', save({ parameters }), 'SCHEMA_INVALID', ['input', 'parameters'], {
    __typename: 'SchemaInvalid',
    ...(pointer === undefined ? {} : { pointer }),
    ...(keyword === undefined ? {} : { keyword }),
  });
}
userError('an expected version that is not the latest', 'agentScriptSave', save({ name: 'kept', expectedVersion: 7 }), 'VERSION_CONFLICT', [
  'input',
  'expectedVersion',
], { current: { number: 1 } });
userError('an expected version 0 where there is one', 'agentScriptSave', save({ name: 'kept', expectedVersion: 0 }), 'VERSION_CONFLICT', [
  'input',
  'expectedVersion',
], { current: { number: 1 } });
for (const [what, name] of Object.entries({ blank: '  ', empty: '', NUL: 'a\0', 'a control character': 'a\u0007', '201 characters': 'a'.repeat(201) })) {
  userError(`an agent's name: ${what}`, 'agentCreate', { name }, 'INVALID', ['input', 'name']);
}
for (const maxScripts of [0, -1]) {
  userError(`maxScripts ${maxScripts}`, 'agentCreate', { name: 'x', maxScripts }, 'INVALID', ['input', 'maxScripts']);
}
userError('connectedTools: one twice', 'agentCreate', { name: 'x', connectedTools: ['a', 'b', 'a'] }, 'INVALID', ['input', 'connectedTools', '2']);
userError('connectedTools: an empty one', 'agentCreate', { name: 'x', connectedTools: ['a', ''] }, 'INVALID', ['input', 'connectedTools', '1']);
userError('an idempotencyKey of 256 characters', 'agentCreate', { name: 'x', idempotencyKey: 'k'.repeat(256) }, 'INVALID', ['input', 'idempotencyKey']);
for (const [what, environment, code = 'INVALID'] of [
  ['a list', ['A']],
  ['a name of the system', { PATH: '/tmp' }],
  ['a name of the interpreter', { PYTHONSTARTUP: 'x' }],
  ['a name in lower case', { a: 'b' }],
  ['a value that is no string', { A: 1 }],
  ['NUL', { A: 'b\0' }],
  ['65 entries', Object.fromEntries([...Array(65).keys()].map((n) => [`A${n}`, '']))],
  ['more than 64 KiB', { A: 'x'.repeat(65 * 1024) }],
]) {
  refused(
    `an environment: ${what}`,
    () => server.post(documents.runCreate, { input: { agent: agent.id, environment } }),
    ({ body }) => {
      assert.equal(body.errors, undefined, JSON.stringify(body.errors));
      const [error] = body.data.runCreate.userErrors;
      assert.ok([code, 'TOO_LARGE'].includes(error.code), error.code);
      assert.deepEqual(error.path.slice(0, 2), ['input', 'environment']);
    },
  );
}
userError('a capability twice', 'keyCreate', { name: 'k', capabilities: ['TOOLING', 'TOOLING'] }, 'INVALID', ['input', 'capabilities', '1']);
userError('an execTimeoutSeconds of 0', 'keyCreate', { name: 'k', capabilities: ['TOOLING'], execTimeoutSeconds: 0 }, 'INVALID', [
  'input',
  'execTimeoutSeconds',
]);
userError('an unknown parent', 'organizationCreate', { name: 'o', parent: 'org_nope' }, 'NOT_FOUND', ['input', 'parent'], {}, () => operator);
userError('an organization without a name', 'organizationCreate', { name: ' ' }, 'INVALID', ['input', 'name'], {}, () => operator);
topError('an organization made by another key than the operator\'s', () => server.post(documents.organizationCreate, { input: { name: 'o' } }), 'DENIED', 200);

// ---- Requests --------------------------------------------------------------------------------------------------

const viewer = '{ viewer { operator } }';
const BAD = 'BAD_REQUEST|VALIDATION_FAILED|PARSE_FAILED';
const nested = (levels) => '['.repeat(levels) + ']'.repeat(levels);
const saveBody = (parameters) => `{"query":${JSON.stringify(saveDocument)},"variables":{"input":{"agent":"${agent.id}","name":"fine","description":"x","source":"print()","parameters":${parameters}}}}`;

topError('no key', () => server.post(viewer, undefined, { secret: null }), 'UNAUTHENTICATED', 401);
topError('a wrong key', () => server.post(viewer, undefined, { secret: 'wrong' }), 'UNAUTHENTICATED', 401);
topError('a key in another scheme', () => server.post(viewer, undefined, { secret: null, headers: { authorization: 'Basic eDp5' } }), 'UNAUTHENTICATED', 401);
topError('no JSON', () => server.send('hello'), BAD, 400);
topError('an empty body', () => server.send(''), BAD, 400);
topError('a list of requests', () => server.send(`[{"query":"${viewer}"}]`), BAD, 400);
topError('a member twice', () => server.send('{"query":"{ __typename }","query":"{ viewer { operator } }"}'), BAD, 400);
topError('no query', () => server.send('{"variables":{}}'), BAD, 400);
topError('a document that is no GraphQL', () => server.post('{'), 'PARSE_FAILED', 400, (e) => assert.ok(e.locations?.length));
topError('an unknown field', () => server.post('{ nope }'), 'VALIDATION_FAILED', 400, (e) => assert.ok(e.locations?.length));
topError('an operation that is not there', () => server.send('{"query":"query A { __typename }","operationName":"B"}'), BAD, 400);
topError('a subscription over plain POST', () => server.post('subscription { scriptChanges { __typename } }'), BAD, 400);
for (const [what, first] of Object.entries({ 'a string': '"3"', 'a fraction': '1.5', 'more than 32 bits': '9999999999' })) {
  topError(
    `Int: ${what}`,
    () => server.send(`{"query":"query($n: Int) { runs(first: $n) { totalCount } }","variables":{"n":${first}}}`),
    BAD,
    400,
    (e) => assert.match(e.message + JSON.stringify(e.path ?? ''), /\bn\b/),
  );
}
topError(
  'a required member of the input left out',
  () => server.post(documents.agentCreate, { input: {} }),
  BAD,
  400,
  (e) => assert.match(e.message + JSON.stringify(e.path ?? ''), /name/),
);
topError(
  'an unknown member of the input',
  () => server.post(documents.agentCreate, { input: { name: 'x', nope: 1 } }),
  BAD,
  400,
  (e) => assert.match(e.message + JSON.stringify(e.path ?? ''), /nope/),
);

for (const [what, escape] of Object.entries({ high: '\\ud800', low: '\\udc00', 'the wrong way round': '\\udc00\\ud800' })) {
  topError(
    `a lone surrogate: ${what}`,
    () => server.send(`{"query":${JSON.stringify(documents.agentCreate)},"variables":{"input":{"name":"a${escape}"}}}`),
    'BAD_REQUEST',
    400,
    (e) => assert.match(e.message + JSON.stringify(e.path ?? ''), /name/),
  );
}
refused(
  'a surrogate pair is none of them',
  () => server.send('{"query":"query($id: ID!) { node(id: $id) { id } }","variables":{"id":"\\ud83d\\ude00"}}'),
  ({ body }) => assert.deepEqual(body, { data: { node: null } }),
);
for (const [what, bytes] of Object.entries({
  'a stray byte': [0xff],
  'half a character': [0xe2, 0x82],
  'an overlong form': [0xc0, 0xaf],
  'an encoded surrogate': [0xed, 0xa0, 0x80],
})) {
  topError(
    `text that is no UTF-8: ${what}`,
    () =>
      server.send(
        Buffer.concat([
          Buffer.from(`{"query":${JSON.stringify(documents.agentCreate)},"variables":{"input":{"name":"a`),
          Buffer.from(bytes),
          Buffer.from('"}}}'),
        ]),
      ),
    'BAD_REQUEST',
    400,
  );
}

topError('300 nested levels in a JSON value', () => server.send(saveBody(`{"type":"object","default":${nested(300)}}`)), 'LIMIT_EXCEEDED|BAD_REQUEST', 400);
topError('300 nested levels in a variable', () => server.send(`{"query":"query($ids: [ID!]!) { nodes(ids: $ids) { id } }","variables":{"ids":${nested(300)}}}`), 'VALIDATION_FAILED', 400);
topError('100,000 nested levels in a body', () => server.send(nested(100_000)), 'LIMIT_EXCEEDED|BAD_REQUEST', 400);
topError('300 nested selections', () => server.post('{ runs { nodes '.concat('{ agent { runs { nodes '.repeat(100), '{ id }', '} } }'.repeat(100), ' } }')), 'LIMIT_EXCEEDED', 400);
topError('300 nested lists in a document', () => server.post(`{ nodes(ids: ${nested(300)}) { id } }`), 'LIMIT_EXCEEDED', 400);
topError('a document of 65 KiB', () => server.post(`{ __typename }\n#${'x'.repeat(65 * 1024)}`), 'LIMIT_EXCEEDED', 400);
topError('101 aliases', () => server.post(`{ ${[...Array(101).keys()].map((n) => `a${n}: __typename`).join(' ')} }`), 'LIMIT_EXCEEDED', 400);
topError('4,001 tokens', () => server.post(`{ ${'__typename '.repeat(4000)} }`), 'LIMIT_EXCEEDED', 400);

const padded = (size) => {
  const head = '{"query":"{ __typename }","extensions":{"pad":"';
  return `${head}${'x'.repeat(size - head.length - 3)}"}}`;
};
topError('a body of 1 MiB and a byte', () => server.send(padded((1 << 20) + 1)), 'LIMIT_EXCEEDED', 413);
refused(
  'a body of 1 MiB is taken',
  () => server.send(padded(1 << 20)),
  ({ status, body }) => {
    assert.equal(status, 200);
    assert.deepEqual(body, { data: { __typename: 'Query' } });
  },
);
topError(
  'a body of 1 MiB and more, sent in pieces without a length',
  () => {
    const text = Buffer.from(padded(3 << 20));
    const stream = new ReadableStream({
      start(controller) {
        for (let at = 0; at < text.length; at += 65536) controller.enqueue(text.subarray(at, at + 65536));
        controller.close();
      },
    });
    return sendStream(stream);
  },
  'LIMIT_EXCEEDED',
  413,
);

async function sendStream(body) {
  const response = await fetch(server.graphql, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/graphql-response+json', ...server.authorization },
    body,
    duplex: 'half',
    signal: AbortSignal.timeout(30_000),
  });
  return { status: response.status, body: await response.json() };
}

// ---- State -----------------------------------------------------------------------------------------------------

test('the same idempotencyKey with another input', { timeout: 60_000 }, async () => {
  const first = await server.mutate(documents.agentCreate, { name: 'once', idempotencyKey: 'badinput-1' });
  const again = await server.mutate(documents.agentCreate, { name: 'once', idempotencyKey: 'badinput-1' });
  assert.equal(again.agent.id, first.agent.id);
  const was = await state();
  const { body } = await server.post(documents.agentCreate, { input: { name: 'twice', idempotencyKey: 'badinput-1' } });
  assert.deepEqual(
    body.data.agentCreate.userErrors.map((e) => [e.code, e.path]),
    [['IDEMPOTENCY_MISMATCH', ['input', 'idempotencyKey']]],
  );
  assert.deepEqual(await state(), was);
});

test('a call in a finished run', { timeout: 60_000 }, async () => {
  const finished = await server.createRun(agent);
  await server.finishRun(finished);
  const was = await state();
  const { body } = await server.post(documents.toolCall, { input: { run: finished.id, name: 'script_run' } });
  assert.deepEqual(
    body.data.toolCall.userErrors.map((e) => [e.code, e.path]),
    [['BAD_STATE', ['input', 'run']]],
  );
  assert.deepEqual(await state(), was);
});

test('a script past the cap', { timeout: 60_000 }, async () => {
  const { agent: small } = await server.mutate(documents.agentCreate, { name: 'small', maxScripts: 1 });
  await server.saveScript(small, 'one', 'print(1)');
  const was = await state();
  const { body } = await server.post(documents.agentScriptSave, { input: { agent: small.id, name: 'two', description: 'x', source: 'print(2)' } });
  const [error] = body.data.agentScriptSave.userErrors;
  assert.deepEqual([error.code, error.message], ['CAP_REACHED', 'this agent is limited to 1 scripts']);
  assert.deepEqual(await state(), was);
  await server.saveScript(small, 'one', 'print(3)');
});

test('a key without TOOLING is denied, and tells no more', { timeout: 60_000 }, async () => {
  const { secret } = await server.mutate(documents.keyCreate, { name: 'reader', capabilities: [] });
  const was = await state();
  const { body } = await server.post(documents.agentCreate, { input: { name: 'x' } }, { secret });
  assert.equal(body.errors[0].extensions.code, 'DENIED');
  assert.deepEqual(body.errors[0].path, ['agentCreate']);
  assert.deepEqual(await state(), was);
  const data = await server.ask('{ viewer { key { capabilities } } }', undefined, { secret });
  assert.deepEqual(data.viewer.key.capabilities, []);
});
