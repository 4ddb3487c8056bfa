import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { defineResource, defineUser, f, s3 } from '../../src/index.ts';
import { findAssembly } from '../../src/runtime/create-app.ts';
import { type S3Call, startFakeS3 } from '../fakes/s3/index.ts';
import { film } from '../fixtures/uploads/app.ts';
import { startTestApp } from '../support/app.ts';
import { startProcess } from '../support/processes/app-process.ts';
import { PNG, send } from './support.ts';

const fake = await startFakeS3();
afterAll(() => fake.close());
const secrets = { AWS_ACCESS_KEY_ID: fake.key.accessKeyId, AWS_SECRET_ACCESS_KEY: fake.key.secretAccessKey };
const storage = s3({ bucket: fake.bucketName, region: fake.key.region, endpoint: fake.endpoint }, secrets);
const { app, url, call, env } = await startTestApp({
  resources: [defineUser(), film],
  settings: { files: { storage } },
});
const { database } = findAssembly(app)!.platform;
const sweep = findAssembly(app)!.parts.sweeps!.find(({ name }) => name === 'unused files')!;
const MIB = 2 ** 20;

beforeEach(() => {
  fake.misbehave = undefined;
});

/** Runs the sweep as if a day had passed. */
async function sweepLater(): Promise<void> {
  await database.write({ text: `update stored_files files set due_at = due_at - interval '1 day'`, values: [] });
  await sweep.run();
}

const isPiece = ({ key }: Pick<S3Call, 'key'>) => key.includes('/.part-');
const isCopy = ({ method, key }: S3Call) => method === 'PUT' && !key.includes('.upload') && key !== '';
const storedPieces = () => [...fake.bucket.objects.keys()].filter((key) => isPiece({ key }));

async function startUpload(field: string, length: number, base = url): Promise<string> {
  const encoded = Buffer.from(field).toString('base64');
  const headers = {
    'tus-resumable': '1.0.0',
    'upload-length': String(length),
    'upload-metadata': `field ${encoded}`,
  };
  const { headers: created } = await send(`${base}/api/files/resumable`, undefined as never, headers);
  return created.get('location')!;
}

const partHeaders = (offset: number) => ({
  'tus-resumable': '1.0.0',
  'content-type': 'application/offset+octet-stream',
  'upload-offset': String(offset),
});

const append = (location: string, offset: number, body: Buffer) =>
  send(url + location, body, { method: 'PATCH', ...partHeaders(offset) });

const head = (location: string) =>
  send(url + location, undefined as never, { method: 'HEAD', 'tus-resumable': '1.0.0' });

/** Begins a part whose body is sent later. Resolves when the storage has been asked for the bytes before it. */
async function beginPart(base: string, location: string, offset: number, length: number) {
  const { length: before } = fake.calls;
  const part = request(base + location, {
    method: 'PATCH',
    headers: { ...partHeaders(offset), 'content-length': length },
  });
  part.on('error', () => undefined);
  const response = once(part, 'response').catch(() => undefined);
  part.flushHeaders();
  const isAsked = (sent: S3Call) =>
    offset === 0 ? sent.query['list-type'] !== undefined : sent.method === 'GET' && isPiece(sent);
  await vi.waitUntil(() => fake.calls.slice(before).some(isAsked) && fake.active() === 0);
  return { part, response };
}

function namesOf(location: string) {
  const { pathname, searchParams } = new URL(location, url);
  return { id: pathname.split('/').at(-1)!, token: searchParams.get('token') };
}

async function readBack(link: string): Promise<Buffer> {
  return Buffer.from(await (await fetch(url + link)).arrayBuffer());
}

