import { Client } from 'pg';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { createApp, defineResource, defineUser, f, verifyWebhook, webhooks } from '../../../../src/index.ts';
import { type Receiver, startReceiver } from '../../../fakes/receiver.ts';
import { createClient, type Person, startTestApp } from '../../../support/app.ts';
import { ALL_DELIVERIES, finishDeliveries } from '../../../support/webhooks/deliveries.ts';

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner | admin' },
});
// The waits are so long that no schedule sends anything here, and the sweep never runs. The time-out is long too, so that a slow
// receiver never exceeds it, even on a busy machine. Tests of the time-out use an app of their own.
const options = {
  retrySchedule: ['1h', '1h'],
  pollMs: 3_600_000,
  disableAfterFailures: 1,
  events: { 'number.drawn': { schema: z.unknown() } },
};
const made = { resources: [defineUser(), note], extensions: [webhooks(options)] } as const;
const hasty = { ...made, extensions: [webhooks({ ...options, timeoutMs: 400 })] } as const;
const { app, person, call, env } = await startTestApp(made, { roles: 'all' });
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const opened: { close(): Promise<unknown> }[] = [];
afterAll(async () => {
  await client.end();
  await Promise.all(opened.map((one) => one.close()));
});

let receiver: Receiver;
let ann: Person;
let endpoint: { id: string; secret: string };

async function receive(): Promise<Receiver> {
  const one = await startReceiver();
  opened.push(one);
  return one;
}
beforeEach(async () => {
  receiver = await receive();
  ann = await person('Ann');
  const { body } = await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['note.created'] });
  endpoint = body.data;
});

const path = (rest = '') => `/api/webhooks/${endpoint.id}${rest}`;
const log = async () => (await ann.call('GET', path('/deliveries'))).body.data;
const read = async () => (await ann.call('GET', path())).body.data;
const write = () => ann.call('POST', '/api/notes', { text: 'x' });
const retry = async (deliveryId: string) => {
  const { status, body } = await ann.call('POST', path(`/deliveries/${deliveryId}/retry`));
  expect(status).toBe(200);
  return body.data;
};
/** Returns the only delivery of the endpoint once it meets the condition. */
const delivery = (condition: (one: { status: string; attempts: number }) => boolean) =>
  vi.waitUntil(
    async () => {
      const [one] = await log();
      return one !== undefined && condition(one) ? one : undefined;
    },
    { timeout: 60_000, interval: 20 },
  );

test('a test is sent at once, signed like any other message, and responds with the delivery after its attempt', async () => {
  receiver.answer((_, res) => res.end('well received'));
  const { status, body } = await ann.call('POST', path('/test'));
  expect(status).toBe(200);
  const [request] = await receiver.received(1);
  expect(body.data).toEqual({
    id: expect.stringMatching(/^[0-9a-f]{24}$/),
    type: 'webhook.test',
    messageId: request!.headers['webhook-id'],
    createdAt: expect.any(String),
    status: 'succeeded',
    attempts: 1,
    statusCode: 200,
    durationMs: expect.any(Number),
    error: null,
    nextAttemptAt: null,
    response: 'well received',
    payload: request!.body,
    payloadTruncated: false,
    attemptLog: [{ at: expect.any(String), statusCode: 200, durationMs: expect.any(Number), error: null }],
  });
  expect(verifyWebhook(endpoint.secret, request!.headers, request!.body)).toEqual({
    type: 'webhook.test',
    timestamp: expect.stringMatching(/Z$/),
    data: { webhook: endpoint.id },
  });
  expect(await log()).toEqual([body.data]);
  expect(await read()).toMatchObject({ lastSuccessAt: expect.any(String) });
});

