import sharp from 'sharp';
import { expect, test } from 'vitest';
import { createApp, defineResource, defineUser, f } from '../../src/index.ts';
import { findAssembly } from '../../src/runtime/create-app.ts';
import { startTestApp } from '../support/app.ts';
import { createTestStorage, send } from './support.ts';

const { storage, listStored } = await createTestStorage();
const picture = defineResource('picture', {
  fields: {
    image: f.file({
      types: ['image/*'],
      image: { maxPixels: 1_000_000, variants: { thumb: { width: 20, height: 20, fit: 'cover' } } },
    }),
  },
  policies: { list: 'public', read: 'public', create: 'authenticated' },
});
const { app, url, person } = await startTestApp({
  resources: [defineUser(), picture],
  settings: { files: { storage } },
});
const ada = await person('Ada');
const create = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: '#336699' } })
    .png()
    .toBuffer();
const upload = (body: Buffer) => send(`${url}/api/files/uploads?field=picture.image`, body, { token: ada.token });
const sweep = findAssembly(app)!.parts.sweeps!.find(({ name }) => name === 'unused files')!;

test('an image has its size and a URL for each variant', async () => {
  const { body } = await upload(await create(200, 100));
  expect(body.data).toMatchObject({ type: 'image/png', width: 200, height: 100 });
  const created = await ada.call('POST', '/api/pictures', { image: body.data.id });
  const { image } = created.body.data;
  expect(image).toMatchObject({
    width: 200,
    height: 100,
    variants: { thumb: expect.stringContaining('variant=thumb') },
  });
  const thumb = await fetch(url + image.variants.thumb);
  expect(thumb.headers.get('content-type')).toBe('image/webp');
  const { width, height } = await sharp(Buffer.from(await thumb.arrayBuffer())).metadata();
  expect([width, height]).toEqual([20, 20]);
  const again = await ada.call('PATCH', `/api/pictures/${created.body.data.id}`, { image });
  expect(again.body.data?.image ?? created.body.data.image).toMatchObject({ width: 200 });
});

test('an image with too many pixels, and a file that is not an image, are refused', async () => {
  const large = await upload(await create(2000, 1000));
  expect([large.status, large.body.error.details.image]).toEqual([422, expect.stringContaining('pixels')]);
  const broken = await upload(Buffer.concat([(await create(10, 10)).subarray(0, 40)]));
  expect(broken.status).toBe(422);
  const drawing = await upload(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'));
  expect(drawing.status).toBe(422);
});

test('the variants of an image are removed with it', async () => {
  const { database } = findAssembly(app)!.platform;
  await database.write({
    text: `update stored_files files set state = 'unused', due_at = now() - interval '1 second'`,
    values: [],
  });
  await sweep.run();
  expect(await listStored()).toEqual([]);
});

test('a declaration with impossible rules is a configuration error that names the field and the rule', () => {
  const wrong = defineResource('wrong', {
    fields: {
      a: f.file({ maxBytes: 0 }),
      b: f.file({ types: ['PNG'] }),
      c: f.file({ image: { variants: { 'a-b': { width: 0 } } } }),
      d: f.file().unique(),
      e: f.object({ inner: f.file() }),
    },
  });
  const env = { NODE_ENV: 'test', DATABASE_URL: 'postgres://localhost/x', REDIS_URL: 'redis://localhost' };
  const error = (() => {
    try {
      return createApp({ resources: [wrong] }, env);
    } catch (thrown) {
      return thrown as Error & { errors: string[] };
    }
  })() as { errors: string[] };
  expect(error.errors.join('\n')).toContain('field "a": maxBytes must be a whole number');
  expect(error.errors.join('\n')).toContain('types includes "PNG"');
  expect(error.errors.join('\n')).toContain('image.variants includes "a-b"');
  expect(error.errors.join('\n')).toContain('image.variants.a-b.width must be at least 1');
  expect(error.errors.join('\n')).toContain('unique() does nothing on a file field');
  expect(error.errors.join('\n')).toContain('a file cannot be inside an object');
});

test('a resource cannot have the path of uploads', () => {
  const file = defineResource('file', { fields: { content: f.file() } });
  const env = { NODE_ENV: 'test', DATABASE_URL: 'postgres://localhost/x', REDIS_URL: 'redis://localhost' };
  expect(() => createApp({ resources: [file] }, env)).toThrow(/resource "file": the path \/files belongs to uploads/);
});

test('production needs an explicit storage for files', () => {
  const env = {
    NODE_ENV: 'production',
    APP_URL: 'https://api.example.com',
    SMTP_URL: 'smtp://localhost',
    MAIL_FROM: 'a@example.com',
    DATABASE_URL: 'postgres://localhost/x',
    REDIS_URL: 'redis://localhost',
    SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
  };
  expect(() => createApp({ resources: [defineUser(), picture] }, env)).toThrow(/picture\.image holds files/);
  createApp({ resources: [defineUser(), picture], settings: { files: { storage } } }, env);
});
