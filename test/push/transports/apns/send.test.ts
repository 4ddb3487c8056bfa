import { constants } from 'node:http2';
import { beforeEach, describe, expect, test } from 'vitest';
import { createApnsTransport } from '../../../../src/push/transports/apns/index.ts';
import { type ApnsReply, apnsError } from '../../../fakes/push/apns-server.ts';
import { content, device, PUSH_ID } from '../content.ts';
import { apnsAndFake, credentials } from './redirected.ts';

const { apns, fake } = await apnsAndFake();
beforeEach(() => {
  fake.requests.length = 0;
  fake.connections = 0;
  fake.reply = () => undefined;
});

const token = (n: number) => n.toString(16).padStart(64, '0');
const tokens = (count: number) => Array.from({ length: count }, (_, i) => token(i));
const send = async (names: readonly string[], transport = apns) =>
  transport.send(
    content(),
    names.map((name) => device('ios', name)),
    { id: PUSH_ID },
  );
async function answerTo(reply: ApnsReply) {
  fake.reply = () => reply;
  return (await send([token(1)]))[0]!;
}

test('notifications to all devices share one connection, and each has its own apns-id, which a retry repeats', async () => {
  const first = await send([token(1), token(2)]);
  expect(first.every((result) => result.ok)).toBe(true);
  expect(new Set(first.map(({ id }) => id)).size).toBe(2);
  for (const { id } of first)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(await send([token(1), token(2)])).toEqual(first);
  expect(fake.connections).toBeLessThanOrEqual(1);
});

test('responses are assigned to the right devices, whatever order APNs returns them in', async () => {
  fake.reply = async ({ token: name }) => {
    for (let turn = Number.parseInt(name, 16) % 7; turn > 0; turn--) await new Promise(setImmediate);
    return name.endsWith('3') ? apnsError(410, 'Unregistered', { timestamp: 1 }) : undefined;
  };
  const results = await send(tokens(500));
  for (const [i, result] of results.entries()) expect(result.ok).toBe(!token(i).endsWith('3'));
});

test('at most 500 requests are in flight over all sends, and 3,000 notifications are delivered', {
  timeout: 240_000,
}, async () => {
  const patient = createApnsTransport(credentials, { responseTimeoutMs: 60_000, maxWaitMs: 60_000 });
  const { promise: gate, resolve: open } = Promise.withResolvers<undefined>();
  fake.reply = () => gate;
  const pushes = Array.from({ length: 6 }, (_, i) => tokens(500).map((name) => `${i}a${name.slice(2)}`));
  const sending = Promise.all(pushes.map((names) => send(names, patient)));
  await expect.poll(() => fake.requests.length, { timeout: 60_000 }).toBe(500);
  open(undefined);
  expect((await sending).flat().every((result) => result.ok)).toBe(true);
  expect(new Set(fake.requests.map((request) => request.token)).size).toBe(3000);
  expect(fake.requests).toHaveLength(3000);
  await patient.close!();
});

