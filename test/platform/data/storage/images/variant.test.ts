import { buffer } from 'node:stream/consumers';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import {
  createVariant,
  type ImageVariantInput,
  variantSchema,
} from '../../../../../src/platform/data/storage/images/variant.ts';
import { gifOf, heifOf, jpegOf, pngOf, profileBomb } from './hostile.ts';

const limits = { maxPixels: 4_000_000, maxBytes: 5_000_000 };

async function* sourceOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += 10_000) yield bytes.subarray(start, start + 10_000);
}

async function vary(bytes: Buffer, variant: ImageVariantInput) {
  const { stream, ...rest } = await createVariant(sourceOf(bytes), variantSchema.parse(variant), limits);
  const encoded = await buffer(stream);
  expect(encoded.length).toBe(rest.bytes);
  const metadata = await sharp(encoded).metadata();
  expect([metadata.width, metadata.height]).toEqual([rest.width, rest.height]);
  return { ...rest, encoded, metadata };
}

/** Half red, half blue: 400 × 200. */
const twoColours = sharp({ create: { width: 400, height: 200, channels: 3, background: '#ff0000' } }).composite([
  { input: { create: { width: 200, height: 200, channels: 3, background: '#0000ff' } }, left: 200, top: 0 },
]);
const jpeg = await twoColours.clone().jpeg().toBuffer();

test.each<[ImageVariantInput, [number, number]]>([
  [{ width: 100, height: 100, fit: 'cover' }, [100, 100]],
  [{ width: 100, height: 100, fit: 'contain' }, [100, 100]],
  [{ width: 100, height: 100 }, [100, 50]],
  [{ width: 100 }, [100, 50]],
  [{ height: 100 }, [200, 100]],
  [{ width: 1000 }, [400, 200]],
])('a variant %j has the size %j', async (variant, size) => {
  const { width, height, type } = await vary(jpeg, variant);
  expect([width, height]).toEqual(size);
  expect(type).toBe('image/webp');
});

test.each(['webp', 'jpeg', 'png', 'avif'] as const)('a variant is encoded as %s', async (format) => {
  const { type, metadata } = await vary(jpeg, { width: 64, format });
  expect(type).toBe(`image/${format}`);
  expect(metadata.format).toBe(format === 'avif' ? 'heif' : format);
});

test('a variant is upright and has no metadata, such as the place where the image was taken', async () => {
  const exif = { IFD0: { Copyright: 'secret-owner' }, IFD3: { GPSLatitude: '47/1 22/1 0/1', GPSLatitudeRef: 'N' } };
  const source = await twoColours.clone().jpeg().withExif(exif).withMetadata({ orientation: 6 }).toBuffer();
  const withGps = await twoColours.clone().jpeg().withExif(exif).toBuffer();
  expect(withGps.includes('secret-owner')).toBe(true);
  const upright = await vary(source, { width: 100, format: 'png' });
  expect([upright.width, upright.height]).toEqual([100, 200]);
  // The left half of the stored image is the upper half of the upright one.
  const { data } = await sharp(upright.encoded).raw().toBuffer({ resolveWithObject: true });
  expect(data[0]).toBeGreaterThan(200);
  for (const format of ['jpeg', 'webp', 'png', 'avif'] as const) {
    const { metadata, encoded } = await vary(withGps, { width: 50, format });
    expect([metadata.exif, metadata.xmp, metadata.iptc, metadata.orientation ?? 1]).toEqual([
      ...[undefined, undefined, undefined],
      1,
    ]);
    expect(encoded.includes('secret-owner')).toBe(false);
  }
});

test('the variant of an animation is its first frame', async () => {
  const frames = [0, 1, 2].map(() => sharp({ create: { width: 20, height: 10, channels: 3, background: '#00ff00' } }));
  const inputs = await Promise.all(frames.map((frame) => frame.png().toBuffer()));
  const animation = await sharp(inputs, { join: { animated: true } })
    .gif()
    .toBuffer();
  const { metadata } = await vary(animation, { width: 10, format: 'webp' });
  expect([metadata.pages ?? 1, metadata.width, metadata.height]).toEqual([1, 10, 5]);
});

