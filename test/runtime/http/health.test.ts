import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createApp, defineExtension, defineResource, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';

const note = defineResource('note', { fields: { text: f.text() }, policies: { list: 'public', create: 'public' } });

/** Whether the extension's worker reports that it runs, and what its `stop` waits for. */
const worker = { isRunning: true, stopped: Promise.resolve() };
const looping = defineExtension({
  name: 'looping',
  setup: () => ({
    workers: { 'push-worker': () => ({ stop: () => worker.stopped, isRunning: () => worker.isRunning }) },
  }),
});
const slow = defineResource('slow', {
  fields: { text: f.text() },
  policies: { list: 'public' },
  routes: (route) => [route.get('/wait', { policy: 'public' }, () => waiting.promise)],
});
let waiting = Promise.withResolvers<object>();
const declared = () => ({ resources: [note, slow], extensions: [looping] });
const { env } = await startTestApp(declared());

/** Starts another process of the app with its own settings. */
async function startAnother(settings: Record<string, string>, roles: ('web' | 'relay' | 'push-worker')[]) {
  const app = createApp(declared(), { ...env, ...settings });
  onTestFinished(() => app.close());
  return { ...(await app.start({ port: 0, roles })), close: () => app.close() };
}

async function get(url: string) {
  const response = await fetch(url);
  return { status: response.status, body: JSON.parse(await response.text()) };
}

const DEPENDENCIES = { postgres: 'ok', redis: 'ok', migrations: 'ok' };

test('with HEALTH_PORT, a process without web serves its health, and its workers are part of it', async () => {
  const { healthUrl, metricsUrl, url } = await startAnother({ HEALTH_PORT: '0' }, ['relay', 'push-worker']);
  expect([url, metricsUrl]).toEqual(['', '']);
  expect(await get(`${healthUrl}/healthz`)).toEqual({ status: 200, body: { status: 'ok' } });
  const checks = { ...DEPENDENCIES, workers: 'ok' };
  expect(await get(`${healthUrl}/readyz`)).toEqual({ status: 200, body: { status: 'ok', checks } });
  expect((await get(`${healthUrl}/metrics`)).status).toBe(404);
  worker.isRunning = false;
  onTestFinished(() => {
    worker.isRunning = true;
  });
  const failed = { status: 'failed', checks: { ...DEPENDENCIES, workers: 'failed' } };
  expect(await get(`${healthUrl}/readyz`)).toEqual({ status: 503, body: failed });
  expect((await get(`${healthUrl}/healthz`)).status).toBe(200);
});

test('requests of /readyz share a check of Postgres, for half a second after its result', async () => {
  const { url, healthUrl } = await startAnother({ HEALTH_PORT: '0' }, ['web']);
  const now = performance.now();
  const clock = vi.spyOn(performance, 'now').mockReturnValue(now);
  const sent = vi.spyOn(pg.Client.prototype, 'query');
  onTestFinished(() => {
    clock.mockRestore();
    sent.mockRestore();
  });
  const readyUrls = Array.from({ length: 20 }, (_, i) => `${i % 2 === 0 ? url : healthUrl}/readyz`);
  await Promise.all(readyUrls.map(get));
  const statements = sent.mock.calls.length;
  expect(statements).toBeLessThanOrEqual(2);
  for (const one of readyUrls) expect((await get(one)).status).toBe(200);
  expect(sent).toHaveBeenCalledTimes(statements);
  clock.mockReturnValue(now + 500);
  expect((await get(readyUrls[0]!)).status).toBe(200);
  expect(sent.mock.calls.length).toBeGreaterThan(statements);
});

test('a stopping worker is draining until its work has ended', async () => {
  const stopped = Promise.withResolvers<void>();
  worker.stopped = stopped.promise;
  const { healthUrl, close } = await startAnother({ HEALTH_PORT: '0' }, ['push-worker']);
  const closed = close();
  const draining = { status: 503, body: { status: 'draining', checks: {} } };
  expect(await get(`${healthUrl}/readyz`)).toEqual(draining);
  expect((await get(`${healthUrl}/healthz`)).status).toBe(200);
  stopped.resolve();
  await closed;
  await expect(fetch(`${healthUrl}/readyz`)).rejects.toThrow();
});

