// The packages of examples/ on real computers: a deck is made of a template, in Python and in Node, in a run and by a direct call.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { after, before, test } from 'node:test';
import { connect, register } from '../examples/register.mjs';
import { unzip } from '../examples/house_deck_node/lib/zip.mjs';
import { root, sha256, startServer } from './harness.mjs';

let server, api;
before(async () => {
  server = await startServer({ name: 'decks' });
  api = connect({ url: server.url, key: server.secret });
});
after(() => server?.stop());

const example = (name) => join(root, 'examples', name);
const slides = [{ heading: 'Revenue', bullets: ['up by 7 %', 'costs < plan & falling'] }, { heading: '报告 ñ😀' }];
const call = `mutation($input: ToolCallInput!) {
  toolCall(input: $input) {
    call {
      id status errorCode text exitCode run { id } version { number } leftOnComputer evidence { reason isolation { processesLeft } }
      artifacts { id name size sha256 contentType url content }
    }
    userErrors { code message path }
  }
}`;

/** The titles of a presentation whose parts fit together. */
function titles(bytes) {
  const parts = new Map([...unzip(bytes)].map(([name, content]) => [name, content.toString('utf8')]));
  const types = parts.get('[Content_Types].xml');
  for (const [name, text] of parts) {
    assert.ok(name.endsWith('.rels') || types.includes(`PartName="/${name}"`) || name === '[Content_Types].xml', `${name} has a content type`);
    if (!name.endsWith('.rels')) continue;
    const folder = posix.dirname(posix.dirname(name));
    for (const [, target] of text.matchAll(/ Target="([^"]+)"/g)) assert.ok(parts.has(posix.join(folder, target)), `${name} leads to ${target}`);
  }
  const order = [...parts.get('ppt/presentation.xml').matchAll(/<p:sldId id="\d+" r:id="slide(\d+)"\/>/g)].map((m) => m[1]);
  return order.map((n) => /<a:t>([^<]*)</.exec(parts.get(`ppt/slides/slide${n}.xml`))[1]);
}

/** Checks a call that made a deck, fetches the deck, and answers its bytes. */
async function fetched(made, more = {}) {
  assert.equal(made.status, 'SUCCEEDED', made.text);
  assert.equal(made.text, 'exit_code: 0\nstdout:\n3 slides written\nstderr:\n\nfiles:\npresentation.pptx: kept as an artifact\n');
  assert.deepEqual(made.leftOnComputer, []);
  assert.deepEqual(made.evidence, { reason: 'EXIT', isolation: { processesLeft: 0 } });
  const [deck, ...others] = made.artifacts;
  assert.deepEqual(others, []);
  assert.equal(deck.name, 'presentation.pptx');
  assert.equal(deck.contentType, 'application/vnd.openxmlformats-officedocument.presentationml.presentation');
  const answer = await fetch(server.url + deck.url, { headers: { ...server.authorization, ...more } });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('etag'), `"${deck.sha256}"`);
  const bytes = Buffer.from(await answer.arrayBuffer());
  assert.equal(bytes.length, deck.size);
  assert.equal(sha256(bytes), deck.sha256);
  assert.deepEqual(bytes, Buffer.from(deck.content, 'base64'));
  assert.deepEqual(titles(bytes), ['Q3', 'Revenue', '报告 ñ😀']);
  return bytes;
}

test('the same deck comes from Python and from Node, in one run and by direct calls', { timeout: 120_000 }, async () => {
  const names = ['house_deck', 'house_deck_node'];
  for (const name of names) {
    const { created, version } = await register(api, example(name));
    assert.deepEqual([created, version.number, version.status], [true, 1, 'PUBLISHED']);
    assert.equal((await register(api, example(name))).created, false, 'nothing has changed');
  }
  const agent = await server.createAgent('presenter');
  const run = await server.createRun(agent, { tools: [{ name: 'script__house_deck', version: 1 }, { name: 'script__house_deck_node' }] });
  const decks = [];
  for (const where of [{ run: run.id }, {}]) {
    for (const name of names) {
      const { call: made } = await server.mutate(call, { ...where, name: `script__${name}`, arguments: { title: 'Q3', slides } });
      assert.equal(made.run?.id, where.run);
      assert.equal(made.version.number, 1);
      decks.push((await fetched(made)).toString('base64'));
    }
  }
  assert.equal(decks[0], decks[2], 'a direct call makes the same file');
  assert.equal(decks[1], decks[3]);
  await server.finishRun(run);
});

test('a model is told what it sent wrong, and nothing runs', { timeout: 60_000 }, async () => {
  await register(api, example('house_deck'));
  const { call: refused } = await server.mutate(call, { name: 'script__house_deck', arguments: { title: 'Q3', slides: [{ heading: 'a' }, { bullets: [] }] } });
  assert.deepEqual([refused.status, refused.errorCode, refused.text], ['REFUSED', 'INVALID_ARGUMENTS', 'Tool arguments were not valid.\n/slides/1/heading: required']);
  assert.equal(refused.evidence, null);
});

test('a run keeps the version that it began with, a draft waits for its approval', { timeout: 120_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'deck-'));
  try {
    cpSync(example('house_deck'), folder, { recursive: true });
    const input = JSON.parse(readFileSync(join(folder, 'script.json'), 'utf8'));
    writeFileSync(join(folder, 'script.json'), JSON.stringify({ ...input, name: 'deck_with_versions' }));
    await register(api, folder);
    const run = await server.createRun(null, { tools: [{ name: 'script__deck_with_versions' }] });
    writeFileSync(join(folder, 'themes.json'), '{"house": "00FF00", "board": "7B1E3B"}');
    const { version, created } = await register(api, folder, { draft: true });
    assert.deepEqual([created, version.number, version.status], [true, 2, 'DRAFT']);
    const make = async (where) => {
      const { call: made } = await server.mutate(call, { ...where, name: 'script__deck_with_versions', arguments: { title: 'Q3', slides } });
      return { number: made.version.number, bytes: await fetched(made) };
    };
    const first = await make({ run: run.id });
    assert.equal(first.number, 1);
    assert.equal((await make({})).number, 1, 'a draft is not the latest version');
    await server.mutate('mutation($input: ScriptVersionPublishInput!) { scriptVersionPublish(input: $input) { version { status } userErrors { code message path } } }',
      { version: version.id, comment: 'the new green' });
    const second = await make({});
    assert.equal(second.number, 2);
    assert.notDeepEqual(second.bytes, first.bytes);
    const again = await make({ run: run.id });
    assert.equal(again.number, 1);
    assert.deepEqual(again.bytes, first.bytes, 'the run goes on with the version that it was given');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
