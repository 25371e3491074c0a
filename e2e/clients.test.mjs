// graphql-ws, graphql-sse, urql and Apollo: each does a query, a mutation and a subscription, is cut in the middle, goes on, and proves the bytes.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { clients } from './clients.mjs';
import { Output, callDocument, noise, noiseBytes, outputDocument, saveDocument, sha256, startServer, within } from './harness.mjs';
import { startProxy } from './proxy.mjs';

let server;
let agent;
before(async () => {
  server = await startServer({ name: 'clients' });
  agent = await server.createAgent('clients');
});
after(() => server?.stop());

const size = 512 * 1024; // to each output
const cuts = [200_000, 350_000]; // bytes from the server after which a connection is cut

for (const [name, make] of Object.entries(clients)) {
  test(`${name}: query, mutation, and a subscription cut twice`, { timeout: 120_000 }, async (t) => {
    const proxy = await startProxy(server.host, cuts);
    const client = make({ http: proxy.http, ws: proxy.ws, secret: server.secret });
    t.after(async () => {
      await client.close();
      await proxy.stop();
    });

    const { viewer } = await client.query('query { viewer { operator organization { id name } } }');
    assert.equal(viewer.operator, true);
    assert.equal(viewer.organization.name, 'default');

    const script = name.toLowerCase().replaceAll(' ', '-');
    const saved = await client.mutate(saveDocument, { input: { agent: agent.id, name: script, description: 'Noise.', source: noise } });
    assert.deepEqual(saved.agentScriptSave.userErrors, []);
    assert.equal(saved.agentScriptSave.version.sourceHash, sha256(noise));

    const run = await server.createRun(agent);
    const args = { seed: name, bytes: size, block: 16384, pause: 0.005 };
    const called = await client.mutate(callDocument, {
      input: { run: run.id, name: 'script_run', arguments: { name: script, arguments: args }, wait: false },
    });
    assert.deepEqual(called.toolCall.userErrors, []);

    const output = new Output();
    const errors = await within(90_000, 'the output', readThrough(client, called.toolCall.call.id, output));
    assert.equal(proxy.stats.cut, cuts.length, 'the proxy cut as often as it should');
    assert.equal(errors.length, client.comesBack ? 0 : cuts.length, `a cut is an error: ${errors.map((e) => e.message)}`);
    assert.equal(output.finished.status, 'SUCCEEDED');
    output.prove(noiseBytes(args));
    await server.finishRun(run);
  });
}

/** Reads a call's output to its end, going on with `after` where the connection is cut. Answers the errors that the client reported. */
async function readThrough(client, call, output) {
  const variables = { call, after: null };
  const errors = [];
  for (;;) {
    try {
      await client.subscribe(outputDocument, variables, ({ callOutput }) => {
        output.add(callOutput);
        variables.after = output.cursor;
      });
      return errors;
    } catch (error) {
      if (error instanceof assert.AssertionError || error.graphql || error.graphQLErrors?.length || errors.length >= 5) throw error;
      errors.push(error);
    }
  }
}
