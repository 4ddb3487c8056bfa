import { Client } from 'pg';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { READ_PAGE } from '../../../../src/extensions/webhooks/engine/backfill/backfills-sql.ts';
import { apiKeys, defineResource, defineUser, f, webhooks } from '../../../../src/index.ts';
import { newId } from '../../../../src/platform/helpers/ids.ts';
import { type Receiver, startReceiver } from '../../../fakes/receiver.ts';
import { type Client as Call, createClient, type Person, startTestApp } from '../../../support/app.ts';
import { fillEventLog } from '../../../support/webhooks/event-log.ts';

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner', create: 'authenticated' },
});
const options = {
  pollMs: 50,
  cleanMs: 100,
  timeoutMs: 120_000,
  maxEndpointsPerUser: 50,
  events: { 'number.drawn': { schema: z.object({ number: z.number() }) }, 'number.kept': { schema: z.unknown() } },
};
const resources = [defineUser(), note] as const;
const { person, env, url } = await startTestApp(
  { resources, extensions: [apiKeys(), webhooks({ ...options, keepEventsDays: 7 })] },
  { roles: 'all' },
);
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const receiver: Receiver = await startReceiver();
let release: () => void = () => undefined;
afterAll(async () => {
  release();
  await receiver.close();
  await client.end();
});
const until = (condition: () => Promise<boolean>) => vi.waitUntil(condition, { timeout: 120_000, interval: 20 });
const count = async (from: string, ...values: unknown[]) =>
  (await client.query(`select count(*)::int as n from ${from}`, values)).rows[0].n as number;

let ann: Person;
let endpoint: string;
beforeEach(async () => {
  await client.query('delete from webhook_event_log');
  // Receivers hold their responses, so that a backfill of more than 500 events stays where it is.
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  receiver.answer(async (_, res) => {
    await held;
    res.writeHead(204).end();
  });
  ann = await person('Ann');
  endpoint = await subscribe(['number.drawn']);
  return () => release();
});
async function subscribe(events: string[]): Promise<string> {
  return (await ann.call('POST', '/api/webhooks', { url: receiver.url, events })).body.data.id;
}
const HOUR = 3_600_000;
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
const start = (input: object = { since: ago(HOUR) }, call: Call = ann.call) =>
  call('POST', `/api/webhooks/${endpoint}/backfill`, input);
const change = (verb: string, id: string, call: Call = ann.call) =>
  call('POST', `/api/webhooks/${endpoint}/backfills/${id}/${verb}`);
const read = async (id: string) => (await ann.call('GET', `/api/webhooks/${endpoint}/backfills/${id}`)).body.data;
const hasStatus = (id: string, status: string) => until(async () => (await read(id)).status === status);
/** Starts a backfill of 1,200 events, and waits until its first page is sent. */
async function startLong(): Promise<string> {
  await fillEventLog(client, ann.id, 1200);
  const { id } = (await start()).body.data;
  await until(async () => (await read(id)).sent === 500);
  return id;
}

