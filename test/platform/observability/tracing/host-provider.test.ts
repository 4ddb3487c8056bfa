// Apps inside an application that has set up OpenTelemetry itself, or has not.
import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createApp, defineResource, defineUser, f, webhooks } from '../../../../src/index.ts';
import { startCollector } from '../../../fakes/otlp-collector.ts';
import { startReceiver } from '../../../fakes/receiver.ts';
import { startTestApp } from '../../../support/app.ts';
import { ALL_DELIVERIES } from '../../../support/webhooks/deliveries.ts';

vi.setConfig({ testTimeout: 120_000 });
const note = defineResource('note', {
  fields: { text: f.string() },
  policies: { read: 'public', create: 'authenticated' },
});
const createOptions = () => ({
  resources: [defineUser(), note],
  extensions: [webhooks({ allowPrivate: true, requireHttps: false })],
});

/** Reads the columns of trace contexts that are not empty, and the number of deliveries. */
async function readStoredContexts(databaseUrl: string): Promise<{ contexts: number; deliveries: number }> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  const { rows } = await client.query(
    `select count(trace_context)::int as contexts, count(*)::int as deliveries from ${ALL_DELIVERIES} d`,
  );
  await client.end();
  return rows[0];
}

test('without tracing, no context is stored, and receivers get no traceparent', async () => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const { person, env } = await startTestApp(createOptions(), { roles: 'all' });
  const ann = await person('Ann');
  await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['note.*'] });
  const headers = { traceparent: '00-a0892f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };
  await ann.call('POST', '/api/notes', { text: 'x' }, headers);
  const [request] = await receiver.received(1);
  expect(request!.headers.traceparent).toBeUndefined();
  expect(await readStoredContexts(env.DATABASE_URL!)).toEqual({ contexts: 0, deliveries: 1 });
});

test("an app uses the host application's tracer provider, and leaves it in place", async () => {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  const unused = await startCollector();
  const receiver = await startReceiver();
  onTestFinished(async () => {
    trace.disable();
    context.disable();
    propagation.disable();
    await Promise.all([unused.close(), receiver.close()]);
  });
  const { app, person } = await startTestApp(createOptions(), {
    // The host's provider may support more than Belfry's own.
    roles: 'all',
    env: () => ({
      OTEL_EXPORTER_OTLP_ENDPOINT: unused.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_PROPAGATORS: 'b3',
    }),
  });
  const ann = await person('Ann');
  await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['note.*'] });
  const own = trace.getTracer('host').startSpan('import');
  await context.with(trace.setSpan(context.active(), own), () =>
    app.service('note').create({ text: 'x' }, { user: { id: ann.id } }),
  );
  own.end();
  const [request] = await receiver.received(1);
  const { traceId } = own.spanContext();
  expect(request!.headers.traceparent).toContain(traceId);
  const namesOf = () =>
    exporter
      .getFinishedSpans()
      .filter((span) => span.spanContext().traceId === traceId)
      .map(({ name }) => name);
  await vi.waitUntil(() => namesOf().includes('POST webhook') && namesOf().includes('relay note.created'), {
    timeout: 60_000,
  });
  expect(namesOf()).toEqual(expect.arrayContaining(['import', 'INSERT notes', 'relay note.created', 'POST webhook']));
  await app.close();
  trace.getTracer('host').startSpan('after the app').end();
  expect(exporter.getFinishedSpans().at(-1)?.name).toBe('after the app');
  expect(unused.exports).toEqual([]);
});

test('an app that set up tracing itself removes it when it closes', async () => {
  const collector = await startCollector();
  onTestFinished(() => collector.close());
  const { app, url, env } = await startTestApp(createOptions(), {
    roles: 'all',
    env: () => ({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER: 'always_on' }),
  });
  await fetch(`${url}/api/notes/000000000000000000000000`);
  await app.close();
  const request = await collector.span(({ name }) => name === 'GET /api/notes/:id');
  expect(request.attributes['url.path']).toBe('/api/notes/000000000000000000000000');
  expect(trace.getTracer('other').startSpan('after the app').isRecording()).toBe(false);
  const variables = { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: 'nowhere' };
  expect(() => createApp(createOptions(), variables)).toThrow('OTEL_EXPORTER_OTLP_ENDPOINT is malformed');
});
