import { expect, test, vi } from 'vitest';
import { createApp, defineResource, defineUser, f, webhooks } from '../../../src/index.ts';
import { startReceiver } from '../../fakes/receiver.ts';
import { createClient, startTestApp } from '../../support/app.ts';

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});
const declared = () => ({ resources: [defineUser(), note], extensions: [webhooks({ retrySchedule: [1] })] });
const { url, env, person } = await startTestApp(declared(), { roles: ['web', 'relay'] });

/** Another process of the same app, with its own metrics settings. */
async function processOf(metrics: Record<string, string>, role: 'web' | 'relay' | 'webhook-worker') {
  const made = createApp(declared(), { ...env, ...metrics });
  return { ...(await made.start({ port: 0, roles: [role] })), close: () => made.close() };
}

async function ask(from: string, token?: string) {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(from, { headers });
  return { status: response.status, text: await response.text(), type: response.headers.get('content-type') };
}

test('without METRICS_TOKEN and METRICS_PORT no metrics are served', async () => {
  expect((await createClient(url)('GET', '/metrics')).status).toBe(404);
});

test('with METRICS_TOKEN, web serves its metrics only to clients that send the token', async () => {
  const web = await processOf({ METRICS_TOKEN: 'scrape-me' }, 'web');
  expect(web.metricsUrl).toBe('');
  const metrics = `${web.url}/metrics`;
  for (const token of [undefined, '', 'scrape', 'scrape-me2', 'Scrape-me']) {
    const refused = await ask(metrics, token);
    expect(refused.status).toBe(401);
    expect(JSON.parse(refused.text).error.code).toBe('UNAUTHORIZED');
  }
  const scrape = await ask(metrics, 'scrape-me');
  expect(scrape.status).toBe(200);
  expect(scrape.type).toMatch(/^text\/plain; version=0\.0\.4/);
  for (const name of ['process_cpu_seconds_total', 'belfry_redis_fallbacks_total', 'belfry_webhooks_queued'])
    expect(scrape.text).toContain(`# HELP ${name} `);
  await web.close();
});

test('METRICS_PORT must not be the port of web; workers do not listen on PORT', async () => {
  const app = createApp(declared(), { ...env, METRICS_PORT: '45871', PORT: '45871' });
  await expect(app.start()).rejects.toThrow('METRICS_PORT must differ from PORT (45871)');
  await app.close();
  const relay = createApp(declared(), { ...env, METRICS_PORT: '45871', PORT: '45871' });
  const { metricsUrl } = await relay.start({ roles: ['relay'] });
  expect((await ask(metricsUrl)).status).toBe(200);
  await relay.close();
});

test('with METRICS_PORT, a worker serves its metrics on that port, to this machine only', async () => {
  const relay = await processOf({ METRICS_PORT: '0' }, 'relay');
  expect(relay.url).toBe('');
  expect((await ask(relay.metricsUrl)).text).toContain('belfry_webhooks_queued');
  expect((await ask(relay.metricsUrl.replace('/metrics', '/'))).status).toBe(404);
  await relay.close();
  await expect(ask(relay.metricsUrl)).rejects.toThrow();
});

test('with both set, the port requires the token too', async () => {
  const relay = await processOf({ METRICS_PORT: '0', METRICS_TOKEN: 'scrape-me' }, 'relay');
  expect((await ask(relay.metricsUrl)).status).toBe(401);
  expect((await ask(relay.metricsUrl, 'scrape-me')).status).toBe(200);
  await relay.close();
});

test('a worker reports how its delivery attempts ended and how long they waited', async () => {
  const worker = await processOf({ METRICS_PORT: '0' }, 'webhook-worker');
  const receiver = await startReceiver();
  receiver.answer(503, 204);
  const ann = await person('Ann');
  await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['note.created'] });
  await ann.call('POST', '/api/notes', { text: 'x' });
  const readWorkerMetrics = async () => (await ask(worker.metricsUrl)).text;
  const isResultReported = async () =>
    (await readWorkerMetrics()).includes('belfry_webhooks_attempts_total{result="succeeded"} 1\n');
  await vi.waitUntil(isResultReported, { timeout: 60_000, interval: 50 });
  const text = await readWorkerMetrics();
  expect(text).toContain('belfry_webhooks_attempts_total{result="status 5xx"} 1\n');
  expect(text).toContain('belfry_webhooks_dispatch_seconds_count 2\n');
  expect(text).toContain('belfry_webhooks_dispatch_seconds_bucket{le="300"} 2\n');
  expect(text).toContain('belfry_webhooks_answer_seconds_count 2\n');
  await receiver.close();
  await worker.close();
});
