import { z } from 'zod';
import { findMissingPackage } from '../helpers/optional-package.ts';

/** How a process records and exports traces. The names of the variables and their meaning are those of the OpenTelemetry specification. */
export interface TracingSettings {
  /** The URL that spans are sent to. */
  url: string;
  headers: Readonly<Record<string, string>>;
  serviceName: string;
  resourceAttributes: Readonly<Record<string, string>>;
  sampler: (typeof SAMPLERS)[number];
  /** The share of traces that the samplers `traceidratio` and `parentbased_traceidratio` record, from 0 to 1. */
  ratio: number;
  /** Whether the trace context is read from requests and sent to receivers of webhooks. */
  propagates: boolean;
  /** ms that finished spans wait for more spans before they are exported. */
  exportDelayMs: number;
  /** Maximum number of finished spans that wait for their export; more are dropped. */
  maxQueueSize: number;
}

/** What opentelemetry-sdk.ts imports, besides the API, which Belfry depends on. */
const PACKAGES = {
  '@opentelemetry/context-async-hooks': '3',
  '@opentelemetry/core': '3',
  '@opentelemetry/exporter-trace-otlp-proto': '0.301',
  '@opentelemetry/resources': '3',
  '@opentelemetry/sdk-trace': '3',
};

/** The settings of a process; `disabled`: the process must not trace, even if the host application does; undefined: nothing is set. */
export type TracingVariables = TracingSettings | 'disabled' | undefined;

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
const PROPAGATORS = ['tracecontext', 'baggage', 'none'];

