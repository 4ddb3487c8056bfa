import type { ByteReader } from '../byte-reader.ts';
import { ImageError, type ImageHeader } from '../image.ts';
import { readExifOrientation } from './exif.ts';

/** Maximum number of chunks that are neither frames nor pixels. */
const MAX_CHUNKS = 1000;
const MAX_EXIF_BYTES = 512 * 1024;
const ANIMATION_FLAG = 0x02;

type Size = Pick<ImageHeader, 'width' | 'height'>;

/** The size in the header of a lossy image: a key frame of VP8 (RFC 6386, 9.1). */
function readLossySize(header: Buffer): Size {
  if (header.readUIntBE(3, 3) !== 0x9d_01_2a) throw new ImageError('malformed', 'The WebP file is malformed');
  return { width: header.readUInt16LE(6) & 0x3f_ff, height: header.readUInt16LE(8) & 0x3f_ff };
}

/** The size in the header of a lossless image: a signature, then 14 bits for width and height each (RFC 9649, 3.4). */
function readLosslessSize(header: Buffer): Size {
  if (header[0] !== 0x2f) throw new ImageError('malformed', 'The WebP file is malformed');
  const bits = header.readUInt32LE(1);
  return { width: (bits & 0x3f_ff) + 1, height: ((bits >>> 14) & 0x3f_ff) + 1 };
}

/** Reads the chunks of a WebP file and counts its frames: https://www.rfc-editor.org/rfc/rfc9649 */
export async function readWebp(reader: ByteReader, maxFrames: number): Promise<ImageHeader> {
  await reader.skip(12);
  let canvas: Size | undefined;
  let image: Size | undefined;
  let isAnimated = false;
  let orientation = 1;
  let frames = 0;
  let others = 0;
  while (frames <= maxFrames && !(await reader.isAtEnd())) {
    const chunk = await reader.read(8);
    const type = chunk.toString('latin1', 0, 4);
    // Chunks are padded to an even length.
    const length = chunk.readUInt32LE(4);
    const padded = length + (length & 1);
    const startBytes = Math.min(padded, 10);
    if (type === 'EXIF' && length <= MAX_EXIF_BYTES) {
      const exif = await reader.read(length);
      orientation = readExifOrientation(exif.toString('latin1', 0, 6) === 'Exif\0\0' ? exif.subarray(6) : exif);
      if (length & 1 && !(await reader.isAtEnd())) await reader.skip(1);
    } else if (['VP8X', 'VP8 ', 'VP8L'].includes(type)) {
      if (length < (type === 'VP8L' ? 5 : 10)) throw new ImageError('malformed', 'The WebP file is malformed');
      const start = await reader.read(startBytes);
      if (type === 'VP8X') {
        isAnimated = (start[0]! & ANIMATION_FLAG) !== 0;
        canvas ??= { width: start.readUIntLE(4, 3) + 1, height: start.readUIntLE(7, 3) + 1 };
      } else image ??= type === 'VP8 ' ? readLossySize(start) : readLosslessSize(start);
      // A simple image has no further chunks that matter.
      if (canvas === undefined) break;
      await reader.skip(padded - startBytes);
    } else {
      if (type === 'ANMF') frames += 1;
      else if (++others > MAX_CHUNKS) throw new ImageError('malformed', 'The WebP file has too many chunks');
      await reader.skip(padded);
    }
  }
  const size = {
    width: Math.max(canvas?.width ?? 0, image?.width ?? 0),
    height: Math.max(canvas?.height ?? 0, image?.height ?? 0),
  };
  if (isAnimated ? frames === 0 : image === undefined) throw new ImageError('malformed', 'The WebP file has no pixels');
  return { format: 'webp', ...size, orientation, frames: Math.max(frames, 1) };
}
