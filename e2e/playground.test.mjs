// The playground in headless Chromium: the key is entered, the example is run, the lines are seen, and no request leaves the machine.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { stream, Tail } from '../graph/playground/build/tail.mjs';
import { startServer } from './harness.mjs';

let server;
let browser;
before(async () => {
  server = await startServer({ name: 'playground' });
  browser = await chromium.launch({
    executablePath: process.env.SCRIPTORIUM_E2E_CHROMIUM ?? '/usr/bin/chromium',
    // Root cannot use Chromium's own sandbox; no name but this machine's resolves.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'],
  });
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** A page that notes what it asks for, and what goes wrong in it. */
async function open(t) {
  const context = await browser.newContext();
  t.after(() => context.close());
  const page = await context.newPage();
  const seen = { requests: [], sockets: [], faults: [] };
  context.on('request', (request) => seen.requests.push(request.url()));
  context.on('requestfailed', (request) => seen.faults.push(`${request.url()}: ${request.failure()?.errorText}`));
  page.on('websocket', (socket) => seen.sockets.push(socket.url()));
  page.on('pageerror', (error) => seen.faults.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && seen.faults.push(message.text()));
  await page.goto(`${server.url}/playground`);
  return { page, seen };
}

/** Everything that the page asked for came from the server. */
function stayedHome({ requests, sockets }) {
  assert.ok(requests.length > 0);
  const elsewhere = requests.filter((url) => new URL(url).host !== server.host && !/^(data|blob):/.test(url));
  assert.deepEqual(elsewhere, []);
  assert.deepEqual(sockets.filter((url) => new URL(url).host !== server.host), []);
  const secrets = [...requests, ...sockets].filter((url) => url.includes(server.secret));
  assert.deepEqual(secrets, [], 'the key is in no address');
}

/** Puts a document into GraphiQL's editor, runs it, and answers what the result shows once `shows` holds. */
async function execute(page, document, shows) {
  await page.waitForSelector('.graphiql-query-editor .CodeMirror', { timeout: 30_000 });
  await page.evaluate((text) => globalThis.document.querySelector('.graphiql-query-editor .CodeMirror').CodeMirror.setValue(text), document);
  // The button offers a choice until GraphiQL has read the new document, and stops what runs until that has ended.
  await page.waitForSelector('.graphiql-execute-button[aria-label^="Execute"]:not([aria-haspopup])', { timeout: 30_000 });
  await page.click('.graphiql-execute-button');
  const result = await page.waitForFunction(
    (pattern) => {
      const text = globalThis.document.querySelector('.result-window .CodeMirror, .graphiql-response .CodeMirror')?.CodeMirror?.getValue() ?? '';
      return new RegExp(pattern).test(text) && text;
    },
    shows.source,
    { timeout: 30_000 },
  );
  return result.jsonValue();
}

test('the example is run from top to bottom, and its lines are seen', { timeout: 120_000 }, async (t) => {
  const { page, seen } = await open(t);
  await page.fill('#key', server.secret);
  await page.evaluate(() => {
    globalThis.states = [];
    const note = () => globalThis.states.push(globalThis.document.querySelector('#answers')?.textContent ?? '');
    new MutationObserver(note).observe(globalThis.document.body, { subtree: true, childList: true, characterData: true });
  });
  await page.click('#run-all');
  await page.waitForFunction(() => /# done|# \"|"errors"/.test(globalThis.document.querySelector('#answers')?.textContent ?? ''), null, { timeout: 90_000 });
  const answers = (await page.textContent('#answers')).split('\n');
  assert.equal(answers.at(-1), '# done', answers.join('\n').slice(-1000));
  const from = answers.indexOf('# subscription WatchOutput');
  const to = answers.indexOf('# mutation FinishRun');
  assert.ok(from > 0 && to > from, answers.join('\n'));
  const events = answers.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
  assert.ok(events.length > 1 && events.every((e) => !e.errors));
  assert.deepEqual(answers.slice(from + 1, to - 1), ['3 ...', '2 ...', '1 ...', 'Lift-off!'], 'the output is shown as it was printed');
  assert.equal(JSON.parse(answers[to - 1]).data.callOutput.call?.status, 'SUCCEEDED');
  const states = await page.evaluate(() => globalThis.states);
  assert.ok(states.some((s) => /^3 \.\.\.$/m.test(s) && !s.includes('Lift-off!')), 'line by line, not all at once');
  const { top, inside, whole } = await page.$eval('footer:has(#answers)', (f) => ({ top: f.scrollTop, inside: f.clientHeight, whole: f.scrollHeight }));
  assert.ok(whole > inside, 'there is more than fits');
  assert.ok(top + inside >= whole - 1, 'the end is in sight');
  assert.equal(seen.sockets.length > 0, true, 'the subscription went over a WebSocket');
  assert.deepEqual(seen.faults, []);
  stayedHome(seen);
});

test('a query and a subscription from the editor', { timeout: 120_000 }, async (t) => {
  const agent = await server.createAgent('playground');
  await server.saveScript(agent, 'lines', 'for n in range(5):\n    print("line", n)\n');
  const run = await server.createRun(agent);
  const call = await server.callScript(run, 'lines', {}, { wait: true });
  const { page, seen } = await open(t);
  await page.fill('#key', server.secret);
  await execute(page, '{ viewer { operator } }', /"operator": true/);
  const shown = await execute(
    page,
    `subscription { callOutput(call: "${call.id}") { ... on OutputChunk { text } ... on CallFinished { call { status } } } }`,
    /SUCCEEDED/,
  );
  const events = JSON.parse(shown).events.map((e) => e.data.callOutput);
  assert.equal(events.map((e) => e.text ?? '').join(''), 'line 0\nline 1\nline 2\nline 3\nline 4\n', 'the whole stream is shown');
  assert.equal(events.at(-1).call?.status, 'SUCCEEDED');
  assert.deepEqual(seen.faults, []);
  stayedHome(seen);
  await server.finishRun(run);
});

test('without a key the page says what is missing', { timeout: 60_000 }, async (t) => {
  const { page, seen } = await open(t);
  await execute(page, '{ viewer { operator } }', /UNAUTHENTICATED/);
  stayedHome(seen);
});

test('of a long stream the newest events are shown, and that some are not', () => {
  const tail = new Tail(3, 100);
  assert.deepEqual(stream(tail), { events: [] });
  for (const n of [1, 2, 3]) tail.push({ n });
  assert.deepEqual(stream(tail), { events: [{ n: 1 }, { n: 2 }, { n: 3 }] });
  tail.push({ n: 4 });
  assert.deepEqual(stream(tail, [{ message: 'lost' }]), {
    note: 'The first 1 of 4 events are left out.',
    events: [{ n: 2 }, { n: 3 }, { n: 4 }],
    errors: [{ message: 'lost' }],
  });
  tail.push('x'.repeat(200));
  assert.deepEqual([tail.items.length, tail.dropped], [1, 4], 'its size is bounded, too');
  assert.deepEqual(stream(new Tail(3, 100), [{ message: 'no' }]), { errors: [{ message: 'no' }] });
});
