import type { ByteReader } from '../byte-reader.ts';
import { ImageError, type ImageHeader } from '../image.ts';

/** Boxes before the one with the properties, and boxes in it. */
const MAX_BOXES = 1000;
/** Maximum size of the box with the properties. */
const MAX_META_BYTES = 1024 * 1024;

/** The orientation of Exif for a rotation in steps of 90 degrees, anticlockwise. */
const ROTATIONS = [1, 8, 3, 6] as const;

const malformed = () => new ImageError('malformed', 'The image is malformed');

interface Box {
  type: string;
  content: Buffer;
}

/** Splits bytes into boxes. */
function readBoxes(bytes: Buffer): Box[] {
  const boxes: Box[] = [];
  for (let at = 0; at + 8 <= bytes.length && boxes.length < MAX_BOXES; ) {
    const size = bytes.readUInt32BE(at);
    const end = size === 0 ? bytes.length : at + size;
    if (end < at + 8 || end > bytes.length) throw malformed();
    boxes.push({ type: bytes.toString('latin1', at + 4, at + 8), content: bytes.subarray(at + 8, end) });
    at = end;
  }
  return boxes;
}

const findContent = (boxes: readonly Box[], type: string) => boxes.find((box) => box.type === type)?.content;

function formatOf(brands: Buffer): 'avif' | 'heic' {
  const text = brands.toString('latin1');
  if (/avi[fs]/.test(text)) return 'avif';
  if (/hei[cxms]|hev[cx]|mif1/.test(text)) return 'heic';
  throw new ImageError('unsupported', 'The image must be a PNG, JPEG, GIF, WebP, AVIF or HEIC file');
}

/**
 * Reads the properties of an AVIF or HEIC file (ISO/IEC 23008-12). A file contains several images, such as tiles and thumbnails; the
 * largest size is the one of the whole image.
 */
export async function readHeif(reader: ByteReader): Promise<ImageHeader> {
  let format: 'avif' | 'heic' | undefined;
  for (let count = 0; count < MAX_BOXES; count++) {
    const header = await reader.read(8);
    const type = header.toString('latin1', 4, 8);
    let length = header.readUInt32BE(0) - 8;
    if (length === 1 - 8) length = Number((await reader.read(8)).readBigUInt64BE(0)) - 16;
    if (length < 0 || !Number.isSafeInteger(length)) throw malformed();
    if (type === 'ftyp') format = formatOf(await reader.read(Math.min(length, 4096)));
    if (type === 'ftyp' && length > 4096) throw malformed();
    if (type !== 'meta') {
      if (type !== 'ftyp') await reader.skip(length);
      continue;
    }
    if (length > MAX_META_BYTES || length < 4 || format === undefined) throw malformed();
    // The first four bytes are version and flags.
    const meta = readBoxes((await reader.read(length)).subarray(4));
    const properties = readBoxes(
      findContent(readBoxes(findContent(meta, 'iprp') ?? Buffer.alloc(0)), 'ipco') ?? Buffer.alloc(0),
    );
    const sizes = properties
      .filter((box) => box.type === 'ispe' && box.content.length >= 12)
      .map(({ content }) => ({ width: content.readUInt32BE(4), height: content.readUInt32BE(8) }));
    if (sizes.length === 0) throw malformed();
    const size = sizes.reduce((largest, next) =>
      next.width * next.height > largest.width * largest.height ? next : largest,
    );
    const rotation = findContent(properties, 'irot')?.[0] ?? 0;
    return { format, ...size, orientation: ROTATIONS[(rotation & 3) as 0 | 1 | 2 | 3], frames: 1 };
  }
  throw malformed();
}
