import { constants } from 'node:http2';
import { beforeEach, describe, expect, test } from 'vitest';
import { createFcmTransport } from '../../../../src/push/transports/fcm/index.ts';
import { type FcmReply, fcmError } from '../../../fakes/push/fcm-server.ts';
import { content, device, PUSH_ID } from '../content.ts';
import { account, fcmAndFake } from './redirected.ts';

const { fcm, fake } = await fcmAndFake();

beforeEach(() => {
  fake.requests.length = 0;
  fake.connections = 0;
  fake.reply = () => undefined;
});

const tokens = (count: number, name = 'token') => Array.from({ length: count }, (_, i) => `${name}-${i}`);
const send = async (names: readonly string[], fields = {}) =>
  fcm.send(
    content(fields),
    names.map((token) => device('android', token)),
    { id: PUSH_ID },
  );
/** The result of a device for which the fake sends this reply. */
async function answerTo(reply: FcmReply) {
  fake.reply = ({ message }) => (message.token === 'one' ? reply : undefined);
  return (await send(['one']))[0]!;
}

test('a message goes to every device over HTTP/2, authenticated as the service account, and each gets its own message name', async () => {
  const results = await send(['a', 'b']);
  expect(results).toEqual([
    { ok: true, id: expect.stringMatching(/^projects\/demo\/messages\/\d+$/) },
    { ok: true, id: expect.stringMatching(/^projects\/demo\/messages\/\d+$/) },
  ]);
  expect(fake.requests).toMatchObject(
    ['a', 'b'].map((token) => ({
      path: '/v1/projects/demo/messages:send',
      httpVersion: '2.0',
      authorization: 'Bearer granted-token',
      message: { token, notification: { title: 'Hi' } },
      validateOnly: false,
    })),
  );
});

test('500 devices are sent to in one call, over one connection', async () => {
  expect((await send(tokens(500))).every((result) => result.ok)).toBe(true);
  expect(fake.connections).toBe(1);
  expect(new Set(fake.requests.map(({ message }) => message.token)).size).toBe(500);
});

test('pushes to few devices share calls; every device gets its own message and its own result', async () => {
  fake.reply = ({ message }) => (message.token.endsWith('-1') ? fcmError(404, 'NOT_FOUND', 'UNREGISTERED') : undefined);
  const all = await Promise.all(Array.from({ length: 40 }, (_, i) => send(tokens(2, `push${i}`), { title: `T${i}` })));
  expect(fake.connections).toBeLessThan(10);
  for (const [first, second] of all) {
    expect(first).toMatchObject({ ok: true });
    expect(second).toMatchObject({ ok: false, unregistered: true });
  }
  for (const { message } of fake.requests) {
    expect(message.notification.title).toBe(`T${/^push(\d+)-/.exec(message.token)![1]}`);
  }
  expect(fake.requests).toHaveLength(80);
});

test('at most four calls are in flight, however much is sent', { timeout: 240_000 }, async () => {
  const patient = createFcmTransport(account, { deadlineMs: 60_000, maxWaitMs: 60_000 });
  const { promise: gate, resolve: open } = Promise.withResolvers<undefined>();
  fake.reply = () => gate;
  const to = tokens(3000).map((name) => device('android', name));
  const sending = patient.send(content(), to, { id: PUSH_ID });
  // FCM allows 100 streams per connection.
  await expect.poll(() => fake.requests.length, { timeout: 60_000 }).toBe(400);
  expect(fake.connections).toBe(4);
  open(undefined);
  expect((await sending).every((result) => result.ok)).toBe(true);
  expect(fake.connections).toBe(6);
  await patient.close!();
});

