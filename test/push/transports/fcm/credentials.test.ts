import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { createFcmTransport } from '../../../../src/push/transports/fcm/index.ts';
import { readServiceAccount } from '../../../../src/push/transports/fcm/service-account.ts';
import { type FcmReply, fcmError } from '../../../fakes/push/fcm-server.ts';
import { content, device, PUSH_ID } from '../content.ts';
import { account, fcmAndFake, SERVICE_ACCOUNT } from './redirected.ts';

const { fcm, fake } = await fcmAndFake();
const granted = fake.tokenReply;
beforeEach(() => {
  fake.requests.length = 0;
  fake.reply = () => undefined;
  fake.tokenReply = granted;
});

const refused = { status: 400, body: { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' } };
const invalidToken = fcmError(
  400,
  'INVALID_ARGUMENT',
  'INVALID_ARGUMENT',
  'The registration token is not a valid FCM registration token',
);

/** A transport that has no access token yet. */
async function withFresh<T>(work: (fresh: ReturnType<typeof createFcmTransport>) => Promise<T>): Promise<T> {
  // The library keeps the access token of an account for the whole process.
  const fresh = createFcmTransport({ ...account, clientEmail: `${randomUUID()}@demo.iam.gserviceaccount.com` });
  try {
    return await work(fresh);
  } finally {
    await fresh.close!();
  }
}

test('the access token is requested once, not for each send', async () => {
  const send = () => fcm.send(content(), [device('android', 'a')], { id: PUSH_ID });
  await send();
  const before = fake.tokens;
  await Promise.all([send(), send()]);
  expect(fake.tokens).toBe(before);
});

describe('the check at start', () => {
  test('delivers nothing', async () => {
    await fcm.check!();
    expect(fake.requests).toMatchObject([{ validateOnly: true }]);
  });

  test.each<[string, FcmReply]>([
    ['FCM finds nothing wrong but the token', invalidToken],
    ['FCM is down', { ...fcmError(503, 'UNAVAILABLE', 'UNAVAILABLE'), headers: { 'retry-after': '90' } }],
    ['the connection breaks', 'reset stream'],
  ])('passes if %s', async (_, reply) => {
    fake.reply = () => reply;
    await expect(fcm.check!()).resolves.toBeUndefined();
  });

  test.each<[string, FcmReply]>([
    ['the project is not known', fcmError(404, 'NOT_FOUND', undefined, 'Requested entity was not found.')],
    ['the account lacks the role', fcmError(403, 'PERMISSION_DENIED', undefined, 'Permission denied')],
    ['the access token is refused', fcmError(401, 'UNAUTHENTICATED', undefined, 'Invalid credentials')],
  ])('fails, naming the project, if %s', async (_, reply) => {
    fake.reply = () => reply;
    await expect(fcm.check!()).rejects.toThrow(/^FCM refuses the credentials of project "demo": InvalidCredentials: /);
  });

  test('fails if Google refuses the key', async () => {
    fake.tokenReply = () => refused;
    await withFresh(async (fresh) => {
      await expect(fresh.check!()).rejects.toThrow(/Google refused the key of the service account/);
    });
    expect(fake.requests).toEqual([]);
  });

  test('passes if the token server is down', async () => {
    fake.tokenReply = () => ({ status: 503, body: {} });
    await withFresh((fresh) => expect(fresh.check!()).resolves.toBeUndefined());
  });
});

describe('a send without an access token', () => {
  const sendWith = (fresh: ReturnType<typeof createFcmTransport>) =>
    fresh.send(content(), [device('android', 'a')], { id: PUSH_ID });

  test('is misconfigured if the key is refused; the device is kept', async () => {
    fake.tokenReply = () => refused;
    const result = { ok: false, error: expect.stringMatching(/^InvalidCredentials: /), misconfigured: true };
    await withFresh(async (fresh) => expect(await sendWith(fresh)).toEqual([result]));
  });

  test('is retryable while the token server is down, and succeeds once it is back', async () => {
    fake.tokenReply = () => ({ status: 503, body: {} });
    await withFresh(async (fresh) => {
      const result = { ok: false, error: expect.stringMatching(/^ProviderUnavailable: /), retryable: true };
      expect(await sendWith(fresh)).toEqual([result]);
      fake.tokenReply = granted;
      expect(await sendWith(fresh)).toMatchObject([{ ok: true }]);
    });
  });
});

describe('FCM_SERVICE_ACCOUNT', () => {
  const read = (value: string) => {
    const faults: string[] = [];
    return { account: readServiceAccount(value, (text) => faults.push(text)), faults };
  };
  const json = (fields: object) => JSON.stringify({ ...SERVICE_ACCOUNT, ...fields });

  test('is the JSON, or the path of a file that contains it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'belfry-'));
    const file = join(folder, 'account.json');
    writeFileSync(file, json({}));
    const read1 = {
      projectId: 'demo',
      clientEmail: SERVICE_ACCOUNT.client_email,
      privateKey: SERVICE_ACCOUNT.private_key,
    };
    expect(read(json({}))).toEqual({ account: read1, faults: [] });
    expect(read(file)).toEqual({ account: read1, faults: [] });
    await rm(folder, { recursive: true });
  });

  test.each([
    ['a file that is not there', '/nowhere/account.json', /is neither JSON nor the path of a readable file/],
    ['no JSON', '{"type":', /is malformed: set it to the JSON/],
    ['something else', json({ type: 'authorized_user' }), /is malformed \(type missing or invalid\)/],
    [
      'parts missing',
      json({ project_id: undefined, client_email: '' }),
      /\(project_id, client_email missing or invalid\)/,
    ],
    ['a key that is none', json({ private_key: 'secret' }), /has an invalid private_key/],
  ])('%s: one error that shows the expected form and repeats no secret', (_, value, fault) => {
    const { account: none, faults } = read(value);
    expect(none).toBeUndefined();
    expect(faults).toEqual([expect.stringMatching(fault)]);
    expect(faults[0]).not.toMatch(/BEGIN|secret/);
  });
});
