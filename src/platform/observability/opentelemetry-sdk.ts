import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { type ExportResult, ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { withTimeoutFallback } from '../helpers/concurrency/deadline.ts';
import { newId } from '../helpers/ids.ts';
import type { Warn } from './limited-warning.ts';
import type { TracingSettings } from './tracing-environment.ts';

/** ms that a stopping process waits for the collector. The stop has a margin of 5 s after the grace time. */
const FLUSH_TIMEOUT_MS = 3000;
/** Maximum length of an attribute: names and ids are shorter. */
const MAX_ATTRIBUTE_LENGTH = 1000;
const MAX_BATCH = 512;
const MAX_REASON_LENGTH = 200;

function createSampler({ sampler, ratio }: TracingSettings): Sampler {
  const roots = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(ratio),
  };
  if (sampler === 'always_on' || sampler === 'always_off' || sampler === 'traceidratio') return roots[sampler]();
  return new ParentBasedSampler({ root: roots[sampler.replace('parentbased_', '') as keyof typeof roots]() });
}

/** Describes a failed export without the response of the collector, which may be large and repeat the credentials of the request. */
function describeExportError(error: unknown): { reason: string; code: unknown } {
  const { message = String(error), code } = (error ?? {}) as { message?: string; code?: unknown };
  return { reason: message.slice(0, MAX_REASON_LENGTH), code };
}

/** Creates the exporter. Spans that it cannot export are lost, and a warning is logged. */
function createExporter({ url, headers }: TracingSettings, warn: Warn): SpanExporter {
  const exporter = new OTLPTraceExporter({ url, headers: { ...headers } });
  return {
    export(spans: ReadableSpan[], done: (result: ExportResult) => void) {
      exporter.export(spans, (result) => {
        if (result.code !== ExportResultCode.SUCCESS)
          warn(
            { ...describeExportError(result.error), spans: spans.length },
            'spans could not be exported to the collector; they are lost',
          );
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush(),
  };
}

/**
 * Registers a tracer provider that exports to the collector, so that code of the app and other packages use it, too. Returns the function
 * that exports the remaining spans and removes the provider.
 *
 * @param options `processName`: `web`, or the role of the worker
 */
export function startSdk(
  settings: TracingSettings,
  { version, processName, warn }: { version: string; processName: string; warn: Warn },
): () => Promise<void> {
  const { exportDelayMs, maxQueueSize, propagates, serviceName, resourceAttributes } = settings;
  const processor = new BatchSpanProcessor({
    exporter: createExporter(settings, warn),
    scheduledDelayMillis: exportDelayMs,
    maxQueueSize,
    maxExportBatchSize: Math.min(MAX_BATCH, maxQueueSize),
  });
  const provider = new TracerProvider({
    sampler: createSampler(settings),
    spanProcessors: [processor],
    spanLimits: { attributeValueLengthLimit: MAX_ATTRIBUTE_LENGTH },
    resource: defaultResource().merge(
      resourceFromAttributes({
        'service.version': version,
        'service.instance.id': newId(),
        'belfry.process': processName,
        ...resourceAttributes,
        'service.name': serviceName,
      }),
    ),
  });
  trace.setGlobalTracerProvider(provider);
  // The host application may have registered its own ones, which stay.
  const hasContextManager = context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const hasPropagator = propagates && propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  return async () => {
    const stopped = provider.shutdown().catch((error: unknown) => {
      warn(describeExportError(error), 'the last spans could not be exported; they are lost');
    });
    await withTimeoutFallback(stopped, FLUSH_TIMEOUT_MS, undefined);
    trace.disable();
    if (hasContextManager) context.disable();
    if (hasPropagator) propagation.disable();
  };
}
