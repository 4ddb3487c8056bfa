import { Client } from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { ResourceGateway } from '../../../../src/declare/host.ts';
import { createReadabilityCheck } from '../../../../src/extensions/webhooks/readability/readability.ts';
import { defineResource, defineUser, f, webhooks } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';

const user = defineUser({ fields: { blockedRegion: f.string().encrypted() } });
const report = defineResource('report', {
  fields: { region: f.string() },
  policies: { read: ({ user: viewer, doc }) => doc.region !== viewer?.blockedRegion },
});

test('an owner with a value that cannot be decrypted gets no delivery: a policy must not take the value as missing', async () => {
  const { app, person, env } = await startTestApp(
    { resources: [user, report], extensions: [webhooks()] },
    { roles: ['web', 'relay'] },
  );
  const client = new Client({ connectionString: env.DATABASE_URL });
  await client.connect();
  onTestFinished(() => client.end());
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

test.each([
  ['uses an owner that the claim has just read', () => performance.now(), []],
  ['reads an owner again if the claim read them too long ago', () => Number.NEGATIVE_INFINITY, ['owner']],
])('a check %s', async (_, at, expected) => {
  const loaded: string[] = [];
  const users: Pick<ResourceGateway, 'load' | 'fromRowJson'> = {
    load: async (ids) => {
      loaded.push(...ids);
      return [{ id: 'owner', status: 'suspended' }];
    },
    fromRowJson: () => ({ id: 'owner', status: 'suspended' }),
  };
  const check = createReadabilityCheck(
    { resources: [] } as unknown as Parameters<typeof createReadabilityCheck>[0],
    users,
    { globalPolicy: { functions: [] }, events: {} } as unknown as Parameters<typeof createReadabilityCheck>[2],
    { read: async () => [] },
    { reads: () => true, readLimitOf: () => undefined, ended: async () => [] },
  );
  const audience = { owner: 'owner', scope: 'own' as const, readOwner: { json: {}, at: at() } };
  // Nothing may be sent to a suspended owner, whichever statement has read them.
  expect(await check(audience, [{ type: 'webhook.test', body: '{}' }])).toBeUndefined();
  expect(loaded).toEqual(expected);
});
