import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { defineResource, defineUser, f, webhooks } from '../../../../src/index.ts';
import { startReceiver } from '../../../fakes/receiver.ts';
import { startTestApp } from '../../../support/app.ts';

const diary = defineResource('diary', {
  fields: { text: f.text(), writer: f.ref('user').owner() },
  policies: { read: 'owner' },
});
const { app, person, env } = await startTestApp(
  {
    resources: [defineUser(), diary],
    extensions: [webhooks({ retrySchedule: [], pollMs: 50, disableAfterFailures: 1 })],
  },
  { roles: 'all' },
);
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const receiver = await startReceiver();
afterAll(async () => {
  await client.end();
  await receiver.close();
});

test('a retry is not sent if the owner of the endpoint loses access to the record after the request was accepted', async () => {
  const [ann, bob] = [await person('Ann'), await person('Bob')];
  const endpoint = (await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['diary.created'] })).body
    .data;
  const path = `/api/webhooks/${endpoint.id}`;
  const newest = async () => (await ann.call('GET', `${path}/deliveries`)).body.data[0];
  const untilNewest = (status: string) =>
    vi.waitUntil(async () => (await newest())?.status === status, { timeout: 60_000, interval: 20 });
  const { id: record } = (await ann.call('POST', '/api/diaries', { text: 'top secret' })).body.data;
  await untilNewest('succeeded');
  expect(receiver.requests[0]!.body).toContain('top secret');

  // Another worker holds the lease, so the retry waits.
  const setLease = (holder: string | null) =>
    client.query(
      `update webhook_turns set holder = $2::text, lease_until = now() + case when $2::text is not null then interval '1 hour' end
       where endpoint_id = $1`,
      [endpoint.id, holder],
    );
  await vi.waitUntil(
    async () =>
      (await client.query('select from webhook_turns where endpoint_id = $1 and holder is null', [endpoint.id]))
        .rowCount,
    { timeout: 60_000, interval: 20 },
  );
  await setLease('another');
  const retried = await ann.call('POST', `${path}/deliveries/${(await newest()).id}/retry`);
  expect(retried.body.data).toMatchObject({ status: 'pending' });
  expect(retried.body.data.payload).toContain('top secret');
  await app.service('diary').update(record, { writer: bob.id });
  await setLease(null);

  await untilNewest('failed');
  const error = "The endpoint's owner may no longer read this record";
  const delivery = await newest();
  expect(delivery).toMatchObject({ error, payload: null, response: null, attempts: 2, nextAttemptAt: null });
  expect(delivery.attemptLog.at(-1)).toMatchObject({ statusCode: null, error });
  expect(receiver.requests).toHaveLength(1);
  const { body } = await ann.call('GET', path);
  expect(body.data).toMatchObject({ enabled: true, status: 'active', consecutiveFailures: 0, lastError: null });
});
