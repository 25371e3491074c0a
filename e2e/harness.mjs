// What every end-to-end test stands on: throw-away servers, ways to talk to them, and ways to wait.
//
// Without SCRIPTORIUM_E2E_DATABASE_URL the servers use SQLite and the bus inside the process. With it, and
// SCRIPTORIUM_E2E_REDIS_URL, each test file gets a fresh PostgreSQL database and the Redis bus, and may start a second server on them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const binary = process.env.SCRIPTORIUM_E2E_BINARY ?? join(root, 'bin', 'scriptorium');
const databaseServer = process.env.SCRIPTORIUM_E2E_DATABASE_URL;
const redis = process.env.SCRIPTORIUM_E2E_REDIS_URL;
if (Boolean(databaseServer) !== Boolean(redis)) {
  throw new Error('Set both SCRIPTORIUM_E2E_DATABASE_URL and SCRIPTORIUM_E2E_REDIS_URL, or neither.');
}

/** True where several servers can share one database and bus. */
export const shared = Boolean(databaseServer);

// ---- Waiting ---------------------------------------------------------------------------------------------------

/** A promise, its resolve and its reject. */
export function deferred() {
  const d = {};
  d.promise = new Promise((resolve, reject) => Object.assign(d, { resolve, reject }));
  d.promise.catch(() => {}); // whoever awaits it sees the error; nobody may have to
  return d;
}

