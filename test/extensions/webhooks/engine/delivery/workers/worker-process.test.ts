// A worker in a process of its own: what it does when it is ended, and what it logs.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { createApp } from '../../../../../../src/index.ts';
import { type Receiver, startReceiver } from '../../../../../fakes/receiver.ts';
import { blog } from '../../../../../fixtures/blog/app.ts';
import { startTestApp } from '../../../../../support/app.ts';
import { startBlog } from '../../../../../support/processes/app-process.ts';

vi.setConfig({ testTimeout: 300_000 });

const { env, person } = await startTestApp(blog, { roles: ['web', 'relay'] });
// Its only relay is the process of the test, which gets all events.
const logged = await startTestApp(blog);
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
afterAll(() => client.end());
const until = (condition: () => unknown) => vi.waitUntil(condition, { timeout: 120_000, interval: 100 });

/** Starts a worker in a process of its own and a delivery whose receiver has the request and has not responded yet. */
async function inFlight() {
  const worker = startBlog('webhook-worker', env);
  const receiver: Receiver = await startReceiver();
  let release: () => void = () => undefined;
  receiver.answer(
    (_, res) =>
      new Promise<void>((resolve) => {
        release = () => resolve(void res.writeHead(204).end());
      }),
    204,
  );
  const ann = await person('Ann');
  const { body } = await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['post.created'] });
  await ann.call('POST', '/api/posts', { title: 'x' });
  await receiver.received(1, 120_000);
  const log = async () => (await ann.call('GET', `/api/webhooks/${body.data.id}/deliveries`)).body.data;
  return { worker, receiver, ann, release: () => release(), endpoint: body.data.id as string, log };
}

test('on SIGTERM the worker finishes requests in flight and stores their results before it exits', async () => {
  const { worker, receiver, release, log } = await inFlight();
  worker.child.kill('SIGTERM');
  // The receiver responds slowly, and the worker waits for the response.
  expect(await Promise.race([worker.ended, sleep(700, 'still there')])).toBe('still there');
  release();
  expect(await worker.ended).toBe(0);
  expect(await log()).toMatchObject([{ status: 'succeeded', attempts: 1, statusCode: 204 }]);
  expect(receiver.requests).toHaveLength(1);
  await receiver.close();
});

test('after SIGKILL during a request, the endpoint’s other deliveries continue, and the interrupted one is sent once more with the same id and bytes', async () => {
  const { worker, receiver, ann, endpoint, log } = await inFlight();
  worker.child.kill('SIGKILL');
  await worker.ended;
  expect(await log()).toMatchObject([{ status: 'sending' }]);
  // Even on a slow machine, the lease of the lost attempt must not expire before the other delivery is sent.
  await client.query(
    `update webhook_deliveries set lease_until = now() + interval '1 hour' where status = 'sending' and endpoint_id = $1`,
    [endpoint],
  );
  const next = createApp(blog, env);
  onTestFinished(() => next.close());
  await next.start({ roles: ['webhook-worker'] });
  await ann.call('POST', '/api/posts', { title: 'y' });
  // The endpoint continues once the lease of the dead worker has expired and its job is taken over.
  await receiver.received(2, 120_000);
  const statuses = async () => (await log()).map(({ status }: { status: string }) => status);
  await until(async () => (await statuses())[0] === 'succeeded');
  expect(await statuses()).toEqual(['succeeded', 'sending']);
  // Expire the lease now, and below make the retry due now.
  await client.query(
    `update webhook_deliveries set lease_until = now() - make_interval(secs => 1) where status = 'sending' and endpoint_id = $1`,
    [endpoint],
  );
  await until(async () => (await log())[1].error === 'worker lost');
  await client.query(
    `update webhook_deliveries set next_attempt_at = now() - make_interval(secs => 1) where status = 'pending' and endpoint_id = $1`,
    [endpoint],
  );
  await until(async () => (await log())[1].status === 'succeeded');
  expect((await log()).slice(1)).toMatchObject([
    { attempts: 2, attemptLog: [{ error: 'worker lost' }, { statusCode: 204 }] },
  ]);
  const [first, , second, ...more] = receiver.requests;
  expect(more).toEqual([]);
  expect(second!.headers['webhook-id']).toBe(first!.headers['webhook-id']);
  expect(second!.body).toBe(first!.body);
  await receiver.close();
});

