import { inflateSync } from 'node:zlib';
import type { ByteReader } from '../byte-reader.ts';
import { ImageError, type ImageHeader } from '../image.ts';
import { readExifOrientation } from './exif.ts';

/** Maximum number of chunks before the pixels. */
const MAX_CHUNKS = 1000;
/** Maximum size of a colour profile after decompression. Real ones have less than 1 MiB. */
const MAX_PROFILE_BYTES = 4 * 1024 * 1024;
/** Maximum number of chunks that may be compressed: a decoder reserves up to 8 MiB for each. */
const MAX_COMPRESSED_CHUNKS = 20;
/** Maximum size of a compressed chunk that is read. */
const MAX_CHUNK_BYTES = 512 * 1024;

/** Refuses compressed metadata that would fill the memory: a name that ends with a zero byte, the method, and the compressed data. */
function checkProfile(chunk: Buffer): void {
  try {
    inflateSync(chunk.subarray(chunk.indexOf(0) + 2), { maxOutputLength: MAX_PROFILE_BYTES });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') return;
    throw new ImageError('too_large', 'The colour profile of the image is too large');
  }
}

/** Reads the header of a PNG file: https://www.w3.org/TR/png-3/#11Chunks */
export async function readPng(reader: ByteReader): Promise<ImageHeader> {
  await reader.skip(8);
  const header = await reader.read(8 + 13 + 4);
  if (header.readUInt32BE(0) !== 13 || header.toString('latin1', 4, 8) !== 'IHDR') {
    throw new ImageError('malformed', 'The PNG file has no header');
  }
  const size = { width: header.readUInt32BE(8), height: header.readUInt32BE(12) };
  let orientation = 1;
  let frames = 1;
  let compressed = 0;
  for (let count = 0; count < MAX_CHUNKS; count++) {
    const chunk = await reader.read(8);
    const length = chunk.readUInt32BE(0);
    const type = chunk.toString('latin1', 4, 8);
    if (type === 'IDAT') return { format: 'png', ...size, orientation, frames };
    if (type === 'IEND') throw new ImageError('malformed', 'The PNG file has no pixels');
    if (['iCCP', 'zTXt', 'iTXt', 'eXIf', 'acTL'].includes(type)) {
      if (length > MAX_CHUNK_BYTES) throw new ImageError('too_large', 'The metadata of the image is too large');
      if (['iCCP', 'zTXt', 'iTXt'].includes(type) && ++compressed > MAX_COMPRESSED_CHUNKS) {
        throw new ImageError('too_large', 'The metadata of the image is too large');
      }
      const data = await reader.read(length);
      if (type === 'iCCP' || type === 'zTXt') checkProfile(data);
      if (type === 'eXIf') orientation = readExifOrientation(data);
      if (type === 'acTL' && length >= 4) frames = data.readUInt32BE(0);
    } else {
      await reader.skip(length);
    }
    await reader.skip(4);
  }
  throw new ImageError('malformed', 'The PNG file has too many chunks');
}
