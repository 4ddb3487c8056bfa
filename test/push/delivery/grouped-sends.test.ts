import { Client } from 'pg';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { createApp, defineUser } from '../../../src/index.ts';
import type { Transport, TransportRequest } from '../../../src/push/message/transport.ts';
import { startTestApp } from '../../support/app.ts';

const many: (readonly TransportRequest[])[] = [];
const single: string[] = [];
const finished: string[] = [];
let inFlight = 0;
let most = 0;
let gate: Promise<void> = Promise.resolve();
let open: () => void = () => undefined;

async function counted<T>(devices: number, results: () => T): Promise<T> {
  inFlight += devices;
  most = Math.max(most, inFlight);
  await gate;
  inFlight -= devices;
  return results();
}
const okay = ({ devices }: Pick<TransportRequest, 'devices'>) =>
  devices.map(({ token }) => ({ ok: true, id: `id of ${token}` }));
const bulk: Transport = {
  name: 'bulk: several at once',
  accepts: ({ platform }) => platform === 'android',
  send(_message, devices, context) {
    return counted(devices.length, () => {
      single.push(context.id);
      return okay({ devices });
    });
  },
  sendMany(sendings) {
    many.push(sendings);
    return counted(
      sendings.reduce((sum, { devices }) => sum + devices.length, 0),
      () => sendings.map(okay),
    );
  },
};
const plain: Transport = { ...bulk, name: 'plain', accepts: ({ platform }) => platform === 'ios' };
delete plain.sendMany;
const hanging: Transport = { name: 'hanging', send: () => new Promise(() => undefined) };
const { app, env } = await startTestApp(
  {
    resources: [defineUser()],
    transports: [bulk, plain, hanging],
    // Calls that hang must not delay the end of the test.
    settings: { graceMs: 500 },
    listeners: (app) => app.on('push.sent', ({ id }: { id: string }) => finished.push(id)),
  },
  { roles: 'all' },
);
const sql = new Client({ connectionString: env.DATABASE_URL });
await sql.connect();
afterAll(() => sql.end());

beforeEach(() => {
  many.length = 0;
  single.length = 0;
  most = 0;
});

/** Closes the gate at which transports wait, until `open` is called. */
function closeGate(): void {
  gate = new Promise((resolve) => {
    open = resolve;
  });
}
afterEach(() => open());

test('small pushes that arrive together share few calls of at most 500 devices, each with its own message and result', async () => {
  closeGate();
  const ids: string[] = [];
  // The pool has only a few connections, and a query that waits for one for seconds is refused.
  while (ids.length < 300) {
    const some = Array.from({ length: 20 }, (_, i) => ids.length + i);
    const enqueued = some.map((i) => app.push.enqueue({ tokens: [`a${i}`, `b${i}`], title: `T${i}` }));
    ids.push(...(await Promise.all(enqueued)).map(({ id }) => id));
  }
  await expect.poll(() => inFlight, { timeout: 60_000 }).toBeGreaterThan(500);
  open();
  await expect.poll(() => finished.length, { timeout: 60_000 }).toBe(300);
  expect(new Set(finished)).toEqual(new Set(ids));
  const { rows } = await sql.query('select push_id, token, provider_id from push_results');
  for (const { push_id, token, provider_id } of rows) {
    expect([push_id, provider_id]).toEqual([ids[token.slice(1)], `id of ${token}`]);
  }
  const sendings = many.flat();
  expect(sendings.length + single.length).toBe(300);
  expect(many.length + single.length).toBeLessThan(100);
  for (const call of many) expect(call.reduce((sum, { devices }) => sum + devices.length, 0)).toBeLessThanOrEqual(500);
  for (const { message, devices, context } of sendings) {
    const i = devices[0]!.token.slice(1);
    expect([message.title, devices.map(({ token }) => token), context.id]).toEqual([
      `T${i}`,
      [`a${i}`, `b${i}`],
      ids[Number(i)],
    ]);
  }
});

test('a single push is sent at once, in its own call', async () => {
  const { id } = await app.push.send({ tokens: ['alone'], title: 'Hi' });
  expect([single, many]).toEqual([[id], []]);
});

test('without sendMany each push has its own call', async () => {
  const sends = Array.from({ length: 50 }, (_, i) =>
    app.push.send({ tokens: [`p${i}`], platform: 'ios', title: 'Hi' }),
  );
  const ids = (await Promise.all(sends)).map(({ id }) => id);
  expect(single.toSorted()).toEqual(ids.toSorted());
});

test('a transport has at most 2,500 devices in flight per process', async () => {
  closeGate();
  const tokens = Array.from({ length: 8000 }, (_, i) => `w${i}`);
  const { id } = await app.push.enqueue({ tokens, title: 'Hi' });
  await expect.poll(() => inFlight, { timeout: 60_000 }).toBeGreaterThanOrEqual(2000);
  // All calls are busy when the small push arrives; it is sent before the rest of the large one.
  const small = app.push.send({ tokens: ['small'], title: 'Hi' });
  open();
  expect((await small).status).toBe('sent');
  const status = async () => (await app.push.send({ tokens: [], title: id })).status;
  expect(await status()).toBe('no-devices');
  await expect.poll(() => single.length + many.flat().length, { timeout: 60_000 }).toBe(17);
  expect(most).toBeLessThanOrEqual(2500);
});

test('a transport that hangs does not delay any other', async () => {
  const web = (i: number) =>
    JSON.stringify({ endpoint: `https://push.example/${i}`, keys: { p256dh: 'k', auth: 'a' } });
  const tokens = Array.from({ length: 3000 }, (_, i) => web(i));
  await app.push.enqueue({ tokens, platform: 'web', title: 'Hi' });
  const small = Array.from({ length: 20 }, (_, i) => ({ tokens: [web(-i)], platform: 'web' as const, title: 'Hi' }));
  await Promise.all(small.map((message) => app.push.enqueue(message)));
  expect((await app.push.send({ tokens: ['free'], title: 'Hi' })).status).toBe('sent');
});

test('a push-worker does not start if a provider refuses its credentials, and the error names the transport; web starts', async () => {
  const check = (name: string, answer: () => Promise<void>): Transport => ({ name, send: hanging.send, check: answer });
  const transports = [
    check('one', async () => {
      throw new Error('the key is of another team');
    }),
    check('two', async () => undefined),
  ];
  const refused = createApp({ resources: [defineUser()], transports }, env);
  await expect(refused.start({ roles: ['push-worker'] })).rejects.toThrow(
    /transport "one": the key is of another team/,
  );
  await refused.close();
  const web = createApp({ resources: [defineUser()], transports }, env);
  await web.start({ port: 0, roles: ['web'] });
  await web.close();
});

test('transports are closed when the push-worker has stopped', async () => {
  const closed: string[] = [];
  const closing: Transport = { name: 'closing', send: hanging.send, close: async () => void closed.push('closing') };
  const worker = createApp({ resources: [defineUser()], transports: [closing] }, env);
  await worker.start({ roles: ['push-worker'] });
  expect(closed).toEqual([]);
  await worker.close();
  expect(closed).toEqual(['closing']);
});
