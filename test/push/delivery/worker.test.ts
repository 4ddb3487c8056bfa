import { Client } from 'pg';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { createApp, defineUser } from '../../../src/index.ts';
import { createPushSweeps } from '../../../src/push/delivery/sweeps.ts';
import { createPush } from '../../../src/push/index.ts';
import type { Transport } from '../../../src/push/message/transport.ts';
import { startTestApp } from '../../support/app.ts';
import { openPlatform } from '../platform.ts';

/** Every token that a transport received, in any process of this test. */
const sent: string[] = [];
const events: string[] = [];
let before: () => Promise<unknown>;
const transport: Transport = {
  name: 'fake',
  async send(_message, devices) {
    await before();
    sent.push(...devices.map((device) => device.token));
    return devices.map(() => ({ ok: true }));
  },
};
const options = {
  resources: [defineUser()] as const,
  transports: [transport],
  settings: { push: { waitMs: 3000 } },
  listeners: (app: { on(name: string, handler: () => void): void }) => {
    for (const name of ['push.sent', 'push.failed']) app.on(name, () => events.push(name));
  },
};

// The sender runs no role that sends; two more apps are push-workers, as separate processes would be.
const { app, env } = await startTestApp(options);
const workers = [createApp(options, env), createApp(options, env)];
await Promise.all(workers.map((worker) => worker.start({ roles: ['push-worker'] })));
const platform = await openPlatform(env);
const sql = new Client({ connectionString: env.DATABASE_URL });
await sql.connect();
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.close()));
  await platform.close();
  await sql.end();
});
const [jobsSweep, , retentionSweep] = createPushSweeps(platform, new Set(['fake']));

beforeEach(() => {
  sent.length = 0;
  events.length = 0;
  before = async () => undefined;
});

const tokens = (count: number, name = 'token') => Array.from({ length: count }, (_, i) => `${name}-${i}`);
const queue = () => platform.queues.queue('push.fake');
const statusOf = async (id: string) =>
  (await sql.query('select status from pushes where id = $1', [id])).rows[0]?.status;
const jobOf = (id: string, chunk = 0, size = 1) => {
  const name = `push_${id}_${chunk}_${size}`;
  return { name: 'send', data: { id: name }, opts: { jobId: name } };
};

/** A gate at which transports wait. */
function closeGate(): () => void {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  before = () => gate;
  return open;
}

test('a send in one process gets its result from workers in others', async () => {
  const result = await app.push.send({ tokens: tokens(3), title: 'Hi' });
  expect(result).toMatchObject({ status: 'sent', devices: 3 });
  expect(events).toEqual(['push.sent']);
});

test('two workers share the chunks of a push: each device is sent to once, with one final status and one event', async () => {
  const all = tokens(3000);
  // On a busy machine this takes longer than a send waits, so the result is read later.
  const { id } = await app.push.send({ tokens: all, title: 'Hi' });
  await expect.poll(() => statusOf(id)).toBe('sent');
  expect((await sql.query('select devices from pushes where id = $1', [id])).rows).toEqual([{ devices: 3000 }]);
  expect(sent.toSorted()).toEqual(all.toSorted());
  await expect.poll(() => events).toEqual(['push.sent']);
});

test('a job that runs twice, during the send and after it, sends to no device twice', async () => {
  const open = closeGate();
  const sending = app.push.send({ tokens: tokens(2), title: 'Hi' });
  let id = '';
  await expect
    .poll(async () => {
      const { rows } = await sql.query(
        'select push_id from push_chunks where claimed_until > now() and finished_at is null',
      );
      id = rows[0]?.push_id ?? '';
      return id;
    })
    .not.toBe('');
  const again = (n: number) => queue().add('send', { id: `push_${id}_0_2` }, { jobId: `again_${n}` });
  await Promise.all([1, 2, 3, 4].map(again));
  await expect.poll(async () => (await queue().getActiveCount()) + (await queue().getWaitingCount())).toBe(1);
  open();
  expect(await sending).toMatchObject({ status: 'sent' });
  await again(5);
  await expect.poll(async () => (await queue().getActiveCount()) + (await queue().getWaitingCount())).toBe(0);
  expect(sent).toEqual(tokens(2));
  expect(events).toEqual(['push.sent']);
});

test('a push whose result is late is queued; its result is stored and emitted later', async () => {
  const open = closeGate();
  const started = performance.now();
  const result = await app.push.send({ tokens: tokens(1), title: 'Hi' });
  expect(result).toEqual({ id: expect.any(String), status: 'queued', devices: 1, results: [] });
  expect(performance.now() - started).toBeGreaterThan(2900);
  expect(await statusOf(result.id)).toBe('queued');
  expect(events).toEqual([]);
  open();
  await expect.poll(() => statusOf(result.id)).toBe('sent');
  await expect.poll(() => events).toEqual(['push.sent']);
});

test('a send whose completion event was lost still returns when the result is stored', async () => {
  const open = closeGate();
  const sending = app.push.send({ tokens: tokens(1), title: 'Hi' });
  await expect.poll(async () => await queue().getActiveCount()).toBe(1);
  // Simulates the result of a worker that died before it could report the job.
  await sql.query(`with c as (update push_chunks set finished_at = now() where finished_at is null)
    update pushes set status = 'sent', open_chunks = 0, finished_at = now() where finished_at is null`);
  const result = await sending;
  expect(result.status).toBe('sent');
  open();
});