/** What the promise answers, or an error that names what did not come within the time. */
export async function within(ms, what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Looks until fn answers something true, and answers that; fails after ms. */
export async function until(ms, what, fn) {
  const deadline = Date.now() + ms;
  for (;;) {
    const value = await fn();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`${what}: not within ${ms} ms`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

// ---- Databases -------------------------------------------------------------------------------------------------

async function asAdmin(statement) {
  const client = new pg.Client({ connectionString: databaseServer });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** A fresh database on the PostgreSQL server: its URL, and drop(). */
async function freshDatabase() {
  const name = `e2e_${randomBytes(8).toString('hex')}`;
  await asAdmin(`CREATE DATABASE ${name}`);
  const url = new URL(databaseServer);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => asAdmin(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

// ---- Servers ---------------------------------------------------------------------------------------------------

const running = new Set();
const everyLog = [];
process.on('exit', (code) => {
  for (const child of running) child.kill('SIGKILL');
  if (code === 0 && !process.exitCode) return;
  for (const log of everyLog) process.stderr.write(`\n---- the end of the log of ${log.name}\n${log.text.slice(-8192)}\n`);
});

/** Keeps the last part of what a server logs. */
class Log {
  constructor(name) {
    this.name = name;
    this.text = '';
    everyLog.push(this);
  }
  add(chunk) {
    this.text = (this.text + chunk).slice(-(1 << 18));
  }
}

/**
 * Starts bin/scriptorium on a free port and waits until it is ready. Options: args (more flags), env (more environment), data (an existing
 * data folder), beside (another server whose database and bus it shares).
 */
export async function startServer(options = {}) {
  assert.ok(existsSync(binary), `${binary} is missing: run make build`);
  const data = options.data ?? mkdtempSync(join(tmpdir(), 'scriptorium-e2e-'));
  const database = options.database ?? options.beside?.database ?? (shared ? await freshDatabase() : null);
  const args = ['serve', '--listen', '127.0.0.1:0', '--data', data, ...(options.args ?? [])];
  if (database) args.push('--database-url', database.url, '--redis-url', redis);
  const env = { PATH: process.env.PATH, HOME: data, ...options.env };
  const child = spawn(binary, args, { stdio: ['ignore', 'pipe', 'pipe'], env, cwd: data });
  running.add(child);
  const log = new Log(`${options.name ?? 'a server'} (${data})`);
  const ready = deferred();
  let stdout = '';
  child.stdout.on('data', (chunk) => {
    log.add(chunk);
    if (stdout.length > 1 << 16) return;
    stdout += chunk;
    const address = /\bhttp:\/\/(127\.0\.0\.1:\d+)/.exec(stdout);
    if (address && stdout.includes('\n', address.index)) ready.resolve(address[1]);
  });
  child.stderr.on('data', (chunk) => log.add(chunk));
  const exited = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
  exited.then(({ code, signal }) => {
    running.delete(child);
    ready.reject(new Error(`the server ended before it was ready (exit code ${code}, signal ${signal}):\n${log.text.slice(-4096)}`));
  });
  child.once('error', ready.reject);
  const host = await within(60_000, 'the server is ready', ready.promise);
  const server = new Server({ child, data, database, host, log, exited, beside: options.beside });
  await until(10_000, '/readyz answers 200', async () => (await fetch(`${server.url}/readyz`)).status === 200);
  return server;
}

class Server {
  constructor(parts) {
    Object.assign(this, parts);
    this.url = `http://${this.host}`;
    this.secret = this.beside?.secret ?? readFileSync(join(this.data, 'admin.key'), 'utf8').trimEnd();
    this.proxies = [];
  }
  get pid() {
    return this.child.pid;
  }
  get graphql() {
    return `${this.url}/graphql`;
  }
  get ws() {
    return `ws://${this.host}/graphql`;
  }
  get authorization() {
    return { Authorization: `Bearer ${this.secret}` };
  }

  /** Sends a signal and waits for the end. */
  async signal(name, ms = 90_000) {
    this.child.kill(name);
    return within(ms, `the server ends after ${name}`, this.exited);
  }

  /** Stops it in order, checks that it ended well and that nothing of it is left, and removes its data. */
  async stop() {
    const family = descendants(this.pid);
    const alive = this.child.exitCode === null && this.child.signalCode === null;
    if (alive) {
      const end = await this.signal('SIGTERM');
      assert.deepEqual(end, { code: 0, signal: null }, 'the server ends with exit code 0 after SIGTERM');
    }
    await until(10_000, `nothing is left of the server ${this.pid}`, () => remains(this.data, family).length === 0).catch((error) => {
      throw new Error(`${error.message}:\n${remains(this.data, family).join('\n')}`);
    });
    if (this.database && !this.beside) await this.database.drop();
    rmSync(this.data, { recursive: true, force: true });
  }

  /** Posts a document and answers {status, headers, body}. */
  async post(query, variables, { secret = this.secret, headers = {}, url = this.graphql } = {}) {
    return this.send(JSON.stringify({ query, variables }), { secret, headers, url });
  }

  /** Posts a body as it is. */
  async send(body, { secret = this.secret, headers = {}, url = this.graphql } = {}) {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/graphql-response+json',
        ...(secret ? { authorization: `Bearer ${secret}` } : {}),
        ...headers,
      },
      body,
      signal: AbortSignal.timeout(150_000),
    });
    const text = await response.text();
    let parsed;
    try {
      parsed = JSON.parse(text);
    } catch {
      throw new Error(`status ${response.status} with a body that is no JSON: ${text.slice(0, 200)}`);
    }
    return { status: response.status, headers: response.headers, body: parsed };
  }

  /** Posts a document that must succeed, and answers its data. */
  async ask(query, variables, options) {
    const { status, body } = await this.post(query, variables, options);
    assert.equal(body.errors, undefined, JSON.stringify(body.errors));
    assert.equal(status, 200);
    return body.data;
  }

  /** Posts a mutation of one field that must not be refused, and answers that field's payload. */
  async mutate(query, input, options) {
    const data = await this.ask(query, { input }, options);
    const [payload] = Object.values(data);
    assert.deepEqual(payload.userErrors, [], 'the mutation is not refused');
    return payload;
  }

  // ---- The main thread: an agent, its script, a run, a call.

  async createAgent(name = 'e2e') {
    const { agent } = await this.mutate(
      'mutation($input: AgentCreateInput!) { agentCreate(input: $input) { agent { id name } userErrors { code message path } } }',
      { name, maxScripts: 100 },
    );
    return agent;
  }

  async saveScript(agent, name, source, more = {}) {
    return this.mutate(saveDocument, { agent: agent.id, name, description: `${name}, for a test`, source, ...more });
  }

  async createRun(agent, more = {}) {
    const { run } = await this.mutate(
      'mutation($input: RunCreateInput!) { runCreate(input: $input) { run { id status generation } userErrors { code message path } } }',
      { agent: agent?.id, ...more },
    );
    return run;
  }

  /** Calls script_run; answers at once unless wait is true. */
  async callScript(run, name, args = {}, { wait = false } = {}) {
    const { call } = await this.mutate(callDocument, { run: run.id, name: 'script_run', arguments: { name, arguments: args }, wait });
    return call;
  }

  async finishRun(run) {
    await this.mutate(
      'mutation($input: RunFinishInput!) { runFinish(input: $input) { run { id status } userErrors { code message path } } }',
      { run: run.id },
    );
  }

  async getCall(id, options) {
    const { call } = await this.ask(`query($id: ID!) { call(id: $id) { ${callFields} } }`, { id }, options);
    return call;
  }

  /** Waits until the call has one of the states. */
  async callIs(id, states, ms = 60_000) {
    return until(ms, `call ${id} is ${states}`, async () => {
      const call = await this.getCall(id);
      return states.includes(call.status) && call;
    });
  }
}

export const callFields = `
  id status errorCode text exitCode signal stdout stderr truncated
  output { stdoutBytes stdoutSha256 stderrBytes stderrSha256 url dropped }`;

export const saveDocument = `mutation($input: AgentScriptSaveInput!) {
  agentScriptSave(input: $input) {
    script { id name } version { id number sourceHash } created takesEffect userErrors { code message path }
  }
}`;

export const callDocument = `mutation($input: ToolCallInput!) {
  toolCall(input: $input) { call { ${callFields} } userErrors { code message path } }
}`;

// ---- What a server leaves --------------------------------------------------------------------------------------

/** The processes of this machine: pid → {parent, start, command}. */
function processes() {
  const all = new Map();
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const command = readFileSync(`/proc/${entry}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      all.set(Number(entry), { state: fields[0], parent: Number(fields[1]), start: fields[19], command });
    } catch {
      // It ended meanwhile.
    }
  }
  return all;
}

/** The processes below pid: [{pid, start}]. */
export function descendants(pid) {
  const all = processes();
  const found = [];
  const add = (parent) => {
    for (const [child, p] of all) {
      if (p.parent !== parent) continue;
      found.push({ pid: child, start: p.start });
      add(child);
    }
  };
  add(pid);
  return found;
}

/** What is left of a server that ended: processes that it started or that name its data folder, and mounts in that folder; in words. */
export function remains(data, family = []) {
  const left = [];
  const all = processes();
  for (const [pid, p] of all) {
    if (pid === process.pid || p.state === 'Z') continue;
    const ours = family.some((f) => f.pid === pid && f.start === p.start);
    if (ours || p.command.includes(data)) left.push(`process ${pid}: ${p.command}`);
  }
  for (const line of readFileSync('/proc/self/mountinfo', 'utf8').split('\n')) {
    if (line.includes(data)) left.push(`mount ${line}`);
  }
  return left;
}

/** The folders below a folder, as paths from it, without those that keep what is stored. */
export function folders(dir, ignored = []) {
  const found = [];
  const walk = (path, name) => {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const below = name ? `${name}/${entry.name}` : entry.name;
      if (!entry.isDirectory() || ignored.includes(below)) continue;
      found.push(below);
      walk(join(path, entry.name), below);
    }
  };
  walk(dir, '');
  return found.sort();
}

/** The file that a process runs, or null where it has ended. */
export function executable(pid) {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return null;
  }
}

// ---- Output that can be proved ---------------------------------------------------------------------------------

/**
 * A script that writes `bytes` bytes to each output, in blocks, pausing between them, so that a reader can come in the middle. The bytes follow from
 * `seed` by SHAKE-128, so they are known here, too, and are neither text nor free of NULs.
 */
export const noise = `
import hashlib, json, sys, time

a = json.load(sys.stdin)
size, block = a["bytes"], a.get("block", 65536)
out = hashlib.shake_128((a["seed"] + "/out").encode()).digest(size)
err = hashlib.shake_128((a["seed"] + "/err").encode()).digest(size)
for begin in range(0, size, block):
    for stream, data in ((sys.stdout.buffer, out), (sys.stderr.buffer, err)):
        stream.write(data[begin:begin + block])
        stream.flush()
    time.sleep(a.get("pause", 0))
`;

/** The bytes that `noise` writes: {STDOUT, STDERR}. */
export function noiseBytes({ seed, bytes }) {
  const of = (name) => createHash('shake128', { outputLength: bytes }).update(`${seed}/${name}`).digest();
  return { STDOUT: of('out'), STDERR: of('err') };
}

export const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

export const outputDocument = `subscription($call: ID!, $after: Cursor) {
  callOutput(call: $call, after: $after) {
    __typename
    ... on OutputChunk { cursor callId offset stream data at }
    ... on CallFinished { cursor call { id status exitCode output { stdoutBytes stdoutSha256 stderrBytes stderrSha256 dropped } } }
    ... on StreamGap { cursor reason }
  }
}`;

/** Events in the order in which they came, and a way to wait for them. */
export class Arrivals {
  constructor() {
    this.events = [];
    this.marks = [];
  }

  add(event) {
    this.events.push(event);
    const due = this.marks.filter((m) => m.when(this));
    this.marks = this.marks.filter((m) => !due.includes(m));
    for (const mark of due) mark.resolve(this);
  }

  /** Resolves as soon as `when` holds. */
  reaches(when) {
    const mark = deferred();
    if (when(this)) mark.resolve(this);
    else this.marks.push({ when, resolve: mark.resolve });
    return mark.promise;
  }
}

/**
 * What a subscriber has of a call's output. It checks each event as it comes: chunks join without a seam, nothing follows the end, no cursor comes
 * twice. With `from`, an Output that was cut, it goes on where that one was.
 */
export class Output extends Arrivals {
  constructor(from) {
    super();
    this.parts = { STDOUT: [...(from?.parts.STDOUT ?? [])], STDERR: [...(from?.parts.STDERR ?? [])] };
    this.sizes = { ...(from?.sizes ?? { STDOUT: 0, STDERR: 0 }) };
    this.cursors = new Set(from?.cursors);
    this.cursor = from?.cursor ?? null;
    this.finished = null;
  }

  add(event) {
    assert.equal(this.finished, null, 'nothing follows CallFinished');
    assert.ok(event.cursor && !this.cursors.has(event.cursor), `a new cursor: ${event.cursor}`);
    this.cursors.add(event.cursor);
    this.cursor = event.cursor;
    if (event.__typename === 'CallFinished') {
      this.finished = event.call;
    } else {
      assert.equal(event.__typename, 'OutputChunk', JSON.stringify(event));
      assert.equal(event.offset, String(this.sizes[event.stream]), `the chunk joins what came before on ${event.stream}`);
      const data = Buffer.from(event.data, 'base64');
      assert.ok(data.length > 0, 'a chunk is not empty');
      this.parts[event.stream].push(data);
      this.sizes[event.stream] += data.length;
    }
    super.add({ ...event, data: undefined });
  }

  get total() {
    return this.sizes.STDOUT + this.sizes.STDERR;
  }

  bytes(stream) {
    return Buffer.concat(this.parts[stream]);
  }

  /** Proves that this reader has exactly these bytes, by its own hash, by the server's, and by the expected one. */
  prove(expected) {
    assert.ok(this.finished, 'the end came');
    const { output } = this.finished;
    for (const [stream, prefix] of [['STDOUT', 'stdout'], ['STDERR', 'stderr']]) {
      assert.equal(this.sizes[stream], expected[stream].length, `bytes of ${stream}`);
      assert.equal(output[`${prefix}Bytes`], String(expected[stream].length), `bytes of ${stream} as CallFinished has them`);
      const hash = sha256(expected[stream]);
      assert.equal(sha256(this.bytes(stream)), hash, `SHA-256 of ${stream}`);
      assert.equal(output[`${prefix}Sha256`], hash, `SHA-256 of ${stream} as CallFinished has it`);
    }
    assert.equal(output.dropped, '0');
  }
}

/** Whether something listens on the port of a URL. */
export function listens(url) {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('close', () => socket.destroy());
    socket.once('connect', () => socket.destroy());
  });
}
