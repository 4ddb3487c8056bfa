import { Webhook } from 'standardwebhooks';
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createApp, defineResource, defineUser, f, verifyWebhook, webhooks } from '../../../../../src/index.ts';
import { type Receiver, startReceiver } from '../../../../fakes/receiver.ts';
import { type Person, startTestApp } from '../../../../support/app.ts';

const note = defineResource('note', {
  fields: { text: f.text().required(), internal: f.string().hidden().default('hidden'), owner: f.ref('user').owner() },
  policies: { read: 'owner | admin' },
});

const schedule = [20, 40];
// The sweep never runs here, so these tests do not depend on it.
const pollMs = 3_600_000;
const { person, app } = await startTestApp(
  {
    resources: [defineUser(), note],
    extensions: [webhooks({ retrySchedule: schedule, timeoutMs: 3000, pollMs, disableAfterFailures: 2 })],
  },
  { roles: 'all' },
);

let receiver: Receiver;
let ann: Person;
let endpoint: { id: string; secret: string };

async function subscribe(who: Person, url: string, events = ['note.created']) {
  const { status, body } = await who.call('POST', '/api/webhooks', { url, events });
  expect(status).toBe(201);
  return body.data;
}
const write = async (text: string) => (await ann.call('POST', '/api/notes', { text })).body.data;
const log = async () => (await ann.call('GET', `/api/webhooks/${endpoint.id}/deliveries`)).body.data;
const until = (condition: () => unknown) => vi.waitUntil(condition, { timeout: 60_000, interval: 20 });
const finished = () =>
  vi.waitUntil(
    async () => {
      const list = await log();
      const done = list.length > 0 && list.every(({ status }: { status: string }) => /succeeded|failed/.test(status));
      return done ? list : undefined;
    },
    { timeout: 60_000, interval: 20 },
  );

const opened: Receiver[] = [];
beforeEach(async () => {
  receiver = await startReceiver();
  opened.push(receiver);
  ann = await person('Ann');
  endpoint = await subscribe(ann, receiver.url);
});
afterAll(() => Promise.all(opened.map((one) => one.close())));

test('a change arrives signed, with the documented headers and body, and two independent verifiers accept it', async () => {
  receiver.answer((_, res) => res.end('thank you'));
  const record = await write('grüße');
  const [request] = await receiver.received(1);
  const { headers, body, method } = request!;
  expect(method).toBe('POST');
  expect(headers['content-type']).toBe('application/json');
  expect(headers['webhook-id']).toMatch(/^msg_[0-9a-f]{32}$/);
  expect(headers['content-length']).toBe(String(Buffer.byteLength(body)));
  const payload = { type: 'note.created', timestamp: expect.stringMatching(/Z$/), data: record };
  expect(new Webhook(endpoint.secret).verify(body, headers as Record<string, string>)).toEqual(payload);
  expect(verifyWebhook(endpoint.secret, headers, body)).toEqual(payload);
  expect(body).not.toContain('internal');
  expect(await finished()).toEqual([
    {
      id: expect.stringMatching(/^[0-9a-f]{24}$/),
      type: 'note.created',
      messageId: headers['webhook-id'],
      createdAt: expect.any(String),
      status: 'succeeded',
      attempts: 1,
      statusCode: 200,
      durationMs: expect.any(Number),
      error: null,
      nextAttemptAt: null,
      response: 'thank you',
      payload: body,
      payloadTruncated: false,
      attemptLog: [{ at: expect.any(String), statusCode: 200, durationMs: expect.any(Number), error: null }],
    },
  ]);
  expect((await ann.call('GET', `/api/webhooks/${endpoint.id}`)).body.data).toMatchObject({
    status: 'active',
    lastSuccessAt: expect.any(String),
    lastFailureAt: null,
  });
});

test('a receiver that recovers gets the same id and the same bytes with a new signature', async () => {
  receiver.answer(500, 503, 204);
  await write('again');
  const [first, second, third] = await receiver.received(3);
  for (const request of [second!, third!]) {
    expect(request.headers['webhook-id']).toBe(first!.headers['webhook-id']);
    expect(request.body).toBe(first!.body);
    verifyWebhook(endpoint.secret, request.headers, request.body);
  }
  expect(second!.at - first!.at).toBeGreaterThanOrEqual(schedule[0]! * 0.8 - 2);
  const [delivery] = await finished();
  expect(delivery).toMatchObject({ status: 'succeeded', attempts: 3, statusCode: 204, error: null });
  expect(delivery.attemptLog.map(({ statusCode, error }: never) => [statusCode, error])).toEqual([
    [500, 'status 500'],
    [503, 'status 503'],
    [204, null],
  ]);
});

