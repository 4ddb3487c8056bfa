import { Readable } from 'node:stream';
import type sharpFactory from 'sharp';
import type { Sharp } from 'sharp';
import { z } from 'zod';
import { createSemaphore, isSemaphoreFull } from '../../../helpers/concurrency/semaphore.ts';
import { ImageError, type ImageFormat } from './image.ts';
import { type ImageLimits, inspectImage } from './inspect.ts';

/** Maximum width and height of a variant. */
const MAX_SIDE = 4096;
/** Images that are decoded at the same time per process. libvips uses all cores for one image. */
const CONCURRENT_VARIANTS = 2;
/** Images that may wait. */
const MAX_WAITING = 100;
/** Time limit for decoding, resizing and encoding one image. */
const TIMEOUT_SECONDS = 20;

const side = z
  .number({ error: 'must be a number of pixels' })
  .int({ error: 'must be a whole number of pixels' })
  .min(1, { error: 'must be at least 1' })
  .max(MAX_SIDE, { error: `must be at most ${MAX_SIDE}` });

/** A smaller version of an image, as a field declares it. */
export const variantSchema = z
  .strictObject({
    width: side.optional(),
    height: side.optional(),
    /** `cover`: fill the area and crop; `contain`: fit into the area and fill the rest; `inside`: fit into the area. Images are never enlarged with `inside`. */
    fit: z.enum(['cover', 'contain', 'inside'], { error: 'must be cover, contain or inside' }).default('inside'),
    format: z.enum(['webp', 'jpeg', 'png', 'avif'], { error: 'must be webp, jpeg, png or avif' }).default('webp'),
    /** 1 to 100. It has no effect on `png`. */
    quality: z
      .number({ error: 'must be a number from 1 to 100' })
      .int({ error: 'must be a whole number' })
      .min(1, { error: 'must be at least 1' })
      .max(100, { error: 'must be at most 100' })
      .default(80),
  })
  .refine(({ width, height }) => width !== undefined || height !== undefined, { error: 'needs a width or a height' })
  .refine(({ width, height, fit }) => fit === 'inside' || (width !== undefined && height !== undefined), {
    error: 'needs a width and a height, unless fit is inside',
  });

/** A variant with all defaults filled in. */
type ImageVariant = z.output<typeof variantSchema>;

/** A variant as a project writes it. */
export type ImageVariantInput = z.input<typeof variantSchema>;

/** An encoded variant. */
interface EncodedVariant {
  stream: Readable;
  /** The content type. */
  type: string;
  /** The length of `stream`. */
  bytes: number;
  width: number;
  height: number;
}

const semaphore = createSemaphore(CONCURRENT_VARIANTS, { maxQueue: MAX_WAITING });

async function readAll(source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new ImageError('too_large', `The image must have at most ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}

function encode(image: Sharp, { format, quality }: ImageVariant): Sharp {
  switch (format) {
    case 'webp':
      return image.webp({ quality });
    case 'jpeg':
      return image.flatten({ background: '#ffffff' }).jpeg({ quality, mozjpeg: true });
    case 'avif':
      return image.avif({ quality, effort: 2 });
    case 'png':
      return image.png();
  }
}

async function decodeAndResize(
  sharp: typeof sharpFactory,
  bytes: Buffer,
  format: ImageFormat,
  variant: ImageVariant,
  { maxPixels }: ImageLimits,
): Promise<EncodedVariant> {
  // The defaults read the first frame only, and write no metadata.
  const image = sharp(bytes, { limitInputPixels: maxPixels, failOn: 'error', sequentialRead: true });
  const { format: decoder } = await image.metadata();
  // A decoder that expects other bytes, such as the one for SVG, must never run.
  if (decoder !== (format === 'avif' || format === 'heic' ? 'heif' : format)) {
    throw new ImageError('unsupported', 'The image cannot be decoded');
  }
  const { width, height, fit } = variant;
  const resized = image
    .timeout({ seconds: TIMEOUT_SECONDS })
    .autoOrient()
    .resize({
      ...(width !== undefined && { width }),
      ...(height !== undefined && { height }),
      fit,
      withoutEnlargement: fit === 'inside',
      background: { r: 255, g: 255, b: 255, alpha: 0 },
    });
  const { data, info } = await encode(resized, variant).toBuffer({ resolveWithObject: true });
  return {
    stream: Readable.from([data], { objectMode: false }),
    type: `image/${variant.format}`,
    bytes: data.length,
    width: info.width,
    height: info.height,
  };
}

/**
 * Creates a smaller version of an image: the first frame, upright, without metadata such as the place where it was taken. At most two images
 * are decoded at the same time. The package sharp must be installed.
 *
 * @throws ImageError if the image is refused, or if too many images are waiting (`busy`); the error of the source
 */
export async function createVariant(
  source: AsyncIterable<Uint8Array>,
  variant: ImageVariant,
  limits: ImageLimits,
): Promise<EncodedVariant> {
  try {
    return await semaphore.run(async () => {
      // Before anything is read: the image is not to blame for a package that cannot be loaded.
      const { default: sharp } = await import('sharp');
      const bytes = await readAll(source, limits.maxBytes);
      const { format } = await inspectImage(bytes, limits);
      try {
        return await decodeAndResize(sharp, bytes, format, variant, limits);
      } catch (error) {
        if (error instanceof ImageError) throw error;
        // The binaries of sharp have no decoder for HEIC, because its codec is patented.
        if (format === 'heic') throw new ImageError('unsupported', 'HEIC images cannot be resized', { cause: error });
        throw new ImageError('malformed', 'The image cannot be decoded', { cause: error });
      }
    });
  } catch (error) {
    if (!isSemaphoreFull(error)) throw error;
    throw new ImageError('busy', 'Too many images are being processed; try again later', { cause: error });
  }
}
