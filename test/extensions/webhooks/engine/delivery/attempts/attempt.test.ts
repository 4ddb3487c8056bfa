import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
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
import { type RawReceiver, startRawReceiver } from '../../../../../fakes/receiver-raw.ts';

// Receivers that never finish have the short deadline. All other receivers would miss it on a busy machine.
const TIMEOUT_MS = 600;
const PATIENT_MS = 30_000;
const keyring = createKeyring([Buffer.alloc(32, 1).toString('base64')]);
const secret = keyring.encrypt(generateSecret(), secretEncryptionContext('e'));
const closers: (() => unknown)[] = [];
afterAll(() => Promise.all(closers.map((close) => close())));

function sender(allowPrivate = true, timeoutMs = PATIENT_MS): Sender {
  const agents = [0, 1].map(() => createGuardedAgent({ allowPrivate, connectTimeoutMs: timeoutMs }));
  closers.push(...agents.map((agent) => () => agent.destroy()));
  const settings = { allowPrivate, requireHttps: false, timeoutMs };
  return {
    agent: agents[0]!,
    freshAgent: agents[1]!,
    keys: createSigningKeyCache(keyring),
    readHeaders: (endpointId, stored) => decryptHeaders(keyring, endpointId, stored),
    log: createLogger('silent', 'test'),
    settings,
  };
}
const shared = sender();
const hurried = sender(true, TIMEOUT_MS);
const attempt = (url: string, from = shared) =>
  makeAttempt(from, createAttemptTarget(from, { id: 'e', url, secrets: [secret], headers: null }), {
    messageId: 'msg_1',
    body: '{"a":"ü"}',
  });

async function receiver(script: (socket: Socket, nth: number) => void): Promise<RawReceiver> {
  const made = await startRawReceiver(script);
  closers.push(() => made.close());
  return made;
}

const forever = (socket: Socket, ms: number, bytes: string, first = '') => {
  socket.write(first);
  const timer = setInterval(() => socket.write(bytes), ms);
  socket.on('close', () => clearInterval(timer));
};
const whole = (status: string, body = '') =>
  `HTTP/1.1 ${status}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

const hostile: [string, (socket: Socket) => void, string | null, number | null][] = [
  ['says nothing', () => undefined, 'timeout', null],
  ['sends its headers byte by byte', (s) => forever(s, 50, 'a', 'HTTP/1.1 200 OK\r\nx: '), 'timeout', null],
  ['responds with 102 forever', (s) => forever(s, 50, 'HTTP/1.1 102 Processing\r\n\r\n'), 'timeout', null],
  [
    'sends its body byte by byte',
    (s) => forever(s, 50, 'a', 'HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n'),
    'timeout',
    200,
  ],
  [
    'closes the connection in the middle of a body',
    (s) => s.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc'),
    'connection closed',
    200,
  ],
  ['sends an endless body', (s) => forever(s, 1, 'a'.repeat(9999), 'HTTP/1.1 200 OK\r\n\r\n'), null, 200],
  ['sends 200 KB', (s) => s.write(whole('200 OK', 'a'.repeat(200_000))), null, 200],
  ['sends a 204 with stray bytes', (s) => s.write('HTTP/1.1 204 No Content\r\n\r\nstray'), null, 204],
  ['resets the connection', (s) => s.resetAndDestroy(), 'connection closed', null],
  ['closes the connection', (s) => s.end(), 'connection closed', null],
  ['greets like SSH', (s) => s.write('SSH-2.0-OpenSSH_9.9\r\n'), 'invalid answer', null],
  [
    'sends 70 KB of headers',
    (s) => s.write(`HTTP/1.1 200 OK\r\nx: ${'a'.repeat(70_000)}\r\n\r\n`),
    'invalid answer',
    null,
  ],
  [
    'switches protocols',
    (s) => s.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n'),
    'invalid answer',
    null,
  ],
  ['answers 099', (s) => s.write('HTTP/1.1 099 Odd\r\ncontent-length: 0\r\n\r\n'), 'invalid answer', null],
  ['answers 600', (s) => s.write(whole('600 Odd')), 'status 600', 600],
  ['answers 999', (s) => s.write(whole('999 Odd')), 'status 999', 999],
];

test.each(hostile)('a receiver that %s ends the attempt within the deadline', async (_, script, error, status) => {
  const { url } = await receiver(script);
  const begun = Date.now();
  const from = error === 'timeout' ? hurried : shared;
  const outcome = await attempt(url, from);
  expect(Date.now() - begun).toBeLessThan(from.settings.timeoutMs + 20_000);
  expect(outcome.statusCode).toBe(status);
  expect(outcome).toMatchObject({ error, ok: error === null });
  expect(Buffer.byteLength(outcome.response ?? '')).toBeLessThanOrEqual(1024);
});

test('a receiver that responds 413 while the body is still being sent causes one failed attempt', async () => {
  const script = (socket: Socket) => socket.write(whole('413 Payload Too Large', 'too much'));
  const made = await startRawReceiver(script, { early: true });
  closers.push(() => made.close());
  const body = JSON.stringify({ a: 'x'.repeat(20_000_000) });
  const outcome = await makeAttempt(
    shared,
    createAttemptTarget(shared, { id: 'e', url: made.url, secrets: [secret], headers: null }),
    {
      messageId: 'm',
      body,
    },
  );
  expect(outcome).toMatchObject({ ok: false, statusCode: 413, error: 'status 413', response: 'too much' });
  expect(made.connections).toBe(1);
});

test('the stored part of a response is text that a database can hold, at most 1 KB of it', async () => {
  const { url } = await receiver((socket) => {
    const body = Buffer.concat([Buffer.from('a\0b'), Buffer.from([0xff, 0xfe]), Buffer.alloc(990, 0x80)]);
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`);
    socket.write(body);
  });
  const { response, ok } = await attempt(url);
  expect(ok).toBe(true);
  expect(response).toMatch(/^a\u{FFFD}b\u{FFFD}+$/u);
  expect(Buffer.byteLength(response!)).toBeLessThanOrEqual(1024);
});