test.each([
  ['answers 500', made, 500, { statusCode: 500, error: 'status 500' }],
  ['does not respond', hasty, () => new Promise(() => undefined), { statusCode: null, error: 'timeout' }],
])(
  'a test of a receiver that %s is one attempt and never disables the endpoint',
  async (what, how, answer, expected) => {
    // This app has a Redis prefix of its own, so that its own worker sends.
    const own = createApp(how, { ...env, REDIS_PREFIX: `${env.REDIS_PREFIX}-${what.replaceAll(' ', '-')}` });
    const { url } = await own.start({ port: 0, roles: ['web', 'webhook-worker'] });
    opened.push({ close: () => own.close() });
    receiver.answer(answer);
    for (let i = 1; i <= 3; i++) {
      expect((await createClient(url, ann.token)('POST', path('/test'))).status).toBe(200);
      const sent = await delivery(({ status }) => status === 'failed');
      expect(sent).toMatchObject({ attempts: 1, nextAttemptAt: null, ...expected });
    }
    expect(receiver.requests).toHaveLength(3);
    expect(await read()).toMatchObject({ enabled: true, consecutiveFailures: 0, lastError: expected.error });
  },
);

test('a test does not wait for other waiting deliveries of the endpoint', async () => {
  // A running drain may take some of them. The receiver holds those until the test has a response.
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  receiver.answer(({ body }, res) =>
    body.includes('webhook.test') ? res.end() : held.then(() => res.writeHead(500).end()),
  );
  await client.query(
    `insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, next_attempt_at)
     select lpad(to_hex(i), 24, '0'), $1, 'e' || i, 'msg_' || i, 'number.drawn', '{}', now() - interval '1 hour'
     from generate_series(1, 500) i`,
    [endpoint.id],
  );
  await write();
  await receiver.received(1);
  expect((await ann.call('POST', path('/test'))).body.data).toMatchObject({
    type: 'webhook.test',
    status: 'succeeded',
  });
  expect((await ann.call('GET', path('/deliveries?status=succeeded'))).body.data).toHaveLength(1);
  release();
});

test('410 in response to a test disables the endpoint as for any other message', async () => {
  receiver.answer(410);
  expect((await ann.call('POST', path('/test'))).body.data).toMatchObject({ status: 'failed', statusCode: 410 });
  expect(await read()).toMatchObject({ enabled: false, disabledReason: 'gone' });
});

test('a delivery that succeeded is sent again with the same id and bytes, and its attempts keep counting', async () => {
  await write();
  const first = await delivery(({ status }) => status === 'succeeded');
  expect(await retry(first.id)).toMatchObject({ id: first.id, status: 'pending', attempts: 1 });
  const [one, two] = await receiver.received(2);
  expect([two!.headers['webhook-id'], two!.body]).toEqual([one!.headers['webhook-id'], one!.body]);
  verifyWebhook(endpoint.secret, two!.headers, two!.body);
  const second = await delivery(({ status, attempts }) => status === 'succeeded' && attempts === 2);
  expect(second).toMatchObject({ id: first.id, messageId: first.messageId, nextAttemptAt: null });
  expect(second.attemptLog).toHaveLength(2);
});

test('a failed delivery that is retried gets its whole schedule again', async () => {
  receiver.answer(500);
  await write();
  const { id } = await delivery(({ attempts }) => attempts === 1);
  await finishDeliveries(client, 'failed', 'id = $1', [id], { attempts: '3', schedule_attempts: '3' });
  await retry(id);
  await receiver.received(2);
  const again = await delivery(({ status, attempts }) => status === 'pending' && attempts === 4);
  expect(Date.parse(again.nextAttemptAt) - Date.now()).toBeGreaterThan(0.7 * 3_600_000);
  const { rows } = await client.query(`select schedule_attempts, finished_at from ${ALL_DELIVERIES} d where id = $1`, [
    id,
  ]);
  expect(rows).toEqual([{ schedule_attempts: 1, finished_at: null }]);
});

