import { getHeapStatistics } from 'node:v8';
import { expect, test } from 'vitest';
import { webhooks } from '../../../../src/extensions/webhooks/index.ts';
import {
  computeDefaultConcurrency,
  fillProductionDefaults,
  listGlobalRoles,
  type WebhookOptions,
  webhookSettings,
} from '../../../../src/extensions/webhooks/settings/settings.ts';
import { ConfigErrors } from '../../../../src/platform/helpers/config-errors.ts';

/** Returns the configuration errors of the extension. */
function errorsIn(options: WebhookOptions): string[] {
  const errors = new ConfigErrors();
  webhooks(options).checkConfig!(errors);
  return errors.lines;
}

test('every setting that a project leaves out has its documented default', () => {
  const expected = {
    policy: 'authenticated',
    maxEndpointsPerUser: 10,
    maxEventsPerEndpoint: 20,
    maxUrlLength: 2048,
    retrySchedule: [5_000, 30_000, 120_000, 600_000, 1_800_000, 7_200_000, 21_600_000],
    timeoutMs: 10_000,
    pollMs: 1000,
    concurrency: computeDefaultConcurrency(getHeapStatistics().heap_size_limit),
    disableAfterFailures: 5,
    notifyOwner: true,
    keepDeliveriesDays: 14,
    secretGraceHours: 24,
    cleanMs: 600_000,
  };
  expect(fillProductionDefaults(webhookSettings.parse({}), true)).toMatchObject({
    ...expected,
    allowPrivate: false,
    requireHttps: true,
  });
  expect(fillProductionDefaults(webhookSettings.parse({}), false)).toMatchObject({
    ...expected,
    allowPrivate: true,
    requireHttps: false,
  });
});

test.each([
  [64, 32],
  [16, 10],
  [256, 128],
  [512, 256],
  [4096, 256],
])('a worker with a heap of %i MB has at most %i concurrent requests by default', (heapMb, expected) => {
  expect(computeDefaultConcurrency(heapMb * 2 ** 20)).toBe(expected);
});

test('private addresses and http can be allowed in production and forbidden elsewhere', () => {
  const open = { allowPrivate: true, requireHttps: false };
  const closed = { allowPrivate: false, requireHttps: true };
  expect(fillProductionDefaults(webhookSettings.parse(open), true)).toMatchObject(open);
  expect(fillProductionDefaults(webhookSettings.parse(closed), false)).toMatchObject(closed);
});

test.each<WebhookOptions>([
  { timeoutMs: 1 },
  { timeoutMs: 120_000 },
  { concurrency: 1000 },
  { disableAfterFailures: 0 },
  { keepDeliveriesDays: 0.5 },
  { secretGraceHours: 0 },
  { secretGraceHours: 8760 },
  { nameServers: ['192.0.2.53', '[2001:db8::1]:53'] },
])('the settings %j are accepted', (options) => {
  expect(errorsIn(options)).toEqual([]);
});

test.each<[WebhookOptions, string]>([
  [{ timeoutMs: 0 }, 'webhooks.timeoutMs'],
  [{ timeoutMs: 120_001 }, 'webhooks.timeoutMs'],
  [{ concurrency: 0 }, 'webhooks.concurrency'],
  [{ concurrency: 1001 }, 'webhooks.concurrency'],
  [{ maxEndpointsPerUser: 1.5 }, 'webhooks.maxEndpointsPerUser'],
  [{ disableAfterFailures: -1 }, 'webhooks.disableAfterFailures'],
  [{ keepDeliveriesDays: 0 }, 'webhooks.keepDeliveriesDays'],
  [{ secretGraceHours: -1 }, 'webhooks.secretGraceHours'],
  [{ secretGraceHours: 8761 }, 'webhooks.secretGraceHours'],
  [{ nameServers: [] }, 'webhooks.nameServers'],
  [{ nameServers: ['dns.example.com'] }, 'webhooks.nameServers.0'],
  [{ retrySchedule: ['soon'] }, 'webhooks.retrySchedule'],
])('the settings %j are refused with an error that names %s', (options, name) => {
  const errors = errorsIn(options);
  expect(errors).toHaveLength(1);
  expect(errors[0]).toMatch(new RegExp(`^${name.replaceAll('.', '[.]')}: `));
});

test.each<[WebhookOptions['globalPolicy'], readonly string[] | null]>([
  [undefined, ['admin']],
  ['admin | support', ['admin', 'support']],
  ['authenticated', null],
  ['public', null],
  [() => true, null],
  [['admin', () => true], null],
])('the globalPolicy %s limits global endpoints to the roles %j', (globalPolicy, roles) => {
  const options = globalPolicy === undefined ? {} : { globalPolicy };
  expect(listGlobalRoles(fillProductionDefaults(webhookSettings.parse(options), true))).toEqual(roles);
});

test('events cannot be kept for longer than deliveries', () => {
  expect(errorsIn({ keepEventsDays: 14 })).toEqual([]);
  const parse = () => webhookSettings.parse({ keepEventsDays: 15 });
  expect(parse).toThrow(/must not be more than keepDeliveriesDays/);
});
