import { getHeapStatistics } from 'node:v8';
import { afterAll, expect, test, vi } from 'vitest';
import { truncateToBytes } from '../../../src/extensions/webhooks/deliveries/message.ts';
import {
  computeDefaultConcurrency,
  fillProductionDefaults,
  webhookSettings,
} from '../../../src/extensions/webhooks/settings/settings.ts';
import { defineResource, defineUser, f, webhooks } from '../../../src/index.ts';
import { startDnsServer } from '../../fakes/dns-server.ts';
import { type Receiver, startReceiver } from '../../fakes/receiver.ts';
import { startTestApp } from '../../support/app.ts';

const note = defineResource('note', {
  fields: { text: f.text().max(20_000), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});
const CONCURRENCY = 4;
const { person } = await startTestApp(
  {
    resources: [defineUser(), note],
    extensions: [webhooks({ concurrency: CONCURRENCY, maxEndpointsPerUser: 30, requireHttps: false })],
  },
  { roles: 'all' },
);
const dns = await startDnsServer((_, type) => (type === 'A' ? ['93.184.216.34'] : []));
afterAll(() => dns.close());
const strict = await startTestApp(
  {
    resources: [defineUser(), note],
    extensions: [webhooks({ allowPrivate: false, requireHttps: true, nameServers: [dns.address] })],
  },
  { roles: 'all' },
);
const receivers: Receiver[] = [];
afterAll(() => Promise.all(receivers.map((one) => one.close())));
async function receive(): Promise<Receiver> {
  const receiver = await startReceiver();
  receivers.push(receiver);
  return receiver;
}

test('the defaults are as documented, and production is strict', () => {
  const shared = {
    policy: 'authenticated',
    notifyOwner: true,
    maxEndpointsPerUser: 10,
    maxEventsPerEndpoint: 20,
    maxUrlLength: 2048,
    retrySchedule: [5, 30, 120, 600, 1800, 7200, 21_600].map((seconds) => seconds * 1000),
    timeoutMs: 10_000,
    pollMs: 1000,
    concurrency: computeDefaultConcurrency(getHeapStatistics().heap_size_limit),
    disableAfterFailures: 5,
    keepDeliveriesDays: 14,
    secretGraceHours: 24,
  };
  expect(fillProductionDefaults(webhookSettings.parse({}), true)).toMatchObject({
    ...shared,
    allowPrivate: false,
    requireHttps: true,
  });
  expect(fillProductionDefaults(webhookSettings.parse({}), false)).toMatchObject({
    ...shared,
    allowPrivate: true,
    requireHttps: false,
  });
  expect(fillProductionDefaults(webhookSettings.parse({}), true).globalPolicy.roles).toEqual(['admin']);
});

test('deliveries, tests and retries of all endpoints together never exceed the concurrency setting', async () => {
  const who = await person('Busy');
  const receiver = await receive();
  receiver.answer((_, res) => new Promise((resolve) => setTimeout(resolve, 30)).then(() => res.end()));
  const body = { url: receiver.url, events: ['note.created'] };
  const made = await Promise.all(Array.from({ length: 20 }, () => who.call('POST', '/api/webhooks', body)));
  const ids = made.map((answer) => answer.body.data.id);
  await Promise.all([
    who.call('POST', '/api/notes', { text: 'x' }),
    who.call('POST', '/api/notes', { text: 'x' }),
    ...ids.map((id) => who.call('POST', `/api/webhooks/${id}/test`)),
  ]);
  await receiver.received(60);
  expect(receiver.requests).toHaveLength(60);
  expect(receiver.inFlight.most).toBeGreaterThan(1);
  expect(receiver.inFlight.most).toBeLessThanOrEqual(CONCURRENCY);
});

test('the log shows 2 KB of a body and 1 KB of a response, cut between characters; the body is sent whole', async () => {
  const who = await person('Long');
  const receiver = await receive();
  receiver.answer((_, res) => res.end('é'.repeat(5000)));
  const { id } = (await who.call('POST', '/api/webhooks', { url: receiver.url, events: ['note.*'] })).body.data;
  await who.call('POST', '/api/notes', { text: '€'.repeat(5000) });
  const [request] = await receiver.received(1);
  expect(JSON.parse(request!.body).data.text).toBe('€'.repeat(5000));
  const delivery = await vi.waitUntil(
    async () => {
      const [one] = (await who.call('GET', `/api/webhooks/${id}/deliveries`)).body.data;
      return one?.status === 'succeeded' ? one : undefined;
    },
    { timeout: 60_000, interval: 20 },
  );
  expect(delivery.payloadTruncated).toBe(true);
  expect(request!.body.startsWith(delivery.payload)).toBe(true);
  expect(2048 - Buffer.byteLength(delivery.payload)).toBeLessThan(3);
  expect(delivery.response).toBe('é'.repeat(512));
});

test.each([
  ['http://example.com/', 'Must start with https://'],
  ['ftp://example.com/', 'Must start with http:// or https://'],
  ['https://me@example.com/', 'Must not contain a user name or password'],
  ['https://localhost/', 'Must have a public host name'],
  ['https://printer.local/', 'Must have a public host name'],
  ['https://hooks.example.com:0/', 'Must not have port 0'],
  ['https://hooks%2eexample.com/', 'Must not have a percent-encoded host name'],
  ...[
    '127.0.0.1',
    '10.1.2.3',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '224.0.0.1',
    '192.0.2.1',
    '0.0.0.0',
  ]
    .concat([
      '2130706433',
      '0x7f.1',
      '[::1]',
      '[fc00::1]',
      '[fe80::1]',
      '[::ffff:10.0.0.1]',
      '[64:ff9b::7f00:1]',
      '[2002:7f00:1::]',
    ])
    .map((host): [string, string] => [`https://${host}/`, 'Must not be a private or reserved address']),
])('if receivers must be public and use https, %s is refused on create and on change', async (url, message) => {
  const who = await strict.person('Strict');
  const body = { url: 'https://hooks.example.com/', events: ['*'] };
  const { id } = (await who.call('POST', '/api/webhooks', body)).body.data;
  for (const answer of [
    await who.call('POST', '/api/webhooks', { ...body, url }),
    await who.call('PATCH', `/api/webhooks/${id}`, { url }),
  ]) {
    expect([answer.status, answer.body.error.code, answer.body.error.details]).toEqual([
      422,
      'VALIDATION_ERROR',
      { url: message },
    ]);
  }
});

test('a text is cut to a number of bytes between characters', () => {
  expect(truncateToBytes('aü', 2)).toBe('a');
  expect(truncateToBytes('aü', 3)).toBe('aü');
  expect(truncateToBytes('😀😀', 7)).toBe('😀');
});
