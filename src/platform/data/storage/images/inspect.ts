import { type ByteReader, createByteReader } from './byte-reader.ts';
import { readGif } from './formats/gif.ts';
import { readHeif } from './formats/heif.ts';
import { readJpeg } from './formats/jpeg.ts';
import { readPng } from './formats/png.ts';
import { readWebp } from './formats/webp.ts';
import { ImageError, type ImageHeader } from './image.ts';

/** The limits of `inspectImage`. */
export interface ImageLimits {
  /** Maximum of width × height. */
  maxPixels: number;
  /** Maximum length of the file. */
  maxBytes: number;
}

/** Maximum number of frames: one minute with 30 frames per second. Decoders prepare every frame, however small it is. */
const MAX_FRAMES = 1800;

/** Recognizes the format by its signature. SVG is not an image here: it is a program that draws one. */
async function readHeader(reader: ByteReader): Promise<ImageHeader> {
  const start = (await reader.isAtEnd()) ? '' : (await reader.peek(12)).toString('latin1');
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return readPng(reader);
  if (start.startsWith('\xff\xd8\xff')) return readJpeg(reader);
  if (/^GIF8[79]a/.test(start)) return readGif(reader, MAX_FRAMES);
  if (/^RIFF.{4}WEBP/s.test(start)) return readWebp(reader, MAX_FRAMES);
  if (start.startsWith('ftyp', 4)) return readHeif(reader);
  throw new ImageError('unsupported', 'The image must be a PNG, JPEG, GIF, WebP, AVIF or HEIC file');
}

/**
 * Reads the size of an image from its header, without decoding it, and refuses images that are made to exhaust a decoder. Reads no further
 * than needed, which is the whole file for animations.
 *
 * @returns width and height as they are displayed, after the orientation is applied
 * @throws ImageError
 */
export async function inspectImage(
  source: AsyncIterable<Uint8Array> | Uint8Array,
  { maxPixels, maxBytes }: ImageLimits,
): Promise<ImageHeader> {
  if (source instanceof Uint8Array && source.length > maxBytes) {
    throw new ImageError('too_large', `The image must have at most ${maxBytes} bytes`);
  }
  const { width, height, ...rest } = await readHeader(createByteReader(source, maxBytes));
  if (width === 0 || height === 0) throw new ImageError('malformed', 'The image has no pixels');
  if (width * height > maxPixels) {
    const text = `The image must have at most ${maxPixels} pixels; it has ${width} × ${height}`;
    throw new ImageError('too_large', text);
  }
  if (rest.frames > MAX_FRAMES) throw new ImageError('too_large', `The image must have at most ${MAX_FRAMES} frames`);
  return rest.orientation >= 5 ? { ...rest, width: height, height: width } : { ...rest, width, height };
}
