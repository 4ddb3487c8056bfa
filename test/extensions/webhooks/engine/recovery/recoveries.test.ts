import { Client } from 'pg';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import type { ResourceGateway } from '../../../../../src/declare/host.ts';
import { createRecoveries } from '../../../../../src/extensions/webhooks/engine/recovery/recoveries.ts';
import type { WebhookOperations } from '../../../../../src/extensions/webhooks/index.ts';
import { fillProductionDefaults, webhookSettings } from '../../../../../src/extensions/webhooks/settings/settings.ts';
import { createApp, defineUser, webhooks } from '../../../../../src/index.ts';
import { type Database, openDatabase } from '../../../../../src/platform/data/postgres/database.ts';
import { newId } from '../../../../../src/platform/helpers/ids.ts';
import { createLogger } from '../../../../../src/platform/observability/log.ts';
import type { NewJob, Queues } from '../../../../../src/platform/work/queues/queues.ts';
import { type Receiver, startReceiver } from '../../../../fakes/receiver.ts';
import { createClient, type Person, startTestApp } from '../../../../support/app.ts';
import { ALL_DELIVERIES, finishDeliveries, reopenDeliveries } from '../../../../support/webhooks/deliveries.ts';

const user = defineUser();
const made = {
  resources: [user],
  extensions: [
    webhooks({ retrySchedule: ['1h'], pollMs: 50, cleanMs: 50, events: { 'number.drawn': { schema: z.unknown() } } }),
  ],
} as const;
// Only the web role runs: the tests take the pages and send the messages themselves.
const { app, person, call, env } = await startTestApp(made);
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const database = openDatabase(env.DATABASE_URL!, 'test', createLogger('silent', 'test'));
const woken: string[] = [];
const queues = { add: async (_: string, jobs: NewJob[]) => void woken.push(...jobs.map(({ data }) => data.id)) };
const owners = { users: { table: 'users', declaration: user } as unknown as ResourceGateway, organisations: undefined };
/** Creates the service that carries recoveries out, as each process does. */
const recovering = (over: Database = database) =>
  createRecoveries(
    { database: over, queues: queues as unknown as Queues },
    owners,
    fillProductionDefaults(webhookSettings.parse({}), false),
  );
/** Runs the sweeps that reopen and continue recoveries once, as a relay does. */
async function sweep(): Promise<void> {
  for (const { name, run } of recovering().sweeps) if (!name.includes('old recoveries')) await run();
}
// The type of the test helper does not know the APIs that extensions add.
const operations = (app as unknown as { webhooks: WebhookOperations }).webhooks;

const receiver: Receiver = await startReceiver();
const opened: { close(): Promise<unknown> }[] = [receiver];
afterAll(async () => {
  await Promise.all(opened.map((one) => one.close()));
  await client.end();
  await database.close();
});

let ann: Person;
let endpoint: string;
beforeEach(async () => {
  ann = await person('Ann');
  const { body } = await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['user.updated'] });
  endpoint = body.data.id;
  woken.length = 0;
});

const HOUR = 3_600_000;
let batches = 0;
/**
 * Adds failed deliveries of the endpoint, an hour old and one second apart. `differ` overrides columns.
 * Returns a condition that finds the deliveries.
 */
async function failed(count: number, differ: Record<string, unknown> = {}): Promise<string> {
  batches += 1;
  const columns = Object.keys(differ);
  await client.query(
    `insert into webhook_delivery_log (id, endpoint_id, event_id, message_id, type, body, status, attempts, schedule_attempts, error,
       created_at, finished_at)
     select lpad($1 || '0' || lpad(to_hex(i), 6, '0'), 24, '0'), $2, $1 || '-' || i, 'msg_' || $1 || '_' || i, 'number.drawn', '{}',
       'failed', 2, 2, 'status 500', now() - interval '1 hour' + i * interval '1 second', now() - interval '1 minute'
     from generate_series(1, $3) i`,
    [String(batches), endpoint, count],
  );
  const added = `event_id like '${batches}-%'`;
  if (columns.length === 0) return added;
  const sets = columns.map((column, i) => `${column} = $${i + 1}`).join(', ');
  await client.query(`update webhook_delivery_log set ${sets} where ${added}`, Object.values(differ));
  return added;
}
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
const day = ago(24 * HOUR);
const recover = (since: unknown = day, who: { call: typeof call } = ann) =>
  who.call('POST', `/api/webhooks/${endpoint}/recover`, { since });
