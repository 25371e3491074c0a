// callOutput: what a program printed, to the last byte, for whoever comes when.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createClient as createSSEClient } from 'graphql-sse';
import WebSocket from 'ws';
import { graphqlWS, run as subscribe } from './clients.mjs';
import { Output, deferred, noise, noiseBytes, outputDocument, shared, startServer, until, within } from './harness.mjs';

const MiB = 1024 * 1024;

let server;
let second; // shares the first one's database and bus
let agent;
before(async () => {
  server = await startServer({ name: 'output' });
  if (shared) second = await startServer({ name: 'output, second server', beside: server });
  agent = await server.createAgent('output');
  await server.saveScript(agent, 'noise', noise);
});
after(async () => {
  await second?.stop();
  await server?.stop();
});

/** Follows a call's output on a client of its own: {output, done}. With `from`, an Output, it goes on behind it. */
function follow(t, at, call, { over = 'ws', from } = {}) {
  const client =
    over === 'ws'
      ? graphqlWS(at.ws, at.secret)
      : createSSEClient({ url: at.graphql, headers: at.authorization, retryAttempts: 0 });
  t.after(() => client.dispose());
  const output = new Output(from);
  const done = subscribe(client, outputDocument, { call: call.id, after: from?.cursor ?? null }, (data) => output.add(data.callOutput));
  done.catch(() => {}); // awaited later
  return { output, done: within(100_000, `the output over ${over}`, done) };
}

async function raw(at, url, stream) {
  const response = await fetch(`${at.url}${url}?stream=${stream}`, { headers: at.authorization });
  assert.equal(response.status, 200);
  return Buffer.from(await response.arrayBuffer());
}

/**
 * Starts a call that writes 5 MiB to each output, with readers from its start, and comes back when the first reader has half of it and the call still
 * runs. On a busy machine the readers may be too late for that: then a slower call is made.
 */
async function halfWay(t, run) {
  for (const pause of [0.04, 0.16, 0.64]) {
    const args = { seed: `five, ${pause}`, bytes: 5 * MiB, block: 65536, pause };
    const call = await server.callScript(run, 'noise', args);
    const readers = [];
    const reader = (name, at, options) => readers.push({ name, ...follow(t, at, call, options) });
    reader('from the start, WebSocket', server);
    reader('from the start, SSE', server, { over: 'sse' });
    if (shared) reader('from the start, second server', second);
    const { output: first, done } = readers[0];
    await within(90_000, 'the first half', Promise.race([first.reaches((o) => o.total >= 5 * MiB), done]));
    const middle = new Output(first);
    if ((await server.getCall(call.id)).status === 'RUNNING') return { args, readers, reader, first, middle, call };
    await Promise.all(readers.map((r) => r.done));
  }
  throw new Error('no reader came in the middle, however slow the call was');
}

test('5 MiB of random bytes to each output: from the start, the middle, after the end, on a second server', { timeout: 280_000 }, async (t) => {
  const run = await server.createRun(agent);
  const { args, readers, reader, first, middle, call } = await halfWay(t, run);
  const expected = noiseBytes(args);
  for (const [where, at] of shared ? [['', server], [', second server', second]] : [['', server]]) {
    reader(`all of it, from the middle on${where}`, at);
    reader(`what comes behind the middle, WebSocket${where}`, at, { from: middle });
    reader(`what comes behind the middle, SSE${where}`, at, { from: middle, over: 'sse' });
  }
  for (const r of readers) {
    await r.done;
    await t.test(r.name, () => r.output.prove(expected));
  }

  const late = readers.length;
  for (const [where, at] of shared ? [['', server], [', second server', second]] : [['', server]]) {
    reader(`after the end, WebSocket${where}`, at);
    reader(`after the end, SSE${where}`, at, { over: 'sse' });
    reader(`after the end, behind the middle${where}`, at, { from: middle });
  }
  for (const r of readers.slice(late)) {
    await r.done;
    await t.test(r.name, () => r.output.prove(expected));
  }

  await t.test('behind the last event there is nothing', async () => {
    const { output, done } = follow(t, server, call, { from: Object.assign(new Output(first), { finished: null }) });
    await done;
    assert.deepEqual(output.events, []);
  });
  await t.test('the raw bytes over HTTP', async () => {
    const { output } = await server.getCall(call.id);
    for (const stream of ['STDOUT', 'STDERR']) {
      assert.ok(expected[stream].equals(await raw(server, output.url, stream)), stream);
    }
  });
  await server.finishRun(run);
});

/** Bytes read as UTF-8: each byte that is none is U+FFFD. */
function reading(bytes) {
  const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    let size = 1;
    let character = '\ufffd';
    for (let length = 1; length <= 4 && at + length <= bytes.length; length++) {
      try {
        character = strict.decode(bytes.subarray(at, at + length));
        size = length;
        break;
      } catch {
        // No character of this length.
      }
    }
    text += character;
    at += size;
  }
  return text;
}

test('a line is seen while the program runs', { timeout: 60_000 }, async (t) => {
  await server.saveScript(agent, 'two-lines', 'import time\nprint("one")\ntime.sleep(3)\nprint("two", end="")\n');
  const run = await server.createRun(agent);
  const call = await server.callScript(run, 'two-lines');
  const { output, done } = follow(t, server, call);
  await within(30_000, 'the first line', output.reaches((o) => o.sizes.STDOUT >= 4));
  assert.equal(output.bytes('STDOUT').toString(), 'one\n');
  assert.equal((await server.getCall(call.id)).status, 'RUNNING');
  await done;
  output.prove({ STDOUT: Buffer.from('one\ntwo'), STDERR: Buffer.alloc(0) });
  await server.finishRun(run);
});