describe('errors', () => {
  const gone = (error: string) => ({ error, unregistered: true });
  const misconfigured = (error: string) => ({ error, misconfigured: true });
  const retryable = (error: unknown, retryAfterMs?: number) => ({
    error,
    retryable: true,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });

  test.each<[number, string, object]>([
    [410, 'Unregistered', gone('DeviceNotRegistered: Unregistered')],
    [410, 'ExpiredToken', gone('DeviceNotRegistered: ExpiredToken')],
    [400, 'BadDeviceToken', gone('InvalidRegistration: BadDeviceToken')],
    [400, 'DeviceTokenNotForTopic', misconfigured('InvalidTopic: DeviceTokenNotForTopic')],
    [400, 'BadTopic', misconfigured('InvalidTopic: BadTopic')],
    [400, 'MissingTopic', misconfigured('InvalidTopic: MissingTopic')],
    [400, 'TopicDisallowed', misconfigured('InvalidTopic: TopicDisallowed')],
    [403, 'InvalidProviderToken', misconfigured('InvalidCredentials: InvalidProviderToken')],
    [403, 'MissingProviderToken', misconfigured('InvalidCredentials: MissingProviderToken')],
    [403, 'BadCertificate', misconfigured('InvalidCredentials: BadCertificate')],
    [403, 'BadCertificateEnvironment', misconfigured('InvalidCredentials: BadCertificateEnvironment')],
    [403, 'Forbidden', misconfigured('InvalidCredentials: Forbidden')],
    [403, 'UnrelatedKeyIdInToken', misconfigured('InvalidCredentials: UnrelatedKeyIdInToken')],
    [403, 'BadEnvironmentKeyInToken', misconfigured('InvalidCredentials: BadEnvironmentKeyInToken')],
    [404, 'BadPath', misconfigured('InvalidCredentials: BadPath')],
    [405, 'MethodNotAllowed', misconfigured('InvalidCredentials: MethodNotAllowed')],
    [400, 'BadCollapseId', { error: 'InvalidMessage: BadCollapseId' }],
    [400, 'BadExpirationDate', { error: 'InvalidMessage: BadExpirationDate' }],
    [400, 'InvalidPushType', { error: 'InvalidMessage: InvalidPushType' }],
    [400, 'SomethingNew', { error: 'InvalidMessage: SomethingNew' }],
    [413, 'PayloadTooLarge', { error: 'MessageTooBig: PayloadTooLarge' }],
    [429, 'TooManyRequests', retryable('MessageRateExceeded: TooManyRequests', 60_000)],
    [429, 'TooManyProviderTokenUpdates', retryable('MessageRateExceeded: TooManyProviderTokenUpdates', 1_200_000)],
    [500, 'InternalServerError', retryable(expect.stringMatching(/^ProviderUnavailable/))],
    [503, 'ServiceUnavailable', retryable('ProviderUnavailable: ServiceUnavailable')],
    [503, 'Shutdown', retryable('ProviderUnavailable: Shutdown')],
    [400, 'IdleTimeout', retryable('ConnectionLost: IdleTimeout')],
  ])('%i %s', async (status, reason, expected) => {
    expect(await answerTo(apnsError(status, reason))).toEqual({ ok: false, ...expected });
    expect(fake.requests).toHaveLength(1);
  });

  test('a 410 reports since when the device has been gone: a device that registered again after that is kept', async () => {
    const since = Date.UTC(2026, 0, 2);
    expect(await answerTo(apnsError(410, 'Unregistered', { timestamp: since }))).toMatchObject({ goneSince: since });
    for (const timestamp of ['soon', -1, null, {}]) {
      expect(await answerTo(apnsError(410, 'Unregistered', { timestamp }))).not.toHaveProperty('goneSince');
    }
  });

  test.each<[string, ApnsReply, RegExp]>([
    ['an answer of 500 without body', { status: 500 }, /^ProviderUnavailable/],
    ['a stream that is reset', 'reset stream', /^ConnectionLost/],
    ['a connection that is closed', 'closed connection', /^ConnectionLost/],
    ['a connection that is reset', 'reset connection', /^ConnectionLost/],
  ])('%s is retryable, and the next send works', async (_, reply, error) => {
    expect(await answerTo(reply)).toEqual({ ok: false, error: expect.stringMatching(error), retryable: true });
    fake.reply = () => undefined;
    expect(await send([token(1)])).toMatchObject([{ ok: true }]);
  });

  test('an expired provider token is renewed, and the notification is sent again at once', async () => {
    let refused = '';
    fake.reply = ({ headers }) => {
      if (refused !== '') return undefined;
      refused = headers.authorization!;
      return apnsError(403, 'ExpiredProviderToken');
    };
    expect(await send([token(1)])).toMatchObject([{ ok: true }]);
    expect(fake.requests).toHaveLength(2);
  });

  test('a provider token that is refused again and again is finally a retryable failure', async () => {
    expect(await answerTo(apnsError(403, 'ExpiredProviderToken'))).toMatchObject({ ok: false, retryable: true });
    expect(fake.requests).toHaveLength(3);
  });
});

