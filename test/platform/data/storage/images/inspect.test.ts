import fc from 'fast-check';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { inspectImage } from '../../../../../src/platform/data/storage/images/inspect.ts';
import { gifOf, heifOf, jpegOf, pngChunk, pngOf, profileBomb, webpOf } from './hostile.ts';

const limits = { maxPixels: 40_000_000, maxBytes: 20_000_000 };

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

const picture = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: '#1e90ff' } });

const FILES: [string, () => Promise<Buffer>, object][] = [
  ['png', () => picture(31, 17).png().toBuffer(), { width: 31, height: 17, orientation: 1, frames: 1 }],
  ['jpeg', () => picture(31, 17).jpeg().toBuffer(), { width: 31, height: 17, orientation: 1 }],
  ['jpeg', () => picture(31, 17).jpeg({ progressive: true }).toBuffer(), { width: 31, height: 17 }],
  [
    'jpeg',
    () => picture(31, 17).withMetadata({ orientation: 6 }).jpeg().toBuffer(),
    { width: 17, height: 31, orientation: 6 },
  ],
  [
    'jpeg',
    () => picture(31, 17).withMetadata({ orientation: 3 }).jpeg().toBuffer(),
    { width: 31, height: 17, orientation: 3 },
  ],
  [
    'png',
    () => picture(31, 17).withMetadata({ orientation: 8 }).png().toBuffer(),
    { width: 17, height: 31, orientation: 8 },
  ],
  ['webp', () => picture(31, 17).webp().toBuffer(), { width: 31, height: 17, frames: 1 }],
  ['webp', () => picture(31, 17).webp({ lossless: true }).toBuffer(), { width: 31, height: 17 }],
  [
    'webp',
    () => picture(31, 17).withMetadata({ orientation: 6 }).webp().toBuffer(),
    { width: 17, height: 31, orientation: 6 },
  ],
  ['avif', () => picture(64, 48).avif({ effort: 0 }).toBuffer(), { width: 64, height: 48, orientation: 1 }],
  ['gif', () => picture(31, 17).gif().toBuffer(), { width: 31, height: 17, frames: 1 }],
  ['gif', async () => gifOf(5, 6, 3), { width: 5, height: 6, frames: 3 }],
  ['webp', async () => webpOf(70, 60, 4), { width: 70, height: 60, frames: 4 }],
  [
    'heic',
    async () =>
      heifOf(
        'heic',
        [
          [512, 512],
          [4032, 3024],
          [320, 240],
        ],
        3,
      ),
    { width: 3024, height: 4032, orientation: 6 },
  ],
  ['avif', async () => heifOf('avif', [[100, 50]]), { width: 100, height: 50, orientation: 1 }],
];

test.each(FILES)('the size of a %s file is read, however it is divided', async (format, create, expected) => {
  const bytes = await create();
  expect(await inspectImage(bytes, limits)).toMatchObject({ format, ...expected });
  for (const size of [1, 7, 65_536]) {
    expect(await inspectImage(inPieces(bytes, size), limits)).toMatchObject({ format, ...expected });
  }
});