describe('errors', () => {
  const token400 = fcmError(
    400,
    'INVALID_ARGUMENT',
    'INVALID_ARGUMENT',
    'The registration token is not a valid FCM registration token',
  );
  const violation = (field: string, message: string): FcmReply => ({
    status: 400,
    body: {
      error: {
        code: 400,
        message,
        status: 'INVALID_ARGUMENT',
        details: [
          { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field, description: message }] },
        ],
      },
    },
  });

  test.each<[string, FcmReply, object]>([
    [
      'UNREGISTERED: gone',
      fcmError(404, 'NOT_FOUND', 'UNREGISTERED', 'Requested entity was not found.'),
      {
        error: 'DeviceNotRegistered: Requested entity was not found.',
        unregistered: true,
      },
    ],
    [
      'a token that is none: gone',
      token400,
      { error: expect.stringMatching(/^InvalidRegistration/), unregistered: true },
    ],
    [
      'a violation of the token’s field: gone',
      violation('message.token', 'Invalid registration'),
      {
        error: 'InvalidRegistration: Invalid registration',
        unregistered: true,
      },
    ],
    [
      'a bare 404 is a wrong project, not a dead token',
      fcmError(404, 'NOT_FOUND', undefined, 'Project demo'),
      {
        error: 'InvalidCredentials: Project demo',
        misconfigured: true,
      },
    ],
    [
      'a device of another project',
      fcmError(403, 'PERMISSION_DENIED', 'SENDER_ID_MISMATCH', 'SenderId mismatch'),
      {
        error: 'MismatchSenderId: SenderId mismatch',
        misconfigured: true,
      },
    ],
    [
      'a role that lacks the permission',
      fcmError(403, 'PERMISSION_DENIED', undefined, 'Denied'),
      {
        error: 'InvalidCredentials: Denied',
        misconfigured: true,
      },
    ],
    [
      'APNs’ key in Firebase',
      fcmError(401, 'UNAUTHENTICATED', 'THIRD_PARTY_AUTH_ERROR', 'Auth error from APNS'),
      {
        error: 'ThirdPartyAuthError: Auth error from APNS',
        misconfigured: true,
      },
    ],
    [
      'the own access token',
      fcmError(401, 'UNAUTHENTICATED', undefined, 'Request had invalid credentials'),
      {
        error: 'InvalidCredentials: Request had invalid credentials',
        misconfigured: true,
      },
    ],
    [
      'a field of the message',
      violation('message.android.ttl', 'Invalid ttl'),
      {
        error: 'InvalidMessage: message.android.ttl: Invalid ttl',
      },
    ],
    [
      'a message that is too big',
      fcmError(400, 'INVALID_ARGUMENT', 'INVALID_ARGUMENT', 'Android message is too big'),
      {
        error: 'MessageTooBig: Android message is too big',
      },
    ],
    [
      'the quota: when FCM says',
      { ...fcmError(429, 'RESOURCE_EXHAUSTED', 'QUOTA_EXCEEDED'), headers: { 'retry-after': '7' } },
      {
        error: 'MessageRateExceeded: RESOURCE_EXHAUSTED',
        retryable: true,
        retryAfterMs: 7000,
      },
    ],
    [
      'the quota: in a minute when it does not say',
      fcmError(429, 'RESOURCE_EXHAUSTED', 'QUOTA_EXCEEDED'),
      {
        error: 'MessageRateExceeded: RESOURCE_EXHAUSTED',
        retryable: true,
        retryAfterMs: 60_000,
      },
    ],
    ['INTERNAL', fcmError(500, 'INTERNAL', 'INTERNAL'), { error: 'ProviderUnavailable: INTERNAL', retryable: true }],
    [
      '503 with a wait that the library does not take',
      { ...fcmError(503, 'UNAVAILABLE', 'UNAVAILABLE'), headers: { 'retry-after': '120' } },
      {
        error: 'ProviderUnavailable: UNAVAILABLE',
        retryable: true,
        retryAfterMs: 120_000,
      },
    ],
    [
      'a page of HTML',
      { status: 502, body: '<html>Bad gateway</html>' },
      {
        error: expect.stringMatching(/^ProviderUnavailable: /),
        retryable: true,
      },
    ],
    ['a stream that is reset', 'reset stream', { error: expect.stringMatching(/^ConnectionLost: /), retryable: true }],
  ])('%s', async (_, reply, expected) => {
    expect(await answerTo(reply)).toEqual({ ok: false, ...expected });
  });

  test('an error of one device does not affect another', async () => {
    fake.reply = ({ message }) => (message.token === 'b' ? fcmError(404, 'NOT_FOUND', 'UNREGISTERED') : undefined);
    expect((await send(['a', 'b', 'c'])).map(({ ok }) => ok)).toEqual([true, false, true]);
  });

  test('no error contains a token, whatever FCM responds', async () => {
    const secret = 'dGhpcy1pcy1hLXNlY3JldA:APA91b-registration-token';
    fake.reply = () => ({ status: 400, body: `no JSON, and the token ${secret}` });
    const [result] = await send([secret]);
    expect(result).toMatchObject({ ok: false, error: expect.stringContaining('the token …') });
    expect(JSON.stringify(result)).not.toContain(secret);
  });
});