describe('connection problems', () => {
  test('requests that APNs refused before processing are sent again at once; no device gets the notification twice', async () => {
    const refused = new Set<string>();
    fake.reply = ({ token: name }) => {
      if (!name.endsWith('7') || refused.has(name)) return undefined;
      refused.add(name);
      return 'refused stream';
    };
    expect((await send(tokens(500))).every((result) => result.ok)).toBe(true);
    expect(fake.requests).toHaveLength(500 + refused.size);
  });

  test('after GOAWAY during a batch, unprocessed requests use a new connection; no device gets the notification twice', async () => {
    let isGoawaySent = false;
    fake.reply = ({ session }) => {
      if (!isGoawaySent && fake.requests.length === 200) {
        isGoawaySent = true;
        session.goaway(constants.NGHTTP2_NO_ERROR);
      }
      return undefined;
    };
    const results = (
      await Promise.all([send(tokens(500)), send(tokens(500).map((name) => `f${name.slice(1)}`))])
    ).flat();
    expect(results.every((result) => result.ok)).toBe(true);
    expect(fake.connections).toBeGreaterThanOrEqual(1);
    expect(new Set(fake.requests.map((request) => request.token)).size).toBe(1000);
    expect(fake.requests).toHaveLength(1000);
  });

  test('a connection that breaks during a batch fails only the requests in flight, and these are retryable', async () => {
    let broken = false;
    fake.reply = () => {
      if (broken || fake.requests.length < 100) return undefined;
      broken = true;
      return 'reset connection';
    };
    const results = await send(tokens(500));
    expect(results.every((result) => result.ok || result.retryable)).toBe(true);
    fake.reply = () => undefined;
    const open = results.flatMap((result, i) => (result.ok ? [] : [token(i)]));
    expect((await send(open)).every((result) => result.ok)).toBe(true);
  });

  test('no response is retryable after its timeout; a connection without any responses is replaced by a new one', async () => {
    const hasty = createApnsTransport(credentials, { responseTimeoutMs: 1500 });
    fake.reply = () => 'never';
    const results = await send([token(1), token(2)], hasty);
    const late = { ok: false, error: 'ConnectionLost: apn write timeout', retryable: true };
    expect(results).toEqual([late, late]);
    const { connections } = fake;
    fake.reply = () => undefined;
    expect(await send([token(1)], hasty)).toMatchObject([{ ok: true }]);
    expect(fake.connections).toBe(connections + 1);
    await hasty.close!();
  });

  test('a single notification without a response does not close the connection for the others', async () => {
    const hasty = createApnsTransport(credentials, { responseTimeoutMs: 1500 });
    fake.reply = ({ token: name }) => (name === token(1) ? 'never' : undefined);
    const lost = send([token(1)], hasty);
    await expect.poll(() => fake.requests.length, { timeout: 60_000 }).toBe(1);
    expect(await send([token(2)], hasty)).toMatchObject([{ ok: true }]);
    expect(await lost).toMatchObject([{ ok: false, retryable: true }]);
    expect(await send([token(3)], hasty)).toMatchObject([{ ok: true }]);
    expect(fake.connections).toBe(1);
    await hasty.close!();
  });

  test('a notification that waited too long for a free slot is not sent', async () => {
    const hasty = createApnsTransport(credentials, { responseTimeoutMs: 300, maxWaitMs: 100 });
    fake.reply = () => 'never';
    const results = await send(tokens(600), hasty);
    expect(results.slice(500)).toEqual(
      Array(100).fill({ ok: false, error: 'NotSent: No free connection in time', retryable: true }),
    );
    expect(fake.requests.some((request) => request.token === token(500))).toBe(false);
    await hasty.close!();
  });

  test('a closed transport has no open connection', async () => {
    const own = createApnsTransport(credentials);
    await send([token(1)], own);
    const { session } = fake.requests[0]!;
    await own.close!();
    await expect.poll(() => session.closed || session.destroyed, { timeout: 60_000 }).toBe(true);
  });
});