test('after SIGKILL during a requested retry, the delivery is reclaimed and sent again with the same id', async () => {
  const { worker, receiver, ann, endpoint, release, log } = await inFlight();
  release();
  await until(async () => (await log())[0].status === 'succeeded');
  receiver.answer(() => new Promise(() => undefined), 204);
  const [{ id }] = await log();
  expect((await ann.call('POST', `/api/webhooks/${endpoint}/deliveries/${id}/retry`)).status).toBe(200);
  await receiver.received(2, 120_000);
  worker.child.kill('SIGKILL');
  await worker.ended;
  expect(await log()).toMatchObject([{ status: 'sending', attempts: 2 }]);
  const next = createApp(blog, env);
  onTestFinished(() => next.close());
  await next.start({ roles: ['webhook-worker'] });
  // Expire the leases of the endpoint and the delivery, and make the retry due now.
  const expire = (table: string) =>
    client.query(
      `update ${table} set lease_until = now() - interval '1 second' where endpoint_id = $1 and lease_until is not null`,
      [endpoint],
    );
  await until(async () => {
    for (const table of ['webhook_turns', 'webhook_deliveries']) await expire(table);
    return (await log())[0].error === 'worker lost';
  });
  await client.query('update webhook_deliveries set next_attempt_at = now() where endpoint_id = $1', [endpoint]);
  await until(async () => (await log())[0].status === 'succeeded');
  expect(await log()).toMatchObject([{ attempts: 3, attemptLog: [{}, { error: 'worker lost' }, { statusCode: 204 }] }]);
  expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  expect(receiver.requests).toHaveLength(3);
  await receiver.close();
});

type Line = Record<string, unknown>;

test('the relay logs each batch and the worker each attempt in one line, with ids and classes and without personal data', async () => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const info = { ...logged.env, LOG_LEVEL: 'info' };
  const processes = [startBlog('relay', info), startBlog('webhook-worker', info)];
  const allOutput = () => processes.map((one) => one.output()).join('');
  const lines = (msg: string): Line[] =>
    allOutput()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Line)
      .filter((line) => line.msg === msg);

  const ann = await logged.person('Ann');
  const url = `${receiver.url}/secret-path?token=secret-query`;
  const headers = { authorization: 'Bearer secret-token-of-the-receiver' };
  const { data } = (await ann.call('POST', '/api/webhooks', { url, events: ['post.created'], headers })).body;
  receiver.answer((_, res) => res.writeHead(503, { 'x-told': 'secret-header' }).end('secret-response'), 204);
  await ann.call('POST', '/api/posts', { title: 'secret-title' });
  await vi.waitUntil(() => lines('webhook attempt').length === 2, { timeout: 120_000, interval: 50 });

  const [delivery] = (await ann.call('GET', `/api/webhooks/${data.id}/deliveries`)).body.data;
  const ids = { delivery: delivery.id, endpoint: data.id, event: expect.stringMatching(/^[0-9a-f]{24}$/) };
  const [failed, succeeded] = lines('webhook attempt');
  expect(failed).toMatchObject({
    ...ids,
    level: 'info',
    outcome: 'status 503',
    statusClass: '5xx',
    attempt: 1,
    decision: 'retry',
    retryAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    durationMs: expect.any(Number),
  });
  expect(succeeded).toMatchObject({
    ...ids,
    outcome: 'succeeded',
    statusClass: '2xx',
    attempt: 2,
    decision: 'delivered',
  });
  expect(succeeded!.event).toBe(failed!.event);
  expect(lines('webhook fan-out')).toMatchObject([
    {
      outcome: 'done',
      events: expect.any(Number),
      endpoints: 1,
      deliveries: 1,
      deferredEvents: 0,
      durationMs: expect.any(Number),
    },
  ]);
  expect(allOutput()).not.toMatch(/secret|127\.0\.0\.1:\d+\/|@/);
});

test('the log line of the attempt that disables its endpoint says so', async () => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const worker = startBlog('webhook-worker', { ...logged.env, LOG_LEVEL: 'info' });
  const ann = await logged.person('Bea');
  const { data } = (await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['post.created'] })).body;
  receiver.answer(410);
  await ann.call('POST', `/api/webhooks/${data.id}/test`);
  const line = await vi.waitUntil(
    () =>
      worker
        .output()
        .split('\n')
        .find((one) => one.includes('"webhook attempt"')),
    { timeout: 120_000, interval: 50 },
  );
  expect(JSON.parse(line)).toMatchObject({
    endpoint: data.id,
    outcome: 'status 410',
    statusClass: '4xx',
    decision: 'endpoint disabled',
  });
});
