import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import * as tus from 'tus-js-client';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { defineResource, defineUser, f } from '../../src/index.ts';
import { findAssembly } from '../../src/runtime/create-app.ts';
import { createClient, startTestApp } from '../support/app.ts';
import { createTestDatabase } from '../support/database/test-database.ts';
import { createRoleEnv, startProcess } from '../support/processes/app-process.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { createTestStorage, PNG, send } from './support.ts';

const { storage, directory, listStored } = await createTestStorage();
const film = defineResource('film', {
  fields: { video: f.file({ maxBytes: 50 * 2 ** 20 }), poster: f.file({ types: ['image/png'] }) },
  policies: { list: 'public', read: 'public', create: 'public' },
});
const { app, url, call, person } = await startTestApp(
  { resources: [defineUser(), film], settings: { files: { storage } } },
  { env: () => ({ CORS_ORIGINS: 'https://app.example.com' }) },
);
const ada = await person('Ada');

const BYTES = randomBytes(20 * 2 ** 20);
const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** Uploads bytes with the tus client. Resolves with the URL of the upload. */
function uploadWith(options: Partial<tus.UploadOptions>, bytes = BYTES, base = url): Promise<string> {
  return new Promise((resolve, reject) => {
    const upload = new tus.Upload(Readable.from(slices(bytes)) as never, {
      endpoint: `${base}/api/files/resumable`,
      uploadSize: bytes.length,
      metadata: { field: 'film.video', filename: 'film.bin', filetype: 'video/mp4' },
      headers: { authorization: `Bearer ${ada.token}` },
      chunkSize: 6 * 2 ** 20,
      retryDelays: [0, 100, 200, 500, 1000, 2000, 4000],
      onError: reject,
      onSuccess: () => resolve(upload.url!),
      ...options,
    });
    upload.start();
  });
}

function* slices(bytes: Buffer) {
  for (let at = 0; at < bytes.length; at += 2 ** 16) yield bytes.subarray(at, at + 2 ** 16);
}

const idOf = (upload: string) => new URL(upload, url).pathname.split('/').at(-1)!;

async function readBack(link: string, base = url): Promise<string> {
  return digest(Buffer.from(await (await fetch(base + link)).arrayBuffer()));
}

test('the tus client uploads a file, which a field then holds', async () => {
  const upload = await uploadWith({});
  const { status, body } = await ada.call('POST', '/api/films', { video: idOf(upload) });
  expect(status).toBe(201);
  expect(body.data.video).toMatchObject({ name: 'film.bin', type: 'application/octet-stream', bytes: BYTES.length });
  expect(await readBack(body.data.video.url)).toBe(digest(BYTES));
});

test('the tus client sends bytes together with the creation of the upload', async () => {
  const requests: string[] = [];
  const onBeforeRequest = (sent: tus.HttpRequest) => void requests.push(sent.getMethod());
  const bytes = BYTES.subarray(0, 2 ** 20);
  const upload = await uploadWith({ uploadDataDuringCreation: true, onBeforeRequest }, bytes);
  expect([requests[0], new Set(requests.slice(1))]).toEqual(['POST', new Set(['PATCH'])]);
  const { body } = await ada.call('POST', '/api/films', { video: idOf(upload) });
  expect(await readBack(body.data.video.url)).toBe(digest(bytes));
  requests.length = 0;
  const small = await uploadWith({ uploadDataDuringCreation: true, onBeforeRequest }, BYTES.subarray(0, 1000));
  expect(requests).toEqual(['POST']);
  expect((await ada.call('POST', '/api/films', { video: idOf(small) })).status).toBe(201);
});

test('a caller who is not signed in uses the upload with the token of its URL', async () => {
  const upload = await uploadWith({ headers: {} });
  const token = new URL(upload).searchParams.get('token');
  expect((await call('POST', '/api/films', { video: idOf(upload) })).status).toBe(422);
  expect((await call('POST', '/api/films', { video: { id: idOf(upload), token } })).status).toBe(201);
});

test('an upload continues after its connection was cut', async () => {
  const proxy = await startTcpProxy(new URL(url));
  let cuts = 0;
  const onProgress = (sent: number) => {
    if (sent < 3 * 2 ** 20 * (cuts + 1) || cuts === 3) return;
    cuts += 1;
    proxy.shut();
    proxy.reopen();
  };
  const upload = await uploadWith({ onProgress }, BYTES, proxy.url.replace(/\/$/, ''));
  expect(cuts).toBe(3);
  const { body } = await ada.call('POST', '/api/films', { video: idOf(upload) });
  expect(await readBack(body.data.video.url)).toBe(digest(BYTES));
  proxy.close();
});