test('a transparent image gets a white background as JPEG', async () => {
  const clear = sharp({ create: { width: 20, height: 20, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 0 } } });
  const { encoded } = await vary(await clear.png().toBuffer(), { width: 10, format: 'jpeg' });
  expect([...(await sharp(encoded).raw().toBuffer()).subarray(0, 3)]).toEqual([255, 255, 255]);
});

describe('a hostile image is refused before it is decoded, or by the decoder', () => {
  test.each<[string, Buffer, string]>([
    ['too many pixels', pngOf(50_000, 50_000), 'too_large'],
    ['too many frames', gifOf(1, 1, 100_000), 'too_large'],
    ['a profile that is a bomb', pngOf(1, 1, [profileBomb(100_000_000)]), 'too_large'],
    ['too many bytes', Buffer.concat([jpeg, Buffer.alloc(limits.maxBytes)]), 'too_large'],
    ['a header without pixels', jpegOf(100, 100), 'malformed'],
    ['pixels that end early', jpeg.subarray(0, jpeg.length >> 1), 'malformed'],
    ['a size that the pixels do not have', pngOf(1000, 1000), 'malformed'],
    ['HEIC without a decoder', heifOf('heic', [[10, 10]]), 'unsupported'],
    ['SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'), 'unsupported'],
    ['SVG after a comment', Buffer.from('<!-- GIF89a --><svg xmlns="http://www.w3.org/2000/svg"/>'), 'unsupported'],
    ['PDF', Buffer.from('%PDF-1.7\n1 0 obj'), 'unsupported'],
    ['nothing', Buffer.alloc(0), 'unsupported'],
  ])('%s', async (_, bytes, reason) => {
    await expect(vary(bytes, { width: 10 })).rejects.toMatchObject({ name: 'ImageError', reason });
  });

  test('an error of the source stays the same', async () => {
    const error = new Error('the storage is gone');
    async function* source() {
      yield jpeg.subarray(0, 100);
      throw error;
    }
    await expect(createVariant(source(), variantSchema.parse({ width: 1 }), limits)).rejects.toBe(error);
  });
});

test('images beyond the queue are refused instead of filling the memory', async () => {
  let sources = 0;
  let highest = 0;
  const release = Promise.withResolvers<void>();
  async function* waiting() {
    sources += 1;
    highest = Math.max(highest, sources);
    await release.promise;
    sources -= 1;
    yield jpeg;
  }
  const variant = variantSchema.parse({ width: 8 });
  const running = Array.from({ length: 110 }, () => createVariant(waiting(), variant, limits));
  const outcomes = Promise.allSettled(running);
  await expect(running.at(-1)).rejects.toMatchObject({ name: 'ImageError', reason: 'busy' });
  release.resolve();
  const fulfilled = (await outcomes).filter(({ status }) => status === 'fulfilled');
  expect(fulfilled).toHaveLength(102);
  expect(highest).toBe(2);
});

test.each<[object, string]>([
  [{}, 'needs a width or a height'],
  [{ width: 0 }, 'must be at least 1'],
  [{ width: 5000 }, 'must be at most 4096'],
  [{ width: 1.5 }, 'must be a whole number of pixels'],
  [{ width: 10, fit: 'cover' }, 'needs a width and a height, unless fit is inside'],
  [{ width: 10, fit: 'fill' }, 'must be cover, contain or inside'],
  [{ width: 10, format: 'gif' }, 'must be webp, jpeg, png or avif'],
  [{ width: 10, quality: 101 }, 'must be at most 100'],
])('the declaration %j is refused', (variant, message) => {
  expect(variantSchema.safeParse(variant).error?.issues.map((issue) => issue.message)).toContain(message);
});

test('an unknown option of a declaration is refused', () => {
  expect(variantSchema.safeParse({ width: 10, heigth: 10 }).success).toBe(false);
});
