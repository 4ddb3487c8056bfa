// From a request to the receivers of its events: one trace, in one process with every role.
import { trace } from '@opentelemetry/api';
import { afterAll, expect, test, vi } from 'vitest';
import { defineExtension, defineResource, defineUser, f, webhooks } from '../../../../src/index.ts';
import { type ExportedSpan, startCollector } from '../../../fakes/otlp-collector.ts';
import { startReceiver } from '../../../fakes/receiver.ts';
import { createClient, startTestApp } from '../../../support/app.ts';

vi.setConfig({ testTimeout: 120_000 });
const collector = await startCollector();
const receiver = await startReceiver();
afterAll(async () => {
  await Promise.all([collector.close(), receiver.close()]);
});

const inHook: (string | undefined)[] = [];
const note = defineResource('note', {
  fields: { text: f.string(), secret: f.string() },
  policies: { list: 'public', read: 'public', create: 'authenticated' },
  hooks: {
    afterCreate: async () => {
      inHook.push(trace.getActiveSpan()?.spanContext().traceId);
    },
  },
  routes: (route) => [
    route.get('/by-code/:code', { policy: 'public' }, () => ({})),
    route.get('/broken', { policy: 'public' }, () => {
      throw new Error('MARKER-in-error');
    }),
    route.post('/import', { policy: 'authenticated' }, async () => {
      await addJobs(['one']);
      return {};
    }),
    route.post('/announce', { policy: 'authenticated' }, async () => {
      await app.push.send({
        tokens: ['MARKER-device-token'],
        platform: 'android',
        title: 'MARKER-title',
      });
      await app.mail.send({ to: 'marker@example.com', subject: 'MARKER-subject', text: 'MARKER-text' });
      return {};
    }),
  ],
});
let addJobs: (ids: string[]) => Promise<void> = async () => undefined;
const importer = defineExtension({
  name: 'importer',
  setup(host) {
    addJobs = (ids) => host.jobs.add('import', ids);
    return { jobs: { import: { run: async () => undefined } } };
  },
});
const { app, url, person } = await startTestApp(
  {
    resources: [defineUser(), note],
    extensions: [webhooks({ allowPrivate: true, requireHttps: false, retrySchedule: [0] }), importer],
  },
  {
    roles: 'all',
    env: () => ({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=north%20wing',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      OTEL_BSP_SCHEDULE_DELAY: '10',
    }),
  },
);
const ann = await person('Ann');
const created = await ann.call('POST', '/api/webhooks', {
  url: `${receiver.url}?key=MARKER-in-url`,
  events: ['note.*'],
});
expect(created.status).toBe(201);

const isOf =
  (traceId: string, name: string | RegExp) =>
  (span: ExportedSpan): boolean =>
    span.traceId === traceId && (typeof name === 'string' ? span.name === name : name.test(span.name));
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/;

test('one trace leads from the request through the event to each attempt, and the receiver gets its traceparent', async () => {
  receiver.answer(500, 204);
  const { body } = await ann.call('POST', '/api/notes?q=MARKER-in-query', {
    text: 'MARKER-in-body',
    secret: 'MARKER-field',
  });
  const requests = await receiver.received(2);
  const parents = requests.map(({ headers }) => TRACEPARENT.exec(String(headers.traceparent))!);
  const traceId = parents[0]![1]!;
  expect(parents[1]![1]).toBe(traceId);
  expect(parents[0]![2]).not.toBe(parents[1]![2]);
  const request = await collector.span(isOf(traceId, 'POST /api/notes'));
  const relay = await collector.span(isOf(traceId, 'relay note.created'));
  await vi.waitUntil(() => collector.spans.filter(isOf(traceId, 'POST webhook')).length === 2, { timeout: 60_000 });
  const attempts = collector.spans.filter(isOf(traceId, 'POST webhook'));
  expect(request).toMatchObject({ kind: 'server', parentId: '', failed: false });
  expect(request.attributes).toMatchObject({
    'http.request.method': 'POST',
    'http.route': '/api/notes',
    'url.path': '/api/notes',
    'http.response.status_code': 201,
  });
  expect(request.resource).toMatchObject({ 'service.name': 'belfry', 'deployment.environment.name': 'test' });
  expect(relay).toMatchObject({ kind: 'consumer', parentId: request.spanId });
  expect(attempts.map(({ parentId }) => parentId)).toEqual([relay.spanId, relay.spanId]);
  expect(attempts.map(({ spanId }) => spanId).sort()).toEqual(parents.map(([, , id]) => id).sort());
  const first = attempts.find(({ failed }) => failed)!;
  const second = attempts.find(({ failed }) => !failed)!;
  const port = Number(new URL(receiver.url).port);
  expect(first.attributes).toMatchObject({
    'http.response.status_code': 500,
    'error.type': '500',
    'server.address': '127.0.0.1',
    'server.port': port,
  });
  expect(second.attributes).toMatchObject({ 'http.response.status_code': 204, 'http.request.resend_count': 1 });
  expect(inHook).toContain(traceId);
  const insert = await collector.span(isOf(traceId, 'INSERT notes'));
  expect(insert).toMatchObject({ kind: 'client', parentId: request.spanId });
  expect(body.data.id).toMatch(/^[0-9a-f]{24}$/);
});

