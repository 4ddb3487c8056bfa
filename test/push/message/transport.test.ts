import { inspect } from 'node:util';
import { Client } from 'pg';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { createApp, defineUser } from '../../../src/index.ts';
import type { Logger } from '../../../src/platform/observability/log.ts';
import { findTransport, sendThroughTransport, type Transport } from '../../../src/push/message/transport.ts';
import { type Person, startTestApp } from '../../support/app.ts';

/** A transport whose results a test decides. It accepts only iOS devices. */
const calls: Parameters<Transport['send']>[] = [];
let answer: Transport['send'];
const accepting: Transport['send'] = (_message, devices) => devices.map((_, i) => ({ ok: true, id: `provider-${i}` }));
const phone: Transport = {
  name: 'phone',
  accepts: (device) => device.platform === 'ios',
  send(...args) {
    calls.push(args);
    return answer(...args);
  },
};
const never: Transport = {
  name: 'never',
  accepts: () => {
    throw new Error('accepts is broken');
  },
  send: () => {
    throw new Error('must not be called');
  },
};
const second: Transport = { name: 'second', accepts: (device) => device.platform === 'ios', send: never.send };

const events: { name: string; payload: unknown }[] = [];
const { app, person, env } = await startTestApp(
  {
    resources: [defineUser()],
    transports: [never, phone, second],
    listeners: (app) => {
      for (const name of ['push.sent', 'push.failed']) app.on(name, (payload) => events.push({ name, payload }));
    },
  },
  { roles: 'all' },
);
const sql = new Client({ connectionString: env.DATABASE_URL });
await sql.connect();
afterAll(() => sql.end());
beforeEach(() => {
  events.length = 0;
  calls.length = 0;
  answer = accepting;
});

let count = 0;
async function register(who: Person, platform = 'ios'): Promise<{ id: string; token: string }> {
  const token = `token-${++count}-0123456789abcdefghijklmnopqrst`;
  const { body } = await who.call('POST', '/api/auth/devices', { token, platform, locale: 'de-AT' });
  return { id: body.data.id, token };
}
const idsOf = async (who: Person) =>
  (await who.call('GET', '/api/auth/devices')).body.data.map((device: { id: string }) => device.id);

test('a device goes to the first transport that accepts it; a transport whose accepts() throws does not get it', async () => {
  const ann = await person('Ann');
  const { id, token } = await register(ann);
  const result = await app.push.send({ to: ann.id, title: 'Hi', url: '/x' });
  expect(result).toEqual({
    id: result.id,
    status: 'sent',
    devices: 1,
    results: [{ device: id, ok: true, id: 'provider-0' }],
  });
  expect(calls).toEqual([
    [
      { title: 'Hi', url: '/x', data: { url: '/x' }, sound: 'default', priority: 'high' },
      [{ id, platform: 'ios', token, user: ann.id, locale: 'de-AT' }],
      { id: result.id },
    ],
  ]);
  expect(events).toEqual([{ name: 'push.sent', payload: { id: result.id, status: 'sent', devices: 1 } }]);
});

test('a push that a transport delivers is not captured; one that no transport accepts is', async () => {
  const ann = await person('Ann');
  await register(ann, 'ios');
  const android = await register(ann, 'android');
  const { id, status } = await app.push.send({ to: ann.id, title: 'Hi' });
  expect(status).toBe('sent');
  const captured = (await app.captured.pushes()).find((push) => push.id === id);
  expect(captured?.devices.map((device) => device.id)).toEqual([android.id]);
});

test('a push that only some devices accept is partial', async () => {
  const ann = await person('Ann');
  await register(ann);
  await register(ann);
  answer = () => [{ ok: true }, { ok: false, error: 'MessageRateExceeded' }];
  const result = await app.push.send({ to: ann.id, title: 'Hi' });
  expect(result.status).toBe('partial');
  expect(result.results[1]).toMatchObject({ ok: false, error: 'MessageRateExceeded' });
  expect(events).toEqual([{ name: 'push.sent', payload: { id: result.id, status: 'partial', devices: 2 } }]);
});

