import { crc32, inflateSync } from 'node:zlib';
import type { PieceReader } from './stream.ts';
import { eraseExifPosition } from './tiff.ts';
import { eraseXmpPosition } from './xmp.ts';

/** Metadata that is longer is passed on as it is: it would have to be kept in memory. Exif has at most 64 KiB in most formats. */
export const MAX_METADATA_BYTES = 2 ** 20;
/** Bytes that the compressed metadata of one image may have in all. */
const MAX_INFLATED_BYTES = 8 * 2 ** 20;
const SCAN_BYTES = 64 * 1024;
const EXIF = 'Exif\0\0';
const XMP = ['http://ns.adobe.com/xap/1.0/\0', 'http://ns.adobe.com/xmp/extension/\0'];
const APP1 = Buffer.from([0xff, 0xe1]);
const LONGEST_START = 4 + Math.max(...XMP.map((start) => start.length));

/** Reports that a position was removed. */
export type Report = () => void;

/** Erases the position in Exif data, which may begin with the name of its segment. */
export function eraseExif(data: Buffer, report: Report): void {
  const start = data.toString('latin1', 0, EXIF.length) === EXIF ? EXIF.length : 0;
  if (eraseExifPosition(data.subarray(start))) report();
}

/**
 * JPEG: segments with Exif and XMP, wherever they are: photos can contain further images behind the first one. Within compressed pixels, the
 * bytes of such a segment cannot occur.
 */
export async function* cleanJpeg(reader: PieceReader, report: Report): AsyncGenerator<Uint8Array> {
  for (;;) {
    const block = await reader.peek(SCAN_BYTES);
    if (block.length === 0) return;
    const at = block.indexOf(APP1);
    const isEnd = block.length < SCAN_BYTES;
    // The last byte may be the first half of a marker.
    const before = at >= 0 ? at : isEnd ? block.length : block.length - 1;
    if (before > 0) {
      yield* reader.pass(before);
      continue;
    }
    const start = await reader.peek(LONGEST_START);
    const name = start.toString('latin1', 4);
    const isXmp = XMP.some((one) => name.startsWith(one));
    const segment = await reader.take(isXmp || name.startsWith(EXIF) ? 2 + start.readUInt16BE(2) : 2);
    if (isXmp && eraseXmpPosition(segment.subarray(4))) report();
    if (name.startsWith(EXIF)) eraseExif(segment.subarray(4), report);
    yield segment;
  }
}

/** Replaces the data of a chunk by a comment of spaces with the same length. */
function replaceByComment(data: Buffer): void {
  data.fill(0x20);
  data.write('Comment\0', 'latin1');
}

/** Whether compressed metadata of PNG has a position; true if it cannot be read within limits. */
function hasCompressedPosition(data: Buffer, start: number, budget: { inflated: number }): boolean {
  // Four bytes and two texts that end with a zero byte precede the compressed data.
  const language = data.indexOf(0, start + 2);
  const keyword = data.indexOf(0, language + 1);
  try {
    const text = inflateSync(data.subarray(keyword + 1), { maxOutputLength: MAX_METADATA_BYTES });
    budget.inflated += text.length;
    return budget.inflated > MAX_INFLATED_BYTES || eraseXmpPosition(text);
  } catch {
    return true;
  }
}

/** Cleans a chunk of PNG, in place. Returns whether anything changed. */
function cleanChunk(type: Buffer, data: Buffer, budget: { inflated: number }): boolean {
  const name = type.toString('latin1');
  if (name === 'eXIf') return eraseExifPosition(data);
  const keyword = data.toString('latin1', 0, Math.max(0, data.indexOf(0)));
  // Copies of the metadata as numbers in text, which old programs write: they would have to be packed again.
  const isRaw = /^raw profile type (?:exif|app1|xmp)$/i.test(keyword);
  const isXmp = name === 'iTXt' && keyword === 'XML:com.adobe.xmp';
  const isCompressed = isXmp && data[keyword.length + 1] === 1;
  if (isXmp && !isCompressed) return eraseXmpPosition(data.subarray(keyword.length));
  if ((!isRaw && !isCompressed) || data.length < 16) return false;
  if (isCompressed && !hasCompressedPosition(data, keyword.length + 1, budget)) return false;
  type.write('tEXt', 'latin1');
  replaceByComment(data);
  return true;
}

/** PNG: the chunks with Exif and XMP. */
export async function* cleanPng(reader: PieceReader, report: Report): AsyncGenerator<Uint8Array> {
  const budget = { inflated: 0 };
  yield* reader.pass(8);
  for (;;) {
    const head = await reader.take(8);
    const length = head.length === 8 ? head.readUInt32BE(0) : 0;
    const type = head.toString('latin1', 4);
    if (!['eXIf', 'iTXt', 'tEXt', 'zTXt'].includes(type) || length > MAX_METADATA_BYTES) {
      yield head;
      if (head.length < 8 || type === 'IEND') break;
      yield* reader.pass(length + 4);
      continue;
    }
    const chunk = Buffer.concat([head, await reader.take(length + 4)]);
    if (chunk.length === length + 12 && cleanChunk(chunk.subarray(4, 8), chunk.subarray(8, 8 + length), budget)) {
      chunk.writeUInt32BE(crc32(chunk.subarray(4, 8 + length)), 8 + length);
      report();
    }
    yield chunk;
  }
  yield* reader.pass();
}

/** WebP: the chunks with Exif and XMP. */
export async function* cleanWebp(reader: PieceReader, report: Report): AsyncGenerator<Uint8Array> {
  yield* reader.pass(12);
  for (;;) {
    const head = await reader.take(8);
    yield head;
    if (head.length < 8) return;
    const type = head.toString('latin1', 0, 4);
    const length = head.readUInt32LE(4);
    // Chunks are padded to an even length.
    const padded = length + (length & 1);
    if ((type !== 'EXIF' && type !== 'XMP ') || length > MAX_METADATA_BYTES) {
      yield* reader.pass(padded);
      continue;
    }
    const data = await reader.take(padded);
    if (type === 'EXIF') eraseExif(data, report);
    else if (eraseXmpPosition(data)) report();
    yield data;
  }
}
