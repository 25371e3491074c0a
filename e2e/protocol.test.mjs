// graphql-transport-ws, frame by frame: what a client may do wrong, and the close code that says so.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import WebSocket from 'ws';
import { Arrivals, startServer, within } from './harness.mjs';

let server;
let agent;
before(async () => {
  server = await startServer({ name: 'protocol' });
  agent = await server.createAgent('protocol');
});
after(() => server?.stop());

/** A socket that speaks in raw frames. */
class Raw extends Arrivals {
  constructor(t, { protocol = 'graphql-transport-ws', headers } = {}) {
    super();
    this.socket = protocol === null ? new WebSocket(server.ws, { headers }) : new WebSocket(server.ws, protocol, { headers });
    t.after(() => this.socket.terminate());
    this.closed = new Promise((resolve) => this.socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() })));
    this.opened = new Promise((resolve, reject) => {
      this.socket.once('open', resolve);
      this.socket.once('error', reject);
    });
    this.opened.catch(() => {});
    this.socket.on('error', (error) => (this.error = error));
    this.socket.on('message', (data, binary) => {
      assert.equal(binary, false, 'the server sends text');
      const message = JSON.parse(data);
      if (message.type === 'ping') this.socket.send('{"type":"pong"}');
      this.add(message);
    });
  }

  send(message) {
    this.socket.send(typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message));
  }

  subscribe(id, query, variables) {
    this.send({ id, type: 'subscribe', payload: { query, variables } });
  }

  async init(payload = server.authorization) {
    await within(10_000, 'the socket is open', this.opened);
    this.send({ type: 'connection_init', payload });
    await this.gets('connection_ack');
  }

  /** The first message of this type, and of this id if given. */
  async gets(type, id) {
    const fits = (m) => m.type === type && (id === undefined || m.id === id);
    await within(10_000, `a message ${type}`, Promise.race([this.reaches(() => this.events.some(fits)), this.fails(type)]));
    return this.events.find(fits);
  }

  async fails(type) {
    const { code, reason } = await this.closed;
    throw new Error(`closed with ${code} ${reason} before ${type}`);
  }

  async isClosed(code, ms = 10_000) {
    const end = await within(ms, `close code ${code}`, this.closed);
    assert.equal(end.code, code, end.reason);
    assert.ok(end.reason.length > 0, 'a close code comes with a reason');
    assert.ok(Buffer.byteLength(end.reason) <= 123);
  }
}

const changes = 'subscription { scriptChanges { __typename } }';

// What goes wrong before the connection is acknowledged.
const early = {
  'subscribe before connection_init: 4401': [4401, (s) => s.subscribe('1', '{ __typename }')],
  'no key: 4403': [4403, (s) => s.send({ type: 'connection_init' })],
  'a wrong key: 4403': [4403, (s) => s.send({ type: 'connection_init', payload: { Authorization: 'Bearer sk_wrong' } })],
  'a key that is no text: 4403': [4403, (s) => s.send({ type: 'connection_init', payload: { Authorization: 7 } })],
  'a payload that is no object: 4400': [4400, (s) => s.send({ type: 'connection_init', payload: 'x' })],
  'no JSON: 4400': [4400, (s) => s.send('hello')],
};
for (const [name, [code, act]] of Object.entries(early)) {
  test(name, { timeout: 30_000 }, async (t) => {
    const socket = new Raw(t);
    await socket.opened;
    act(socket);
    await socket.isClosed(code);
    assert.deepEqual(socket.events, []);
  });
}

test('no connection_init within 10 s: 4408', { timeout: 30_000 }, async (t) => {
  const socket = new Raw(t);
  await socket.opened;
  const begin = Date.now();
  await socket.isClosed(4408, 15_000);
  assert.ok(Date.now() - begin > 8_000, 'and not before');
});

