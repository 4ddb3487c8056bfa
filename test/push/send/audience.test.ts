import { Client } from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { createFindDevices } from '../../../src/accounts/devices/index.ts';
import { defineUser } from '../../../src/index.ts';
import { newId } from '../../../src/platform/helpers/ids.ts';
import type { Transport } from '../../../src/push/message/transport.ts';
import { FIRST_PAGE, lookUpAudiencePage } from '../../../src/push/send/audience.ts';
import { startTestApp } from '../../support/app.ts';
import { openPlatform } from '../platform.ts';

const sent: string[] = [];
const transport: Transport = {
  name: 'fake',
  send(_message, devices) {
    sent.push(...devices.map((device) => device.token));
    return devices.map(() => ({ ok: true }));
  },
};
const finished: unknown[] = [];
const { app, person, env } = await startTestApp(
  {
    resources: [defineUser()],
    transports: [transport],
    // Long, so that no send returns before its result is complete.
    settings: { relay: { sweepMs: 200 }, push: { waitMs: 100_000 } },
    listeners: (app) => app.on('push.sent', (payload) => finished.push(payload)),
  },
  { roles: 'all' },
);
const platform = await openPlatform(env);
const sql = new Client({ connectionString: env.DATABASE_URL });
await sql.connect();
afterAll(async () => {
  await platform.close();
  await sql.end();
});
beforeEach(() => {
  sent.length = 0;
  finished.length = 0;
});

/** Creates users with this many devices each. Returns the ids of the users. */
async function seed(users: number, devices: number, name: string): Promise<string[]> {
  const ids = Array.from({ length: users }, newId);
  await sql.query(
    `insert into users (id, name, email, password, roles, status)
     select id, 'Seeded', id || '@seeded.example.com', '', '{user}', 'active' from unnest($1::text[]) id`,
    [ids],
  );
  await sql.query(
    `insert into devices (id, user_id, token, token_hash, platform)
     select lpad(to_hex(('x' || right(u.id, 8))::bit(32)::bigint), 12, '0') || lpad(to_hex(n), 12, '0'), u.id, $2 || '-' || u.ord || '-' || n,
       $2 || u.id || n, 'android'
     from unnest($1::text[]) with ordinality u(id, ord), generate_series(1, $3::int) n`,
    [ids, name, devices],
  );
  return ids;
}
const tokensOf = (users: number, devices: number, name: string) =>
  Array.from({ length: users * devices }, (_, i) => `${name}-${1 + Math.floor(i / devices)}-${1 + (i % devices)}`);

test('a large audience is sent to every device exactly once, however its devices are reached', async () => {
  const users = await seed(1500, 3, 'large');
  const { rows } = await sql.query('select id from devices where user_id = any($1)', [users]);
  const raw = Array.from({ length: 2500 }, (_, i) => `raw-${i}`);
  const { id } = await app.push.enqueue({
    to: [...users, ...users],
    deviceIds: rows.map((row) => row.id).slice(0, 2000),
    tokens: [...raw, ...raw],
    title: 'Hi',
  });
  const all = [...tokensOf(1500, 3, 'large'), ...raw].toSorted();
  await expect.poll(() => finished, { timeout: 60_000 }).toEqual([{ id, status: 'sent', devices: all.length }]);
  expect(sent.toSorted()).toEqual(all);
  const left = await sql.query('select 1 from push_audiences');
  expect(left.rows).toEqual([]);
});

test('users without devices and unknown device ids are skipped; if no device is left, the status is no-devices', async () => {
  const { id } = await app.push.enqueue({ to: Array.from({ length: 3000 }, newId), deviceIds: [newId()], title: 'Hi' });
  await expect.poll(() => finished, { timeout: 60_000 }).toEqual([{ id, status: 'no-devices', devices: 0 }]);
});

test('a raw token of a registered device that is also on another page of the audience is sent to once, as that device', async () => {
  const ann = await person('Ann');
  await ann.call('POST', '/api/auth/devices', { token: 'both-raw-and-registered', platform: 'android' });
  const tokens = [...Array.from({ length: 1500 }, (_, i) => `other-${i}`), 'both-raw-and-registered'];
  const result = await app.push.send({ to: ann.id, tokens, title: 'Hi' });
  expect(result).toMatchObject({ status: 'sent', devices: 1501 });
  expect(sent.filter((token) => token === 'both-raw-and-registered')).toHaveLength(1);
  expect(result.results.filter((one) => one.device !== null)).toHaveLength(1);
});

test('a send to more devices than it waits for returns early, and the devices are still sent to', async () => {
  const users = await seed(100, 150, 'many');
  const result = await app.push.send({ to: users, title: 'Hi' });
  expect(result).toMatchObject({ status: 'queued', results: [] });
  await expect.poll(() => finished, { timeout: 60_000 }).toEqual([{ id: result.id, status: 'sent', devices: 15_000 }]);
  expect(new Set(sent).size).toBe(15_000);
  expect(sent).toHaveLength(15_000);
}, 90_000);

test('an audience whose job or worker was lost is completed by another worker', async () => {
  const queue = platform.queues.queue('push-audiences');
  await queue.pause();
  const tokens = Array.from({ length: 2500 }, (_, i) => `lost-${i}`);
  const { id } = await app.push.enqueue({ tokens, title: 'Hi' });
  await queue.drain(true);
  await queue.resume();
  await sql.query(`update push_audiences set touched_at = now() - interval '1 minute' where push_id = $1`, [id]);
  await expect.poll(() => finished, { timeout: 60_000 }).toMatchObject([{ id, status: 'sent', devices: 2500 }]);
});

test('a page holds at most 1,000 registered devices, and the next page continues after it', async () => {
  const users = await seed(2, 800, 'page');
  const entries = { userIds: users, deviceIds: [], tokens: ['a'], platform: 'android', registered: 2, raw: 1 } as const;
  const database = {
    write: async ({ text, values }: { text: string; values: unknown[] }) =>
      (await sql.query({ text, values, rowMode: 'array' })).rows,
  };
  const findDevices = createFindDevices(undefined);
  const first = await lookUpAudiencePage(database as never, entries, FIRST_PAGE, { simulated: true, findDevices });
  expect([first.devices.length, first.next]).toEqual([1000, { ...FIRST_PAGE, afterDevice: first.devices.at(-1)!.id }]);
  const second = await lookUpAudiencePage(database as never, entries, first.next!, { simulated: true, findDevices });
  expect([second.devices.length, second.next]).toEqual([601, undefined]);
});