const progress = async (id: string) => (await ann.call('GET', `/api/webhooks/${endpoint}/recoveries/${id}`)).body.data;
const counts = async () => {
  const { rows } = await client.query(
    `select status, count(*)::int as n from ${ALL_DELIVERIES} d where endpoint_id = $1 group by 1`,
    [endpoint],
  );
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
};
/** Marks all pending deliveries as arrived. */
const deliverAll = () => finishDeliveries(client, 'succeeded', `endpoint_id = $1 and status = 'pending'`, [endpoint]);

describe('a request', () => {
  test('responds 202: deliveries that failed since then are resent at once with their whole schedule, and no others', async () => {
    await failed(3);
    await failed(1, { created_at: ago(48 * HOUR) });
    await failed(1, { type: 'webhook.test' });
    await failed(1, { status: 'succeeded' });
    await reopenDeliveries(client, await failed(1), [], { next_attempt_at: `now() + interval '1 hour'` });
    const { status, body } = await recover();
    expect(status).toBe(202);
    expect(body.data).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{24}$/),
      status: 'finished',
      since: day,
      total: 3,
      resent: 3,
      createdAt: expect.stringMatching(/Z$/),
      finishedAt: expect.stringMatching(/Z$/),
    });
    expect(await progress(body.data.id)).toEqual(body.data);
    const { rows } = await client.query(
      `select attempts, schedule_attempts, finished_at, message_id like 'msg_%' as kept from webhook_deliveries
       where endpoint_id = $1 and status = 'pending' and next_attempt_at <= now()`,
      [endpoint],
    );
    expect(rows).toEqual(Array(3).fill({ attempts: 2, schedule_attempts: 0, finished_at: null, kept: true }));
    expect(await counts()).toEqual({ failed: 2, succeeded: 1, pending: 4 });
  });

  test('without failed deliveries is finished at once', async () => {
    expect((await recover()).body.data).toMatchObject({ status: 'finished', total: 0, resent: 0 });
  });

  test.each([
    [() => ago(-HOUR).replace('Z', '+00:00'), 'Must not be in the future'],
    [() => ago(-HOUR), 'Must not be in the future'],
    [() => ago(15 * 24 * HOUR), 'Must not be more than 14 days ago: deliveries are kept no longer'],
    ['0000-01-01', 'Must not be more than 14 days ago: deliveries are kept no longer'],
    ['yesterday', 'Must be an ISO 8601 date, or date and time'],
    ['2026-02-30', 'Must be an ISO 8601 date, or date and time'],
    ['2026-01-01T00:00:00', 'Must be an ISO 8601 date, or date and time'],
    [1_700_000_000_000, 'Must be an ISO 8601 date, or date and time'],
    [{}, 'Must be an ISO 8601 date, or date and time'],
    [null, 'Is required'],
  ])('with since %j responds 422', async (since, message) => {
    const { status, body } = await recover(typeof since === 'function' ? since() : since);
    expect([status, body.error.code, body.error.details]).toEqual([422, 'VALIDATION_ERROR', { since: message }]);
  });

  test.each([undefined, {}, { since: day, until: day }, []])('with the body %j responds 422', async (body) => {
    expect((await ann.call('POST', `/api/webhooks/${endpoint}/recover`, body)).status).toBe(422);
  });

  test('accepts as since a date, a time with an offset, and the exact start of the retention time', async () => {
    const iso = ago(2 * HOUR);
    const offset = new Date(Date.parse(iso) + 2 * HOUR).toISOString().replace('Z', '+02:00');
    expect((await recover(offset)).body.data.since).toBe(iso);
    expect((await recover(day.slice(0, 10))).body.data.since).toBe(`${day.slice(0, 10)}T00:00:00.000Z`);
    expect((await recover(ago(14 * 24 * HOUR))).status).toBe(202);
  });

  test('for a disabled endpoint responds 400 and stores nothing', async () => {
    await failed(1);
    await ann.call('PATCH', `/api/webhooks/${endpoint}`, { enabled: false });
    const { status, body } = await recover();
    expect([status, body.error.message]).toEqual([400, 'The webhook is disabled; enable it first']);
    expect(await counts()).toEqual({ failed: 1 });
    const { rowCount } = await client.query('select from webhook_recoveries where endpoint_id = $1', [endpoint]);
    expect(rowCount).toBe(0);
  });

  test('for another user’s, malformed or unknown endpoint or recovery responds 404; without a session it responds 401', async () => {
    const bob = await person('Bob');
    const { id } = (await recover()).body.data;
    expect((await recover(day, bob)).status).toBe(404);
    expect((await recover(day, { call })).status).toBe(401);
    const own = (await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['user.updated'] })).body.data.id;
    for (const [who, path] of [
      [bob, `${endpoint}/recoveries/${id}`],
      [ann, `${own}/recoveries/${id}`],
      [ann, `${endpoint}/recoveries/${'f'.repeat(24)}`],
      [ann, `${endpoint}/recoveries/nonsense`],
      [ann, `nonsense/recoveries/${id}`],
    ] as const) {
      expect([path, (await who.call('GET', `/api/webhooks/${path}`)).status]).toEqual([path, 404]);
    }
    expect((await call('GET', `/api/webhooks/${endpoint}/recoveries/${id}`)).status).toBe(401);
  });

  test('for a global endpoint responds 403 if its owner may no longer have one', async () => {
    const boss = await person('Boss', ['user', 'admin']);
    const body = { url: receiver.url, events: ['*'], scope: 'global' };
    endpoint = (await boss.call('POST', '/api/webhooks', body)).body.data.id;
    await app.service('user').update(boss.id, { roles: ['user'] });
    expect((await recover(day, boss)).status).toBe(403);
  });

  test('is limited to 10 per minute and client', async () => {
    const limited = createApp(
      { ...made, settings: { rateLimit: { enabled: true } } },
      { ...env, REDIS_PREFIX: `${env.REDIS_PREFIX}-limited` },
    );
    opened.push(limited);
    const { url } = await limited.start({ port: 0, roles: ['web'] });
    const who = { call: createClient(url, ann.token) };
    const statuses = [];
    for (let i = 0; i < 12; i++) statuses.push((await recover(day, who)).status);
    expect(statuses).toEqual([...Array(10).fill(202), 429, 429]);
  });
});