test('a file has the bytes that were checked, although two requests complete it while a late part replaces them', async () => {
  const location = await startUpload('film.poster', PNG.length);
  const { part, response } = await beginPart(url, location, 0, PNG.length);
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let copies = 0;
  fake.misbehave = (sent) => {
    if (!isCopy(sent)) return undefined;
    copies += 1;
    return { holdUntil: copies === 1 ? first.promise : second.promise };
  };
  const completing = append(location, 0, PNG);
  await vi.waitUntil(() => copies === 1);
  const completingAgain = head(location);
  await vi.waitUntil(() => copies === 2);
  first.resolve();
  expect((await completing).status).toBe(204);
  // The late part is stored, and its request does not get to remove it.
  const removal = Promise.withResolvers<void>();
  fake.misbehave = ({ query }) => (query.delete === undefined ? undefined : { holdUntil: removal.promise });
  const script = Buffer.from('<script>alert(1)</script>'.padEnd(PNG.length));
  part.end(script);
  await vi.waitUntil(() => [...fake.bucket.objects.values()].some(({ bytes }) => bytes.equals(script)));
  second.resolve();
  await completingAgain;
  removal.resolve();
  expect((await response)![0].statusCode).toBe(409);
  const { status, body } = await call('POST', '/api/films', { poster: namesOf(location) });
  expect([status, body.data?.poster.type]).toEqual([201, 'image/png']);
  expect(await readBack(body.data.poster.url)).toEqual(PNG);
  await sweepLater();
  await sweepLater();
  expect(fake.bucket.objects.size).toBe(1);
  expect(await readBack(body.data.poster.url)).toEqual(PNG);
  await call('DELETE', `/api/films/${body.data.id}`);
  await sweepLater();
  expect(fake.bucket.objects.size).toBe(0);
});

test('two requests that complete an upload at the same time both succeed', async () => {
  const location = await startUpload('film.poster', PNG.length);
  const both = Promise.withResolvers<void>();
  let copies = 0;
  fake.misbehave = (sent) => {
    if (!isCopy(sent)) return undefined;
    copies += 1;
    if (copies === 2) both.resolve();
    return { holdUntil: both.promise };
  };
  const completing = append(location, 0, PNG);
  await vi.waitUntil(() => copies === 1);
  const again = await head(location);
  expect([(await completing).status, again.status, again.headers.get('upload-offset')]).toEqual([
    204,
    200,
    String(PNG.length),
  ]);
  expect((await call('POST', '/api/films', { poster: namesOf(location) })).status).toBe(201);
});