test('a compressed response is stored as it arrived, never inflated', async () => {
  const body = gzipSync(Buffer.alloc(10_000_000));
  const { url } = await receiver((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${body.length}\r\n\r\n`);
    socket.write(body);
  });
  expect(await attempt(url)).toMatchObject({ ok: true, statusCode: 200 });
});

test('a receiver that closes every kept-alive connection causes no visible failure', async () => {
  for (const close of [(s: Socket) => s.destroy(), (s: Socket) => s.resetAndDestroy()]) {
    const made = await receiver((socket, nth) => {
      if (nth === 1) socket.write(whole('200 OK', 'ok'));
      else close(socket);
    });
    for (let i = 0; i < 10; i++) expect(await attempt(made.url)).toMatchObject({ ok: true, error: null });
  }
});

test('a new connection that is closed without a response is one request and a failed attempt', async () => {
  const made = await receiver((socket) => socket.resetAndDestroy());
  expect(await attempt(made.url)).toMatchObject({ ok: false, error: 'connection closed' });
  expect(made.requests).toBe(1);
});

test('a private address and a name that does not exist get the same error', async () => {
  const guarded = sender(false);
  const urls = ['http://127.0.0.1:1/', 'http://[::1]/', 'http://localhost/', 'http://does-not-exist.invalid/'];
  for (const url of urls) {
    expect(await attempt(url, guarded)).toMatchObject({
      ok: false,
      statusCode: null,
      error: 'address not allowed or not found',
      response: null,
    });
  }
});

test('a stored URL without https or with a password is refused at delivery, even if it was allowed when it was stored', async () => {
  const made = await receiver((socket) => socket.write(whole('200 OK')));
  const strict = { ...shared, settings: { ...shared.settings, requireHttps: true } };
  const refused = { ok: false, statusCode: null, error: 'address not allowed or not found' };
  expect(await attempt(made.url, strict)).toMatchObject(refused);
  expect(await attempt(made.url.replace('http://', 'http://user:secret@'))).toMatchObject(refused);
  expect(made.requests).toBe(0);
});

test('a secret that cannot be decrypted is a failed attempt with that error, and nothing is sent', async () => {
  const other = createKeyring([Buffer.alloc(32, 2).toString('base64')]);
  const made = await receiver((socket) => socket.write(whole('200 OK')));
  const outcome = await attempt(made.url, { ...shared, keys: createSigningKeyCache(other) });
  expect(outcome).toMatchObject({ ok: false, statusCode: null, error: 'signing secret not readable' });
  expect(made.requests).toBe(0);
});
