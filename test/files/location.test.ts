import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { createApp, defineResource, defineUser, f } from '../../src/index.ts';
import { removeLocation } from '../../src/platform/data/storage/images/location/index.ts';
import { findAssembly } from '../../src/runtime/create-app.ts';
import { startTestApp } from '../support/app.ts';
import { createTestStorage, send } from './support.ts';

const { storage } = await createTestStorage();
const photo = defineResource('photo', {
  fields: {
    picture: f.file({ types: ['image/*'] }),
    exact: f.file({ keepLocation: true }),
    sized: f.file({ types: ['image/*'], image: {} }),
  },
  policies: { read: 'authenticated', create: 'authenticated' },
});
const { app, env, url, person } = await startTestApp({
  resources: [defineUser(), photo],
  settings: { files: { storage } },
});
const ada = await person('Ada');

const DATE = '1987:06:05';
const XMP = `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description
  xmlns:exif="http://ns.adobe.com/exif/1.0/" xmlns:drone-dji="http://www.dji.com/drone-dji/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"
  dc:title="kept" exif:GPSLatitude='52,31.2N' drone-dji:GpsLongitude="+13.4"><exif:GPSTimeStamp>${DATE}</exif:GPSTimeStamp><exif:GPSDestBearing
  /></rdf:Description></rdf:RDF></x:xmpmeta>`;
const PLACE = [DATE, '52,31.2N', '+13.4', 'GPSLatitude', 'GPSDestBearing'];

/** A photo with a position in Exif and XMP. */
function takePhoto(format: 'jpeg' | 'png' | 'webp' | 'avif'): Promise<Buffer> {
  return sharp({ create: { width: 40, height: 30, channels: 3, background: '#336699' } })
    .withExif({
      IFD0: { Make: 'Belfry camera' },
      IFD2: { LensModel: 'a lens' },
      IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '52/1 31/1 12/1', GPSDateStamp: DATE },
    })
    .withXmp(XMP)
    .toFormat(format)
    .toBuffer();
}

const pixelsOf = (bytes: Buffer) => sharp(bytes).raw().toBuffer();
const contains = (bytes: Buffer, text: string) => bytes.includes(text) || bytes.includes(Buffer.from(text, 'utf16le'));
/** The bytes in chunks of a size, as they could arrive. */
async function* inChunks(bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
const clean = async (bytes: Buffer, type: string, size = 1000) => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of removeLocation(inChunks(bytes, size), type)) chunks.push(chunk);
  return Buffer.concat(chunks);
};
async function readBack(link: string): Promise<Buffer> {
  return Buffer.from(await (await fetch(url + link)).arrayBuffer());
}

describe.each(['jpeg', 'png', 'webp', 'avif'] as const)('in a photo of the format %s, the position', (format) => {
  test('is removed, and everything else stays', async () => {
    const original = await takePhoto(format);
    expect(contains(original, DATE)).toBe(true);
    for (const size of [7, 1000, 1_000_000]) {
      const cleaned = await clean(original, `image/${format}`, size);
      expect(PLACE.filter((text) => contains(cleaned, text))).toEqual([]);
      expect(cleaned).toHaveLength(original.length);
      const [before, after] = [await sharp(original).metadata(), await sharp(cleaned).metadata()];
      expect(after).toMatchObject({ width: 40, height: 30 });
      expect(after.orientation).toBe(before.orientation);
      expect(['Belfry camera', 'a lens'].map((text) => contains(after.exif!, text))).toEqual([true, true]);
      // In a PNG, sharp compresses XMP, so that it can only be removed as a whole.
      if (format !== 'png') expect(after.xmp!.toString()).toContain('dc:title="kept"');
      expect(await pixelsOf(cleaned)).toEqual(await pixelsOf(original));
      expect(await clean(cleaned, `image/${format}`)).toEqual(cleaned);
    }
  });

  test('is unchanged if a photo has none, and if the field keeps it', async () => {
    const plain = await sharp({ create: { width: 40, height: 30, channels: 3, background: '#336699' } })
      .withExif({ IFD0: { Make: 'Belfry camera' } })
      .toFormat(format)
      .toBuffer();
    expect(await clean(plain, `image/${format}`)).toEqual(plain);
    const original = await takePhoto(format);
    const sent = await send(`${url}/api/files/uploads?field=photo.exact`, original, { token: ada.token });
    const { body } = await ada.call('POST', '/api/photos', { exact: sent.body.data.id });
    expect(await readBack(body.data.exact.url)).toEqual(original);
  });
});

