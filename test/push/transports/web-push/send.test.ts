import { beforeEach, describe, expect, test } from 'vitest';
import { createGuardedAgent } from '../../../../src/platform/http/address-guard/index.ts';
import { createWebPushTransport } from '../../../../src/push/transports/web-push/index.ts';
import { checkVapid, createBrowser } from '../../../fakes/push/browser.ts';
import { redirect } from '../../../fakes/push/redirect.ts';
import { ca } from '../../../fakes/push/tls.ts';
import type { WebPushReply } from '../../../fakes/push/web-push-server.ts';
import { content, device, PUSH_ID } from '../content.ts';
import { rule, vapid, webPushAndFake } from './local.ts';

const { webPush, fake } = await webPushAndFake();
beforeEach(() => {
  fake.requests.length = 0;
  fake.connections = 0;
  fake.reply = () => undefined;
});

const browser = createBrowser();
const at = (path: string) => device('web', browser.token(`${fake.origin}${path}`));
const send = async (paths: readonly string[], transport = webPush) =>
  transport.send(content(), paths.map(at), { id: PUSH_ID });
async function answerTo(reply: WebPushReply) {
  fake.reply = () => reply;
  return (await send(['/push/one-subscription']))[0]!;
}

test('each browser gets a message that is encrypted for it and signed for its origin, and has its own result', async () => {
  const other = createBrowser();
  const results = await webPush.send(content(), [at('/a'), device('web', other.token(`${fake.origin}/b`))], {
    id: PUSH_ID,
  });
  expect(results).toEqual([1, 2].map(() => ({ ok: true, id: expect.stringContaining(`${fake.origin}/m/`) })));
  const [a, b] = ['/a', '/b'].map((path) => fake.requests.find((request) => request.path === path)!);
  expect(JSON.parse(browser.decrypt(a!.body))).toMatchObject({ title: 'Hi' });
  expect(JSON.parse(other.decrypt(b!.body))).toMatchObject({ title: 'Hi' });
  expect(() => other.decrypt(a!.body)).toThrow();
  const { sub, publicKey } = checkVapid(a!.headers.authorization, fake.origin);
  expect({ sub, publicKey }).toEqual({ sub: vapid.subject, publicKey: vapid.publicKey });
  // One signature is reused for the origin for hours, because signing is a fifth of the work.
  expect(b!.headers.authorization).toBe(a!.headers.authorization);
});

test('connections are reused, at most 64 per origin', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<undefined>();
  fake.reply = () => gate;
  const sending = send(Array.from({ length: 200 }, (_, i) => `/${i}`));
  await expect.poll(() => fake.requests.length, { timeout: 60_000 }).toBe(64);
  open(undefined);
  expect((await sending).every((result) => result.ok)).toBe(true);
  expect(fake.requests).toHaveLength(200);
  expect(fake.connections).toBeLessThanOrEqual(64);
});

test('an origin that does not respond does not delay any other', async () => {
  const hasty = createWebPushTransport(vapid, { rule, timeoutMs: 2000 });
  fake.reply = ({ headers }) => (headers.host!.startsWith('127') ? 'never' : undefined);
  const stuck = Array.from({ length: 64 }, (_, i) =>
    device('web', browser.token(`${fake.origin.replace('localhost', '127.0.0.1')}/${i}`)),
  );
  const slow = hasty.send(content(), stuck, { id: PUSH_ID });
  expect(await send(['/quick'], hasty)).toMatchObject([{ ok: true }]);
  expect((await slow).every((result) => result.retryable)).toBe(true);
  await hasty.close!();
});