describe('repeated requests', () => {
  test('while a recovery runs, ten concurrent requests return it, and each delivery is resent once', async () => {
    await failed(1200);
    const answers = await Promise.all(Array.from({ length: 10 }, () => recover()));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    const [id, ...others] = new Set(answers.map(({ body }) => body.data.id));
    expect(others).toEqual([]);
    expect(await progress(id)).toMatchObject({ status: 'running', total: 1200, resent: 500, finishedAt: null });
    expect(await counts()).toEqual({ failed: 700, pending: 500 });
  });

  test('while a recovery with another time runs, a request responds 409 and names it', async () => {
    await failed(600);
    await recover();
    const { status, body } = await recover(ago(HOUR));
    expect([status, body.error.code, body.error.message]).toEqual([
      409,
      'CONFLICT',
      `A recovery since ${day} is running; try again after it has finished`,
    ]);
  });

  test('after a recovery has finished, a request resends only deliveries that failed again', async () => {
    await failed(5);
    await recover();
    const one = 'id = (select id from webhook_deliveries where endpoint_id = $1 limit 1)';
    expect(await finishDeliveries(client, 'failed', one, [endpoint])).toBe(1);
    expect((await recover()).body.data).toMatchObject({ status: 'finished', total: 1, resent: 1 });
  });
});