test('unregistered: true removes the device; other failures do not', async () => {
  const ann = await person('Ann');
  const [gone, kept] = [await register(ann), await register(ann)];
  answer = (_, devices) => devices.map((device) => ({ ok: false, error: 'no', unregistered: device.id === gone.id }));
  const result = await app.push.send({ to: ann.id, title: 'Hi' });
  expect(result.status).toBe('failed');
  await expect.poll(() => idsOf(ann)).toEqual([kept.id]);
  expect(events).toEqual([{ name: 'push.failed', payload: { id: result.id, status: 'failed', devices: 2 } }]);
});

test('a raw token that is gone also removes the device registered with it', async () => {
  const ann = await person('Ann');
  const [gone, kept] = [await register(ann), await register(ann)];
  answer = (_, devices) => devices.map(({ token }) => ({ ok: false, error: 'no', unregistered: token === gone.token }));
  await app.push.send({ tokens: [gone.token, kept.token, 'nobody-has-this-token'], platform: 'ios', title: 'Hi' });
  await expect.poll(() => idsOf(ann)).toEqual([kept.id]);
});

test('a raw token that is gone on one platform does not remove a device with the same token on another', async () => {
  const ann = await person('Ann');
  const kept = await register(ann, 'android');
  answer = (_, devices) => devices.map(() => ({ ok: false, error: 'no', unregistered: true }));
  await app.push.send({ tokens: [kept.token], platform: 'ios', title: 'Hi' });
  answer = accepting;
  expect((await app.push.send({ to: ann.id, title: 'Hi' })).results).toEqual([{ device: kept.id, ok: true }]);
  const { devices } = await app.push.send({ to: ann.id, tokens: [kept.token], platform: 'ios', title: 'Hi' });
  expect(devices).toBe(1);
});

test('a device that registered again after the provider lost it is kept', async () => {
  const ann = await person('Ann');
  const [lost, back] = [await register(ann), await register(ann)];
  answer = (_, devices) =>
    devices.map((device) => ({
      ok: false,
      error: 'no',
      unregistered: true,
      ...(device.id === back.id ? { goneSince: Date.now() - 3_600_000 } : {}),
    }));
  await app.push.send({ to: ann.id, title: 'Hi' });
  await expect.poll(() => idsOf(ann)).toEqual([back.id]);
  expect(lost.id).not.toBe(back.id);
});

describe('a send resolves with failed results', () => {
  test.each<[string, Transport['send']]>([
    [
      'throws',
      () => {
        throw new Error('provider is down');
      },
    ],
    ['rejects', () => Promise.reject(new Error('provider is down'))],
    [
      'throws something that is no error',
      () => {
        throw 'x';
      },
    ],
    [
      'throws what is no text',
      () => {
        throw Object.create(null);
      },
    ],
    ['answers with nothing', () => undefined as never],
    ['answers with an empty list', () => []],
    ['answers with something else than results', () => [null, 'ok'] as never],
    ['answers ok in other words', () => [{ ok: 'true' }, { ok: 1 }] as never],
    [
      'answers with an error that cannot be stored',
      () => [
        { ok: false, error: '\0\ud800' },
        { ok: false, error: 'x'.repeat(1e6) },
      ],
    ],
  ])('if the transport %s', async (_, send) => {
    const ann = await person('Ann');
    await register(ann);
    await register(ann);
    answer = send;
    // An exception may be retried later, but not after the ttl.
    const result = await app.push.send({ to: ann.id, title: 'Hi', ttl: 0 });
    expect(result).toMatchObject({ status: 'failed', devices: 2 });
    for (const one of result.results) {
      expect(one).toEqual({ device: expect.any(String), ok: false, error: expect.stringMatching(/^.{1,500}$/s) });
    }
    expect(await idsOf(ann)).toHaveLength(2);
  });
});