describe('a request', () => {
  test('responds 202 with the backfill, which is in the list of the endpoint', async () => {
    const since = ago(HOUR);
    const { status, body } = await start({ since });
    expect(status).toBe(202);
    expect(body.data).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{24}$/),
      status: 'running',
      since,
      until: expect.stringMatching(/Z$/),
      events: null,
      sent: 0,
      reachedAt: since,
      createdAt: expect.stringMatching(/Z$/),
      finishedAt: null,
    });
    await hasStatus(body.data.id, 'finished');
    const second = await start({ since, events: ['number.drawn'] });
    const list = (await ann.call('GET', `/api/webhooks/${endpoint}/backfills`)).body.data;
    expect(list.map(({ id }: { id: string }) => id)).toEqual([second.body.data.id, body.data.id]);
    expect(list[0].events).toEqual(['number.drawn']);
  });

  test('that begins before the oldest kept event begins there, and the response says so', async () => {
    for (const since of ['2020-01-01', '0000-01-01', ago(8 * 24 * HOUR)]) {
      const { status, body } = await start({ since });
      expect(status).toBe(202);
      expect(Date.parse(body.data.since)).toBeGreaterThan(Date.now() - 7 * 24 * HOUR - 60_000);
      await hasStatus(body.data.id, 'finished');
    }
  });

  test.each([
    [{}, { since: 'Is required' }],
    [{ since: 'yesterday' }, { since: 'Must be an ISO 8601 date, or date and time' }],
    [{ since: ago(-HOUR) }, { since: 'Must not be in the future' }],
    [{ since: ago(HOUR), until: ago(-HOUR) }, { until: 'Must not be in the future' }],
    [{ since: ago(HOUR), until: ago(2 * HOUR) }, { until: 'Must be after since' }],
    [
      { since: '2020-01-01', until: '2020-01-02' },
      { until: 'Must not be more than 7 days ago: events are kept no longer' },
    ],
    [{ since: ago(HOUR), events: ['number.kept'] }, { events: 'The webhook does not subscribe to: "number.kept"' }],
    [{ since: ago(HOUR), events: ['*'] }, { events: 'The webhook does not subscribe to: "*"' }],
    [{ since: ago(HOUR), events: ['nothing'] }, { events: expect.stringContaining('Unknown events: "nothing"') }],
    [{ since: ago(HOUR), events: [] }, { events: expect.any(String) }],
    [{ since: ago(HOUR), filter: 1 }, { filter: expect.any(String) }],
  ])('%j is refused with 422', async (input, details) => {
    const { status, body } = await start(input);
    expect([status, body.error.details]).toEqual([422, details]);
  });

  test('while a backfill of the endpoint runs or is paused is refused with 409, which names that backfill', async () => {
    const id = await startLong();
    const running = await start();
    expect([running.status, running.body.error.message]).toEqual([
      409,
      `The backfill ${id} is running; cancel it, or try again after it has finished`,
    ]);
    await change('pause', id);
    const paused = await start();
    expect([paused.status, paused.body.error.message]).toEqual([
      409,
      `The backfill ${id} is paused; resume or cancel it first`,
    ]);
  });

  test('twice at once starts one backfill', async () => {
    await fillEventLog(client, ann.id, 1200);
    const responses = await Promise.all(Array.from({ length: 5 }, () => start()));
    expect(responses.map(({ status }) => status).sort()).toEqual([202, 409, 409, 409, 409]);
  });

  test('of another user, or for an unknown backfill, is refused with 404', async () => {
    const bob = await person('Bob');
    const { id } = (await start()).body.data;
    expect((await start(undefined, bob.call)).status).toBe(404);
    expect((await bob.call('GET', `/api/webhooks/${endpoint}/backfills`)).status).toBe(404);
    expect((await bob.call('GET', `/api/webhooks/${endpoint}/backfills/${id}`)).status).toBe(404);
    expect((await change('cancel', id, bob.call)).status).toBe(404);
    expect((await change('cancel', newId())).status).toBe(404);
    expect((await change('cancel', 'x')).status).toBe(404);
    const other = endpoint;
    endpoint = await subscribe(['*']);
    expect((await ann.call('GET', `/api/webhooks/${endpoint}/backfills/${id}`)).status).toBe(404);
    expect((await change('cancel', id)).status).toBe(404);
    endpoint = other;
  });

  test('with an API key needs the scopes of everything that the endpoint receives', async () => {
    const keyOf = async (...scopes: string[]) => {
      const { status, body } = await ann.call('POST', '/api/auth/api-keys', { name: 'script', scopes });
      expect(status, JSON.stringify(body)).toBe(201);
      return createClient(url, body.data.key);
    };
    const [weak, strong] = [await keyOf('webhooks:write'), await keyOf('webhooks:*', 'notes:read')];
    endpoint = await subscribe(['note.created']);
    expect((await start(undefined, weak)).status).toBe(403);
    const { status, body } = await start(undefined, strong);
    expect(status).toBe(202);
    expect((await change('cancel', body.data.id, weak)).status).toBe(403);
  });
});

