import { afterAll, expect, test, vi } from 'vitest';
import { type Receiver, startReceiver } from '../../../../fakes/receiver.ts';
import { blog } from '../../../../fixtures/blog/app.ts';
import { startTestApp } from '../../../../support/app.ts';
import { startBlog } from '../../../../support/processes/app-process.ts';

vi.setConfig({ testTimeout: 300_000 });

const { env, person } = await startTestApp(blog);
const receiver: Receiver = await startReceiver();
afterAll(() => receiver.close());

type Line = Record<string, unknown>;

test('the relay logs each batch and the worker each attempt in one line, with ids and classes and without personal data', async () => {
  const roles = { ...env, LOG_LEVEL: 'info' };
  const processes = [startBlog('relay', roles), startBlog('webhook-worker', roles)];
  const allOutput = () => processes.map((one) => one.output()).join('');
  const lines = (msg: string): Line[] =>
    allOutput()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Line)
      .filter((line) => line.msg === msg);

  const ann = await person('Ann');
  const url = `${receiver.url}/secret-path?token=secret-query`;
  const { data } = (await ann.call('POST', '/api/webhooks', { url, events: ['post.created'] })).body;
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
  const worker = startBlog('webhook-worker', { ...env, LOG_LEVEL: 'info' });
  const ann = await person('Bea');
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