test('an upload continues after its server process was killed', { timeout: 120_000 }, async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const { app: createFilms } = await import('../fixtures/uploads/app.ts');
  const env = { ...createRoleEnv(database), FILES: directory };
  const films = createFilms({ ...env, NODE_ENV: 'test' });
  await films.migrate({ mode: 'sync' });
  await films.close();
  const first = startProcess('test/fixtures/uploads/process.ts', env);
  const base = (await first.url()).replace('localhost', '127.0.0.1');
  let second: ReturnType<typeof startProcess> | undefined;
  const onProgress = (sent: number) => {
    if (sent < 13 * 2 ** 20 || second !== undefined) return;
    first.child.kill('SIGKILL');
    second = startProcess('test/fixtures/uploads/process.ts', { ...env, PORT: new URL(base).port });
  };
  const retryDelays = Array.from({ length: 100 }, () => 500);
  const upload = await uploadWith({ onProgress, retryDelays, headers: {} }, BYTES, base);
  expect(second).toBeDefined();
  const token = new URL(upload).searchParams.get('token');
  const created = await createClient(base)('POST', '/api/films', { video: { id: idOf(upload), token } });
  expect(created.status).toBe(201);
  expect(await readBack(created.body.data.video.url, base)).toBe(digest(BYTES));
});

