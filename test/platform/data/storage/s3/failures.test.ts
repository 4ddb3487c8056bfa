import { buffer } from 'node:stream/consumers';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { s3 } from '../../../../../src/platform/data/storage/s3/index.ts';
import { type Misbehaviour, type S3Call, startFakeS3 } from '../../../../fakes/s3/index.ts';
import { createBytes, inChunks } from '../contract.ts';

const MIB = 1024 * 1024;
const type = 'application/octet-stream';

const fake = await startFakeS3();
afterAll(() => fake.close());
const createStorage = (timeoutMs: number) =>
  s3({
    bucket: fake.bucketName,
    region: fake.key.region,
    endpoint: fake.endpoint,
    credentials: { accessKeyId: fake.key.accessKeyId, secretAccessKey: fake.key.secretAccessKey },
    timeoutMs,
  });
const storage = createStorage(60_000);
/** For the tests of the time limit: on a busy machine, a request to a working storage may take longer. */
const impatient = createStorage(1000);

beforeEach(() => {
  fake.misbehave = undefined;
  fake.calls.length = 0;
  fake.bucket.objects.clear();
  fake.bucket.uploads.clear();
});

/** Misbehaves for the first requests that match. Returns how often it did. */
function failFirst(times: number, matches: (call: S3Call) => boolean, how: Misbehaviour): () => number {
  let failed = 0;
  fake.misbehave = (call) => {
    if (failed >= times || !matches(call)) return undefined;
    failed += 1;
    return how;
  };
  return () => failed;
}

const isPart = ({ query }: S3Call) => query.partNumber !== undefined;
const isComplete = ({ method, query }: S3Call) => method === 'POST' && query.uploadId !== undefined;
const always = () => true;
const write = (bytes: Buffer) => storage.write('file', inChunks(bytes), { type });

const TEMPORARY: [string, Misbehaviour][] = [
  ['an error 500', { status: 500 }],
  ['an error 503 with SlowDown', { status: 503, code: 'SlowDown' }],
  ['an error 429', { status: 429, code: 'TooManyRequests' }],
  ['a connection that is closed before the request is processed', { cut: 'before' }],
  ['a connection that is closed after the request is processed', { cut: 'after' }],
];

describe.each(TEMPORARY)('%s', (_, how) => {
  test.each([
    ['a small write', always, 10],
    ['a part of a large file', isPart, 20 * MIB],
    ['the completion of a large file', isComplete, 9 * MIB],
  ])('is retried for %s', async (_case, matches, length) => {
    const failures = failFirst(2, matches, how);
    const bytes = createBytes(length);
    expect(await write(bytes)).toEqual({ bytes: length });
    expect(failures()).toBe(2);
    fake.misbehave = undefined;
    expect((await buffer(await storage.read('file'))).equals(bytes)).toBe(true);
    expect(fake.bucket.uploads.size).toBe(0);
  });

  test('is retried for reads, lengths, removals and resumable uploads', async () => {
    await write(createBytes(100));
    const repeated = new Set<string>();
    fake.misbehave = (call) => {
      const name = `${call.method} ${call.key} ${Object.keys(call.query)}`;
      if (repeated.has(name)) return undefined;
      repeated.add(name);
      return how;
    };
    expect((await buffer(await storage.read('file'))).length).toBe(100);
    expect(await storage.stat('file')).toEqual({ bytes: 100 });
    await storage.append('upload', 0, inChunks(createBytes(9 * MIB)), {});
    expect(await storage.complete('upload', 'done', { type })).toEqual({ bytes: 9 * MIB });
    await storage.remove(['file', 'upload', 'done']);
    expect(fake.bucket.objects.size).toBe(0);
    expect(repeated.size).toBeGreaterThan(6);
  });
});

test('a success that contains an error is a failure', async () => {
  const failures = failFirst(1, isComplete, { lateError: 'InternalError' });
  expect(await write(createBytes(9 * MIB))).toEqual({ bytes: 9 * MIB });
  expect(failures()).toBe(1);
  fake.misbehave = () => ({ lateError: 'InternalError' });
  await expect(write(createBytes(9 * MIB))).rejects.toMatchObject({ reason: 'unavailable' });
});

test('a file whose parts cannot be stored leaves no parts and no object', async () => {
  fake.misbehave = (call) => (call.query.partNumber === '2' ? { status: 500 } : undefined);
  await expect(write(createBytes(40 * MIB))).rejects.toMatchObject({ name: 'StorageError', reason: 'unavailable' });
  expect(fake.bucket.uploads.size).toBe(0);
  expect(fake.bucket.objects.size).toBe(0);
  expect(fake.calls.filter(({ query }) => query.partNumber === '2')).toHaveLength(4);
});

test('a small write that took effect although every response was lost leaves nothing', async () => {
  fake.misbehave = ({ method }) => (method === 'PUT' ? { cut: 'after' } : undefined);
  await expect(write(createBytes(10))).rejects.toMatchObject({ reason: 'unavailable' });
  expect(fake.bucket.objects.size).toBe(0);
});

