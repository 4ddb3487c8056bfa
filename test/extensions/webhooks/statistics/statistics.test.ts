import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { RECORD_RESULTS } from '../../../../src/extensions/webhooks/engine/delivery/record-results.ts';
import { createApp, defineResource, defineUser, f, privacy, webhooks } from '../../../../src/index.ts';
import { type Receiver, startReceiver } from '../../../fakes/receiver.ts';
import { createClient, type Person, startTestApp } from '../../../support/app.ts';
import { reopenDeliveries } from '../../../support/webhooks/deliveries.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});
const options = {
  resources: [defineUser(), note],
  extensions: [
    webhooks({ retrySchedule: ['10ms', '10ms'], pollMs: 50, cleanMs: 200, disableAfterFailures: 0, portal: true }),
    privacy(),
  ],
} as const;
const running = await startTestApp(options, { roles: 'all', env: () => ({ APP_URL: 'https://belfry.example.com' }) });
const { url, env, person } = running;
const app = running.app as unknown as ReturnType<typeof createApp<typeof options.resources, typeof options.extensions>>;
const second = createApp(options, env);
await second.start({ roles: ['relay', 'webhook-worker'] });
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const opened: { close(): Promise<unknown> }[] = [];
afterAll(async () => {
  await Promise.all([second, ...opened].map((one) => one.close()));
  await client.end();
});

interface Subscriber {
  who: Person;
  receiver: Receiver;
  id: string;
}
async function subscriber(name: string): Promise<Subscriber> {
  const receiver = await startReceiver();
  opened.push(receiver);
  const who = await person(name);
  const answer = await who.call('POST', '/api/webhooks', { url: receiver.url, events: ['note.created'] });
  return { receiver, who, id: answer.body.data.id };
}
const until = (condition: () => unknown) => vi.waitUntil(condition, { timeout: 60_000, interval: 20 });
const read = async ({ who, id }: Subscriber) => (await who.call('GET', `/api/webhooks/${id}/statistics`)).body.data;
const log = async ({ who, id }: Subscriber) =>
  (await who.call('GET', `/api/webhooks/${id}/deliveries?limit=100`)).body.data;
/** Creates notes at the same time and waits until their deliveries have finished. */
async function deliver(one: Subscriber, count = 1): Promise<void> {
  const before = (await log(one)).length;
  await Promise.all(Array.from({ length: count }, () => one.who.call('POST', '/api/notes', { text: 'x' })));
  await until(async () => {
    const found: { status: string }[] = await log(one);
    return found.length === before + count && found.every(({ status }) => /succeeded|failed/.test(status));
  });
}
const rowsOf = async (id: string) =>
  (await client.query('select * from webhook_endpoint_stats where endpoint_id = $1 order by hour', [id])).rows;
/** Stores the statistics of an hour. @param at epoch ms */
const addHour = (id: string, at: number, succeeded: number, failed = 0) =>
  client.query(
    `insert into webhook_endpoint_stats values ($1, $2, $3, $4, $5, $3, 0, '{}') on conflict (endpoint_id, hour) do nothing`,
    [id, new Date(at), succeeded + failed, succeeded, failed],
  );
const countOf = (series: { succeeded: number; failed: number }[]) =>
  series.reduce((sum, { succeeded, failed }) => sum + succeeded + failed, 0);
/** Waits if the next hour is about to begin, so that a test has the results of one hour. */
const withinAnHour = () => until(() => HOUR_MS - (Date.now() % HOUR_MS) > 30_000);

test('an endpoint without deliveries has zeros, nulls and empty bars: 24 hours and 14 days, each up to now', async () => {
  const one = await subscriber('Empty');
  const found = await read(one);
  for (const [name, bars, barMs] of [
    ['last24Hours', 24, HOUR_MS],
    ['last14Days', 14, DAY_MS],
  ] as const) {
    const { from, series, ...totals } = found[name];
    expect(totals).toEqual({
      deliveries: 0,
      succeeded: 0,
      failed: 0,
      successRate: null,
      attempts: 0,
      attemptsPerDelivery: null,
      durationMs: { p50: null, p95: null },
    });
    const starts = series.map(({ at }: { at: string }) => Date.parse(at));
    expect(starts).toEqual(Array.from({ length: bars }, (_, i) => Date.parse(from) + i * barMs));
    expect(Date.parse(from) % barMs).toBe(0);
    expect(Date.now() - starts.at(-1)).toBeLessThan(barMs + 60_000);
  }
});

test('deliveries, attempts and durations are counted by the time of their results', async () => {
  await withinAnHour();
  const one = await subscriber('Counted');
  // Three deliveries succeed at once, one at the second attempt, and one fails in all three attempts.
  await deliver(one, 3);
  one.receiver.answer(500, 204);
  await deliver(one);
  one.receiver.answer(500);
  await deliver(one);
  const { last24Hours, last14Days } = await read(one);
  for (const period of [last24Hours, last14Days]) {
    expect(period).toMatchObject({
      deliveries: 5,
      succeeded: 4,
      failed: 1,
      successRate: 0.8,
      attempts: 8,
      attemptsPerDelivery: 1.6,
      durationMs: { p50: expect.any(Number), p95: expect.any(Number) },
    });
    expect(period.durationMs.p50).toBeLessThanOrEqual(period.durationMs.p95);
    expect(countOf(period.series)).toBe(5);
  }
});