describe('pages', () => {
  test('another process continues after one died, and no delivery is left out or counted twice', async () => {
    await failed(1250);
    const { id } = (await recover()).body.data;
    await deliverAll();
    // One page, after which its process is gone.
    expect(await recovering().resendPage(id)).toMatchObject({ more: true });
    expect(await progress(id)).toMatchObject({ status: 'running', resent: 1000 });
    await deliverAll();
    expect(await recovering().resendPage(id)).toMatchObject({ more: false });
    expect(await progress(id)).toMatchObject({ status: 'finished', total: 1250, resent: 1250 });
    expect(await recovering().resendPage(id)).toBeUndefined();
    expect(await counts()).toEqual({ succeeded: 1000, pending: 250 });
    expect(woken).toEqual([endpoint, endpoint]);
  });

  test('one of several concurrent processes takes the page', async () => {
    await failed(1250);
    const { id } = (await recover()).body.data;
    for (let resent = 500; resent < 1250; ) {
      await deliverAll();
      await Promise.all(Array.from({ length: 5 }, () => recovering().resendPage(id)));
      const now = await progress(id);
      expect(now.resent).toBe(Math.min(resent + 500, 1250));
      resent = now.resent;
    }
    expect(await counts()).toEqual({ succeeded: 1000, pending: 250 });
  });

  test('while 500 deliveries of the endpoint are overdue, none is added, so that new events do not wait for old ones', async () => {
    await failed(600);
    const { id } = (await recover()).body.data;
    expect(await recovering().resendPage(id)).toMatchObject({ more: false });
    expect(await progress(id)).toMatchObject({ status: 'running', resent: 500 });
    await deliverAll();
    await recovering().resendPage(id);
    expect(await progress(id)).toMatchObject({ status: 'finished', resent: 600 });
  });

  test('deliveries that no longer fail, and deliveries that failed later, are left out', async () => {
    await failed(600);
    const { id } = (await recover()).body.data;
    await deliverAll();
    await client.query(
      `update webhook_delivery_log set status = 'succeeded' where endpoint_id = $1 and id in (
         select id from webhook_delivery_log where endpoint_id = $1 and status = 'failed' order by id desc limit 40)`,
      [endpoint],
    );
    await failed(7, { finished_at: ago(-1000) });
    await recovering().resendPage(id);
    expect(await progress(id)).toMatchObject({ status: 'finished', total: 600, resent: 560 });
    expect((await counts()).failed).toBe(7);
  });

  test.each([
    [
      'the endpoint is disabled',
      () => ann.call('PATCH', `/api/webhooks/${endpoint}`, { enabled: false }),
      'stays failed',
    ],
    ['its owner is disabled', () => app.service('user').update(ann.id, { status: 'disabled' }), 'stays failed'],
    ['its owner is deleted', () => app.service('user').delete(ann.id), 'is deleted'],
  ])('a recovery stops if %s', async (_, act, left) => {
    await failed(700);
    const { id } = (await recover()).body.data;
    await deliverAll();
    await act();
    expect(await recovering().resendPage(id)).toMatchObject({ more: false });
    const { rows } = await client.query('select status, resent, finished_at from webhook_recoveries where id = $1', [
      id,
    ]);
    expect(rows).toEqual([{ status: 'stopped', resent: 500, finished_at: expect.any(Date) }]);
    expect(await counts()).toEqual(left === 'is deleted' ? {} : { succeeded: 500, failed: 200 });
  });
});

describe('failed deliveries that the log no longer lists', () => {
  const OLD = { created_at: ago(15 * 24 * HOUR), finished_at: ago(15 * 24 * HOUR - 1000) };
  const EPOCH = '1970-01-01T00:00:00.000Z';

  test('are not counted, not resent and do not count as failed', async () => {
    const { failed: before } = await operations.status();
    await failed(4, OLD);
    expect(await operations.status(1000)).toMatchObject({
      failed: before,
      worst: expect.not.arrayContaining([expect.objectContaining({ id: endpoint })]),
    });
    expect(await operations.recoverFailed({ endpoint })).toEqual([]);
    await failed(2);
    expect(await operations.status(1000)).toMatchObject({
      failed: before + 2,
      worst: expect.arrayContaining([expect.objectContaining({ id: endpoint, failed: 2 })]),
    });
    expect(await operations.recoverFailed({ endpoint })).toEqual([{ endpoint, state: 'begun', total: 2 }]);
    expect(await counts()).toEqual({ failed: 4, pending: 2 });
  });

  test('do not reopen a recovery', async () => {
    await failed(4, OLD);
    const id = await endedEarly({ since: EPOCH });
    await sweep();
    expect(await progress(id)).toMatchObject({ status: 'finished', resent: 0 });
  });
});

test('recoverFailed includes endpoints whose failed deliveries an earlier version left among the waiting ones', async () => {
  const failedEarlier = await failed(3);
  const left = { status: `'failed'`, next_attempt_at: 'null' };
  await reopenDeliveries(client, failedEarlier, [], left);
  await client.query(`update webhook_deliveries set finished_at = now() - interval '1 minute' where ${failedEarlier}`);
  expect(await operations.recoverFailed({ endpoint })).toEqual([{ endpoint, state: 'begun', total: 3 }]);
});

test('a failed delivery whose event waits for the endpoint a second time is not resent, and does not stop the recovery', async () => {
  const added = await failed(3);
  // A process of an earlier version, which does not know the log, added the second delivery.
  await client.query(
    `insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, next_attempt_at)
     select overlay(id placing 'f' from 1), endpoint_id, event_id, message_id || '_2', type, body, now() + interval '1 hour'
     from webhook_delivery_log where ${added} order by id limit 1`,
  );
  expect((await recover()).body.data).toMatchObject({ status: 'finished', total: 3, resent: 2 });
  expect(await counts()).toEqual({ pending: 3 });
});