test.each<[string, number, string]>([
  ['AccessDenied', 403, 'denied'],
  ['InvalidAccessKeyId', 403, 'denied'],
  ['QuotaExceeded', 403, 'full'],
  ['XMinioStorageFull', 507, 'full'],
  ['NoSuchBucket', 404, 'unavailable'],
  ['NotImplemented', 501, 'unavailable'],
])('%s is not retried', async (code, status, reason) => {
  fake.misbehave = ({ method }) => (method === 'PUT' ? { status, code } : undefined);
  await expect(write(createBytes(10))).rejects.toMatchObject({ name: 'StorageError', reason });
  expect(fake.calls.filter(({ method }) => method === 'PUT')).toHaveLength(1);
});

test('a storage that never answers is unavailable after the time limit, and its requests are closed', async () => {
  fake.misbehave = () => ({ hang: true });
  const attempts = await Promise.allSettled([
    impatient.stat('file'),
    impatient.read('file'),
    impatient.write('file', inChunks(createBytes(10)), { type }),
  ]);
  const unavailable = { status: 'rejected', reason: { name: 'StorageError', reason: 'unavailable' } };
  expect(attempts).toMatchObject([unavailable, unavailable, unavailable]);
  await expect.poll(fake.active).toBe(0);
});

test('a response that breaks off is an error of the stream, never a short file', async () => {
  await write(createBytes(3 * MIB));
  fake.misbehave = () => ({ cut: 'body' });
  const stream = await storage.read('file');
  await expect(buffer(stream)).rejects.toMatchObject({ name: 'StorageError', reason: 'unavailable' });
});

test('an abort ends a read, a write that waits for its body, and a write that waits for the storage', async () => {
  await write(createBytes(3 * MIB));
  const aborted = { name: 'StorageError', reason: 'aborted' };
  const reading = new AbortController();
  const stream = await storage.read('file', { signal: reading.signal });
  reading.abort();
  await expect(buffer(stream)).rejects.toMatchObject(aborted);

  const waiting = new AbortController();
  const { promise: never } = Promise.withResolvers<Uint8Array>();
  const asked = Promise.withResolvers<void>();
  async function* silent() {
    yield createBytes(9 * MIB);
    asked.resolve();
    yield await never;
  }
  const writing = storage.write('silent', silent(), { type, signal: waiting.signal });
  await asked.promise;
  waiting.abort();
  await expect(writing).rejects.toMatchObject(aborted);

  const stalled = new AbortController();
  fake.misbehave = (call) => {
    if (!isPart(call)) return undefined;
    stalled.abort();
    return { hang: true };
  };
  const blocked = storage.write('blocked', inChunks(createBytes(30 * MIB)), { type, signal: stalled.signal });
  await expect(blocked).rejects.toMatchObject(aborted);
  expect(fake.bucket.uploads.size).toBe(0);
  await expect.poll(fake.active).toBe(0);
});

test('a slow storage does not make a write read its body ahead', async () => {
  let sent = 0;
  async function* body() {
    for (; sent < 80; sent++) yield createBytes(MIB, sent);
  }
  const controller = new AbortController();
  fake.misbehave = (call) => (isPart(call) ? { hang: true } : undefined);
  const writing = storage.write('file', body(), { type, signal: controller.signal });
  await expect.poll(() => fake.calls.filter(isPart).length).toBe(3);
  // Three parts of 8 MiB in flight; the body waits until one of them is stored.
  expect(sent).toBeLessThanOrEqual(24);
  controller.abort();
  await expect(writing).rejects.toMatchObject({ reason: 'aborted' });
});

test('requests beyond the queue fail at once while the storage does not answer', async () => {
  fake.misbehave = () => ({ hang: true });
  const reasons = await Promise.all(
    Array.from({ length: 700 }, (_, index) => impatient.stat(`file-${index}`).catch((error: Error) => error.message)),
  );
  expect(reasons.filter((text) => String(text).includes('too many requests are waiting')).length).toBe(700 - 32 - 512);
  expect(reasons).not.toContain(undefined);
});

test('a body of another length than announced is refused and leaves nothing', async () => {
  for (const [length, bytes] of [
    [10, 11],
    [10, 9],
    [9 * MIB, 9 * MIB + 1],
    [9 * MIB, 9 * MIB - 1],
  ] as const) {
    const writing = storage.write('file', inChunks(createBytes(length)), { bytes, type });
    await expect(writing).rejects.toMatchObject({ reason: 'aborted' });
  }
  expect(fake.bucket.objects.size).toBe(0);
  expect(fake.bucket.uploads.size).toBe(0);
});

test('a process that dies while it appends loses nothing that was stored before', async () => {
  const bytes = createBytes(20 * MIB);
  await storage.append('upload', 0, inChunks(bytes.subarray(0, 9 * MIB)), {});
  fake.misbehave = (call) => (call.method === 'PUT' && call.key.endsWith('00002') ? { status: 403 } : undefined);
  await expect(storage.append('upload', 9 * MIB, inChunks(bytes.subarray(9 * MIB)), {})).rejects.toMatchObject({
    reason: 'denied',
  });
  fake.misbehave = undefined;
  await storage.append('upload', 9 * MIB, inChunks(bytes.subarray(9 * MIB)), {});
  await storage.complete('upload', 'file', { type });
  await storage.remove(['upload']);
  expect((await buffer(await storage.read('file'))).equals(bytes)).toBe(true);
  expect([...fake.bucket.objects.keys()]).toEqual(['file']);
});