test('a delivery that waits for its next attempt is sent at once instead, and its schedule restarts', async () => {
  receiver.answer(500, 500, 204);
  await write();
  const { id } = await delivery(({ status, attempts }) => status === 'pending' && attempts === 1);
  await retry(id);
  await delivery(({ status, attempts }) => status === 'pending' && attempts === 2);
  await retry(id);
  const done = await delivery(({ status }) => status === 'succeeded');
  expect(done.attemptLog.map(({ statusCode }: { statusCode: number }) => statusCode)).toEqual([500, 500, 204]);
  expect(receiver.requests).toHaveLength(3);
});

test('while a retry waits for its time, a new delivery of the endpoint is sent at once, and a requested one too', async () => {
  receiver.answer(500, 204);
  await write();
  const { id } = await delivery(({ status, attempts }) => status === 'pending' && attempts === 1);
  // The worker has released the endpoint, so the new delivery needs a claim of its own.
  const released = 'select from webhook_turns where endpoint_id = $1 and holder is null';
  const untilReleased = () =>
    vi.waitUntil(async () => (await client.query(released, [endpoint.id])).rowCount === 1, {
      timeout: 60_000,
      interval: 20,
    });
  await untilReleased();
  await write();
  await receiver.received(2, 60_000);
  await delivery(({ status }) => status === 'succeeded');
  await untilReleased();
  await retry(id);
  await receiver.received(3, 60_000);
});

test('retrying a delivery that is being sent returns it unchanged, and it is sent once', async () => {
  let release = () => {};
  receiver.answer((_, res) => new Promise<void>((resolve) => (release = resolve)).then(() => res.end()), 204);
  await write();
  await receiver.received(1);
  const [{ id }] = await log();
  const answers = await Promise.all([1, 2, 3].map(() => retry(id)));
  expect(answers.map(({ status, attempts }) => [status, attempts])).toEqual(Array(3).fill(['sending', 1]));
  release();
  await delivery(({ status }) => status === 'succeeded');
  expect((await ann.call('POST', path('/test'))).body.data.status).toBe('succeeded');
  expect(receiver.requests).toHaveLength(2);
});

test('ten concurrent retries send a finished delivery one at a time', async () => {
  await write();
  const { id } = await delivery(({ status }) => status === 'succeeded');
  await Promise.all(Array.from({ length: 10 }, () => retry(id)));
  const last = await delivery(({ status, attempts }) => status === 'succeeded' && attempts > 1);
  expect(receiver.inFlight.most).toBe(1);
  expect(receiver.requests).toHaveLength(last.attempts);
});

test('a test that is sent again is again one attempt', async () => {
  receiver.answer(500);
  const { id } = (await ann.call('POST', path('/test'))).body.data;
  await retry(id);
  expect(await delivery(({ status, attempts }) => status === 'failed' && attempts === 2)).toMatchObject({
    nextAttemptAt: null,
  });
  expect(await read()).toMatchObject({ enabled: true, consecutiveFailures: 0 });
});

test('a disabled endpoint responds 400: nothing is sent and nothing is stored', async () => {
  await write();
  const { id } = await delivery(({ status }) => status === 'succeeded');
  await ann.call('PATCH', path(), { enabled: false });
  for (const rest of ['/test', `/deliveries/${id}/retry`, `/deliveries/${'f'.repeat(24)}/retry`]) {
    const { status, body } = await ann.call('POST', path(rest));
    expect([status, body.error.code, body.error.message]).toEqual([
      400,
      'BAD_REQUEST',
      'The webhook is disabled; enable it first',
    ]);
  }
  expect(await log()).toMatchObject([{ id, status: 'succeeded', attempts: 1 }]);
  await ann.call('PATCH', path(), { enabled: true });
  expect((await ann.call('POST', path('/test'))).body.data.status).toBe('succeeded');
  expect(receiver.requests).toHaveLength(2);
});