test('after 1 + length(schedule) failed attempts the delivery has failed and its endpoint is failing', async () => {
  receiver.answer(404);
  await write('never');
  expect(await finished()).toMatchObject([{ status: 'failed', attempts: 3, statusCode: 404, nextAttemptAt: null }]);
  expect(receiver.requests).toHaveLength(3);
  const { data } = (await ann.call('GET', `/api/webhooks/${endpoint.id}`)).body;
  expect(data).toMatchObject({ status: 'failing', consecutiveFailures: 1, lastError: 'status 404', enabled: true });
  receiver.answer(200);
  await write('well');
  await receiver.received(4);
  await until(async () => (await ann.call('GET', `/api/webhooks/${endpoint.id}`)).body.data.consecutiveFailures === 0);
});

test('any 2xx is a success; a redirect is a failed attempt, and its target is never called', async () => {
  const target = await startReceiver();
  opened.push(target);
  receiver.answer((_, res) => res.writeHead(307, { location: target.url }).end(), 202);
  await write('moved');
  const [delivery] = await finished();
  expect(delivery).toMatchObject({ status: 'succeeded', attempts: 2, statusCode: 202 });
  expect(delivery.attemptLog[0]).toMatchObject({ statusCode: 307, error: 'redirect' });
  expect(target.requests).toHaveLength(0);
});

test('a receiver that does not respond in time causes a failed attempt', async () => {
  receiver.answer(() => new Promise(() => undefined), 200);
  await write('late');
  const [delivery] = await finished();
  expect(delivery.attemptLog[0]).toMatchObject({ statusCode: null, error: 'timeout' });
  // The time-out of the setting applies, not the default.
  expect(delivery.attemptLog[0].durationMs).toBeGreaterThanOrEqual(399);
  expect(delivery.attemptLog[0].durationMs).toBeLessThan(10_000);
  expect(delivery).toMatchObject({ status: 'succeeded', attempts: 2 });
});

test('a closed port is an ordinary failed attempt that is retried', async () => {
  await receiver.close();
  opened.splice(opened.indexOf(receiver), 1);
  await write('nobody');
  expect(await finished()).toMatchObject([
    { status: 'failed', attempts: 3, statusCode: null, error: 'connection refused' },
  ]);
});

test('Retry-After postpones the next attempt, even beyond the longest wait of the schedule', async () => {
  receiver.answer((_, res) => res.writeHead(503, { 'retry-after': '1' }).end(), 204);
  await write('busy');
  const [first, second] = await receiver.received(2);
  expect(second!.at - first!.at).toBeGreaterThanOrEqual(998);
  expect(await finished()).toMatchObject([{ status: 'succeeded', attempts: 2 }]);
});

test('410 disables the endpoint at once with one event, and its waiting deliveries are not sent', async () => {
  const disabledEvents: unknown[] = [];
  app.on('webhook.disabled', (payload) => disabledEvents.push(payload));
  receiver.answer(410);
  await write('gone');
  await until(() => disabledEvents.length > 0);
  expect(disabledEvents).toEqual([
    { webhook: expect.objectContaining({ id: endpoint.id, status: 'disabled' }), owner: ann.id, reason: 'gone' },
  ]);
  expect(await finished()).toMatchObject([{ status: 'failed', attempts: 1, statusCode: 410 }]);
  await write('after');
  const other = await startReceiver();
  opened.push(other);
  await subscribe(ann, other.url);
  await write('for the other');
  await other.received(1);
  expect(receiver.requests).toHaveLength(1);
  const { data } = (await ann.call('GET', `/api/webhooks/${endpoint.id}`)).body;
  expect(data).toMatchObject({ enabled: false, disabledReason: 'gone' });
});

test('an endpoint is disabled after the configured number of failed deliveries in a row; enabling it restarts the count', async () => {
  const disabledEvents: { reason: string; webhook: { id: string } }[] = [];
  app.on('webhook.disabled', (payload: never) => disabledEvents.push(payload));
  receiver.answer(500);
  await Promise.all([write('one'), write('two'), write('three')]);
  await until(() => disabledEvents.some(({ webhook }) => webhook.id === endpoint.id));
  expect(disabledEvents.filter(({ webhook }) => webhook.id === endpoint.id)).toMatchObject([{ reason: 'failing' }]);
  const before = receiver.requests.length;
  receiver.answer(204);
  const { body } = await ann.call('PATCH', `/api/webhooks/${endpoint.id}`, { enabled: true });
  expect(body.data).toMatchObject({ status: 'active', consecutiveFailures: 0, disabledReason: null });
  await write('four');
  await receiver.received(before + 1);
  await finished();
});