// What goes wrong on an acknowledged connection.
const late = {
  'connection_init twice: 4429': [4429, (s) => s.send({ type: 'connection_init', payload: server.authorization })],
  'no JSON, after the acknowledgement: 4400': [4400, (s) => s.send('hello')],
  'JSON that is no object: 4400': [4400, (s) => s.send('[1]')],
  'an unknown type: 4400': [4400, (s) => s.send({ type: 'iron_maiden' })],
  'no type: 4400': [4400, (s) => s.send({ id: '1' })],
  'subscribe without id: 4400': [4400, (s) => s.send({ type: 'subscribe', payload: { query: '{ __typename }' } })],
  'subscribe without query: 4400': [4400, (s) => s.send({ id: '1', type: 'subscribe', payload: {} })],
  'a subscription id that is in use: 4409': [
    4409,
    (s) => {
      s.subscribe('1', changes);
      s.subscribe('1', changes);
    },
  ],
  'a binary frame: 4400': [4400, (s) => s.send(Buffer.from('{"type":"ping"}'))],
};
for (const [name, [code, act]] of Object.entries(late)) {
  test(name, { timeout: 30_000 }, async (t) => {
    const socket = new Raw(t);
    await socket.init();
    act(socket);
    await socket.isClosed(code);
  });
}

test('another subprotocol: 4406', { timeout: 30_000 }, async (t) => {
  const socket = new Raw(t, { protocol: 'graphql-ws' });
  await Promise.race([socket.closed, socket.opened.catch(() => {})]);
  const end = await within(10_000, 'the socket is refused', socket.closed);
  // A client that is told of no common subprotocol may fail the handshake itself: then it never sees the code.
  if (socket.error) assert.match(socket.error.message, /subprotocol/i);
  else assert.equal(end.code, 4406);
  assert.deepEqual(socket.events, []);
});

test('a page of another origin is refused', { timeout: 30_000 }, async (t) => {
  const socket = new Raw(t, { headers: { origin: 'https://elsewhere.example' } });
  const answer = await within(
    10_000,
    'the answer',
    new Promise((resolve, reject) => {
      socket.socket.once('unexpected-response', (_, response) => resolve(response.statusCode));
      socket.opened.then(() => reject(new Error('the socket was opened')), () => {});
    }),
  );
  assert.equal(answer, 403);
});

test('a message over 1 MiB ends the socket', { timeout: 30_000 }, async (t) => {
  const socket = new Raw(t);
  await socket.init();
  socket.send({ id: '1', type: 'subscribe', payload: { query: '{ __typename }', variables: { a: 'x'.repeat(1 << 20) } } });
  const { code } = await within(10_000, 'the end', socket.closed);
  assert.ok([1009, 4400].includes(code), `close code ${code}`);
});

test('text that is no UTF-8 ends the socket', { timeout: 30_000 }, async (t) => {
  const socket = new Raw(t);
  await socket.init();
  socket.socket.send(Buffer.from([...Buffer.from('{"type":"ping","payload":{"a":"'), 0xff, 0xfe, ...Buffer.from('"}}')]), { binary: false });
  const { code } = await within(10_000, 'the end', socket.closed);
  assert.ok([1007, 4400].includes(code), `close code ${code}`);
});

test('ping is answered, before and after the acknowledgement', { timeout: 30_000 }, async (t) => {
  const socket = new Raw(t);
  await socket.opened;
  socket.send({ type: 'ping' });
  await socket.gets('pong');
  await socket.init();
  socket.events.length = 0;
  socket.send({ type: 'ping', payload: { a: 1 } });
  await socket.gets('pong');
  socket.send({ type: 'pong' });
  socket.subscribe('1', '{ __typename }');
  assert.deepEqual((await socket.gets('next', '1')).payload, { data: { __typename: 'Query' } });
  await socket.gets('complete', '1');
});

for (const [what, query, variables, code] of [
  ['a document that is no GraphQL', '{', undefined, 'PARSE_FAILED'],
  ['an unknown field', '{ nope }', undefined, 'VALIDATION_FAILED'],
  ['a variable of the wrong type', 'query($n: Int!) { agents(first: $n) { totalCount } }', { n: 'x' }, 'BAD_REQUEST|VALIDATION_FAILED'],
  ['an unknown call', 'subscription { callOutput(call: "call_nope") { __typename } }', undefined, 'NOT_FOUND'],
  ['a cursor of nothing', 'subscription { scriptChanges(after: "nope") { __typename } }', undefined, 'BAD_CURSOR'],
  ['an unknown agent', 'subscription { scriptChanges(agent: "agt_nope") { __typename } }', undefined, 'NOT_FOUND'],
]) {
  test(`${what}: an error message, nothing behind it, and the socket stays`, { timeout: 30_000 }, async (t) => {
    const socket = new Raw(t);
    await socket.init();
    socket.subscribe('1', query, variables);
    const { payload } = await socket.gets('error', '1');
    assert.match(payload[0].extensions.code, new RegExp(`^(${code})$`));
    assert.ok(payload[0].extensions.requestId);
    socket.subscribe('1', '{ __typename }'); // the id is free again
    await socket.gets('complete', '1');
    const types = socket.events.filter((m) => m.id === '1').map((m) => m.type);
    assert.deepEqual(types, ['error', 'next', 'complete']);
  });
}