describe('the protocol', () => {
  const base = `${url}/api/files/resumable`;
  const headers = { token: ada.token, 'tus-resumable': '1.0.0' };
  const metadata = (field: string) => `field ${Buffer.from(field).toString('base64')}`;
  const start = async (length = '10', field = 'film.video') =>
    send(base, undefined as never, { ...headers, 'upload-length': length, 'upload-metadata': metadata(field) });
  const append = (location: string, offset: number, body: string | Buffer, more: Record<string, string> = {}) =>
    send(url + location, body as never, {
      ...headers,
      method: 'PATCH',
      'content-type': 'application/offset+octet-stream',
      'upload-offset': String(offset),
      ...more,
    });
  const head = (location: string, more: Record<string, string | undefined> = {}) =>
    send(url + location, undefined as never, { ...headers, method: 'HEAD', ...more });

  test('tells where an upload continues and when it expires', async () => {
    const created = await start();
    expect(created.status).toBe(201);
    const location = created.headers.get('location')!;
    const part = await append(location, 0, 'abcd');
    expect([part.status, part.headers.get('upload-offset')]).toEqual([204, '4']);
    const { status, headers: found } = await head(location);
    expect([status, found.get('upload-offset'), found.get('upload-length')]).toEqual([200, '4', '10']);
    expect(new Date(found.get('upload-expires')!).getTime()).toBeGreaterThan(Date.now() + 23 * 3_600_000);
    expect(found.get('cache-control')).toBe('no-store');
  });

  test('refuses a part at another offset, a part of another type, and bytes beyond the length', async () => {
    const location = (await start()).headers.get('location')!;
    expect((await append(location, 3, 'abc')).status).toBe(409);
    expect((await append(location, 0, 'abc', { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await append(location, 0, 'abcdefghijk')).status).toBe(413);
    expect((await append(location, 0, 'abc', { 'tus-resumable': '0.2.2' })).status).toBe(412);
    expect((await append(location, 0, 'abc', { 'upload-offset': '-1' })).status).toBe(400);
  });

  test('refuses uploads that the field cannot hold', async () => {
    expect((await start('0')).status).toBe(422);
    expect((await start('many')).status).toBe(400);
    expect((await start(String(51 * 2 ** 20))).status).toBe(413);
    expect((await start('10', 'film.nothing')).status).toBe(400);
    const location = (await start('10', 'film.poster')).headers.get('location')!;
    const { status, body } = await append(location, 0, 'just texts');
    expect([status, body.error.details]).toEqual([422, { poster: 'Must be image/png, not text/plain' }]);
    expect((await head(location)).status).toBe(404);
  });

  test('keeps the checked bytes, whatever an earlier request for the same part sends later', async () => {
    const created = await send(base, undefined as never, {
      ...headers,
      'upload-length': String(PNG.length),
      'upload-metadata': metadata('film.poster'),
    });
    const location = created.headers.get('location')!;
    const slow = request(url + location, {
      method: 'PATCH',
      headers: {
        authorization: `Bearer ${ada.token}`,
        'tus-resumable': '1.0.0',
        'content-type': 'application/offset+octet-stream',
        'upload-offset': '0',
        'content-length': PNG.length,
      },
    });
    const responded = once(slow, 'response');
    const stored = await listStored();
    slow.write('<');
    // The earlier request has opened the upload.
    await vi.waitUntil(async () => (await listStored()).length > stored.length);
    expect((await append(location, 0, PNG)).status).toBe(204);
    slow.end('script>alert(1)</script>'.padEnd(PNG.length - 1));
    const [late] = await responded;
    expect(late.statusCode).toBe(409);
    const { body } = await ada.call('POST', '/api/films', { poster: idOf(location) });
    expect(body.data.poster.type).toBe('image/png');
    expect(await readBack(body.data.poster.url)).toBe(digest(PNG));
    expect(await listStored()).toHaveLength(stored.length + 1);
  });

  const create = (header: string, more: Record<string, string> = {}, body?: Buffer | string) =>
    send(base, body as never, { ...headers, 'upload-length': '10', 'upload-metadata': header, ...more });

  test('returns the metadata of the creation unchanged, until a record uses the upload', async () => {
    const name = Buffer.from('a/b\u0000 ünïcode.bin').toString('base64');
    const given = `${metadata('film.video')},filename ${name}, is_confidential,note bm90ZQ==`;
    const location = (await create(given)).headers.get('location')!;
    expect((await head(location)).headers.get('upload-metadata')).toBe(given);
    await append(location, 0, 'abcdefghij');
    expect((await head(location)).headers.get('upload-metadata')).toBe(given);
    const { id } = (await ada.call('POST', '/api/films', { video: idOf(location) })).body.data.video;
    const text = 'select upload_metadata from stored_files files where id = $1';
    expect(await findAssembly(app)!.platform.database.write({ text, values: [id] })).toEqual([[null]]);
    const plain = await send(`${base}?field=film.video`, undefined as never, { ...headers, 'upload-length': '10' });
    expect((await head(plain.headers.get('location')!)).headers.has('upload-metadata')).toBe(false);
  });

  test.each([
    ['bytes that are not base64', `${metadata('film.video')},note !!!`],
    ['base64 for addresses', `${metadata('film.video')},note _-8=`],
    ['base64 without padding', `${metadata('film.video')},note bm90ZQ`],
    ['a key twice', `${metadata('film.video')},note bm90ZQ==,note bm90ZQ==`],
    ['an empty pair', `${metadata('film.video')},,note bm90ZQ==`],
    ['a comma at the end', `${metadata('film.video')},`],
    ['two values', `${metadata('film.video')},note bm90ZQ== bm90ZQ==`],
  ])('refuses metadata with %s', async (_what, header) => {
    const { status, body } = await create(header);
    expect([status, body.error.message]).toEqual([400, expect.stringMatching(/^Upload-Metadata /)]);
  });

  test('accepts bytes with the creation, and tells how many it has', async () => {
    const part = { 'content-type': 'application/offset+octet-stream' };
    const created = await create(metadata('film.video'), part, 'abcd');
    expect([created.status, created.headers.get('upload-offset')]).toEqual([201, '4']);
    const location = created.headers.get('location')!;
    expect((await head(location)).headers.get('upload-offset')).toBe('4');
    expect((await append(location, 4, 'efghij')).status).toBe(204);
    expect((await ada.call('POST', '/api/films', { video: idOf(location) })).status).toBe(201);
    expect((await create(metadata('film.video'), part, 'abcdefghijk')).status).toBe(413);
    expect((await create(metadata('film.video'), { 'content-type': 'text/plain' }, 'abcd')).status).toBe(415);
    const poster = await create(metadata('film.poster'), part, 'just texts');
    expect([poster.status, poster.body.error.details]).toEqual([422, { poster: 'Must be image/png, not text/plain' }]);
    const empty = await create(metadata('film.video'), part, '');
    expect([empty.status, empty.headers.get('upload-offset')]).toEqual([201, '0']);
  });

  test('tells its facts by OPTIONS, without a version and a sign-in', async () => {
    for (const path of [base, `${base}/${'0'.repeat(24)}`]) {
      const { status, headers: facts } = await send(path, undefined as never, { method: 'OPTIONS' });
      expect([status, facts.get('tus-version'), facts.get('tus-resumable')]).toEqual([204, '1.0.0', '1.0.0']);
      expect(facts.get('tus-extension')).toBe('creation,creation-with-upload,expiration,termination');
      expect(facts.get('tus-max-size')).toBe(String(50 * 2 ** 20));
      expect(facts.get('allow')).toContain('OPTIONS');
    }
    const other = await send(`${url}/api/films`, undefined as never, { method: 'OPTIONS' });
    expect([other.status, other.headers.has('tus-version')]).toEqual([204, false]);
  });

  test('works for pages of other origins, which may read its headers', async () => {
    const from = { origin: 'https://app.example.com', 'access-control-request-method': 'POST' };
    const preflight = await send(base, undefined as never, { method: 'OPTIONS', ...from });
    expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([
      204,
      expect.stringContaining('Upload-Metadata'),
    ]);
    const created = await create(metadata('film.video'), { origin: 'https://app.example.com' });
    expect([created.status, created.headers.get('access-control-expose-headers')]).toEqual([
      201,
      expect.stringMatching(/Upload-Metadata.*Tus-Max-Size/),
    ]);
  });

  test('hides an upload from other callers', async () => {
    const bob = await person('Bob');
    const location = (await start()).headers.get('location')!;
    expect((await head(location, { token: bob.token })).status).toBe(404);
    expect((await head(location, { token: undefined })).status).toBe(404);
    expect((await append(location, 0, 'abc', { token: bob.token })).status).toBe(404);
  });

  test('lets a client end an upload, whose bytes are then removed', async () => {
    const location = (await start()).headers.get('location')!;
    await append(location, 0, 'abc');
    const ended = await send(url + location, undefined as never, { ...headers, method: 'DELETE' });
    expect(ended.status).toBe(204);
    expect((await head(location)).status).toBe(404);
    const sweep = findAssembly(app)!.parts.sweeps!.find(({ name }) => name === 'unused files')!;
    await vi.waitUntil(async () => (await sweep.run()) === 0);
  });
});