describe('errors', () => {
  const gone = { error: expect.stringMatching(/^DeviceNotRegistered: /), unregistered: true };
  const misconfigured = (name: string) => ({ error: expect.stringMatching(`^${name}: `), misconfigured: true });
  const retryable = (name: string, retryAfterMs?: number) => ({
    error: expect.stringMatching(`^${name}: `),
    retryable: true,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });

  test.each<[string, WebPushReply, object]>([
    ['404', { status: 404, body: '{"errno":102}' }, gone],
    ['410', { status: 410, body: 'push subscription has unsubscribed or expired.' }, gone],
    ['413', { status: 413 }, { error: 'MessageTooBig: status 413' }],
    [
      '400 of the message',
      { status: 400, body: '{"errno":112,"message":"Invalid TTL"}' },
      {
        error: 'InvalidMessage: {"errno":112,"message":"Invalid TTL"}',
      },
    ],
    [
      '400 of another key (Apple)',
      { status: 400, body: '{"reason":"VapidPkHashMismatch"}' },
      misconfigured('MismatchedVapidKey'),
    ],
    [
      '403 of another key (Chrome)',
      {
        status: 403,
        body: 'the VAPID credentials in the authorization header do not correspond to the credentials used',
      },
      misconfigured('MismatchedVapidKey'),
    ],
    [
      '400 of the sender (Chrome)',
      { status: 400, body: 'UnauthorizedRegistration' },
      misconfigured('InvalidCredentials'),
    ],
    ['401', { status: 401, body: '{"errno":109}' }, misconfigured('InvalidCredentials')],
    ['403 (Apple)', { status: 403, body: '{"reason":"BadJwtToken"}' }, misconfigured('InvalidCredentials')],
    [
      '429: when it says',
      { status: 429, headers: { 'retry-after': '120' } },
      retryable('MessageRateExceeded', 120_000),
    ],
    ['429: in a minute when it does not', { status: 429 }, retryable('MessageRateExceeded', 60_000)],
    ['406 (Windows)', { status: 406 }, retryable('MessageRateExceeded', 60_000)],
    ['500', { status: 500 }, retryable('ProviderUnavailable')],
    ['503: when it says', { status: 503, headers: { 'retry-after': '7' } }, retryable('ProviderUnavailable', 7000)],
    [
      'a redirect, which is not followed',
      { status: 301, headers: { location: 'https://10.0.0.1/' } },
      retryable('ProviderUnavailable'),
    ],
    ['418', { status: 418 }, { error: 'InvalidMessage: status 418' }],
    ['a connection that is closed', 'closed connection', retryable('ConnectionLost')],
    ['an answer that breaks off', 'half an answer', retryable('ProviderUnavailable')],
  ])('%s', async (_, reply, expected) => {
    expect(await answerTo(reply)).toEqual({ ok: false, ...expected });
    expect(fake.requests).toHaveLength(1);
    fake.reply = () => undefined;
    expect(await send(['/again'])).toMatchObject([{ ok: true }]);
  });

  test.each([
    ['no JSON', 'token'],
    ['no keys', JSON.stringify({ endpoint: 'https://localhost/1' })],
    ['a key that is none', JSON.stringify({ endpoint: 'https://localhost/1', keys: { p256dh: 'x', auth: 'y' } })],
    [
      'a point that is not on the curve',
      JSON.stringify({
        endpoint: 'https://localhost/1',
        keys: { p256dh: Buffer.alloc(65, 4).toString('base64url'), auth: Buffer.alloc(16).toString('base64url') },
      }),
    ],
  ])('a subscription with %s is gone, because nothing can be encrypted for it', async (_, token) => {
    expect(await webPush.send(content(), [device('web', token)], { id: PUSH_ID })).toEqual([
      { ok: false, error: expect.stringMatching(/^InvalidRegistration: /), unregistered: true },
    ]);
  });

  test('no result contains the secret part of an endpoint, whatever the push service responds', async () => {
    fake.reply = ({ path }) => ({ status: 500, body: `cannot deliver to ${fake.origin}${path}` });
    const [result] = await send(['/wpush/v2/gAAAAABsecret-of-a-subscription']);
    expect(result!.error).toBe(`ProviderUnavailable: cannot deliver to ${fake.origin}/wpush/v2/…`);
  });
});