test('web serves requests through its drain delay, while /readyz is draining on both ports', async () => {
  waiting = Promise.withResolvers();
  const settings = { HEALTH_PORT: '0', DRAIN_DELAY_MS: '2000' };
  const { url, healthUrl, close } = await startAnother(settings, ['web']);
  expect(await get(`${url}/readyz`)).toEqual({ status: 200, body: { status: 'ok', checks: DEPENDENCIES } });
  expect(await get(`${healthUrl}/readyz`)).toEqual({ status: 200, body: { status: 'ok', checks: DEPENDENCIES } });
  const inProgress = get(`${url}/api/slows/wait`);
  const closed = close();
  for (const base of [url, healthUrl])
    expect(await get(`${base}/readyz`)).toEqual({ status: 503, body: { status: 'draining', checks: {} } });
  const response = await fetch(`${url}/api/notes`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text: 'served' }),
  });
  expect([response.status, response.headers.get('connection')]).toEqual([201, 'close']);
  // The listener closes after the delay; the request in progress still gets its response.
  const isRefused = () =>
    fetch(`${url}/healthz`).then(
      () => false,
      () => true,
    );
  await vi.waitUntil(isRefused, { interval: 50 });
  waiting.resolve({ done: true });
  expect((await inProgress).status).toBe(200);
  await closed;
});

test('one port may serve both health and metrics; if web has that port, it serves the health checks itself', async () => {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const port = String((probe.address() as AddressInfo).port);
  await new Promise((resolve) => probe.close(resolve));
  const both = await startAnother({ HEALTH_PORT: port, METRICS_PORT: port }, ['relay']);
  expect(both.metricsUrl).toBe(`${both.healthUrl}/metrics`);
  expect((await get(`${both.healthUrl}/readyz`)).status).toBe(200);
  expect(await (await fetch(both.metricsUrl)).text()).toContain('process_cpu_seconds_total');
  const forwarded = await fetch(both.metricsUrl, { headers: { 'x-forwarded-for': '203.0.113.7' } });
  expect(forwarded.status).toBe(404);
  await both.close();
  const app = createApp(declared(), { ...env, HEALTH_PORT: port });
  onTestFinished(() => app.close());
  const { url, healthUrl } = await app.start({ port: Number(port), roles: ['web'] });
  expect(healthUrl).toBe('');
  expect((await get(`${url}/readyz`)).status).toBe(200);
});

test('while Redis is down, web stays ready and says that it is degraded, unless a setting makes it strict; a worker is not ready', async () => {
  const proxy = await startTcpProxy(new URL(env.REDIS_URL!));
  onTestFinished(() => proxy.close());
  const own = { ...env, REDIS_URL: proxy.url, HEALTH_PORT: '0' };
  const start = async (role: 'web' | 'push-worker', settings: object = {}) => {
    const app = createApp({ ...declared(), settings }, own);
    onTestFinished(() => app.close());
    return app.start({ port: 0, roles: [role] });
  };
  const [web, strict, worker] = [
    await start('web'),
    await start('web', { http: { readyWithoutRedis: false } }),
    await start('push-worker'),
  ];
  proxy.shut();
  const checks = { ...DEPENDENCIES, redis: 'failed' };
  const patience = { timeout: 60_000 };
  for (const url of [web.url, web.healthUrl])
    await expect
      .poll(() => get(`${url}/readyz`), patience)
      .toEqual({ status: 200, body: { status: 'degraded', checks } });
  expect((await get(`${web.url}/api/notes`)).status).toBe(200);
  const failed = { status: 503, body: { status: 'failed', checks } };
  await expect.poll(() => get(`${strict.url}/readyz`), patience).toEqual(failed);
  await expect.poll(() => get(`${worker.healthUrl}/readyz`), patience).toMatchObject(failed);
  proxy.reopen();
  await expect
    .poll(() => get(`${web.url}/readyz`), patience)
    .toEqual({ status: 200, body: { status: 'ok', checks: DEPENDENCIES } });
});
