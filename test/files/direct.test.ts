import { randomBytes } from 'node:crypto';
import sharp from 'sharp';
import { afterAll, expect, test } from 'vitest';
import { defineResource, defineUser, f, s3 } from '../../src/index.ts';
import { startFakeS3 } from '../fakes/s3/index.ts';
import { startTestApp } from '../support/app.ts';
import { createTestStorage, PNG, send } from './support.ts';

const fake = await startFakeS3();
afterAll(() => fake.close());
const bucket = s3(
  { bucket: fake.bucketName, region: fake.key.region, endpoint: fake.endpoint },
  { AWS_ACCESS_KEY_ID: fake.key.accessKeyId, AWS_SECRET_ACCESS_KEY: fake.key.secretAccessKey },
);
const page = defineResource('page', {
  fields: { image: f.file({ types: ['image/png'], maxBytes: 10_000 }) },
  policies: { list: 'public', read: 'public', create: 'authenticated' },
});
const start = (storage: typeof bucket) =>
  startTestApp({ resources: [defineUser(), page], settings: { files: { storage } } });
const { call, person, url } = await start(bucket);
const ada = await person('Ada');
const request = { field: 'page.image', name: 'a.png', type: 'image/png', bytes: PNG.length, direct: true };

async function uploadDirectly(body: Buffer, announced: object = {}) {
  const { body: answer } = await ada.call('POST', '/api/files/uploads', {
    ...request,
    bytes: body.length,
    ...announced,
  });
  const { id, upload } = answer.data;
  const put = await fetch(upload.url, { method: upload.method, headers: upload.headers, body: body as never });
  return { id, put, complete: () => ada.call('POST', `/api/files/uploads/${id}/complete`) };
}

test('a client uploads to the storage directly, and reads are redirected to it', async () => {
  const { id, put, complete } = await uploadDirectly(PNG);
  expect(put.status).toBe(200);
  expect((await ada.call('POST', '/api/pages', { image: id })).status).toBe(422);
  expect(await complete()).toMatchObject({ status: 200, body: { data: { id, type: 'image/png', bytes: PNG.length } } });
  expect((await complete()).status).toBe(200);
  const created = await ada.call('POST', '/api/pages', { image: id });
  const response = await fetch(url + created.body.data.image.url, { redirect: 'manual' });
  expect(response.status).toBe(302);
  expect(response.headers.get('cache-control')).toMatch(/^private, max-age=\d+$/);
  const stored = await fetch(response.headers.get('location')!);
  expect(Buffer.from(await stored.arrayBuffer())).toEqual(PNG);
});

test('the place where a photo was taken is removed from a direct upload', async () => {
  const photo = await sharp(PNG)
    .withExif({ IFD0: { Make: 'Belfry camera' }, IFD3: { GPSDateStamp: '1987:06:05' } })
    .toBuffer();
  const { id, complete } = await uploadDirectly(photo);
  expect(await complete()).toMatchObject({ status: 200, body: { data: { bytes: photo.length } } });
  const created = await ada.call('POST', '/api/pages', { image: id });
  const stored = Buffer.from(await (await fetch(url + created.body.data.image.url)).arrayBuffer());
  expect([stored.length, stored.includes('Belfry camera')]).toEqual([photo.length, true]);
  expect([photo.includes('1987:06:05'), stored.includes('1987:06:05')]).toEqual([true, false]);
});

test('a direct upload is completed only by its owner, with the announced size and an accepted content', async () => {
  const bob = await person('Bob');
  const missing = (await ada.call('POST', '/api/files/uploads', request)).body.data;
  expect((await ada.call('POST', `/api/files/uploads/${missing.id}/complete`)).status).toBe(400);
  expect((await bob.call('POST', `/api/files/uploads/${missing.id}/complete`)).status).toBe(404);
  expect((await call('POST', `/api/files/uploads/${missing.id}/complete`)).status).toBe(404);
  const page = await uploadDirectly(Buffer.from('<!doctype html><script>alert(1)</script>'));
  const refused = await page.complete();
  expect([refused.status, refused.body.error.details]).toEqual([422, { image: 'Must be image/png, not text/html' }]);
  expect((await page.complete()).status).toBe(404);
});

test('a direct upload is refused before it starts if it is malformed or too large', async () => {
  const attempt = async (change: object) =>
    (await ada.call('POST', '/api/files/uploads', { ...request, ...change })).status;
  expect(await attempt({ bytes: 10_001 })).toBe(413);
  expect(await attempt({ bytes: 0 })).toBe(422);
  expect(await attempt({ field: 'page.nothing' })).toBe(400);
  expect(await attempt({ extra: 1 })).toBe(422);
  expect(await attempt({ name: 'x'.repeat(1001) })).toBe(422);
  expect((await call('POST', '/api/files/uploads', request)).status).toBe(401);
});

test('a storage that cannot sign URLs says so', async () => {
  const { storage } = await createTestStorage();
  const other = await start(storage as never);
  const eve = await other.person('Eve');
  const { status, body } = await eve.call('POST', '/api/files/uploads', request);
  expect([status, body.error.message]).toEqual([400, expect.stringContaining('does not accept direct uploads')]);
});

test('files in S3 are uploaded through the app, too', async () => {
  const body = randomBytes(5000);
  const { status } = await send(`${url}/api/files/uploads?field=page.image`, Buffer.concat([PNG, body]), {
    token: ada.token,
  });
  expect(status).toBe(201);
});