test('a position in further images of a photo, in other metadata of a PNG and behind its pixels is removed', async () => {
  const jpeg = await takePhoto('jpeg');
  const several = Buffer.concat([jpeg, Buffer.alloc(70_000), jpeg]);
  expect(contains(await clean(several, 'image/jpeg'), DATE)).toBe(false);
  const png = await takePhoto('png');
  const { crc32, deflateSync } = await import('node:zlib');
  const chunk = (type: string, data: Buffer) => {
    const content = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(content));
    return Buffer.concat([length, content, sum]);
  };
  const xmp = chunk('iTXt', Buffer.concat([Buffer.from('XML:com.adobe.xmp\0\x01\0\0\0', 'latin1'), deflateSync(XMP)]));
  const raw = chunk('tEXt', Buffer.from(`Raw profile type exif\0 ${DATE}`, 'latin1'));
  const end = png.length - 12;
  const longer = Buffer.concat([png.subarray(0, end), xmp, raw, png.subarray(end)]);
  const cleaned = await clean(longer, 'image/png');
  expect([contains(cleaned, DATE), cleaned.includes(deflateSync(XMP))]).toEqual([false, false]);
  expect(await pixelsOf(cleaned)).toEqual(await pixelsOf(png));
});

describe('the position is removed', () => {
  const upload = async (field: string, bytes: Buffer) =>
    (await send(`${url}/api/files/uploads?field=photo.${field}`, bytes, { token: ada.token })).body.data.id;

  test('from an upload, whose size and SHA-256 are those of what is stored', async () => {
    const original = await takePhoto('jpeg');
    const { body } = await ada.call('POST', '/api/photos', { picture: await upload('picture', original) });
    const stored = await readBack(body.data.picture.url);
    expect([contains(stored, DATE), stored.length, body.data.picture.bytes]).toEqual([
      false,
      original.length,
      original.length,
    ]);
    const form = new FormData();
    form.append('picture', new Blob([original]), 'a.jpg');
    const sent = await send(`${url}/api/photos`, form as never, { token: ada.token, 'idempotency-key': 'photo' });
    const text = 'select sha256 from stored_files files where id = $1';
    const { id } = sent.body.data.picture;
    const rows = await findAssembly(app)!.platform.database.write({ text, values: [id] });
    expect(rows).toEqual([[createHash('sha256').update(stored).digest('hex')]]);
  });

  test('from an image whose size is read', async () => {
    const { body } = await ada.call('POST', '/api/photos', { sized: await upload('sized', await takePhoto('webp')) });
    expect(body.data.sized).toMatchObject({ width: 40, height: 30 });
    expect(contains(await readBack(body.data.sized.url), DATE)).toBe(false);
  });

  test('from a resumable upload', async () => {
    const original = await takePhoto('jpeg');
    const created = await send(`${url}/api/files/resumable?field=photo.picture`, original, {
      ...{ token: ada.token, 'tus-resumable': '1.0.0', 'upload-length': String(original.length) },
      'content-type': 'application/offset+octet-stream',
    });
    expect([created.status, created.headers.get('upload-offset')]).toEqual([201, String(original.length)]);
    const id = created.headers.get('location')!.split('/').at(-1)!;
    const { body } = await ada.call('POST', '/api/photos', { picture: id });
    const stored = await readBack(body.data.picture.url);
    expect([contains(stored, DATE), stored.length]).toEqual([false, original.length]);
    expect(await pixelsOf(stored)).toEqual(await pixelsOf(original));
  });

  test('from a file that code stores, unless it is for a field that keeps it', async () => {
    const original = await takePhoto('jpeg');
    const read = async (field?: string) => {
      const file = await app.files.store(inChunks(original, 500), { name: 'a.jpg', ...(field && { field }) });
      return contains(await buffer(await app.files.read(file)), DATE);
    };
    expect([await read(), await read('photo.picture'), await read('photo.exact')]).toEqual([false, false, true]);
  });
});

test('no bytes make it fail, change their number, or lose what is no metadata', async () => {
  const photos = await Promise.all((['jpeg', 'png', 'webp', 'avif'] as const).map(takePhoto));
  const types = ['image/jpeg', 'image/png', 'image/webp', 'image/avif'];
  const damage = fc.array(fc.tuple(fc.nat({ max: 2000 }), fc.nat({ max: 255 })), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 3 }), damage, fc.nat({ max: 3000 }), async (index, changes, length) => {
      const bytes = Buffer.from(photos[index]!);
      for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
      const given = bytes.subarray(0, Math.max(1, bytes.length - length));
      expect(await clean(given, types[index]!)).toHaveLength(given.length);
    }),
    { numRuns: 500 },
  );
});

test('a malformed keepLocation is a configuration error', () => {
  const page = () => defineResource('page', { fields: { a: f.file({ keepLocation: 'yes' as never }) } });
  expect(() => createApp({ resources: [defineUser(), page()] }, env)).toThrow('keepLocation must be true or false');
});
