// GraphQL over HTTP, as the reference audits of graphql-http have it: all of them, also the SHOULDs and MAYs.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { serverAudits } from 'graphql-http';
import { startServer } from './harness.mjs';

const count = 61;

let server;
before(async () => {
  server = await startServer({ name: 'audits' });
});
after(() => server?.stop());

test(`graphql-http: all ${count} audits pass`, { timeout: 120_000 }, async (t) => {
  const audits = serverAudits({ url: server.graphql, fetchFn: fetch });
  assert.equal(audits.length, count);
  for (const audit of audits) {
    await t.test(`${audit.id} ${audit.name}`, async () => {
      const { status, reason } = await audit.fn();
      assert.equal(status, 'ok', reason);
    });
  }
});
