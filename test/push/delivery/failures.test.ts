import { Client } from 'pg';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { defineUser } from '../../../src/index.ts';
import { createLogger } from '../../../src/platform/observability/log.ts';
import { sendThroughTransport, type Transport, type TransportResult } from '../../../src/push/message/transport.ts';
import { type Person, startTestApp } from '../../support/app.ts';

const calls: Parameters<Transport['send']>[] = [];
let answer: (token: string, call: number) => TransportResult;
/** Each test uses its own transport, so that failures in one test do not count in the next. */
const transports = ['retry', 'gone', 'mixed', 'guard', 'window', 'stuck', 'refused', 'message', 'small'].map(
  (name): Transport => {
    const transport: Transport = {
      name,
      accepts: ({ token }) => token.startsWith(name),
      send(...args) {
        calls.push(args);
        return args[1].map(({ token }) => answer(token, calls.length));
      },
    };
    if (name !== 'small') return transport;
    return {
      ...transport,
      sizeOf: ({ body = '' }, platform) => body.length + (platform === 'ios' ? 50 : 0),
      limitBytes: 100,
    };
  },
);
const events: { name: string; payload: Record<string, unknown> }[] = [];
const { app, person, env } = await startTestApp(
  {
    resources: [defineUser()],
    transports,
    settings: { relay: { sweepMs: 100 } },
    listeners: (app) => {
      for (const name of ['push.sent', 'push.failed', 'push.receipt', 'push.misconfigured']) {
        app.on(name, (payload: Record<string, unknown>) => events.push({ name, payload }));
      }
    },
  },
  { roles: 'all' },
);
const admin = await person('Ada', ['admin']);
const sql = new Client({ connectionString: env.DATABASE_URL });
await sql.connect();
afterAll(() => sql.end());
beforeEach(() => {
  events.length = 0;
  calls.length = 0;
});

let count = 0;
async function register(who: Person, name: string): Promise<string> {
  const token = `${name}-${++count}-0123456789abcdefghij`;
  return (await who.call('POST', '/api/auth/devices', { token, platform: 'android' })).body.data.id;
}
const devicesOf = async (who: Person) => (await who.call('GET', '/api/auth/devices')).body.data.length;
const shown = async (id: string) => (await admin.call('GET', `/api/push/${id}`)).body.data;
const named = (name: string) => events.filter((event) => event.name === name).map((event) => event.payload);

/** Advances the time for a push that waits. */
async function pass(id: string): Promise<void> {
  await sql.query(
    `update push_results set retry_at = now() - interval '1 minute' where push_id = $1 and retry_at is not null`,
    [id],
  );
  await sql.query(
    `update push_chunks set due_at = now() - interval '1 minute' where push_id = $1 and finished_at is null`,
    [id],
  );
}