test('404 for another user’s, another endpoint’s, malformed or unknown deliveries; 401 without a session', async () => {
  const { id } = (await ann.call('POST', path('/test'))).body.data;
  const other = await person('Other');
  const own = (await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['note.deleted'] })).body.data;
  for (const [who, at] of [
    [other, path('/test')],
    [other, path(`/deliveries/${id}/retry`)],
    [ann, `/api/webhooks/${own.id}/deliveries/${id}/retry`],
    [ann, path(`/deliveries/${'f'.repeat(24)}/retry`)],
    [ann, path('/deliveries/nonsense/retry')],
    [ann, `/api/webhooks/${'f'.repeat(24)}/test`],
    [ann, '/api/webhooks/nonsense/test'],
    [ann, `/api/webhooks/nonsense/deliveries/${id}/retry`],
  ] as const) {
    const { status, body } = await who.call('POST', at);
    expect([at, status, body.error.code]).toEqual([at, 404, 'NOT_FOUND']);
    expect((await call('POST', at)).status).toBe(401);
  }
  expect(receiver.requests).toHaveLength(1);
});

test('403 for a global endpoint whose owner may no longer have one', async () => {
  const boss = await person('Boss', ['user', 'admin']);
  const body = { url: receiver.url, events: ['note.created'], scope: 'global' };
  const { id } = (await boss.call('POST', '/api/webhooks', body)).body.data;
  const tested = await boss.call('POST', `/api/webhooks/${id}/test`);
  expect(tested.body.data.status).toBe('succeeded');
  await app.service('user').update(boss.id, { roles: ['user'] });
  for (const rest of ['test', `deliveries/${tested.body.data.id}/retry`]) {
    expect((await boss.call('POST', `/api/webhooks/${id}/${rest}`)).status).toBe(403);
  }
  expect(receiver.requests).toHaveLength(1);
});

test('if no worker runs, a test responds after the time-out with its current state, and is sent once a worker runs', async () => {
  const { REDIS_PREFIX, ...rest } = env;
  // This app has a Redis prefix of its own, so no worker receives its jobs.
  const alone = createApp(hasty, { ...rest, REDIS_PREFIX: `${REDIS_PREFIX}-alone` });
  const { url } = await alone.start({ port: 0, roles: ['web'] });
  opened.push({ close: () => alone.close() });
  const { status, body } = await createClient(url, ann.token)('POST', path('/test'));
  expect([status, body.data.status, body.data.attempts]).toEqual([200, 'pending', 0]);
  const relay = createApp({ ...made, extensions: [webhooks({ ...options, pollMs: 50 })] }, env);
  await relay.start({ roles: ['relay'] });
  opened.push({ close: () => relay.close() });
  await receiver.received(1);
});

test('tests and retries are limited to 10 each per minute and client', async () => {
  const limited = createApp(
    { ...made, settings: { rateLimit: { enabled: true } } },
    { ...env, TRUST_PROXY: '1', REDIS_PREFIX: `${env.REDIS_PREFIX}-limited` },
  );
  const { url } = await limited.start({ port: 0, roles: ['web'] });
  opened.push({ close: () => limited.close() });
  await ann.call('PATCH', path(), { enabled: false });
  const statuses = async (rest: string, ip: string) => {
    const post = createClient(url, ann.token);
    const answers = [];
    for (let i = 0; i < 12; i++) answers.push(await post('POST', path(rest), undefined, { 'x-forwarded-for': ip }));
    expect(answers.at(-1)!.headers.get('retry-after')).toMatch(/^\d+$/);
    return answers.map(({ status }) => status);
  };
  const expected = [...Array(10).fill(400), 429, 429];
  expect(await statuses('/test', '198.51.100.1')).toEqual(expected);
  expect(await statuses(`/deliveries/${'f'.repeat(24)}/retry`, '198.51.100.1')).toEqual(expected);
  expect(await statuses('/test', '198.51.100.2')).toEqual(expected);
});
