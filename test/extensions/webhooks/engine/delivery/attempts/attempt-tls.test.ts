import { afterAll, expect, test } from 'vitest';
import { secretEncryptionContext } from '../../../../../../src/extensions/webhooks/endpoints/endpoint.ts';
import { decryptHeaders } from '../../../../../../src/extensions/webhooks/endpoints/headers.ts';
import { createSigningKeyCache, generateSecret } from '../../../../../../src/extensions/webhooks/endpoints/signing.ts';
import {
  createAttemptTarget,
  makeAttempt,
  type Sender,
} from '../../../../../../src/extensions/webhooks/engine/delivery/attempt.ts';
import { createKeyring } from '../../../../../../src/platform/data/crypto/keyring.ts';
import { createGuardedAgent } from '../../../../../../src/platform/http/address-guard/index.ts';
import { createLogger } from '../../../../../../src/platform/observability/log.ts';
import { startRawReceiver } from '../../../../../fakes/receiver-raw.ts';
import { startTlsReceiver } from '../../../../../fakes/receiver-tls.ts';

const TIMEOUT_MS = 2000;
const keyring = createKeyring([Buffer.alloc(32, 1).toString('base64')]);
const secret = keyring.encrypt(generateSecret(), secretEncryptionContext('e'));
const closers: (() => unknown)[] = [];
afterAll(() => Promise.all(closers.map((close) => close())));

/** Makes one attempt to reach a name that resolves to 127.0.0.1, with a sender that trusts only `ca`. */
function attempt(host: string, port: number, ca: string) {
  const made = { allowPrivate: true, connectTimeoutMs: TIMEOUT_MS, resolve: async () => ['127.0.0.1'], tls: { ca } };
  const agents = [createGuardedAgent(made), createGuardedAgent(made)] as const;
  closers.push(
    () => agents[0].destroy(),
    () => agents[1].destroy(),
  );
  const sender: Sender = {
    agent: agents[0],
    freshAgent: agents[1],
    keys: createSigningKeyCache(keyring),
    readHeaders: (endpointId, stored) => decryptHeaders(keyring, endpointId, stored),
    log: createLogger('silent', 'test'),
    settings: { allowPrivate: true, requireHttps: true, timeoutMs: TIMEOUT_MS },
  };
  const target = createAttemptTarget(sender, {
    id: 'e',
    url: `https://${host}:${port}/`,
    secrets: [secret],
    headers: null,
  });
  return makeAttempt(sender, target, { messageId: 'msg_1', body: '{}' });
}

const HOST = 'hooks.example.com';
const { ca: other } = await startTlsReceiver('expired.example.com').then((one) => {
  one.close();
  return one;
});

test('a valid certificate of the host is a success', async () => {
  const receiver = await startTlsReceiver(HOST);
  closers.push(receiver.close);
  expect(await attempt(HOST, receiver.port, receiver.ca)).toMatchObject({ ok: true, statusCode: 200 });
});

test.each<[string, { shown: string; called: string; trusted?: string }, string]>([
  ['of another host', { shown: HOST, called: 'other.example.com' }, 'tls certificate not valid'],
  ['of an unknown authority', { shown: HOST, called: HOST, trusted: other }, 'tls certificate not valid'],
  ['that has expired', { shown: 'expired.example.com', called: 'expired.example.com' }, 'tls certificate not valid'],
])('a certificate %s is a failed attempt, and nothing is sent', async (_, { shown, called, trusted }, error) => {
  const receiver = await startTlsReceiver(shown);
  closers.push(receiver.close);
  const outcome = await attempt(called, receiver.port, trusted ?? receiver.ca);
  expect(outcome).toMatchObject({ ok: false, statusCode: null, error });
  expect(receiver.requests).toBe(0);
});

test.each(['TLSv1', 'TLSv1.1'] as const)(
  'a receiver that speaks nothing newer than %s gets no request',
  async (version) => {
    const receiver = await startTlsReceiver(HOST, version);
    closers.push(receiver.close);
    const outcome = await attempt(HOST, receiver.port, receiver.ca);
    expect(outcome).toMatchObject({ ok: false, statusCode: null, error: 'tls handshake failed' });
    expect(receiver.requests).toBe(0);
  },
);

test('a plain-text reply on the TLS port is a failed handshake', async () => {
  const receiver = await startRawReceiver((socket) => socket.write('HTTP/1.1 200 OK\r\n\r\n'), { early: true });
  closers.push(receiver.close);
  const { port } = new URL(receiver.url);
  const outcome = await attempt(HOST, Number(port), other);
  expect(outcome).toMatchObject({ ok: false, statusCode: null, error: 'tls handshake failed' });
});