test('the percentiles are those of the durations in the log', async () => {
  const one = await subscriber('Durations');
  one.receiver.answer((_, res) => void setTimeout(() => res.writeHead(204).end(), 300));
  await deliver(one, 10);
  const attempts = (await log(one)).map(({ durationMs }: { durationMs: number }) => durationMs);
  const { p50, p95 } = (await read(one)).last24Hours.durationMs;
  const sorted = attempts.toSorted((a: number, b: number) => a - b);
  for (const [found, exact] of [
    [p50, sorted[4]],
    [p95, sorted[9]],
  ])
    expect(Math.abs(found - exact)).toBeLessThanOrEqual(exact * 0.1);
});

test('results that two workers store at the same time are all counted, once each', async () => {
  await withinAnHour();
  const some = await Promise.all(['One', 'Two', 'Three'].map((name) => subscriber(name)));
  for (const one of some) one.receiver.answer(204, 500, 204, 204, 500, 204);
  await Promise.all(some.map((one) => deliver(one, 15)));
  for (const one of some) {
    const list: { status: string; attemptLog: object[] }[] = await log(one);
    const { last24Hours } = await read(one);
    expect(last24Hours).toMatchObject({
      succeeded: list.filter(({ status }) => status === 'succeeded').length,
      deliveries: 15,
      attempts: list.reduce((sum, { attemptLog }) => sum + attemptLog.length, 0),
    });
    const [row] = await rowsOf(one.id);
    // The duration of an attempt is not known if its worker was so slow that it counts as lost.
    const known = row.durations.reduce((sum: number, count: number) => sum + count, 0);
    expect(known).toBeLessThanOrEqual(last24Hours.attempts);
    expect(known).toBeGreaterThan(0);
  }
});

/** The parameters that store the results of succeeded attempts, as a worker does. */
function resultsOf(endpoint: string, ids: readonly string[], attempts: readonly number[], refused = false): unknown[] {
  const all = (value: unknown) => ids.map(() => value);
  const at = new Date().toISOString();
  const status = refused ? 'failed' : 'succeeded';
  const columns = [ids, attempts, all(at), all(status), all(204), all(40), all(null), all(null), all('')];
  const flags = [all(false), all(false), all(refused), 0, all(null)];
  const statistics = refused
    ? [[], [], [], []]
    : [[endpoint], [ids.length], [40 * ids.length], [`{${'0,'.repeat(21)}${ids.length}}`]];
  return [...columns, ...flags, ...statistics, true];
}

test('a batch that is stored twice counts once, and a result whose claim has ended does not count', async () => {
  await withinAnHour();
  const one = await subscriber('Twice');
  await deliver(one, 2);
  const ids = (await log(one)).map(({ id }: { id: string }) => id);
  const claimed = { status: `'sending'`, attempt_log: `'[]'` };
  expect(await reopenDeliveries(client, 'id = any($1)', [ids], claimed)).toBe(2);
  const values = resultsOf(one.id, ids, [1, 1]);
  await client.query(RECORD_RESULTS, values);
  expect((await read(one)).last24Hours).toMatchObject({ succeeded: 4, attempts: 4 });
  await client.query(RECORD_RESULTS, values);
  expect((await read(one)).last24Hours).toMatchObject({ succeeded: 4, attempts: 4 });
  // Only the first result of this batch holds its claim: it counts, but its duration is not known separately.
  expect(await reopenDeliveries(client, 'id = any($1)', [ids], claimed)).toBe(2);
  await client.query(RECORD_RESULTS, resultsOf(one.id, ids, [1, 7]));
  expect((await read(one)).last24Hours).toMatchObject({ succeeded: 5, attempts: 5 });
  const [row] = await rowsOf(one.id);
  expect(row.durations.reduce((sum: number, count: number) => sum + count, 0)).toBe(4);
  await client.query('delete from webhook_deliveries where endpoint_id = $1', [one.id]);
});

test('an attempt whose worker was killed counts once, without a duration', async () => {
  await withinAnHour();
  const one = await subscriber('Killed');
  await deliver(one);
  const [{ id }] = await log(one);
  const [before] = await rowsOf(one.id);
  const lost = { status: `'sending'`, lease_until: `now() - interval '1 second'`, schedule_attempts: '3' };
  expect(await reopenDeliveries(client, 'endpoint_id = $1', [one.id], lost)).toBe(1);
  await until(async () => (await log(one))[0].status === 'failed');
  // The result of the worker arrives late.
  await client.query(RECORD_RESULTS, resultsOf(one.id, [id], [1]));
  expect((await read(one)).last24Hours).toMatchObject({ succeeded: 1, failed: 1, attempts: 2 });
  expect((await rowsOf(one.id))[0].durations).toEqual(before.durations);
});