test('a delivery added while its endpoint is being served does not wait for the sweep', async () => {
  let release = () => {};
  receiver.answer((_, res) => new Promise<void>((resolve) => (release = resolve)).then(() => res.end()), 204);
  await write('first');
  await receiver.received(1);
  await write('second');
  // Long enough for the relay to request another drain while this one is running.
  await until(async () => (await log()).length === 2);
  release();
  await receiver.received(2);
  await finished();
});

test('an endpoint that is deleted while a retry waits is not called again', async () => {
  receiver.answer(500);
  await write('retry');
  await receiver.received(1);
  expect((await ann.call('DELETE', `/api/webhooks/${endpoint.id}`)).status).toBe(204);
  const calls = receiver.requests.length;
  const other = await startReceiver();
  opened.push(other);
  await subscribe(ann, other.url);
  await write('other');
  await other.received(1);
  expect(receiver.requests.length).toBeLessThanOrEqual(calls + 1); // one may have been in progress
});

test('with WEBHOOKS_WORKER=off, web processes create deliveries and send none; a separate worker sends them', async () => {
  const declared = { resources: [defineUser(), note], extensions: [webhooks()] };
  const { person, env } = await startTestApp(declared, { roles: 'all', env: () => ({ WEBHOOKS_WORKER: 'off' }) });
  const who = await person('Ann');
  const { id } = (await who.call('POST', '/api/webhooks', { url: receiver.url, events: ['note.created'] })).body.data;
  const states = async () =>
    (await who.call('GET', `/api/webhooks/${id}/deliveries`)).body.data.map(({ status }: { status: string }) => status);
  await who.call('POST', '/api/notes', { text: 'x' });
  await vi.waitUntil(async () => (await states()).length === 1, { timeout: 60_000, interval: 20 });
  expect(await states()).toEqual(['pending']);
  expect(receiver.requests).toHaveLength(0);

  const worker = createApp(declared, { ...env, WEBHOOKS_WORKER: 'on' });
  onTestFinished(() => worker.close());
  await worker.start({ roles: ['webhook-worker'] });
  await receiver.received(1);
});

test('with 20 producers, 20 consumers and 2,000 deliveries, each is sent once, and no worker waits for others to finish', {
  timeout: 240_000,
}, async () => {
  const PRODUCERS = 20;
  const CONSUMERS = 20;
  const EACH = 100;
  const declared = {
    resources: [defineUser(), note],
    extensions: [webhooks({ concurrency: CONSUMERS / 2, pollMs: 200 })],
  } as const;
  const { app, env, person } = await startTestApp(declared, { roles: ['web', 'relay'] });
  const workers = [createApp(declared, env), createApp(declared, env)];
  onTestFinished(async () => void (await Promise.all(workers.map((worker) => worker.close()))));
  const people = await Promise.all(Array.from({ length: PRODUCERS }, (_, i) => person(`Person${i}`)));
  await Promise.all(
    people.map(({ id, call }) =>
      call('POST', '/api/webhooks', { url: `${receiver.url}/${id}`, events: ['note.created'] }),
    ),
  );
  // The first half waits before any worker sends; the second half is created while they send.
  const produce = async ({ id }: { id: string }, service: typeof app.service) => {
    for (let i = 0; i < EACH / 2; i++) await service('note').create({ text: `${i}`, owner: id });
  };
  await Promise.all(people.map((one) => app.transaction(({ service }) => produce(one, service as typeof app.service))));
  await Promise.all(workers.map((worker) => worker.start({ roles: ['webhook-worker', 'relay'] })));
  await Promise.all(people.map((one) => produce(one, app.service)));
  const total = PRODUCERS * EACH;
  await vi.waitUntil(() => receiver.requests.length >= total, { timeout: 90_000, interval: 100 });

  const records = receiver.requests.map(({ body }) => JSON.parse(body).data.id as string);
  expect(new Set(records).size).toBe(total);
  expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(total);
  expect(records).toHaveLength(total);
  const byPerson = Map.groupBy(receiver.requests, ({ path }) => path);
  expect([...byPerson.values()].map((list) => list.length)).toEqual(Array(PRODUCERS).fill(EACH));
  const firsts = [...byPerson.values()].map((list) => receiver.requests.indexOf(list[0]!));
  expect(Math.max(...firsts)).toBeLessThan(total * 0.75);
});