describe('a retryable failure', () => {
  test('is retried only for the affected devices; then the result is updated and a receipt is emitted', async () => {
    const ann = await person('Ann');
    const [bad, good] = [await register(ann, 'retry-bad'), await register(ann, 'retry-good')];
    answer = (token, call) =>
      token.startsWith('retry-bad') && call === 1
        ? { ok: false, error: 'Busy', retryable: true, retryAfterMs: 3_600_000 }
        : { ok: true, id: `c${call}` };
    const result = await app.push.send({ to: ann.id, title: 'Hi' });
    expect(result.status).toBe('partial');
    expect(result.results.find((one) => one.device === bad)).toEqual({ device: bad, ok: false, error: 'Busy' });
    expect((await shown(result.id)).counts).toMatchObject({ accepted: 1, retrying: 1, failed: 0 });
    await pass(result.id);
    const receipt = { id: result.id, device: bad, ok: true, error: null, unregistered: false };
    await expect.poll(() => named('push.receipt'), { timeout: 60_000 }).toEqual([receipt]);
    expect(calls.map(([, devices, { id }]) => [devices.map((device) => device.id).toSorted(), id])).toEqual([
      [[bad, good].toSorted(), result.id],
      [[bad], result.id],
    ]);
    const { status, counts, devices } = await shown(result.id);
    expect([status, counts.accepted, counts.retrying]).toEqual(['sent', 2, 0]);
    const { timeline } = devices.find((one: { device: string }) => one.device === bad);
    expect(timeline.map((entry: { event: string }) => entry.event)).toEqual([
      'queued',
      'sent',
      'refused',
      'retry',
      'sent',
      'accepted',
    ]);
    expect(named('push.sent')).toHaveLength(1);
  });

  test('is retried no sooner than the provider allows', async () => {
    answer = () => ({ ok: false, error: 'MessageRateExceeded', retryable: true, retryAfterMs: 3_600_000 });
    const { id } = await app.push.send({ tokens: ['retry-after'], title: 'Hi' });
    const { rows } = await sql.query(
      `select extract(epoch from retry_at - answered_at)::int as wait from push_results where push_id = $1`,
      [id],
    );
    expect(rows[0].wait).toBeGreaterThanOrEqual(3600);
    expect(rows[0].wait).toBeLessThanOrEqual(3600 * 1.2 + 1);
  });

  test('is given up after five retries, with a receipt', async () => {
    answer = () => ({ ok: false, error: 'Busy', retryable: true });
    const { id } = await app.push.send({ tokens: ['retry-always'], title: 'Hi' });
    const retries = async () =>
      (await shown(id)).devices[0].timeline.filter(({ event }: { event: string }) => event === 'retry').length;
    for (let tries = 2; tries <= 6; tries++) {
      // Waits until the result of the last try is stored.
      await expect.poll(retries, { timeout: 60_000 }).toBe(tries - 1);
      await pass(id);
      await expect.poll(() => calls.length, { timeout: 60_000 }).toBe(tries);
    }
    const receipt = { id, device: null, ok: false, error: 'Busy', unregistered: false };
    await expect.poll(() => named('push.receipt'), { timeout: 60_000 }).toEqual([receipt]);
    expect(await shown(id)).toMatchObject({ status: 'failed', counts: { retrying: 0, failed: 1 } });
    const { rows } = await sql.query('select 1 from push_chunks where push_id = $1 and finished_at is null', [id]);
    expect(rows).toEqual([]);
  });

  test.each([0, 1])('is not retried if its ttl of %i s would be over by then', async (ttl) => {
    answer = () => ({ ok: false, error: 'Busy', retryable: true, retryAfterMs: 2000 });
    const { id } = await app.push.send({ tokens: ['retry-ttl'], title: 'Hi', ttl });
    expect((await shown(id)).counts).toMatchObject({ retrying: 0, failed: 1 });
  });

  test('is not retried after its ttl, even if no worker ran in the meantime; transports get the expiry time', async () => {
    answer = () => ({ ok: false, error: 'Busy', retryable: true, retryAfterMs: 60_000 });
    const { id } = await app.push.send({ tokens: ['retry-late'], title: 'Hi', ttl: 3600 });
    expect(calls[0]![2].expiresAt! - Date.now()).toBeGreaterThan(3_500_000);
    await sql.query(`update pushes set expires_at = now() - interval '1 second' where id = $1`, [id]);
    await pass(id);
    await expect.poll(async () => (await shown(id)).devices[0].error, { timeout: 60_000 }).toMatch(/^Expired/);
    expect(calls).toHaveLength(1);
  });
});

test('a bad message is a permanent failure for the device, which is kept', async () => {
  const ann = await person('Ann');
  await register(ann, 'message');
  answer = () => ({ ok: false, error: 'InvalidMessage' });
  const { id } = await app.push.send({ to: ann.id, title: 'Hi' });
  expect(await shown(id)).toMatchObject({ status: 'failed', counts: { failed: 1, retrying: 0 } });
  expect(await devicesOf(ann)).toBe(1);
});

test('a bad configuration is a permanent failure that keeps the device and raises the alarm once', async () => {
  const ann = await person('Ann');
  for (let i = 0; i < 3; i++) await register(ann, 'refused');
  answer = () => ({ ok: false, error: 'InvalidCredentials', misconfigured: true, unregistered: false });
  for (let i = 0; i < 2; i++) await app.push.send({ to: ann.id, title: 'Hi' });
  const alarm = { transport: 'refused', reason: 'refused', error: 'InvalidCredentials', devices: 3 };
  expect(named('push.misconfigured')).toEqual([alarm]);
  expect(await devicesOf(ann)).toBe(3);
});

