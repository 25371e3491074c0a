// The playground: GraphiQL with a field for the key, subscriptions, and the ids of what was made last filled into variables of their names.
import { GraphiQL } from 'graphiql';
import { getOperationAST, parse } from 'graphql';
import { createClient } from 'graphql-ws';
import React, { useEffect, useMemo, useRef, useState } from 'react';
import { createRoot } from 'react-dom/client';
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

// Subscriptions go over a WebSocket, everything else over HTTP.
function makeFetcher(key) {
  const authorization = key ? { Authorization: `Bearer ${key}` } : {};
  const client = createClient({ url: socketURL, connectionParams: authorization, retryAttempts: 3 });
  const fetcher = async (params, options) => {
    const { query, operationName, variables } = fill(params);
    if (isSubscription(query, operationName)) return watch(client, { query, operationName, variables });
    const answer = await fetch(url, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json', Accept: 'application/graphql-response+json, application/json', ...authorization, ...options?.headers,
      },
      body: JSON.stringify({ query, operationName, variables }),
    });
    return learn(await answer.json());
  };
  return { fetcher, dispose: () => client.dispose() };
}

function isSubscription(query, operationName) {
  try {
    return getOperationAST(parse(query), operationName)?.operation === 'subscription';
  } catch {
    return false; // the server says what is wrong with the document
  }
}

async function* watch(client, request) {
  try {
    for await (const answer of client.iterate(request)) yield learn(answer);
  } catch (error) {
    yield { errors: Array.isArray(error) ? error : [{ message: error?.reason || error?.message || 'the connection was lost' }] };
  }
}

// Runs every operation of a document in its order, and tells each answer as it comes.
async function runAll(query, fetcher, tell) {
  const document = parse(query);
  for (const op of document.definitions) {
    if (op.kind !== 'OperationDefinition') continue;
    const operationName = op.name?.value;
    tell(`# ${op.operation} ${operationName ?? ''}`);
    const answer = await fetcher({ query, operationName, variables: {} });
    let refused = false;
    for await (const one of answer && Symbol.asyncIterator in answer ? answer : [answer]) {
      tell(JSON.stringify(one));
      refused ||= Boolean(one?.errors) || Object.values(one?.data ?? {}).some(payload => payload?.userErrors?.length > 0);
    }
    if (refused) {
      tell('# stopped: this operation was refused');
      return;
    }
  }
  tell('# done');
}

function Playground({ example }) {
  const [key, setKey] = useState(sessionStorage.getItem('key') ?? '');
  const [lines, setLines] = useState(null);
  const [busy, setBusy] = useState(false);
  const query = useRef(example);
  const { fetcher, dispose } = useMemo(() => makeFetcher(key), [key]);
  useEffect(() => () => dispose(), [dispose]);
  const change = event => {
    const value = event.target.value.trim();
    sessionStorage.setItem('key', value);
    setKey(value);
  };
  const run = async () => {
    setBusy(true);
    setLines([]);
    const tell = line => setLines(before => [...before, line].slice(-1000));
    try {
      await runAll(query.current, fetcher, tell);
    } catch (error) {
      tell(`# ${JSON.stringify(error?.message ?? error)}`);
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
      {lines && (
        <footer>
          <button type="button" onClick={() => setLines(null)}>Close</button>
          <pre id="answers">{lines.join('\n')}</pre>
        </footer>
      )}
    </div>
  );
}

fetch('/playground/example.graphql')
  .then(answer => answer.text())
  .then(example => createRoot(document.getElementById('playground')).render(<Playground example={example} />));
