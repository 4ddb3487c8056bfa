import { Client } from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { ResourceGateway } from '../../../../../src/declare/host.ts';
import { createEndpointOwners } from '../../../../../src/extensions/webhooks/endpoints/owners.ts';
import { createReadabilityCheck } from '../../../../../src/extensions/webhooks/engine/readability/readability.ts';
import { defineResource, defineUser, f, webhooks } from '../../../../../src/index.ts';
import { DecryptionError } from '../../../../../src/platform/data/crypto/keyring.ts';
import { startReceiver } from '../../../../fakes/receiver.ts';
import { startTestApp } from '../../../../support/app.ts';

const user = defineUser({ fields: { blockedRegion: f.string().encrypted() } });
const report = defineResource('report', {
  fields: { region: f.string() },
  policies: { read: ({ user: viewer, doc }) => doc.region !== viewer?.blockedRegion },
});

/** Connects to the database of an app until the end of the test. */
async function connect({ DATABASE_URL }: Record<string, string | undefined>): Promise<Client> {
  const client = new Client({ connectionString: DATABASE_URL });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

test('an owner with a value that cannot be decrypted gets no delivery: a policy must not take the value as missing', async () => {
  const { app, person, env } = await startTestApp(
    { resources: [user, report], extensions: [webhooks()] },
    { roles: ['web', 'relay'] },
  );
  const client = await connect(env);
  const count = async (from: string) =>
    (await client.query<{ n: number }>(`select count(*)::int as n from ${from}`)).rows[0]!.n;

  const ann = await person('Ann');
  await ann.call('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/', events: ['report.created'] });
  await app.service('user').update(ann.id, { blockedRegion: 'north' });
  await app.service('report').create({ region: 'south' });
  await vi.waitUntil(async () => (await count('webhook_deliveries')) === 1, { timeout: 60_000, interval: 20 });
  await client.query(`update users set blocked_region = left(blocked_region, -8) || 'AAAAAAAA' where id = $1`, [
    ann.id,
  ]);
  await app.service('report').create({ region: 'north' });
  await vi.waitUntil(async () => (await count('outbox where attempts > 0')) === 1, { timeout: 60_000, interval: 20 });
  expect(await count('webhook_deliveries')).toBe(1);
});

function createCheck(load: ResourceGateway['load']) {
  return createReadabilityCheck(
    { resources: [] } as unknown as Parameters<typeof createReadabilityCheck>[0],
    createEndpointOwners(
      { resources: [] },
      { load, fromRowJson: () => ({ id: 'owner', status: 'suspended' }) } as unknown as ResourceGateway,
      { findReadLimit: () => undefined },
    ),
    { globalPolicy: { functions: [] }, events: {} } as unknown as Parameters<typeof createReadabilityCheck>[2],
    { read: async () => [] },
    { reads: () => true, findReadLimit: () => undefined, ended: async () => [] },
  );
}

test.each([
  ['uses an owner that the claim has just read', () => performance.now(), []],
  ['reads an owner again if the claim read them too long ago', () => Number.NEGATIVE_INFINITY, ['owner']],
])('a check %s', async (_, at, expected) => {
  const loaded: string[] = [];
  const check = createCheck(async (ids) => {
    loaded.push(...ids);
    return [{ id: 'owner', status: 'suspended' }];
  });
  const audience = { owner: 'owner', scope: 'own' as const, readOwner: { json: {}, at: at() } };
  // Nothing may be sent to a suspended owner, whichever statement has read them.
  expect(await check(audience, [{ type: 'webhook.test', body: '{}' }])).toBeUndefined();
  expect(loaded).toEqual(expected);
});

test('checks that begin while an owner is being read share the next statement, and an owner that cannot be decrypted fails only their own', async () => {
  const loaded: (readonly string[])[] = [];
  const lost = new Error('connection lost');
  const firstRead = Promise.withResolvers<void>();
  const check = createCheck(async (ids) => {
    loaded.push(ids);
    await firstRead.promise;
    if (ids.includes('sealed')) throw new DecryptionError('unknown-key', 'user/blockedRegion/sealed');
    if (ids.includes('offline')) throw lost;
    return ids.filter((id) => id !== 'deleted').map((id) => ({ id, status: id === 'off' ? 'suspended' : 'active' }));
  });
  const checkOwner = (owner: string) => check({ owner, scope: 'own' }, [{ type: 'webhook.test', body: '{}' }]);
  const first = Promise.all(['ann', 'off'].map(checkOwner));
  await vi.waitUntil(() => loaded.length === 1);
  const later = Promise.all(['ann', 'deleted'].map(checkOwner));
  await new Promise(setImmediate);
  const latest = Promise.all(['bob', 'ann'].map(checkOwner));
  firstRead.resolve();
  expect(await Promise.all([first, later, latest])).toEqual([
    [[true], undefined],
    [[true], undefined],
    [[true], [true]],
  ]);
  expect(loaded.splice(0)).toEqual([
    ['ann', 'off'],
    ['ann', 'deleted', 'bob'],
  ]);

  const results = await Promise.allSettled(['ann', 'sealed', 'bob'].map(checkOwner));
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(loaded.splice(0)).toEqual([['ann', 'sealed', 'bob'], ['ann'], ['sealed'], ['bob']]);

  // Reading them alone would fail as well.
  expect(await Promise.allSettled(['ann', 'offline'].map(checkOwner))).toMatchObject([
    { reason: lost },
    { reason: lost },
  ]);
  expect(loaded).toEqual([['ann', 'offline']]);
});

test('a retry is not sent if the owner of the endpoint loses access to the record after the request was accepted', async () => {
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
  const client = await connect(env);
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
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