test('a delivery that is not sent, because the owner may not read the record, does not count', async () => {
  const one = await subscriber('Refused');
  await deliver(one);
  const [{ id }] = await log(one);
  await reopenDeliveries(client, 'id = $1', [id], { status: `'sending'`, attempt_log: `'[]'` });
  await client.query(RECORD_RESULTS, resultsOf(one.id, [id], [1], true));
  expect((await log(one))[0].status).toBe('failed');
  expect((await read(one)).last24Hours).toMatchObject({ deliveries: 1, failed: 0, attempts: 1 });
});

test('a test counts as a delivery with one attempt', async () => {
  const one = await subscriber('Tests');
  one.receiver.answer(204, 500);
  for (let i = 0; i < 2; i++) await one.who.call('POST', `/api/webhooks/${one.id}/test`);
  await until(async () => (await read(one)).last24Hours.deliveries === 2);
  expect((await read(one)).last24Hours).toMatchObject({ succeeded: 1, attempts: 2, attemptsPerDelivery: 1 });
});

test.each(['Asia/Kolkata', 'Europe/Berlin', 'America/St_Johns'])(
  'hours are those of UTC, although Postgres is in the time zone %s',
  async (zone) => {
    const one = await subscriber(zone);
    await deliver(one);
    const [{ id }] = await log(one);
    await client.query('delete from webhook_endpoint_stats where endpoint_id = $1', [one.id]);
    await reopenDeliveries(client, 'id = $1', [id], { status: `'sending'`, attempt_log: `'[]'` });
    await client.query(`set timezone = '${zone}'`);
    await client.query(RECORD_RESULTS, resultsOf(one.id, [id], [1]));
    await client.query('reset timezone');
    const [{ hour }] = await rowsOf(one.id);
    expect(hour.getTime() % HOUR_MS).toBe(0);
  },
);

test('each period begins at its full hour or day: what was before is not part of it', async () => {
  await withinAnHour();
  const one = await subscriber('Periods');
  const [hour, day] = [Math.floor(Date.now() / HOUR_MS) * HOUR_MS, Math.floor(Date.now() / DAY_MS) * DAY_MS];
  await addHour(one.id, hour, 1);
  await addHour(one.id, hour - 23 * HOUR_MS, 2);
  await addHour(one.id, hour - 24 * HOUR_MS, 4, 1);
  await addHour(one.id, day - 13 * DAY_MS, 8);
  await addHour(one.id, day - 13 * DAY_MS - HOUR_MS, 100);
  const { last24Hours, last14Days } = await read(one);
  expect(last24Hours).toMatchObject({ succeeded: 3, failed: 0, successRate: 1 });
  expect([last24Hours.series[0].succeeded, last24Hours.series.at(-1).succeeded]).toEqual([2, 1]);
  expect(last14Days).toMatchObject({ succeeded: 15, failed: 1, successRate: 15 / 16 });
  expect(last14Days.series[0].succeeded).toBe(8);
  expect(countOf(last14Days.series)).toBe(16);
});

test('hours are deleted after 15 days', async () => {
  const one = await subscriber('Old');
  const old = Date.now() - 15 * DAY_MS;
  const [kept, removed] = [old + HOUR_MS, old - HOUR_MS];
  await addHour(one.id, kept, 1);
  await addHour(one.id, removed, 1);
  await until(async () => (await rowsOf(one.id)).length === 1);
  expect((await rowsOf(one.id))[0].hour.getTime()).toBe(kept);
});

test.each([
  ['the endpoint', ({ who, id }: Subscriber) => who.call('DELETE', `/api/webhooks/${id}`)],
  [
    'the account of the owner',
    ({ who }: Subscriber) => who.call('POST', '/api/auth/me/erase', { password: 'correct horse battery' }),
  ],
] as const)('the statistics are deleted with %s', async (_, remove) => {
  const one = await subscriber('Removed');
  await deliver(one);
  expect(await rowsOf(one.id)).toHaveLength(1);
  await remove(one);
  await until(async () => (await rowsOf(one.id)).length === 0);
});

test('the statistics are readable for those who may read the endpoint: the owner, and links to the portal that reach it', async () => {
  const [one, other] = [await subscriber('Owner'), await subscriber('Stranger')];
  const path = `/api/webhooks/${one.id}/statistics`;
  const { url: link } = await app.webhooks.portalLink(one.who.id, { endpointId: one.id });
  const withLink = createClient(url, new URL(link).hash.replace('#token=', ''));
  const { body: created } = await one.who.call('POST', '/api/webhooks', { url: one.receiver.url, events: ['*'] });
  expect([
    (await one.who.call('GET', path)).status,
    (await withLink('GET', path)).status,
    (await withLink('GET', `/api/webhooks/${created.data.id}/statistics`)).status,
    (await other.who.call('GET', path)).status,
    (await running.call('GET', path)).status,
    (await one.who.call('GET', '/api/webhooks/none/statistics')).status,
  ]).toEqual([200, 200, 404, 404, 401, 404]);
});
