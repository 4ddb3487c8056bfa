import { connect } from 'node:net';
import { afterAll, expect, test, vi } from 'vitest';
import { generateKey } from '../../../src/extensions/api-keys/key-format.ts';
import { apiKeys, defineResource, defineUser, f } from '../../../src/index.ts';
import { createClient, startTestApp } from '../../support/app.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';

const proxy = await startTcpProxy(new URL(process.env.TEST_DATABASE_URL!));
afterAll(() => proxy.close());
const through = (url: string) => Object.assign(new URL(url), { host: new URL(proxy.url).host }).href;
const note = defineResource('note', { fields: { text: f.string() } });
const refused: unknown[] = [];
const limit = 1000;
const { url, app, person } = await startTestApp(
  {
    resources: [defineUser(), note],
    extensions: [apiKeys()],
    settings: { rateLimit: { enabled: true, global: { limit, windowMs: 3_600_000 }, auth: false } },
  },
  // Only the web role runs, since relays query the database on their own.
  { env: ({ DATABASE_URL }) => ({ DATABASE_URL: through(DATABASE_URL) }) },
);
app.on('security.invalid_api_key', (payload) => void refused.push(payload));
const ann = await person('Ann');
const { body } = await ann.call('POST', '/api/auth/api-keys', { name: 'x', scopes: ['*'] });
const key: string = body.data.key;

/** Whether a chunk opens or ends a connection, which the pool may do at any time: a start-up message begins with its length. */
const isOfConnection = (chunk: Buffer) => [0, 'p'.charCodeAt(0), 'X'.charCodeAt(0)].includes(chunk[0]!);

/** Returns how many prepared statements were run (Bind messages) in the bytes sent to Postgres, and the number of bytes. */
function countSent(): { binds: number; bytes: number } {
  let binds = 0;
  const sent = proxy.sent.filter((chunk) => !isOfConnection(chunk));
  for (const chunk of sent) {
    for (let at = 0; at + 5 <= chunk.length; at += 1 + chunk.readUInt32BE(at + 1)) {
      if (chunk[at] === 'B'.charCodeAt(0)) binds += 1;
    }
  }
  return { binds, bytes: sent.reduce((sum, chunk) => sum + chunk.length, 0) };
}

/** Returns the statements and bytes that an action sends to Postgres. */
async function costOf(work: () => Promise<unknown>) {
  const before = countSent();
  await work();
  const after = countSent();
  return { binds: after.binds - before.binds, bytes: after.bytes - before.bytes };
}

const swapped = `${key.slice(0, 10)}${key[11]}${key[10]}${key.slice(12)}`;

test.each([
  ['one wrong character in the checksum', `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`],
  ['two characters swapped', swapped === key ? `${key.slice(0, 9)}_${key.slice(10)}` : swapped],
  ['one character too few', key.slice(0, -1)],
  ['one character too many', `${key}0`],
  ['the label without a key', 'svc_ak_'],
  ['the label in upper case', key.toUpperCase()],
  ['a random part and a checksum of zeros', `svc_ak_${'0'.repeat(38)}`],
  ['other letters', `svc_ak_${'é'.repeat(38)}`],
  ['a key inside a key', `svc_ak_${key}`],
  ['junk', `svc_ak_${Buffer.alloc(200, 7).toString('base64')}`],
])('a malformed key (%s) gets 401 without a database query', async (_what, token) => {
  const cost = await costOf(async () => {
    const { status, body } = await createClient(url, Buffer.from(token).toString('latin1'))('GET', '/api/notes');
    expect([status, body.error.message]).toEqual([401, 'Session is invalid or has expired']);
  });
  expect(cost).toEqual({ binds: 0, bytes: 0 });
});

test('an unknown key with a valid checksum costs one look-up', async () => {
  expect(await costOf(() => createClient(url, generateKey())('GET', '/api/notes'))).toMatchObject({ binds: 1 });
});

test('a request with a key costs one look-up for key, scopes and owner together', async () => {
  const script = createClient(url, key);
  await script('GET', '/api/auth/me');
  // The first use is recorded, and then no use for a minute.
  await vi.waitFor(
    async () => expect((await ann.call('GET', '/api/auth/api-keys')).body.data[0].lastUsedAt).not.toBeNull(),
    { timeout: 60_000, interval: 20 },
  );
  expect(await costOf(() => script('GET', '/api/auth/me'))).toMatchObject({ binds: 1 });
});

test('requests with a malformed key count towards the rate limit', async () => {
  const token = `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`;
  const left = async () =>
    Number((await createClient(url, token)('GET', '/api/notes')).headers.get('ratelimit-remaining'));
  const first = await left();
  expect([await left(), await left()]).toEqual([first - 1, first - 2]);
});

test('two Authorization headers count as one attempt', async () => {
  refused.length = 0;
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(
    `GET /api/auth/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${generateKey()}\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`,
  );
  let response = '';
  for await (const chunk of socket) response += chunk;
  expect(response).toMatch(/^HTTP\/1\.1 40[01] /);
  expect(refused.length).toBeLessThan(2);
});
