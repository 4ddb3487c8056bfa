import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { s3 } from '../../../../../src/platform/data/storage/s3/index.ts';
import type { S3Options } from '../../../../../src/platform/data/storage/s3/settings.ts';
import { startFakeS3 } from '../../../../fakes/s3/index.ts';
import { createBytes, inChunks } from '../contract.ts';

const fake = await startFakeS3();
afterAll(() => fake.close());
const variables = { AWS_ACCESS_KEY_ID: fake.key.accessKeyId, AWS_SECRET_ACCESS_KEY: fake.key.secretAccessKey };
const location = { bucket: fake.bucketName, region: fake.key.region, endpoint: fake.endpoint };
const open = (options: Partial<S3Options> = {}, env: Record<string, string> = variables) =>
  s3({ ...location, ...options }, env);
const storage = open();

const expiresInMs = 60_000;
const png = createBytes(1000);

test('a client uploads directly with a signed URL, and only once', async () => {
  const { url, method, headers } = await storage.signUpload('direct/1', {
    bytes: 1000,
    type: 'image/png',
    expiresInMs,
  });
  const send = (body: Buffer) => fetch(url, { method, headers, body: new Uint8Array(body) });
  expect((await send(png)).status).toBe(200);
  expect(await storage.stat('direct/1')).toEqual({ bytes: 1000 });
  expect(fake.bucket.get('direct/1').type).toBe('image/png');
  // Otherwise the client could replace the file after its content was checked.
  expect((await send(createBytes(1000, 2))).status).toBe(412);
  expect((await buffer(await storage.read('direct/1'))).equals(png)).toBe(true);
});

test('a signed upload is bound to its length, type, key, method and checksum', async () => {
  const sha256 = createHash('sha256').update(png).digest('hex');
  const options = { bytes: 1000, type: 'image/png', expiresInMs, sha256 };
  const { url, headers } = await storage.signUpload('direct/2', options);
  const send = async (change: { url?: string; method?: string; headers?: object; body?: Buffer }) => {
    const body = new Uint8Array(change.body ?? png);
    const response = await fetch(change.url ?? url, {
      method: change.method ?? 'PUT',
      headers: { ...headers, ...change.headers },
      ...(change.method !== 'DELETE' && { body }),
    });
    return response.status;
  };
  expect(await send({ body: createBytes(1001) })).toBe(403);
  expect(await send({ body: createBytes(999) })).toBe(403);
  expect(await send({ headers: { 'content-type': 'text/html' } })).toBe(403);
  expect(await send({ headers: { 'x-amz-acl': 'public-read' } })).toBe(403);
  expect(await send({ url: url.replace('direct/2', 'direct/3') })).toBe(403);
  expect(await send({ method: 'DELETE' })).toBe(403);
  expect(await send({ body: createBytes(1000, 3) })).toBe(400);
  expect(fake.bucket.objects.has('direct/2')).toBe(false);
  expect(await send({})).toBe(200);
});

test('a storage without conditional writes can be used for direct uploads', async () => {
  const options = { bytes: 1, type: 'text/plain', expiresInMs };
  const { headers } = await open({ conditionalUploads: false }).signUpload('direct/4', options);
  expect(headers).toEqual({ 'content-type': 'text/plain' });
});

test('a client reads directly with a signed URL, with the type and name that were signed', async () => {
  await storage.write('read/1', inChunks(png), { type: 'application/octet-stream' });
  const disposition = `attachment; filename="a b.png"; filename*=UTF-8''%C3%A4.png`;
  const url = await storage.signRead('read/1', { type: 'image/png', disposition, expiresInMs });
  const response = await fetch(url);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('image/png');
  expect(response.headers.get('content-disposition')).toBe(disposition);
  expect(Buffer.from(await response.arrayBuffer()).equals(png)).toBe(true);
  expect((await fetch(url, { headers: { range: 'bytes=0-9' } })).status).toBe(206);
  expect((await fetch(url.replace('image%2Fpng', 'text%2Fhtml'))).status).toBe(403);
  expect((await fetch(url.replace('read/1', 'direct/1'))).status).toBe(403);
});

