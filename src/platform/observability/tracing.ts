import type { IncomingHttpHeaders } from 'node:http';
import type * as Otel from '@opentelemetry/api';
import { createLimitedWarning, type Warn } from './limited-warning.ts';
import type { Logger } from './log.ts';
import { isProviderRegistered, type TracingSettings, type TracingVariables } from './tracing-environment.ts';

/** What is known about a span. Attributes contain no personal data, no secrets and no content of records. */
type SpanAttributes = Record<string, string | number | boolean | undefined>;

/** A span to start. */
interface SpanStart {
  name: string;
  /** Default `internal`. */
  kind?: 'internal' | 'server' | 'client' | 'consumer';
  /** The `traceparent` of the parent, if the span continues a stored trace. Default: the active span. */
  parent?: string | undefined;
  /** When the span began, in epoch ms. Default: now. */
  startedAt?: number;
  attributes?: SpanAttributes;
}

/** A span that is in progress. */
export interface Span {
  /** The W3C `traceparent` of the span; undefined if the span is not recorded. */
  readonly traceparent: string | undefined;
  /** The ids of the span for log lines; empty if the span is not recorded. */
  readonly logFields: LogFields;
  rename(name: string): void;
  /** @param outcome `error`: the kind of error in a word, if the work failed */
  end(outcome?: { error?: string | undefined; attributes?: SpanAttributes }): void;
  /** Runs work with this span as the active one. */
  run<T>(work: () => T): T;
}

/** The ids of a span, named as in the OpenTelemetry specification for logs. */
export type LogFields = { trace_id?: string; span_id?: string };

/** The tracing of one app. Its functions do not throw errors of OpenTelemetry, so that tracing cannot fail a request. */
export interface Tracing {
  /** Whether the process may trace. If false, nothing of OpenTelemetry is loaded. */
  readonly isEnabled: boolean;
  /** Whether the `traceparent` of spans is sent to other servers. */
  readonly isPropagated: boolean;
  /** Loads OpenTelemetry and begins to record. */
  start(options: { log: Logger; version: string; processName: string }): Promise<void>;
  /** Exports the finished spans, within a few seconds at most, and stops recording. */
  stop(): Promise<void>;
  /** Returns the `traceparent` of the active span; undefined if there is none, or if it is not recorded. */
  current(): string | undefined;
  /** Returns the ids of the active span, for log lines. */
  logFields(): LogFields;
  /** Starts a span; undefined if the process does not trace. */
  startSpan(start: SpanStart): Span | undefined;
  /** Starts the span of an incoming request, which continues the client's trace if the headers name one. */
  startRequestSpan(headers: IncomingHttpHeaders, start: SpanStart): Span | undefined;
}

const NO_FIELDS: LogFields = {};

/** The tracing of a process that does not trace. */
export const NO_TRACING: Tracing = {
  isEnabled: false,
  isPropagated: false,
  start: async () => undefined,
  stop: async () => undefined,
  current: () => undefined,
  logFields: () => NO_FIELDS,
  startSpan: () => undefined,
  startRequestSpan: () => undefined,
};

/** ms between two warnings: an unreachable collector must not flood the log. */
const WARNING_INTERVAL_MS = 60_000;

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Returns the kind of an error in a word, for `error.type`: its code or its class, never its message. */
export function toErrorType(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  if (typeof code === 'string' && /^[\w.-]{1,64}$/.test(code)) return code;
  return error instanceof Error ? error.constructor.name : typeof error;
}

const withoutUndefined = (attributes: SpanAttributes) =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));

/** Runs work in a span, which is active during the work. Without tracing, only runs the work. */
export async function runInSpan<T>(span: Span | undefined, work: () => Promise<T>): Promise<T> {
  if (span === undefined) return work();
  try {
    const result = await span.run(work);
    span.end();
    return result;
  } catch (error) {
    span.end({ error: toErrorType(error) });
    throw error;
  }
}

/**
 * Creates the tracing of an app. It is enabled if the environment names a collector, or if the host application has registered a tracer
 * provider, which is then used instead of one of Belfry's own.
 */
export function createTracing(settings: TracingVariables): Tracing {
  if (settings === 'disabled' || (settings === undefined && !isProviderRegistered())) return NO_TRACING;
  return createOpenTelemetryTracing(settings);
}

const isRecorded = ({ traceFlags }: Otel.SpanContext) => (traceFlags & 1) === 1;

function formatTraceparent(context: Otel.SpanContext | undefined): string | undefined {
  return context === undefined || !isRecorded(context) ? undefined : `00-${context.traceId}-${context.spanId}-01`;
}