describe('connection problems', () => {
  test('no response within the timeout is retryable', async () => {
    const hasty = createWebPushTransport(vapid, { rule, timeoutMs: 200 });
    fake.reply = () => 'never';
    const late = { ok: false, error: 'ConnectionLost: No response in time', retryable: true };
    expect(await send(['/a', '/b'], hasty)).toEqual([late, late]);
    await hasty.close!();
  });

  test('a message that waited too long for a free slot is not sent', async () => {
    const hasty = createWebPushTransport(vapid, { rule, timeoutMs: 300, maxWaitMs: 100 });
    fake.reply = () => 'never';
    const results = await send(
      Array.from({ length: 70 }, (_, i) => `/${i}`),
      hasty,
    );
    const late = { ok: false, error: 'NotSent: No free connection in time', retryable: true };
    expect(results.slice(64)).toEqual(Array(6).fill(late));
    expect(fake.requests.some(({ path }) => Number(path.slice(1)) >= 64)).toBe(false);
    await hasty.close!();
  });

  test('a connection that cannot be established is retryable', async () => {
    const results = await webPush.send(content(), [device('web', browser.token('https://localhost:1/x'))], {
      id: PUSH_ID,
    });
    expect(results).toEqual([{ ok: false, error: 'ConnectionLost: ECONNREFUSED', retryable: true }]);
  });
});

describe('in production', () => {
  const strict = { allowPrivate: false, hosts: ['*.example.com'] };
  const sendTo = async (endpoint: string, addresses: readonly string[]) => {
    const agent = createGuardedAgent({
      allowPrivate: false,
      connectTimeoutMs: 2000,
      resolve: async () => [...addresses],
    });
    const transport = createWebPushTransport(vapid, { rule: strict, agent });
    const [result] = await transport.send(content(), [device('web', browser.token(endpoint))], { id: PUSH_ID });
    await transport.close!();
    return result;
  };

  test('a known push service is sent to', async () => {
    const undo = redirect({ 'updates.push.services.mozilla.com': fake.address }, ca);
    expect(await sendTo('https://updates.push.services.mozilla.com/wpush/v2/x', ['1.1.1.1'])).toMatchObject({
      ok: true,
    });
    undo();
  });

  test.each([
    'https://evil.example.net/x',
    'https://127.0.0.1/x',
    'https://localhost/x',
    'http://fcm.googleapis.com/x',
  ])('%s is not called, although the device is stored, and the device is kept', async (endpoint) => {
    const refusal = { ok: false, error: expect.stringMatching(/^EndpointRefused: Must be a PushSubscription/) };
    expect(await sendTo(endpoint, ['1.1.1.1'])).toEqual(refusal);
  });

  test.each([['127.0.0.1'], ['10.0.0.1'], ['169.254.169.254'], ['::1']])(
    'a host of a known service that resolves to %s is not called',
    async (address) => {
      const refusal = { ok: false, error: 'EndpointRefused: The host has no public address' };
      expect(await sendTo('https://push.example.com/x', [address])).toEqual(refusal);
      expect(await sendTo('https://push.example.com/x', ['1.1.1.1', address])).toEqual(refusal);
    },
  );

  test('a host that cannot be looked up is retryable', async () => {
    const agent = createGuardedAgent({
      allowPrivate: false,
      connectTimeoutMs: 2000,
      resolve: () => Promise.reject(Object.assign(new Error('no server'), { code: 'ESERVFAIL' })),
    });
    const transport = createWebPushTransport(vapid, { rule: strict, agent });
    const to = [device('web', browser.token('https://push.example.com/x'))];
    expect(await transport.send(content(), to, { id: PUSH_ID })).toEqual([
      { ok: false, error: 'EndpointRefused: The host has no public address', retryable: true },
    ]);
    await transport.close!();
  });
});