test('the type of a resumable upload is that of its completion, also with several pieces', async () => {
  for (const [name, length] of [
    ['one', 10],
    ['several', 9 * 1024 * 1024],
  ] as const) {
    await storage.append(`upload/${name}`, 0, inChunks(createBytes(length)), {});
    await storage.complete(`upload/${name}`, `file/${name}`, { type: 'video/mp4' });
    expect(fake.bucket.get(`file/${name}`).type).toBe('video/mp4');
  }
});

test('the check names the bucket, and says what to correct', async () => {
  await expect(storage.check()).resolves.toBeUndefined();
  await expect(open({ bucket: 'other-bucket' }).check()).rejects.toThrow(
    'The bucket "other-bucket" does not exist. Create it, or correct s3.bucket',
  );
  await expect(open({}, {}).check()).rejects.toThrow(
    'There are no credentials for S3. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or s3.credentials',
  );
  await expect(open({ endpoint: 'http://127.0.0.1:9' }).check()).rejects.toThrow(
    'S3 could not use the bucket "test-bucket": no response (ECONNREFUSED)',
  );
});

test('no error contains a credential', async () => {
  const secret = 'wrong-secret-of-this-test';
  const wrong = open({ credentials: { accessKeyId: fake.key.accessKeyId, secretAccessKey: secret } });
  const error = await wrong.stat('file').catch((reason: Error) => reason);
  expect(error).toMatchObject({ reason: 'denied' });
  const written = await wrong.write('a', inChunks(png), { type: 'a/b' }).catch((reason: Error) => reason);
  for (const failure of [error, written]) {
    const text = JSON.stringify(failure, Object.getOwnPropertyNames(failure));
    expect(text).not.toContain(secret);
    expect(text).not.toContain(fake.key.accessKeyId);
  }
  expect((written as Error).message).toContain('SignatureDoesNotMatch');
});

test('a function provides new credentials for each request', async () => {
  let calls = 0;
  const rotating = open({
    credentials: async () => {
      calls += 1;
      const { accessKeyId, secretAccessKey } = fake.key;
      return { accessKeyId, secretAccessKey, sessionToken: `token-${calls}` };
    },
  });
  await rotating.stat('file');
  await rotating.stat('file');
  expect(calls).toBe(2);
});

test('all malformed options are reported at once, with their names and how to fix them', () => {
  const options = { bucket: 'A', region: 'EU', endpoint: 'ftp://x', prefix: '/x', timeoutMs: 1, forcePathStyl: true };
  const attempt = () => s3(options as S3Options, {});
  for (const text of [
    's3.bucket: must be the name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens',
    's3.region: must be a region, such as eu-central-1, or auto for R2',
    's3.endpoint: must look like https://s3.example.com',
    's3.prefix: must look like files/ and end with a slash',
    's3.timeoutMs: must be at least 100',
    's3.forcePathStyl: there is no such setting. Did you mean "forcePathStyle"?',
  ]) {
    expect(attempt).toThrow(text);
  }
});

test.each<[S3Options, string]>([
  [{ bucket: 'my-files', region: 'eu-west-1' }, 'https://my-files.s3.eu-west-1.amazonaws.com/k?'],
  [{ bucket: 'my.files', region: 'eu-west-1' }, 'https://s3.eu-west-1.amazonaws.com/my.files/k?'],
  [
    { bucket: 'my-files', region: 'auto', endpoint: 'https://x.r2.example.com' },
    'https://x.r2.example.com/my-files/k?',
  ],
  [
    { bucket: 'my-files', region: 'x', endpoint: 'https://s3.example.com:9000', forcePathStyle: false, prefix: 'a/' },
    'https://my-files.s3.example.com:9000/a/k?',
  ],
])('the address of a file follows from the options %j', async (options, start) => {
  const url = await s3(options, variables).signRead('k', { type: 'a/b', disposition: 'inline', expiresInMs });
  expect(url.slice(0, start.length)).toBe(start);
});

test('300 MB pass through a write and a read in constant memory', { timeout: 240_000 }, async () => {
  const process_ = join(import.meta.dirname, 'stream-process.ts');
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', process_]);
  const { bytes, growth } = JSON.parse(stdout);
  expect(bytes).toBe(300_000_000);
  // The file has 240 MB more than the one that it is compared to.
  expect(growth).toBeLessThan(60_000_000);
});