describe('a backfill', () => {
  test('that is paused continues after it is resumed', async () => {
    const id = await startLong();
    const { status, body } = await change('pause', id);
    expect([status, body.data.status]).toEqual([200, 'paused']);
    release();
    await until(async () => (await count('webhook_deliveries where endpoint_id = $1', endpoint)) === 0);
    expect(await read(id)).toMatchObject({ status: 'paused', sent: 500, finishedAt: null });
    expect((await change('resume', id)).body.data.status).toBe('running');
    await hasStatus(id, 'finished');
    expect(await read(id)).toMatchObject({ sent: 1200, finishedAt: expect.any(String) });
    const late = await change('pause', id);
    expect([late.status, late.body.error.message]).toEqual([409, 'The backfill has ended']);
  });

  test('that is cancelled sends no further pages', async () => {
    const id = await startLong();
    expect((await change('cancel', id)).body.data).toMatchObject({ status: 'cancelled', sent: 500 });
    expect((await change('resume', id)).status).toBe(409);
    release();
    await until(async () => (await count('webhook_deliveries where endpoint_id = $1', endpoint)) === 0);
    expect(await read(id)).toMatchObject({ status: 'cancelled', sent: 500 });
    expect((await start()).status).toBe(202);
  });

  test('stops when its endpoint is disabled, and cannot be resumed', async () => {
    const id = await startLong();
    await ann.call('PATCH', `/api/webhooks/${endpoint}`, { enabled: false });
    await hasStatus(id, 'stopped');
    expect((await change('resume', id)).status).toBe(400);
    await ann.call('PATCH', `/api/webhooks/${endpoint}`, { enabled: true });
    expect((await change('resume', id)).status).toBe(409);
  });

  test('whose endpoint is deleted ends, and is deleted', async () => {
    const id = await startLong();
    expect((await ann.call('DELETE', `/api/webhooks/${endpoint}`)).status).toBe(204);
    await until(async () => (await count('webhook_backfills where id = $1', id)) === 0);
    expect((await ann.call('GET', `/api/webhooks/${endpoint}/backfills/${id}`)).status).toBe(404);
    release();
    await until(async () => (await count('webhook_deliveries where endpoint_id = $1', endpoint)) === 0);
  });

  test('passes over a million events with other names in bounded pages', { timeout: 300_000 }, async () => {
    await client.query(
      `insert into webhook_event_log (id, position, name, owner_id, data, bytes, created_at)
       select lpad(to_hex(i), 24, '0'), i, 'number.kept', null, '1', 1, now() - interval '1 hour' + i * interval '3 ms'
       from generate_series(1, 1000000) i`,
    );
    await client.query('analyze webhook_event_log');
    release();
    await fillEventLog(client, ann.id, 600);
    const range = [ago(2 * HOUR), -1, new Date().toISOString()];
    const page = async (names: string[], bytes: number) =>
      (await client.query(READ_PAGE, [endpoint, ...range, names, 500, 5000, bytes, ago(24 * HOUR)])).rows;
    // One more row is the end of the search.
    expect(await page(['*'], 4_000_000)).toHaveLength(501);
    expect(await page(['*'], 100)).toHaveLength(101);
    expect(await page(['number.drawn'], 4_000_000)).toHaveLength(1);
    const { id } = (await start({ since: ago(2 * HOUR) })).body.data;
    await hasStatus(id, 'finished');
    expect(await read(id)).toMatchObject({ sent: 600 });
  });
});

test('without keepEventsDays there are no routes, and nothing is kept', async () => {
  const off = await startTestApp({ resources, extensions: [webhooks(options)] }, { roles: 'all' });
  const own = new Client({ connectionString: off.env.DATABASE_URL });
  await own.connect();
  const bob = await off.person('Bob');
  release();
  const { body } = await bob.call('POST', '/api/webhooks', { url: receiver.url, events: ['*'] });
  await bob.call('POST', '/api/notes', { text: 'x' });
  await until(async () => (await own.query('select from outbox')).rowCount === 0);
  expect((await own.query('select from webhook_event_log')).rowCount).toBe(0);
  for (const [method, path] of [
    ['POST', 'backfill'],
    ['GET', 'backfills'],
  ] as const)
    expect(
      (await bob.call(method, `/api/webhooks/${body.data.id}/${path}`, method === 'POST' ? {} : undefined)).status,
    ).toBe(404);
  // What an earlier configuration has kept is deleted.
  await fillEventLog(own, bob.id, 10);
  await until(async () => (await own.query('select from webhook_event_log')).rowCount === 0);
  await own.end();
});