test('a worker that reports after its claim expired changes nothing that another worker has reported', async () => {
  const openFirst = closeGate();
  const { id } = await app.push.enqueue({ tokens: tokens(2), title: 'Hi' });
  const claims = `select 1 from push_chunks where push_id = $1 and claimed_until > now()`;
  await expect.poll(async () => (await sql.query(claims, [id])).rows.length).toBe(1);
  await sql.query(`update push_chunks set claimed_until = now() - interval '1 second' where push_id = $1`, [id]);
  const openSecond = closeGate();
  await queue().add('send', { id: `push_${id}_0_2` }, { jobId: 'second' });
  await expect.poll(async () => (await sql.query(claims, [id])).rows.length).toBe(1);
  openSecond();
  await expect.poll(() => statusOf(id)).toBe('sent');
  openFirst();
  await expect.poll(() => queue().getActiveCount()).toBe(0);
  const { rows } = await sql.query('select status, open_chunks, ok_devices from pushes where id = $1', [id]);
  expect(rows).toEqual([{ status: 'sent', open_chunks: 0, ok_devices: 2 }]);
  expect(events).toEqual(['push.sent']);
});

describe('the sweep', () => {
  test('gives a chunk that lost its job exactly one new job', async () => {
    await queue().pause();
    const { id } = await app.push.enqueue({ tokens: tokens(600), title: 'Hi' });
    await queue().drain(true);
    await queue().resume();
    await jobsSweep!.run();
    expect(await statusOf(id)).toBe('queued');
    await sql.query(`update push_chunks set due_at = now() - interval '1 minute' where push_id = $1`, [id]);
    await Promise.all([jobsSweep!.run(), jobsSweep!.run()]);
    await expect.poll(() => statusOf(id)).toBe('sent');
    expect(sent.toSorted()).toEqual(tokens(600).toSorted());
    expect(events).toEqual(['push.sent']);
  });

  test('leaves a chunk to the worker that holds it, and gives it to another worker if that one is lost', async () => {
    await queue().pause();
    const { id } = await app.push.enqueue({ tokens: tokens(1), title: 'Hi' });
    await queue().drain(true);
    await queue().resume();
    const lease = (until: string) =>
      sql.query(
        `update push_chunks set due_at = now() - interval '1 hour', claimed_until = now() + $2::interval where push_id = $1`,
        [id, until],
      );
    await lease('1 minute');
    await jobsSweep!.run();
    await queue().addBulk([jobOf(id)]);
    await expect.poll(async () => (await queue().getActiveCount()) + (await queue().getWaitingCount())).toBe(0);
    expect(await statusOf(id)).toBe('queued');
    await lease('-1 second');
    await jobsSweep!.run();
    await expect.poll(() => statusOf(id)).toBe('sent');
    expect(sent).toEqual(tokens(1));
  });

  test('removes pushes older than 30 days with all their data, and no younger ones', async () => {
    const [old, young] = await Promise.all(
      ['old', 'young'].map((name) => app.push.send({ tokens: tokens(2, name), title: 'Hi' })),
    );
    await sql.query(`update pushes set created_at = now() - interval '31 days' where id = $1`, [old!.id]);
    await sql.query(`update pushes set created_at = now() - interval '29 days' where id = $1`, [young!.id]);
    await retentionSweep!.run();
    for (const [table, column] of [
      ['pushes', 'id'],
      ['push_chunks', 'push_id'],
      ['push_results', 'push_id'],
    ]) {
      const { rows } = await sql.query(`select distinct ${column} as id from ${table} where ${column} = any($1)`, [
        [old!.id, young!.id],
      ]);
      expect(rows).toEqual([{ id: young!.id }]);
    }
  });
});

// An app without roles creates the tables; the platforms of the next tests use its database.
const { env: bare } = await startTestApp({ resources: [defineUser()] }, { roles: [] });
const production = {
  ...bare,
  NODE_ENV: 'production',
  APP_URL: 'https://api.example.com',
  SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
};

test('in production a push that no transport accepts fails for every device, and nothing is captured', async () => {
  const own = await openPlatform(production);
  const push = createPush(own, []);
  const events: unknown[] = [];
  own.events.on('push.failed', (payload) => events.push(payload));
  const worker = await push.parts.workers!['push-worker']!();
  try {
    const result = await push.sender.send({ tokens: ['one', 'two'], title: 'Hi' });
    const failed = { device: null, ok: false, error: 'No push transport accepts this device' };
    expect(result).toEqual({ id: result.id, status: 'failed', devices: 2, results: [failed, failed] });
    expect(events).toEqual([{ id: result.id, status: 'failed', devices: 2 }]);
    expect(await push.captured.pushes()).toEqual([]);
  } finally {
    await worker.stop();
    await own.close();
  }
});

test('while Redis is down a send is stored and queued within its wait time, and sent once Redis is available again', async () => {
  const away = await openPlatform({ ...bare, REDIS_URL: 'redis://127.0.0.1:1' }, { waitMs: 400 });
  const push = createPush(away, []);
  const ids: string[] = [];
  try {
    const started = performance.now();
    const result = await push.sender.send({ tokens: ['one'], title: 'Hi' });
    expect(result).toMatchObject({ status: 'queued', devices: 1 });
    const { id } = await push.sender.enqueue({ tokens: ['two'], title: 'Hi' });
    ids.push(result.id, id);
    expect(performance.now() - started).toBeLessThan(8000);
    await away.database.write({ text: `update push_chunks set due_at = now() - interval '1 minute'`, values: [] });
  } finally {
    await away.close();
  }
  const back = await openPlatform(bare);
  const other = createPush(back, []);
  const worker = await other.parts.workers!['push-worker']!();
  try {
    await other.parts.sweeps!.find((sweep) => sweep.name === 'push jobs')!.run();
    await expect.poll(async () => (await other.captured.pushes()).map((push) => push.id).sort()).toEqual(ids.sort());
  } finally {
    await worker.stop();
    await back.close();
  }
});