for (const [what, payload, path] of [
  ['variables that are no object', '{"query":"{ __typename }","variables":[1]}', ['variables']],
  ['a lone surrogate', '{"query":"{ __typename }","variables":{"a":"\\ud800"}}', ['variables', 'a']],
  ['variables nested 300 levels deep', `{"query":"query($a: [ID!]!) { nodes(ids: $a) { id } }","variables":{"a":${'['.repeat(300)}${']'.repeat(300)}}}`, null],
]) {
  test(`${what}: an error message with the path, and the socket stays`, { timeout: 30_000 }, async (t) => {
    const socket = new Raw(t);
    await socket.init();
    socket.send(`{"id":"1","type":"subscribe","payload":${payload}}`);
    const { payload: errors } = await socket.gets('error', '1');
    assert.match(errors[0].extensions.code, /^(BAD_REQUEST|LIMIT_EXCEEDED|VALIDATION_FAILED)$/);
    if (path) assert.deepEqual(errors[0].path, path);
    socket.subscribe('1', '{ __typename }');
    await socket.gets('complete', '1');
  });
}

test('complete from the client ends a subscription for good', { timeout: 30_000 }, async (t) => {
  const socket = new Raw(t);
  await socket.init();
  const { scriptChangeLog: log } = await server.ask('{ scriptChangeLog(last: 1) { pageInfo { endCursor } } }');
  const document = 'subscription($after: Cursor) { scriptChanges(after: $after) { ... on ScriptChange { name } } }';
  for (const id of ['ends', 'stays']) socket.subscribe(id, document, { after: log.pageInfo.endCursor });
  await server.saveScript(agent, 'first', 'print()');
  await socket.gets('next', 'ends');
  socket.send({ id: 'ends', type: 'complete' });
  // Messages of a socket are taken in order: when this has an answer, the one before has been taken.
  socket.subscribe('fence', '{ __typename }');
  await socket.gets('complete', 'fence');
  await server.saveScript(agent, 'second', 'print()');
  await within(10_000, 'the second change', socket.reaches((s) => s.events.filter((m) => m.id === 'stays').length >= 2));
  const of = (id) => socket.events.filter((m) => m.id === id).map((m) => m.type);
  assert.deepEqual(of('ends'), ['next'], 'no event and no complete behind the client\'s own');
  assert.deepEqual(of('stays'), ['next', 'next']);
});

test('complete for an unknown id is passed over', { timeout: 30_000 }, async (t) => {
  const socket = new Raw(t);
  await socket.init();
  socket.send({ id: 'nobody', type: 'complete' });
  socket.subscribe('1', '{ __typename }');
  await socket.gets('complete', '1');
});

test('a key that is revoked closes its sockets with 4403', { timeout: 90_000 }, async (t) => {
  const made = await server.mutate(
    'mutation($input: KeyCreateInput!) { keyCreate(input: $input) { key { id } secret userErrors { code message path } } }',
    { name: 'short', capabilities: ['TOOLING'] },
  );
  const socket = new Raw(t);
  await socket.init({ Authorization: `Bearer ${made.secret}` });
  socket.subscribe('1', changes);
  socket.subscribe('2', '{ viewer { key { name } } }');
  assert.equal((await socket.gets('next', '2')).payload.data.viewer.key.name, 'short');
  await server.mutate('mutation($input: KeyRevokeInput!) { keyRevoke(input: $input) { key { revokedAt } userErrors { code message path } } }', {
    key: made.key.id,
  });
  await socket.isClosed(4403, 60_000);
});
