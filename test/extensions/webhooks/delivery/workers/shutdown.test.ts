import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { createApp } from '../../../../../src/index.ts';
import { type Receiver, startReceiver } from '../../../../fakes/receiver.ts';
import { blog } from '../../../../fixtures/blog/app.ts';
import { startTestApp } from '../../../../support/app.ts';
import { startBlog } from '../../../../support/processes/app-process.ts';

vi.setConfig({ testTimeout: 300_000 });

const { env, person } = await startTestApp(blog, { roles: ['web', 'relay'] });
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