function logFieldsOf(context: Otel.SpanContext | undefined): LogFields {
  return context === undefined || !isRecorded(context)
    ? NO_FIELDS
    : { trace_id: context.traceId, span_id: context.spanId };
}

/** Returns the context in which spans continue a stored trace. */
function parseTraceparent({ trace, ROOT_CONTEXT }: typeof Otel, traceparent: string): Otel.Context {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined) return ROOT_CONTEXT;
  const parent = { traceId, spanId: spanId!, traceFlags: Number.parseInt(flags!, 16), isRemote: true };
  return trace.setSpanContext(ROOT_CONTEXT, parent);
}

/** `SpanKind` of `@opentelemetry/api`, which is loaded only if the process traces. */
const SPAN_KINDS = { internal: 0, server: 1, client: 2, consumer: 4 } as const;

const toSpanOptions = ({ kind = 'internal', startedAt, attributes = {} }: SpanStart): Otel.SpanOptions => ({
  kind: SPAN_KINDS[kind],
  attributes: withoutUndefined(attributes),
  ...(startedAt !== undefined && { startTime: startedAt }),
});

function createOpenTelemetryTracing(settings: TracingSettings | undefined): Tracing {
  let api: typeof Otel | undefined;
  let tracer: Otel.Tracer | undefined;
  let isPropagated = false;
  let ownsProvider = false;
  let warn: Warn = () => undefined;
  let stopSdk: () => Promise<void> = async () => undefined;

  /** Returns the result of a function of OpenTelemetry, or a fallback if the function throws: a host's provider may contain any code. */
  function guard<T>(run: () => T, fallback: T): T {
    try {
      return run();
    } catch (error) {
      warn({ err: error }, 'OpenTelemetry failed; a span is lost');
      return fallback;
    }
  }

  /**
   * The context of the active span. A span that has ended does not count: loops and timers that a request started keep its context for as
   * long as they run, but do not belong to it.
   */
  function activeSpanContext(): Otel.SpanContext | undefined {
    const span = api?.trace.getActiveSpan();
    return span?.isRecording() ? span.spanContext() : undefined;
  }

  function startSpanIn({ context, trace, SpanStatusCode }: typeof Otel, start: SpanStart, parent: Otel.Context): Span {
    const span = tracer!.startSpan(start.name, toSpanOptions(start), parent);
    const spanContext = span.spanContext();
    return {
      traceparent: formatTraceparent(spanContext),
      logFields: logFieldsOf(spanContext),
      rename: (newName) => guard(() => void span.updateName(newName), undefined),
      end: ({ error, attributes: more = {} } = {}) =>
        guard(() => {
          span.setAttributes(withoutUndefined(more));
          if (error !== undefined) span.setAttribute('error.type', error).setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        }, undefined),
      run: (work) => context.with(trace.setSpan(parent, span), work),
    };
  }

  return {
    isEnabled: true,
    get isPropagated() {
      return isPropagated;
    },
    async start({ log, ...process }) {
      warn = createLimitedWarning(log, WARNING_INTERVAL_MS);
      const loaded = await import('@opentelemetry/api');
      if (settings !== undefined && !isProviderRegistered()) {
        const { startSdk } = await import('./opentelemetry-sdk.ts');
        // Another app of this process may have registered its provider meanwhile.
        if (!isProviderRegistered()) {
          ownsProvider = true;
          stopSdk = startSdk(settings, { ...process, warn });
        }
      }
      isPropagated = loaded.propagation.fields().includes('traceparent');
      tracer = loaded.trace.getTracer('belfry', process.version);
      api = loaded;
    },
    async stop() {
      api = undefined;
      await stopSdk();
    },
    current: () => guard(() => formatTraceparent(activeSpanContext()), undefined),
    logFields: () => guard(() => logFieldsOf(activeSpanContext()), NO_FIELDS),
    startSpan: (start) =>
      api &&
      guard(() => {
        const parent = start.parent === undefined ? api!.context.active() : parseTraceparent(api!, start.parent);
        return startSpanIn(api!, start, parent);
      }, undefined),
    startRequestSpan: (headers, start) =>
      api &&
      guard(() => {
        const { context, propagation, ROOT_CONTEXT } = api!;
        // The HTTP instrumentation of a host application may already have started a span, which continues the client's trace.
        const isInHostSpan = activeSpanContext() !== undefined;
        if (isInHostSpan) return startSpanIn(api!, start, context.active());
        // `tracestate` may contain anything, and each span would export it. A host's propagator may need other headers.
        const carrier = ownsProvider ? { traceparent: headers.traceparent } : headers;
        return startSpanIn(api!, start, propagation.extract(ROOT_CONTEXT, carrier));
      }, undefined),
  };
}