test('a request succeeds, too, if another one completes the upload while the policies of the first are checked', async () => {
  const [checking, checked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const guarded = defineResource('guarded', {
    fields: { poster: f.file({ types: ['image/png'] }) },
    policies: {
      async create({ req }) {
        if (req?.headers['x-slow'] === undefined) return true;
        checking.resolve();
        await checked.promise;
        return true;
      },
    },
  });
  const own = await startTestApp({ resources: [defineUser(), guarded], settings: { files: { storage } } });
  const location = own.url + (await startUpload('guarded.poster', PNG.length, own.url));
  fake.misbehave = (sent) => (isCopy(sent) ? { status: 403 } : undefined);
  expect((await send(location, PNG, { method: 'PATCH', ...partHeaders(0) })).status).toBe(503);
  fake.misbehave = undefined;
  const complete = (headers = {}) =>
    send(location, undefined as never, { method: 'HEAD', 'tus-resumable': '1.0.0', ...headers });
  const late = complete({ 'x-slow': '1' });
  await checking.promise;
  expect((await complete()).status).toBe(200);
  checked.resolve();
  const { status, headers } = await late;
  expect([status, headers.get('upload-offset')]).toEqual([200, String(PNG.length)]);
});

test('many requests that complete an upload at the same time make few copies', async () => {
  const location = await startUpload('film.poster', PNG.length);
  const held = Promise.withResolvers<void>();
  let copies = 0;
  fake.misbehave = (sent) => {
    if (!isCopy(sent)) return undefined;
    copies += 1;
    return { holdUntil: held.promise };
  };
  const completing = append(location, 0, PNG);
  await vi.waitUntil(() => copies === 1);
  const statusesSoFar: number[] = [];
  const attempts = Array.from({ length: 12 }, async () => {
    const response = await head(location);
    statusesSoFar.push(response.status);
    return response;
  });
  await vi.waitUntil(() => copies === 4 && statusesSoFar.length === 9);
  expect(new Set(statusesSoFar)).toEqual(new Set([409]));
  held.resolve();
  expect((await completing).status).toBe(204);
  const statuses = (await Promise.all(attempts)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(3);
  expect(copies).toBe(4);
});

test.each([
  ['was completed', async (location: string) => append(location, 5 * MIB, Buffer.alloc(7 * MIB, 2))],
  [
    'was cancelled',
    async (location: string) =>
      send(url + location, undefined as never, { method: 'DELETE', 'tus-resumable': '1.0.0' }),
  ],
])(
  'the bytes of a part whose process was killed after the upload %s are removed',
  {
    timeout: 120_000,
  },
  async (_how, end) => {
    const roles = { RELAY: 'off', WEBHOOKS_WORKER: 'off', PUSH_WORKER: 'off', JOB_WORKER: 'off' };
    const environment = { ...env, ...roles, ...secrets, NODE_ENV: 'development', PORT: '0', S3: fake.endpoint };
    const web = startProcess('test/fixtures/uploads/process.ts', environment);
    const base = (await web.url()).replace('localhost', '127.0.0.1');
    const kept = new Set(fake.bucket.objects.keys());
    const location = await startUpload('film.video', 12 * MIB);
    await append(location, 0, Buffer.alloc(5 * MIB, 1));
    const { part } = await beginPart(base, location, 5 * MIB, 7 * MIB);
    expect((await end(location)).status).toBe(204);
    await sweep.run();
    await vi.waitUntil(() => storedPieces().length === 0);
    part.write(Buffer.alloc(4 * MIB, 3));
    await vi.waitUntil(() => storedPieces().length > 0);
    web.child.kill('SIGKILL');
    await web.ended;
    const used = await call('POST', '/api/films', { video: namesOf(location) });
    await sweepLater();
    await sweepLater();
    expect(storedPieces()).toEqual([]);
    const file = used.status === 201 ? await readBack(used.body.data.video.url) : undefined;
    if (file !== undefined) expect(file.subarray(5 * MIB).equals(Buffer.alloc(7 * MIB, 2))).toBe(true);
    expect([...fake.bucket.objects.keys()].filter((key) => !kept.has(key))).toHaveLength(file === undefined ? 0 : 1);
  },
);

test('a direct upload that is sent after its upload was removed is removed, too', async () => {
  const started = await call('POST', '/api/files/uploads', {
    ...{ field: 'film.poster', name: 'a.png', type: 'image/png', bytes: PNG.length, direct: true },
  });
  const { id, upload } = started.body.data;
  const kept = new Set(fake.bucket.objects.keys());
  await sweepLater();
  const rows = () =>
    database.write<[string]>({ text: 'select due_at from stored_files files where id = $1', values: [id] });
  // The bytes are removed once more after the URL has expired.
  const [[due]] = (await rows()) as [[string]];
  expect(new Date(due).getTime()).toBeGreaterThan(new Date(upload.expiresAt).getTime());
  const put = await fetch(upload.url, { method: 'PUT', headers: upload.headers, body: new Uint8Array(PNG) });
  expect(put.status).toBe(200);
  await sweepLater();
  expect([...fake.bucket.objects.keys()].filter((key) => !kept.has(key))).toEqual([]);
  expect(await rows()).toEqual([]);
});

test('two requests that complete a direct upload at the same time both succeed', async () => {
  const started = await call('POST', '/api/files/uploads', {
    ...{ field: 'film.poster', name: 'a.png', type: 'image/png', bytes: PNG.length, direct: true },
  });
  const { id, token, upload } = started.body.data;
  await fetch(upload.url, { method: 'PUT', headers: upload.headers, body: new Uint8Array(PNG) });
  const both = Promise.withResolvers<void>();
  let reads = 0;
  fake.misbehave = ({ method, key }) => {
    if (method !== 'GET' || key === '') return undefined;
    reads += 1;
    if (reads === 2) both.resolve();
    return { holdUntil: both.promise };
  };
  const complete = () => call('POST', `/api/files/uploads/${id}/complete?token=${token}`);
  expect((await Promise.all([complete(), complete()])).map(({ status }) => status)).toEqual([200, 200]);
  expect((await call('POST', '/api/films', { poster: { id, token } })).status).toBe(201);
});