test('the text of a chunk is the reading of its own bytes; NULs and half characters are kept', { timeout: 60_000 }, async (t) => {
  const source = `
import sys
w = sys.stdout.buffer
for byte in "a\\u00e9\\u20ac\\U0001f600".encode() * 40:
    w.write(bytes([byte])); w.flush()
w.write(b"\\0\\xff\\xfe end \\xe2\\x82"); w.flush()
`;
  await server.saveScript(agent, 'halves', source);
  const run = await server.createRun(agent);
  const call = await server.callScript(run, 'halves');
  const client = graphqlWS(server.ws, server.secret);
  t.after(() => client.dispose());
  const output = new Output();
  const texts = [];
  const document = outputDocument.replace(' data ', ' data text ');
  await within(
    45_000,
    'the output',
    subscribe(client, document, { call: call.id }, ({ callOutput }) => {
      output.add(callOutput);
      if (callOutput.__typename !== 'OutputChunk') return;
      assert.equal(callOutput.text, reading(Buffer.from(callOutput.data, 'base64')));
      texts.push(callOutput.text);
    }),
  );
  const expected = Buffer.concat([Buffer.from('aé€😀'.repeat(40)), Buffer.from([0, 0xff, 0xfe]), Buffer.from(' end '), Buffer.from([0xe2, 0x82])]);
  output.prove({ STDOUT: expected, STDERR: Buffer.alloc(0) });
  assert.equal(texts.join('').slice(0, 5 * 40), 'aé€😀'.repeat(40), 'no character is cut by the end of a chunk');
  await server.finishRun(run);
});

test('a reader that stops reading delays nobody and loses nothing', { timeout: 200_000 }, async (t) => {
  const args = { seed: 'stuck', bytes: 7 * MiB, block: 131072 };
  const expected = noiseBytes(args);
  const run = await server.createRun(agent);
  const call = await server.callScript(run, 'noise', args);

  const stuck = new Output();
  const socket = new WebSocket(server.ws, 'graphql-transport-ws');
  t.after(() => socket.terminate());
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const completed = deferred();
  const paused = deferred();
  socket.on('message', (data) => {
    const message = JSON.parse(data);
    if (message.type === 'connection_ack') {
      socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: outputDocument, variables: { call: call.id } } }));
    } else if (message.type === 'ping') {
      socket.send('{"type":"pong"}');
    } else if (message.type === 'next') {
      stuck.add(message.payload.data.callOutput);
      if (stuck.events.length === 1) {
        socket.pause();
        paused.resolve();
      }
    } else if (message.type === 'complete') {
      completed.resolve('complete');
    } else {
      completed.reject(new Error(`an unexpected message: ${message.type}`));
    }
  });
  socket.once('open', () => socket.send(JSON.stringify({ type: 'connection_init', payload: server.authorization })));
  await within(30_000, 'the first chunk', paused.promise);

  const other = follow(t, server, call);
  await other.done;
  other.output.prove(expected);
  await server.callIs(call.id, ['SUCCEEDED'], 5_000);

  socket.resume();
  const end = await within(60_000, 'the stuck reader comes to an end', Promise.race([completed.promise, closed]));
  if (end === 'complete') {
    stuck.prove(expected);
  } else {
    assert.equal(end, 4413, 'a slow reader is closed with 4413');
    const rest = follow(t, server, call, { from: stuck });
    await rest.done;
    rest.output.prove(expected);
  }
  await server.finishRun(run);
});

test('1012 at shutdown, then the rest from the next server', { timeout: 240_000 }, async (t) => {
  const own = await startServer({ name: 'output, stopped in the middle' });
  let next;
  t.after(async () => {
    await next?.signal('SIGTERM');
    await own.stop(); // the data and the database are its own to remove
  });
  const owner = await own.createAgent('shutdown');
  await own.saveScript(owner, 'endless', 'import time\nn = 0\nwhile True:\n    print(n)\n    n += 1\n    time.sleep(0.01)\n');
  const run = await own.createRun(owner);
  const call = await own.callScript(run, 'endless');
  const { output, done } = follow(t, own, call);
  await within(30_000, 'some lines', output.reaches((o) => o.events.length >= 5));
  own.child.kill('SIGTERM');
  const error = await done.then(
    () => null,
    (e) => e,
  );
  await within(90_000, 'the server ends', own.exited);
  if (!output.finished) assert.equal(error?.code, 1012, `the stream ends with 1012, or with the call: ${error?.message}`);

  next = await startServer({ name: 'output, started again', data: own.data, database: own.database });
  const ended = await until(30_000, 'the call has ended', async () => {
    const c = await next.getCall(call.id);
    return !['QUEUED', 'RUNNING'].includes(c.status) && c;
  });
  assert.ok(['CANCELLED', 'LOST'].includes(ended.status), ended.status);
  const rest = follow(t, next, call, { from: Object.assign(new Output(output), { finished: null }) });
  await rest.done;
  const text = rest.output.bytes('STDOUT').toString();
  const lines = text.split('\n');
  // It may have been stopped between a number and the end of its line.
  assert.ok(['', String(lines.length - 1)].includes(lines.pop()), 'whole lines but the last one');
  assert.deepEqual(lines, [...lines.keys()].map(String), 'each line once, in order');
  assert.equal(ended.output.stdoutBytes, String(text.length));
});
