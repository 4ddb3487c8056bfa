// Processes with and without a collector.

import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { startCollector } from '../../../fakes/otlp-collector.ts';
import { app } from '../../../fixtures/blog/app.ts';
import { createTestDatabase } from '../../../support/database/test-database.ts';
import { type AppProcess, createRoleEnv, startProcess } from '../../../support/processes/app-process.ts';

vi.setConfig({ testTimeout: 240_000 });
const database = await createTestDatabase();
afterAll(() => database.drop());
const env = { ...createRoleEnv(database), LOG_LEVEL: 'info' };
const { RELAY: _, WEBHOOKS_WORKER: __, PUSH_WORKER: ___, JOB_WORKER: ____, ...everyRole } = env;
const start = (variables: Record<string, string>) =>
  startProcess('test/fixtures/traced/process.ts', { ...everyRole, ...variables }, 'web');
/** The modules of the SDK. The API package does not count: prom-client loads it, and it does nothing on its own. */
const loadedBy = (process: AppProcess) =>
  [...process.output().matchAll(/loaded (\S+)/g)]
    .map(([, url]) => url!)
    .filter((url) => !url.includes('/@opentelemetry/api/'));

beforeAll(async () => {
  const own = app({ ...env, LOG_LEVEL: 'error' });
  await own.migrate({ mode: 'sync' });
  await own.close();
});

async function stop(process: AppProcess): Promise<void> {
  process.child.kill('SIGTERM');
  expect(await process.ended).toBe(0);
}

test('without a collector, a process with every role loads no module of the OpenTelemetry SDK', async () => {
  const process = start({ OTEL_SERVICE_NAME: 'shop', OTEL_TRACES_SAMPLER: 'always_on' });
  const url = await process.url();
  expect((await fetch(`${url}/api/posts`)).status).toBe(200);
  expect(loadedBy(process)).toEqual([]);
  const disabled = start({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_SDK_DISABLED: 'true' });
  await disabled.url();
  expect(loadedBy(disabled)).toEqual([]);
  await Promise.all([stop(process), stop(disabled)]);
});

test('a process exports its last spans when it stops, and its log lines name the trace', async () => {
  const collector = await startCollector();
  onTestFinished(() => collector.close());
  const process = start({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/otlp/v1/traces`,
    OTEL_SERVICE_NAME: 'shop',
    // Nothing is exported before the stop.
    OTEL_BSP_SCHEDULE_DELAY: '1000000',
  });
  const url = await process.url();
  expect(loadedBy(process).some((loaded) => loaded.includes('/@opentelemetry/sdk-trace/'))).toBe(true);
  await fetch(`${url}/api/posts`);
  await fetch(`${url}/healthz`);
  await stop(process);
  const requests = collector.spans.filter(({ kind }) => kind === 'server');
  expect(requests.map(({ name }) => name)).toEqual(['GET /api/posts']);
  expect(requests[0]!.resource).toMatchObject({ 'service.name': 'shop', 'belfry.process': 'web' });
  expect(collector.exports[0]!.path).toBe('/otlp/v1/traces');
  const line = process
    .output()
    .split('\n')
    .find((text) => text.includes('"msg":"request"') && text.includes('/api/posts'))!;
  const [{ traceId: trace_id, spanId: span_id }] = requests as [(typeof requests)[0]];
  expect(JSON.parse(line)).toMatchObject({ trace_id, span_id });
});

test('a collector that is down or hangs delays neither requests nor the stop, and is reported once', async () => {
  const hanging = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1');
  onTestFinished(() => void hanging.close());
  const closed = createServer().listen(0, '127.0.0.1');
  const portOf = ({ port }: AddressInfo) => port;
  await vi.waitUntil(() => hanging.listening && closed.listening);
  const closedPort = portOf(closed.address() as AddressInfo);
  closed.close();
  for (const port of [closedPort, portOf(hanging.address() as AddressInfo)]) {
    const process = start({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_BSP_SCHEDULE_DELAY: '10',
      // Each export gives up soon, so that several fail.
      OTEL_EXPORTER_OTLP_TIMEOUT: '100',
    });
    const url = await process.url();
    for (let i = 0; i < 20; i++) expect((await fetch(`${url}/api/posts`)).status).toBe(200);
    await vi.waitUntil(() => process.output().includes('spans could not be exported'), { timeout: 60_000 });
    for (let i = 0; i < 20; i++) expect((await fetch(`${url}/api/posts`)).status).toBe(200);
    await stop(process);
    expect(process.output().match(/could not be exported/g)).toHaveLength(1);
  }
});

test('what a collector responds is not logged, because it may repeat the credentials', async () => {
  const collector = await startCollector();
  onTestFinished(() => collector.close());
  collector.respondWith(400, `unknown token secret-of-the-collector ${'x'.repeat(100_000)}`);
  const process = start({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=secret-of-the-collector',
    OTEL_BSP_SCHEDULE_DELAY: '10',
  });
  const url = await process.url();
  expect((await fetch(`${url}/api/posts`)).status).toBe(200);
  await vi.waitUntil(() => process.output().includes('spans could not be exported'), { timeout: 60_000 });
  await stop(process);
  expect(process.output()).toMatch(/"code":400/);
  expect(process.output()).not.toMatch(/secret-of-the-collector|xxxx/);
});

test('several processes of a deployment add to one trace', async () => {
  const collector = await startCollector();
  onTestFinished(() => collector.close());
  const tracing = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '10' };
  const web = startProcess('test/fixtures/traced/process.ts', { ...env, ...tracing, CHEAP_PASSWORDS: 'yes' }, 'web');
  const relay = startProcess('test/fixtures/traced/process.ts', { ...env, ...tracing }, 'relay');
  const url = await web.url();
  const response = await fetch(`${url}/api/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Ann', email: 'ann@example.com', password: 'correct horse battery' }),
  });
  expect(response.status).toBe(201);
  const request = await collector.span(({ name }) => name === 'POST /api/auth/register');
  const relayed = await collector.span(({ name }) => name === 'relay user.created');
  expect(relayed).toMatchObject({ traceId: request.traceId, parentId: request.spanId });
  expect([request.resource['belfry.process'], relayed.resource['belfry.process']]).toEqual(['web', 'relay']);
  await Promise.all([stop(web), stop(relay)]);
});
