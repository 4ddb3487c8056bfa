import { expect, test } from 'vitest';
import { readTracingVariables, type TracingSettings } from '../../../src/platform/observability/tracing-environment.ts';

const ENDPOINT = 'http://collector:4318/';
const read = (variables: Record<string, string>) =>
  readTracingVariables({ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, ...variables }, false);
const settingsOf = (variables: Record<string, string>) => read(variables).tracing as TracingSettings;

test('without an endpoint, nothing is traced and no variable is checked', () => {
  const variables = { OTEL_TRACES_SAMPLER: 'jaeger_remote', OTEL_TRACES_EXPORTER: 'console' };
  expect(readTracingVariables(variables, false)).toEqual({ tracing: undefined, errors: [] });
});

test('an endpoint alone is enough', () => {
  expect(read({})).toEqual({
    tracing: {
      url: 'http://collector:4318/v1/traces',
      headers: {},
      serviceName: 'belfry',
      resourceAttributes: {},
      sampler: 'parentbased_always_on',
      ratio: 1,
      propagates: true,
      exportDelayMs: 5000,
      maxQueueSize: 2048,
    },
    errors: [],
  });
});

test('the variables for traces take precedence over the general ones', () => {
  const settings = settingsOf({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example.com/in?key=1',
    OTEL_EXPORTER_OTLP_HEADERS: 'a=general,b=%2C%20b',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'a=traces',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=attribute, deployment.environment.name = staging ',
  });
  expect(settings).toMatchObject({
    url: 'https://traces.example.com/in?key=1',
    headers: { a: 'traces', b: ', b' },
    serviceName: 'attribute',
    resourceAttributes: { 'deployment.environment.name': 'staging' },
  });
  expect(settingsOf({ OTEL_SERVICE_NAME: 'shop', OTEL_RESOURCE_ATTRIBUTES: 'service.name=other' }).serviceName).toBe(
    'shop',
  );
});

test('tracing can be disabled although a collector is set', () => {
  const switches: Record<string, string>[] = [{ OTEL_SDK_DISABLED: 'TRUE' }, { OTEL_TRACES_EXPORTER: 'none' }];
  for (const variables of switches) expect(read(variables)).toEqual({ tracing: 'disabled', errors: [] });
  expect(settingsOf({ OTEL_SDK_DISABLED: 'false', OTEL_PROPAGATORS: 'none' }).propagates).toBe(false);
});

test.each([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318', 'it should look like http://localhost:4318'],
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'grpc://x', 'it should look like http://localhost:4318/v1/traces'],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', 'must be http/protobuf'],
  ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'http/json', 'must be http/protobuf'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'no-value', 'name=value'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'a=b%0d%0ac', 'name=value'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%E0%A4%A', 'name=value'],
  ['OTEL_RESOURCE_ATTRIBUTES', '=x', 'name=value'],
  ['OTEL_TRACES_SAMPLER', 'jaeger_remote', 'must be one of always_on, always_off, traceidratio'],
  ['OTEL_TRACES_SAMPLER_ARG', '1.5', 'must be a number from 0 to 1'],
  ['OTEL_TRACES_EXPORTER', 'console', 'must be otlp or none'],
  ['OTEL_PROPAGATORS', 'b3', 'must be tracecontext or none'],
  ['OTEL_PROPAGATORS', 'baggage', 'must be tracecontext or none'],
  ['OTEL_BSP_SCHEDULE_DELAY', '0', 'must be an integer from 1 to 1000000'],
  ['OTEL_BSP_MAX_QUEUE_SIZE', 'many', 'must be an integer from 1 to 1000000'],
  ['OTEL_SDK_DISABLED', 'yes', 'must be true or false'],
])('%s=%s is an error that names the variable and what is allowed', (name, value, message) => {
  const { errors } = read({ [name]: value });
  expect(errors).toEqual([expect.stringContaining(name)]);
  expect(errors[0]).toContain(message);
  // A header may be a credential.
  if (name.endsWith('HEADERS')) expect(errors[0]).not.toContain(value);
});
