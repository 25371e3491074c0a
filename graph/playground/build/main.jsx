// The playground: GraphiQL with a field for the key, subscriptions, and the ids of what was made last filled into variables of their names.
import { GraphiQL } from 'graphiql';
import { getOperationAST, parse } from 'graphql';
import { createClient } from 'graphql-ws';
import React, { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { stream, Tail } from './tail.mjs';
import 'graphiql/graphiql.css';
import './playground.css';

const endpoint = document.querySelector('meta[name="graphql-endpoint"]').content;
const url = new URL(endpoint, location.href);
const socketURL = Object.assign(new URL(url), { protocol: url.protocol === 'https:' ? 'wss:' : 'ws:' }).href;

// The ids of what was answered last, by the name of the field that held it: { agent, run, call, … }.
const latest = {};

function learn(value) {
  if (Array.isArray(value)) value.forEach(learn);
  else if (value && typeof value === 'object') {
    for (const [name, inner] of Object.entries(value)) {
      if (inner && typeof inner.id === 'string') latest[name] = inner.id;
      learn(inner);
    }
  }
  return value;
}

// Fills variables that the operation declares and that were left out.
function fill(params) {
  const variables = { ...params.variables };
  try {
    for (const op of parse(params.query).definitions) {
      if (op.kind !== 'OperationDefinition' || (params.operationName && op.name?.value !== params.operationName)) continue;
      for (const { variable: { name } } of op.variableDefinitions ?? []) {
        if (variables[name.value] === undefined && latest[name.value]) variables[name.value] = latest[name.value];
      }
    }
  } catch {
    // The server says what is wrong with the document.
  }
  return { ...params, variables };
}

// How much of a subscription and of the answers is kept: items, and characters.
const most = 1000;
const room = 1 << 20;

// Subscriptions go over a WebSocket, everything else over HTTP. execute answers a subscription's events one by one, fetcher all of them so far: GraphiQL
// shows the last thing it was given. A lost connection ends a subscription: begun again, it would tell events twice.
function makeFetcher(key) {
  const authorization = key ? { Authorization: `Bearer ${key}` } : {};
  const client = createClient({ url: socketURL, connectionParams: authorization, retryAttempts: 0 });
  const post = async (request, headers) => {
    const answer = await fetch(url, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json', Accept: 'application/graphql-response+json, application/json', ...authorization, ...headers,
      },
      body: JSON.stringify(request),
    });
    return learn(await answer.json());
  };
  const ask = (params, headers, subscribe) => {
    const { query, operationName, variables } = fill(params);
    const request = { query, operationName, variables };
    return isSubscription(query, operationName) ? subscribe(client, request) : post(request, headers);
  };
  return {
    execute: params => ask(params, {}, watch),
    fetcher: (params, options) => ask(params, options?.headers, collect),
    dispose: () => client.dispose(),
  };
}

function isSubscription(query, operationName) {
  try {
    return getOperationAST(parse(query), operationName)?.operation === 'subscription';
  } catch {
    return false; // the server says what is wrong with the document
  }
}

function faults(error) {
  return Array.isArray(error) ? error : [{ message: error?.reason || error?.message || 'the connection was lost' }];
}

async function* watch(client, request) {
  try {
    for await (const answer of client.iterate(request)) yield learn(answer);
  } catch (error) {
    yield { errors: faults(error) };
  }
}

// An observable of all events so far. It tells them at most 20 times a second: each time the whole is shown anew.
function collect(client, request) {
  return {
    subscribe(sink) {
      const tail = new Tail(most, room);
      const release = followResult();
      let timer;
      const show = errors => {
        clearTimeout(timer);
        timer = undefined;
        sink.next(stream(tail, errors));
      };
      const end = errors => {
        show(errors);
        sink.complete();
        setTimeout(release, 250); // the last of it is drawn later
      };
      const unsubscribe = client.subscribe(request, {
        next(answer) {
          tail.push(learn(answer));
          timer ??= setTimeout(() => show(), 50);
        },
        error: error => end(faults(error)),
        complete: () => end(),
      });
      return { unsubscribe };
    },
  };
}