/** Adds a recovery as a process of an earlier version leaves it: it does not find the deliveries of the log. Returns its id. */
async function endedEarly(differ: Record<string, unknown> = {}): Promise<string> {
  const now = ago(0);
  const { since, after_at, created_at, finished_at } = {
    ...{ since: day, after_at: differ.since ?? day, created_at: now, finished_at: now },
    ...differ,
  };
  const { rows } = await client.query(
    `insert into webhook_recoveries (id, endpoint_id, since, status, total, after_at, created_at, finished_at)
     values ($1, $2, $3, 'finished', 1200, $4, $5, $6) returning id`,
    [newId(), endpoint, since, after_at, created_at, finished_at],
  );
  return rows[0].id;
}

describe('recoveries that processes of an earlier version ended too early during a deploy', () => {
  /** Runs the sweeps until all recoveries have finished and all deliveries have arrived. */
  const finishAll = (ids: readonly string[]) =>
    vi.waitUntil(
      async () => {
        await sweep();
        await deliverAll();
        const all = await Promise.all(ids.map(progress));
        return all.every(({ status }) => status === 'finished') && (await counts()).failed === undefined;
      },
      { timeout: 60_000, interval: 20 },
    );

  test('continue', async () => {
    await failed(1200);
    const id = await endedEarly();
    await finishAll([id]);
    expect(await progress(id)).toMatchObject({ total: 1200, resent: 1200 });
    expect(await counts()).toEqual({ succeeded: 1200 });
  });

  test('continue one after the other if they are of the same endpoint, and no delivery is left out', async () => {
    await failed(3, { created_at: ago(3 * HOUR), finished_at: ago(2 * HOUR) });
    await failed(700);
    // Neither of them covers all deliveries. The second one ended almost too long ago to be reopened.
    const first = await endedEarly({ since: ago(4 * HOUR), created_at: ago(HOUR) });
    const second = await endedEarly({ since: ago(2 * HOUR), finished_at: ago(0.9 * HOUR) });
    await sweep();
    expect((await progress(first)).resent).toBe(3);
    const { finishedAt } = await progress(second);
    expect(Date.parse(finishedAt)).toBeGreaterThan(Date.now() - HOUR / 2);
    await finishAll([first, second]);
    expect(await progress(first)).toMatchObject({ resent: 3 });
    expect(await progress(second)).toMatchObject({ resent: 700 });
    expect(await counts()).toEqual({ succeeded: 703 });
  });

  test('begin again at their start, because the earlier process went past deliveries of the log', async () => {
    await failed(20);
    const id = await endedEarly({ after_at: ago(0) });
    // These were resent and failed again later, so they are not part of the recovery.
    await failed(2, { finished_at: ago(-60_000) });
    await sweep();
    await sweep();
    expect(await progress(id)).toMatchObject({ status: 'finished', resent: 20 });
    expect(await counts()).toEqual({ pending: 20, failed: 2 });
  });

  test('do not keep others from being continued if they cannot be reopened', async () => {
    await failed(600);
    const { id } = (await recover()).body.data;
    await deliverAll();
    const broken: Database = Object.assign(Object.create(database), {
      write: async (statement: Parameters<Database['write']>[0]) => {
        if (/set status = 'running'/.test(statement.text)) throw new Error('the statement failed');
        return database.write(statement);
      },
    });
    const outcomes = await Promise.allSettled(recovering(broken).sweeps.map(async ({ run }) => run()));
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(1);
    expect(await progress(id)).toMatchObject({ status: 'finished', resent: 600 });
  });
});

// The last test, because the relay that it starts continues recoveries and deletes old deliveries.
test('a running app delivers all of it once, and recoveries of a deleted endpoint are removed', {
  timeout: 300_000,
}, async () => {
  // On a busy machine, deliveries of earlier tests are still in the queue.
  await client.query('delete from webhook_recoveries');
  for (const table of ['webhook_deliveries', 'webhook_delivery_log']) await client.query(`delete from ${table}`);
  await failed(1300);
  const { id } = (await recover()).body.data;
  const second = createApp(made, env);
  opened.push(second);
  await second.start({ roles: ['relay', 'webhook-worker'] });
  await vi.waitUntil(async () => (await counts()).succeeded === 1300, { timeout: 120_000, interval: 100 });
  expect(await progress(id)).toMatchObject({ status: 'finished', total: 1300, resent: 1300 });
  expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(receiver.requests.length);
  await ann.call('DELETE', `/api/webhooks/${endpoint}`);
  await vi.waitUntil(
    async () => (await client.query('select from webhook_recoveries where id = $1', [id])).rowCount === 0,
    { timeout: 120_000, interval: 100 },
  );
});