describe('an image that is made to exhaust a decoder is refused', () => {
  test.each<[string, Buffer, string]>([
    [
      'a PNG of 50,000 × 50,000',
      pngOf(50_000, 50_000),
      'The image must have at most 40000000 pixels; it has 50000 × 50000',
    ],
    ['a PNG with the largest size', pngOf(2 ** 32 - 1, 2 ** 32 - 1), 'pixels'],
    ['a JPEG of 65,535 × 65,535', jpegOf(65_535, 65_535), 'pixels'],
    ['a GIF of 65,535 × 65,535', gifOf(65_535, 65_535, 1), 'pixels'],
    ['a WebP of 16,384 × 16,384', webpOf(16_384, 16_384, 1), 'pixels'],
    [
      'a HEIC of 100,000 × 100,000',
      heifOf('heic', [
        [10, 10],
        [100_000, 100_000],
      ]),
      'pixels',
    ],
    ['a GIF with 100,000 frames', gifOf(1, 1, 100_000), 'at most 1800 frames'],
    ['a WebP with 100,000 frames', webpOf(1, 1, 100_000), 'at most 1800 frames'],
    [
      'an animated PNG with 2 billion frames',
      pngOf(1, 1, [pngChunk('acTL', Buffer.from('7fffffff00000000', 'hex'))]),
      'frames',
    ],
    ['a PNG whose profile has 100 MB', pngOf(1, 1, [profileBomb(100_000_000)]), 'colour profile'],
    [
      'a PNG with 100 compressed texts',
      pngOf(
        1,
        1,
        Array.from({ length: 100 }, () => pngChunk('zTXt', Buffer.alloc(9))),
      ),
      'metadata',
    ],
    ['a PNG with a text of 1 MB', pngOf(1, 1, [pngChunk('iTXt', Buffer.alloc(1_000_000))]), 'metadata'],
  ])('%s', async (_, bytes, message) => {
    expect(bytes.length).toBeLessThan(3_000_000);
    const refused = { name: 'ImageError', reason: 'too_large', message: expect.stringContaining(message) };
    await expect(inspectImage(bytes, limits)).rejects.toMatchObject(refused);
  });

  test.each<[string, Buffer]>([
    [
      'a PNG with 5000 chunks',
      pngOf(
        1,
        1,
        Array.from({ length: 5000 }, () => pngChunk('tEXt')),
      ),
    ],
    [
      'a JPEG with 5000 segments',
      jpegOf(
        1,
        1,
        Array.from({ length: 5000 }, () => Buffer.from([0xff, 0xe2, 0, 2])),
      ),
    ],
    ['a JPEG that only has fill bytes', Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.alloc(100_000, 0xff)])],
    ['a PNG without pixels', pngOf(0, 10)],
    ['a PNG without a header', Buffer.concat([pngOf(1, 1).subarray(0, 8), pngChunk('IEND'), Buffer.alloc(99)])],
    ['a PNG that ends in a chunk', pngOf(10, 10).subarray(0, 40)],
    ['a GIF without a frame', gifOf(10, 10, 0)],
    ['a WebP without pixels', webpOf(10, 10, 0)],
    ['a HEIC without a size', heifOf('heic', [])],
    ['a HEIC with boxes without length', Buffer.concat([heifOf('heic', []).subarray(0, 20), Buffer.alloc(100_000)])],
  ])('%s is malformed', async (_, bytes) => {
    await expect(inspectImage(bytes, limits)).rejects.toMatchObject({ name: 'ImageError', reason: 'malformed' });
  });

  test('a frame that reaches beyond the screen of a GIF counts', async () => {
    const bytes = gifOf(1, 1, 1);
    bytes.writeUInt16LE(50_000, 18);
    bytes.writeUInt16LE(50_000, 20);
    await expect(inspectImage(bytes, limits)).rejects.toMatchObject({ reason: 'too_large' });
  });

  test('a file with more bytes than allowed, also if its length is not known before', async () => {
    const bytes = gifOf(1, 1, 1000);
    const tooLarge = { name: 'ImageError', reason: 'too_large' };
    const small = { ...limits, maxBytes: 5000 };
    await expect(inspectImage(bytes, small)).rejects.toMatchObject(tooLarge);
    await expect(inspectImage(inPieces(bytes, 100), small)).rejects.toMatchObject(tooLarge);
  });
});

test.each([
  ['SVG', '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>'],
  ['PDF', '%PDF-1.7 and more'],
  ['BMP', 'BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0'],
  ['MP4', '\0\0\0\x18ftypisom\0\0\0\0isomavc1'],
  ['text', 'hello'],
  ['nothing', ''],
])('%s is no image', async (_, text) => {
  const attempt = inspectImage(Buffer.from(text, 'latin1'), limits);
  await expect(attempt).rejects.toMatchObject({ name: 'ImageError' });
});

test('any bytes after a valid start are either read or refused with an error of the image', async () => {
  const starts = [pngOf(9, 9), jpegOf(9, 9), gifOf(9, 9, 2), webpOf(9, 9, 2), heifOf('heic', [[9, 9]], 1)];
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...starts),
      fc.array(fc.tuple(fc.nat({ max: 400 }), fc.nat({ max: 255 })), { maxLength: 6 }),
      fc.nat({ max: 300 }),
      async (start, changes, cut) => {
        const bytes = Buffer.from(start);
        for (const [position, value] of changes) bytes[position % bytes.length] = value;
        const source = inPieces(bytes.subarray(0, bytes.length - (cut % 20)), 50);
        const outcome = await inspectImage(source, limits).catch((error: Error) => error);
        if (outcome instanceof Error) expect(outcome.name).toBe('ImageError');
        else {
          expect(outcome.width * outcome.height).toBeGreaterThan(0);
          expect(outcome.width * outcome.height).toBeLessThanOrEqual(limits.maxPixels);
        }
      },
    ),
    { numRuns: 1500 },
  );
});

test('an error of the source stays the same', async () => {
  const error = new Error('the disk is gone');
  async function* source() {
    yield pngOf(9, 9).subarray(0, 20);
    throw error;
  }
  await expect(inspectImage(source(), limits)).rejects.toBe(error);
});