// Keeps the end of the result in sight while it grows, or the place that was scrolled to: the editor goes to the top with each new text.
function followResult() {
  const editor = document.querySelector('.result-window .CodeMirror')?.CodeMirror;
  if (!editor) return () => {};
  let place = null; // null: the end
  const before = () => {
    const { top, clientHeight, height } = editor.getScrollInfo();
    place = top + clientHeight >= height - 40 ? null : top;
  };
  const after = () => {
    if (place === null) editor.scrollIntoView({ line: editor.lastLine(), ch: 0 }); // the new height is not measured yet
    else editor.scrollTo(null, place);
  };
  editor.on('beforeChange', before);
  editor.on('change', after);
  return () => {
    editor.off('beforeChange', before);
    editor.off('change', after);
  };
}

// What a program printed, where the event is an OutputChunk that has its text.
function printed(data) {
  const [[name, event] = []] = Object.entries(data ?? {});
  const chunk = event?.__typename ? event.__typename === 'OutputChunk' : name === 'callOutput';
  return chunk && typeof event?.text === 'string' ? event.text : null;
}

// Runs every operation of a document in its order, and tells each answer as it comes: of output its text, of everything else JSON.
async function runAll(query, execute, { tell, print }) {
  const document = parse(query);
  for (const op of document.definitions) {
    if (op.kind !== 'OperationDefinition') continue;
    const operationName = op.name?.value;
    tell(`# ${op.operation} ${operationName ?? ''}`);
    const answer = await execute({ query, operationName, variables: {} });
    let refused = false;
    for await (const one of answer && Symbol.asyncIterator in answer ? answer : [answer]) {
      const text = op.operation === 'subscription' && !one?.errors ? printed(one?.data) : null;
      if (text === null) tell(JSON.stringify(one));
      else print(text);
      refused ||= Boolean(one?.errors) || Object.values(one?.data ?? {}).some(payload => payload?.userErrors?.length > 0);
    }
    if (refused) {
      tell('# stopped: this operation was refused');
      return;
    }
  }
  tell('# done');
}

// The answers of "Run all in order": lines, and text as programs print it.
class Answers {
  #tail = new Tail(most, room);

  constructor(changed) {
    this.print = text => {
      this.#tail.push(text);
      changed();
    };
    this.tell = line => this.print(`${/(^|\n)$/.test(this.#tail.items.at(-1) ?? '') ? '' : '\n'}${line}\n`);
  }

  toString() {
    const { dropped, items } = this.#tail;
    return `${dropped > 0 ? '# the beginning is left out\n' : ''}${items.join('')}`.replace(/\n$/, '');
  }
}

function Playground({ example }) {
  const [key, setKey] = useState(sessionStorage.getItem('key') ?? '');
  const [answers, setAnswers] = useState(null);
  const [drawn, draw] = useReducer(n => n + 1, 0);
  const [busy, setBusy] = useState(false);
  const query = useRef(example);
  const footer = useRef(null);
  const { execute, fetcher, dispose } = useMemo(() => makeFetcher(key), [key]);
  useEffect(() => () => dispose(), [dispose]);
  useLayoutEffect(() => {
    if (footer.current) footer.current.scrollTop = footer.current.scrollHeight;
  }, [drawn]);
  const change = event => {
    const value = event.target.value.trim();
    sessionStorage.setItem('key', value);
    setKey(value);
  };
  const run = async () => {
    setBusy(true);
    const now = new Answers(draw);
    setAnswers(now);
    try {
      await runAll(query.current, execute, now);
    } catch (error) {
      now.tell(`# ${JSON.stringify(error?.message ?? error)}`);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className="playground">
      <header>
        <strong>Scriptorium</strong>
        <label>
          Key <input id="key" type="password" name="key" autoComplete="off" spellCheck="false" placeholder="the secret in admin.key" value={key} onChange={change} />
        </label>
        <button id="run-all" type="button" disabled={busy} onClick={run} title="Runs every operation in the editor, one after another">
          Run all in order
        </button>
        <span>A variable that you leave out takes the id of what was answered last under its name.</span>
      </header>
      <main>
        <GraphiQL fetcher={fetcher} defaultQuery={example} onEditQuery={text => { query.current = text; }} shouldPersistHeaders={false}>
          <GraphiQL.Logo> </GraphiQL.Logo>
        </GraphiQL>
      </main>
      {answers && (
        <footer ref={footer}>
          <button type="button" onClick={() => setAnswers(null)}>Close</button>
          <pre id="answers">{String(answers)}</pre>
        </footer>
      )}
    </div>
  );
}

fetch('/playground/example.graphql')
  .then(answer => answer.text())
  .then(example => createRoot(document.getElementById('playground')).render(<Playground example={example} />));