test('jobs, e-mails and pushes that a request adds belong to its trace', async () => {
  const { status } = await ann.call('POST', '/api/notes/announce', {});
  expect(status).toBe(200);
  const request = await collector.span((span) => span.name === 'POST /api/notes/announce');
  const push = await collector.span(isOf(request.traceId, /^push /));
  expect(push).toMatchObject({ kind: 'client', parentId: request.spanId, failed: false });
  expect(push.attributes).toMatchObject({ 'belfry.push.devices': 1, 'belfry.push.ok': 1 });
  const mail = await collector.span(isOf(request.traceId, 'process mail'));
  expect(mail).toMatchObject({ kind: 'consumer', parentId: request.spanId });
  await ann.call('POST', '/api/notes/import', {});
  const adding = await collector.span((span) => span.name === 'POST /api/notes/import');
  expect(await collector.span(isOf(adding.traceId, 'process importer/import'))).toMatchObject({
    parentId: adding.spanId,
  });
});

test('a request continues the trace of its traceparent, and a test delivery continues the trace of its request', async () => {
  const traceId = 'a0892f3577b34da6a3ce929d0e0e4736';
  const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01`, tracestate: 'vendor=value' };
  const { status } = await ann.call('POST', `/api/webhooks/${created.body.data.id}/test`, {}, headers);
  expect(status).toBe(200);
  const request = await collector.span(isOf(traceId, 'POST /api/webhooks/:id/test'));
  expect(request.parentId).toBe('00f067aa0ba902b7');
  expect(request.attributes['url.path']).toBe(`/api/webhooks/${created.body.data.id}/test`);
  const attempt = await collector.span(isOf(traceId, 'POST webhook'));
  const sent = receiver.requests.at(-1)!.headers;
  expect(sent.traceparent).toBe(`00-${traceId}-${attempt.spanId}-01`);
  expect(sent.tracestate).toBeUndefined();
  for (const { body } of collector.exports) expect(body.includes('vendor=value')).toBe(false);
});

test('a malformed traceparent is ignored', async () => {
  const malformed = [
    'x',
    '00-00000000000000000000000000000000-00f067aa0ba902b7-01',
    '00-b0892f3577b34da6a3ce929d0e0e4736-0000000000000000-01',
    'ff-b0892f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    '00-b0892f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x',
    '00-B0892F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01',
    'a'.repeat(5000),
  ];
  for (const [i, traceparent] of malformed.entries()) {
    const { status } = await ann.call('GET', `/api/notes/by-code/${i}`, undefined, { traceparent });
    expect(status).toBe(200);
  }
  const pattern = 'GET /api/notes/by-code/:code';
  await vi.waitUntil(() => collector.spans.filter(({ name }) => name === pattern).length === malformed.length, {
    timeout: 60_000,
  });
  for (const span of collector.spans.filter(({ name }) => name === pattern)) {
    expect(span.parentId).toBe('');
    expect(span.traceId).not.toMatch(/^b0892f/);
  }
});

test('a request that the client does not want to be traced has no spans, and its deliveries carry no traceparent', async () => {
  const count = receiver.requests.length;
  const traceparent = '00-c0892f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00';
  await ann.call('POST', '/api/notes', { text: 'not traced' }, { traceparent });
  const requests = await receiver.received(count + 1);
  expect(requests.at(-1)!.headers.traceparent).toBeUndefined();
  await ann.call('GET', '/api/notes/by-code/last');
  await collector.span(({ name }) => name === 'GET /api/notes/by-code/:code');
  expect(collector.spans.some(({ traceId }) => traceId.startsWith('c0892f'))).toBe(false);
});

test('a request that fails has an error, and unknown paths are not recorded', async () => {
  expect((await createClient(url)('GET', '/api/notes/broken')).status).toBe(500);
  const broken = await collector.span(({ name }) => name === 'GET /api/notes/broken');
  expect(broken).toMatchObject({ failed: true, attributes: { 'error.type': '500' } });
  await createClient(url)('GET', '/api/MARKER-in-path');
  const unknown = await collector.span(({ attributes }) => attributes['http.response.status_code'] === 404);
  expect(unknown).toMatchObject({ name: 'GET', failed: false });
  expect(unknown.attributes).not.toHaveProperty('url.path');
  expect((await createClient(url)('GET', '/api/notes/by-code/MARKER-in-parameter')).status).toBe(200);
});

test('spans contain no text of a client, no token and no address, and exports carry the configured headers', async () => {
  const last = 'd0892f3577b34da6a3ce929d0e0e4736';
  await ann.call('GET', '/api/auth/me', undefined, { traceparent: `00-${last}-00f067aa0ba902b7-01` });
  await collector.span(isOf(last, 'GET /api/auth/me'));
  const exported = Buffer.concat(collector.exports.map(({ body }) => body)).toString('latin1');
  expect(exported).toContain('/api/notes');
  for (const secret of ['MARKER', ann.token, ann.email, 'marker@example.com', 'north wing', 'whsec_'])
    expect(exported.includes(secret), secret).toBe(false);
  const { path, headers } = collector.exports[0]!;
  expect(path).toBe('/v1/traces');
  expect(headers).toMatchObject({ 'content-type': 'application/x-protobuf', 'x-tenant': 'north wing' });
});