describe('connection problems', () => {
  test('requests that FCM refused before processing are sent again at once; no device gets the message twice', async () => {
    const refused = new Set<string>();
    fake.reply = ({ message: { token } }) => {
      if (!token.endsWith('7') || refused.has(token)) return undefined;
      refused.add(token);
      return 'refused stream';
    };
    const results = await send(tokens(100));
    expect(results.every((result) => result.ok)).toBe(true);
    expect(refused.size).toBe(10);
    expect(fake.requests).toHaveLength(110);
  });

  test('after GOAWAY during a batch, unprocessed requests use a new connection', async () => {
    let isGoawaySent = false;
    fake.reply = ({ session }) => {
      if (!isGoawaySent && fake.requests.length === 50) {
        isGoawaySent = true;
        session.goaway(constants.NGHTTP2_NO_ERROR);
      }
      return undefined;
    };
    const results = await send(tokens(500));
    expect(results.every((result) => result.ok)).toBe(true);
    expect(new Set(fake.requests.map(({ message }) => message.token)).size).toBe(500);
  });

  test('a refusal that repeats forever ends as a retryable failure', async () => {
    const result = await answerTo('refused stream');
    expect(result).toMatchObject({ ok: false, retryable: true, error: expect.stringMatching(/^ConnectionLost/) });
    expect(fake.requests).toHaveLength(3);
  });

  test('a connection that is reset fails only the requests in flight, and these are retryable', async () => {
    fake.reply = ({ message }) => (message.token === 'token-5' ? 'reset connection' : undefined);
    const results = await send(tokens(10));
    expect(results[5]).toMatchObject({ ok: false, retryable: true });
    expect(results.every((result) => result.ok || result.retryable)).toBe(true);
  });

  test.each<FcmReply>(['closed connection', 'never'])('%s: the call ends at its deadline, retryable', async (reply) => {
    const hasty = createFcmTransport(account, { deadlineMs: 300 });
    fake.reply = () => reply;
    const [result] = await hasty.send(content(), [device('android', 'one')], { id: PUSH_ID });
    expect(result).toEqual({ ok: false, error: 'ConnectionLost: No response within 0.3 s', retryable: true });
    fake.reply = () => undefined;
    await hasty.close!();
  });

  test('a message that waited too long for a free slot is not sent', async () => {
    const hasty = createFcmTransport(account, { deadlineMs: 300, maxWaitMs: 100 });
    fake.reply = () => 'never';
    const to = tokens(2500).map((token) => device('android', token));
    const results = await hasty.send(content(), to, { id: PUSH_ID });
    const late = { ok: false, error: 'NotSent: No free connection in time', retryable: true };
    expect(results.slice(2000)).toEqual(Array(500).fill(late));
    expect(fake.requests.some(({ message }) => message.token === 'token-2000')).toBe(false);
    await hasty.close!();
  });
});