/** Parses `name=value,name=value` with percent-encoded values; undefined if the text is malformed. */
function parsePairs(text: string): Record<string, string> | undefined {
  const pairs: [string, string][] = [];
  for (const pair of text.split(',').filter((part) => part.trim() !== '')) {
    const [, name, value] = /^\s*([^\s=;,"]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
    if (name === undefined) return undefined;
    try {
      pairs.push([name, decodeURIComponent(value!)]);
    } catch {
      return undefined;
    }
  }
  return Object.fromEntries(pairs);
}

// A header that Node refuses would make every export fail.
const isHeader = ([name, value]: [string, string]) =>
  /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && /^[\t\x20-\x7e]*$/.test(value);

const pairsSchema = (name: string, isPair: (pair: [string, string]) => boolean = () => true) =>
  z
    .string()
    .default('')
    .transform(parsePairs)
    .refine((pairs) => pairs !== undefined && Object.entries(pairs).every(isPair), {
      // The value may be a credential, so the message does not repeat it.
      error: `${name} is malformed: it should look like name=value,name2=value2, with special characters percent-encoded`,
    });

const urlSchema = (name: string, example: string) =>
  z.url({ protocol: /^https?$/, error: `${name} is malformed: it should look like ${example}` }).optional();

const protocolSchema = (name: string) =>
  z
    .literal('http/protobuf', { error: `${name} must be http/protobuf, the only protocol that is supported` })
    .optional();

const integerSchema = (name: string, preset: number) =>
  z.coerce
    .number({ error: `${name} must be an integer from 1 to 1000000` })
    .refine((value) => Number.isInteger(value) && value >= 1 && value <= 1_000_000, {
      error: `${name} must be an integer from 1 to 1000000`,
    })
    .default(preset);

const tracingSchema = z.object({
  OTEL_SDK_DISABLED: z
    .stringFormat('boolean', /^(true|false)$/i, { error: 'OTEL_SDK_DISABLED must be true or false' })
    .optional(),
  OTEL_TRACES_EXPORTER: z.enum(['otlp', 'none'], { error: 'OTEL_TRACES_EXPORTER must be otlp or none' }).optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: urlSchema('OTEL_EXPORTER_OTLP_ENDPOINT', 'http://localhost:4318'),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: urlSchema(
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    'http://localhost:4318/v1/traces',
  ),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocolSchema('OTEL_EXPORTER_OTLP_PROTOCOL'),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocolSchema('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'),
  OTEL_EXPORTER_OTLP_HEADERS: pairsSchema('OTEL_EXPORTER_OTLP_HEADERS', isHeader),
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: pairsSchema('OTEL_EXPORTER_OTLP_TRACES_HEADERS', isHeader),
  OTEL_RESOURCE_ATTRIBUTES: pairsSchema('OTEL_RESOURCE_ATTRIBUTES'),
  OTEL_SERVICE_NAME: z.string().optional(),
  OTEL_TRACES_SAMPLER: z
    .enum(SAMPLERS, { error: `OTEL_TRACES_SAMPLER must be one of ${SAMPLERS.join(', ')}` })
    .default('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .regex(/^(0(\.\d+)?|1(\.0+)?|\.\d+)$/, { error: 'OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1' })
    .default('1'),
  OTEL_PROPAGATORS: z
    .string()
    .default('tracecontext')
    .transform((text) => text.split(',').map((name) => name.trim()))
    .refine((names) => names.every((name) => PROPAGATORS.includes(name)) && names.some((name) => name !== 'baggage'), {
      error: 'OTEL_PROPAGATORS must be tracecontext or none; baggage may follow, but is not sent',
    }),
  OTEL_BSP_SCHEDULE_DELAY: integerSchema('OTEL_BSP_SCHEDULE_DELAY', 5000),
  OTEL_BSP_MAX_QUEUE_SIZE: integerSchema('OTEL_BSP_MAX_QUEUE_SIZE', 2048),
});

/** Whether a tracer provider is registered in this process. The symbol is that of @opentelemetry/api, which need not be loaded for this. */
export function isProviderRegistered(): boolean {
  const api = (globalThis as Record<symbol, unknown>)[Symbol.for('opentelemetry.js.api.1')];
  return (api as { trace?: unknown } | undefined)?.trace !== undefined;
}

/** Returns the URL that spans are sent to: `v1/traces` below the path of the endpoint, as the specification of the exporter says. */
function traceUrlOf(endpoint: string): string {
  const url = new URL(endpoint);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/traces`;
  return url.href;
}

/**
 * Reads the variables of tracing. Without an endpoint, or with a provider of the host application, only `OTEL_SDK_DISABLED` has an effect
 * and the others are not checked: the host application may use them in other ways.
 *
 * @param variables name to text, without empty texts
 * @param isHosted whether the host application has registered a tracer provider
 */
export function readTracingVariables(
  variables: Readonly<Record<string, string | undefined>>,
  isHosted: boolean,
): { tracing: TracingVariables; errors: string[] } {
  const { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_SDK_DISABLED } = variables;
  if (OTEL_SDK_DISABLED?.toLowerCase() === 'true') return { tracing: 'disabled', errors: [] };
  if (isHosted || (OTEL_EXPORTER_OTLP_ENDPOINT ?? OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) === undefined)
    return { tracing: undefined, errors: [] };
  const parsed = tracingSchema.safeParse(variables);
  if (!parsed.success) return { tracing: undefined, errors: parsed.error.issues.map((issue) => issue.message) };
  const env = parsed.data;
  if (env.OTEL_TRACES_EXPORTER === 'none') return { tracing: 'disabled', errors: [] };
  const missing = findMissingPackage('Tracing', PACKAGES);
  if (missing !== undefined) return { tracing: undefined, errors: [missing] };
  const { 'service.name': namedByAttribute, ...resourceAttributes } = env.OTEL_RESOURCE_ATTRIBUTES!;
  return {
    tracing: {
      url: env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? traceUrlOf(env.OTEL_EXPORTER_OTLP_ENDPOINT!),
      headers: { ...env.OTEL_EXPORTER_OTLP_HEADERS, ...env.OTEL_EXPORTER_OTLP_TRACES_HEADERS },
      serviceName: env.OTEL_SERVICE_NAME ?? namedByAttribute ?? 'belfry',
      resourceAttributes,
      sampler: env.OTEL_TRACES_SAMPLER,
      ratio: Number(env.OTEL_TRACES_SAMPLER_ARG),
      propagates: env.OTEL_PROPAGATORS.includes('tracecontext'),
      exportDelayMs: env.OTEL_BSP_SCHEDULE_DELAY,
      maxQueueSize: env.OTEL_BSP_MAX_QUEUE_SIZE,
    },
    errors: [],
  };
}