describe('a device that is gone', () => {
  const gone: TransportResult = { ok: false, error: 'DeviceNotRegistered', unregistered: true };

  test('is removed, even if 19 are gone at once', async () => {
    const ann = await person('Ann');
    for (let i = 0; i < 19; i++) await register(ann, 'gone');
    answer = () => gone;
    await app.push.send({ to: ann.id, title: 'Hi' });
    await expect.poll(() => devicesOf(ann)).toBe(0);
    expect(named('push.misconfigured')).toEqual([]);
  });

  test('is removed if other devices are reached, however many are gone', async () => {
    const ann = await person('Ann');
    for (let i = 0; i < 25; i++) await register(ann, 'mixed-gone');
    await register(ann, 'mixed-ok');
    answer = (token) => (token.startsWith('mixed-gone') ? gone : { ok: true });
    await app.push.send({ to: ann.id, title: 'Hi' });
    await expect.poll(() => devicesOf(ann)).toBe(1);
  });

  test('is kept if 20 are gone and none is reached; the alarm is raised once, until a device is reached again', async () => {
    const ann = await person('Ann');
    for (let i = 0; i < 20; i++) await register(ann, 'guard-gone');
    answer = () => gone;
    for (let i = 0; i < 2; i++) {
      const { status } = await app.push.send({ to: ann.id, title: 'Hi' });
      expect(status).toBe('failed');
    }
    const alarm = { transport: 'guard', reason: 'gone', error: 'DeviceNotRegistered', devices: 20 };
    expect(named('push.misconfigured')).toEqual([alarm]);
    expect(await devicesOf(ann)).toBe(20);
    answer = () => ({ ok: true });
    await app.push.send({ tokens: ['guard-alive'], title: 'Hi' });
    answer = (token) => (token.startsWith('guard-gone-') ? gone : { ok: true });
    const [one] = (await ann.call('GET', '/api/auth/devices')).body.data;
    await app.push.send({ deviceIds: [one.id], title: 'Hi' });
    await expect.poll(() => devicesOf(ann)).toBe(19);
  });

  test('is reported even if it cannot be removed, and the next send removes it', async () => {
    const ann = await person('Ann');
    await register(ann, 'stuck');
    await sql.query(`create function refuse() returns trigger language plpgsql as $$ begin raise 'not now'; end $$`);
    await sql.query('create trigger refuse before delete on devices for each row execute function refuse()');
    answer = () => gone;
    const { id } = await app.push.send({ to: ann.id, title: 'Hi' });
    await expect.poll(() => named('push.failed')).toEqual([{ id, status: 'failed', devices: 1 }]);
    expect(await devicesOf(ann)).toBe(1);
    await sql.query('drop trigger refuse on devices');
    await app.push.send({ to: ann.id, title: 'Hi' });
    await expect.poll(() => devicesOf(ann)).toBe(0);
  });

  test('is kept from the 20th on if the failures come one by one', async () => {
    const ann = await person('Ann');
    const ids: string[] = [];
    for (let i = 0; i < 22; i++) ids.push(await register(ann, 'window'));
    answer = () => gone;
    for (const id of ids) await app.push.send({ deviceIds: [id], title: 'Hi' });
    await expect.poll(() => devicesOf(ann)).toBe(3);
    expect(named('push.misconfigured')).toMatchObject([{ transport: 'window', devices: 20 }]);
  });
});

describe('a message over the size limit of the provider', () => {
  test('is refused with its size if no device can receive it', async () => {
    await expect(app.push.send({ tokens: ['small'], body: 'x'.repeat(101) })).rejects.toMatchObject({
      status: 422,
      details: {
        body: 'Must be smaller: MessageTooBig: transport "small" would send 101 bytes to android; the limit is 100',
      },
    });
  });

  test('is sent to the devices that can receive it, and the others get an error with its size', async () => {
    const ann = await person('Ann');
    const android = await register(ann, 'small');
    const { body } = await ann.call('POST', '/api/auth/devices', {
      token: 'small-ios-token-0123456789',
      platform: 'ios',
    });
    answer = () => ({ ok: true });
    const { status, results } = await app.push.send({ to: ann.id, body: 'x'.repeat(100) });
    expect(status).toBe('partial');
    expect(results.find((one) => one.device === body.data.id)).toMatchObject({
      ok: false,
      error: 'MessageTooBig: transport "small" would send 150 bytes to ios; the limit is 100',
    });
    expect(calls.map(([, devices]) => devices.map((device) => device.id))).toEqual([[android]]);
  });
});

describe('a call that never settles', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test('is a retryable failure after 60 s', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const hung: Transport = { name: 'hung', send: () => new Promise(() => undefined) };
    const device = { id: null, platform: 'ios', token: 't', user: null, locale: null } as const;
    const message = { sound: 'default', priority: 'high' } as const;
    const [sending] = sendThroughTransport(
      hung,
      [{ message, devices: [device], context: { id: 'x' } }],
      createLogger('silent', 'test'),
    );
    const late = sending!;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await late).toEqual([
      { ok: false, error: 'The transport failed: no response within 60 s', unregistered: false, retryable: true },
    ]);
  });
});