describe('no token is revealed by a custom transport', () => {
  const endpoint = 'https://push.example.com/subscription-0123456789';
  const web = JSON.stringify({ endpoint, keys: { p256dh: 'BNk3-public-key', auth: 'aVery-secret-key' } });
  const device = { id: null, platform: 'ios', token: 'ios-token-0123456789', user: null, locale: null } as const;
  const browser = { ...device, platform: 'web', token: web } as const;
  const sending = { message: { sound: 'default', priority: 'high' }, devices: [device, browser], context: { id: 'x' } };
  const secrets = /ios-token-0123456789|subscription-0123456789|aVery-secret-key/;
  const refusal = (token: string) => `no such device: ${token}${token === web ? ` at ${endpoint}` : ''}`;
  const failing = () => {
    throw new Error(refusal(device.token), { cause: new Error(refusal(web)) });
  };

  test.each<[string, Transport['send']]>([
    ['that throws', failing],
    ['that answers with it', (_, devices) => devices.map(({ token }) => ({ ok: false, error: refusal(token) }))],
  ])('%s', async (_, send) => {
    const logged: unknown[] = [];
    const log = { error: ({ err }: { err: Error }) => logged.push(inspect(err)) } as unknown as Logger;
    const [results] = await Promise.all(sendThroughTransport({ name: 'own', send }, [sending as never], log));
    expect(results!.map((result) => result.error)).toEqual([
      expect.stringContaining('no such device: …'),
      expect.stringContaining('no such device: …'),
    ]);
    expect(`${JSON.stringify(results)} ${logged}`).not.toMatch(secrets);
  });

  test('whose accepts() throws', () => {
    const logged: unknown[] = [];
    const log = { error: ({ err }: { err: Error }) => logged.push(inspect(err)) } as unknown as Logger;
    expect(findTransport([{ name: 'own', send: accepting, accepts: failing }], device, log)).toBeUndefined();
    expect(logged).toEqual([expect.stringContaining('no such device: …')]);
    expect(logged[0]).not.toMatch(/ios-token-0123456789/);
  });
});

test('a transport that returns too few results fails only the remaining devices', async () => {
  const ann = await person('Ann');
  await register(ann);
  await register(ann);
  answer = () => [{ ok: true, id: 'one' }];
  const result = await app.push.send({ to: ann.id, title: 'Hi' });
  expect(result.status).toBe('partial');
  expect(result.results.map((one) => one.ok)).toEqual([true, false]);
});

test('a device that is removed, or registered by another user, after the send was requested is not sent to', async () => {
  const [ann, ben] = [await person('Ann'), await person('Ben')];
  const [removed, moved, kept] = [await register(ann), await register(ann), await register(ann)];
  const first = new Promise<void>((resolve) => {
    answer = async (_, devices) => {
      resolve();
      await gate;
      return devices.map(() => ({ ok: true }));
    };
  });
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  // The worker sends to 2,000 devices concurrently: with that many held up, other pushes wait in the queue.
  const tokens = Array.from({ length: 500 }, (_, i) => `hold-${i}`);
  const holding = Array.from({ length: 4 }, () => app.push.send({ tokens, platform: 'ios', title: 'Hold' }));
  await first;
  await expect.poll(() => calls.length).toBe(4);
  const sent = app.push.send({ to: ann.id, title: 'Hi' });
  await expect.poll(async () => (await sql.query(`select 1 from pushes where status = 'queued'`)).rows.length).toBe(5);
  await ann.call('DELETE', `/api/auth/devices/${removed.id}`);
  await ben.call('POST', '/api/auth/devices', { token: moved.token, platform: 'ios' });
  open();
  await Promise.all(holding);
  const result = await sent;
  expect(result).toMatchObject({ status: 'partial', devices: 3 });
  expect(calls.at(-1)![1].map((device) => device.id)).toEqual([kept.id]);
  for (const one of result.results.filter(({ device }) => device !== kept.id)) {
    expect(one).toMatchObject({ ok: false, error: 'The device is no longer registered, or its user is not active' });
  }
});

test('a chunk has at most 500 devices', async () => {
  const tokens = Array.from({ length: 1001 }, (_, i) => `chunk-${i}`);
  await app.push.send({ tokens, platform: 'ios', title: 'Hi' });
  expect(calls.map(([, devices]) => devices.length).sort()).toEqual([1, 500, 500]);
  expect(new Set(calls.flatMap(([, devices]) => devices.map((device) => device.token))).size).toBe(1001);
});

test('malformed transports prevent the start, and one error names all of them', () => {
  const transports = [{ name: 'a', send: accepting }, { name: 'a', send: accepting }, { send: 5 }] as never;
  expect(() => createApp({ resources: [defineUser()], transports }, env)).toThrow(
    /"a" is installed twice[\s\S]*transports\[2\] has no name[\s\S]*no method send/,
  );
});
