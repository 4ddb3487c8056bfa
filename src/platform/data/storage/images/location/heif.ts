import { eraseExif, MAX_METADATA_BYTES, type Report } from './formats.ts';
import type { PieceReader } from './stream.ts';
import { eraseXmpPosition } from './xmp.ts';

const MAX_BOXES = 1000;

/** A piece of metadata in a file. */
interface Item {
  kind: 'Exif' | 'XMP';
  start: number;
  bytes: number;
}

interface Box {
  type: string;
  content: Buffer;
}

/** Splits bytes into boxes; what is malformed is left out. */
function readBoxes(bytes: Buffer): Box[] {
  const boxes: Box[] = [];
  for (let at = 0; at + 8 <= bytes.length && boxes.length < MAX_BOXES; ) {
    const size = bytes.readUInt32BE(at);
    if (size < 8 || at + size > bytes.length) break;
    boxes.push({ type: bytes.toString('latin1', at + 4, at + 8), content: bytes.subarray(at + 8, at + size) });
    at += size;
  }
  return boxes;
}

/** The kinds of the items with metadata, by their ids. */
function readKinds(iinf: Buffer): Map<number, Item['kind']> {
  const kinds = new Map<number, Item['kind']>();
  for (const { type, content } of readBoxes(iinf.subarray(iinf[0] === 0 ? 6 : 8))) {
    const isLong = content[0] === 3;
    if (type !== 'infe' || content[0]! < 2 || content.length < (isLong ? 14 : 12)) continue;
    const id = isLong ? content.readUInt32BE(4) : content.readUInt16BE(4);
    const at = isLong ? 10 : 8;
    const itemType = content.toString('latin1', at, at + 4);
    if (itemType === 'Exif') kinds.set(id, 'Exif');
    else if (itemType === 'mime' && content.includes('application/rdf+xml')) kinds.set(id, 'XMP');
  }
  return kinds;
}

/** Reads the positions of items from the box `iloc`: ISO/IEC 14496-12, 8.11.3. @throws RangeError if it is malformed */
function readItems(iloc: Buffer, kinds: ReadonlyMap<number, Item['kind']>): Item[] {
  const version = iloc[0]!;
  const sizes = {
    offset: iloc[4]! >> 4,
    length: iloc[4]! & 15,
    base: iloc[5]! >> 4,
    index: version > 0 ? iloc[5]! & 15 : 0,
  };
  let at = 6;
  const next = (bytes: number): number => {
    at += bytes;
    if (bytes === 8) return Number(iloc.readBigUInt64BE(at - 8));
    return bytes === 0 ? 0 : iloc.readUIntBE(at - bytes, bytes);
  };
  const idBytes = version < 2 ? 2 : 4;
  const items: Item[] = [];
  for (let left = Math.min(next(idBytes), MAX_BOXES); left > 0; left--) {
    const kind = kinds.get(next(idBytes));
    // Data at a position of the file, not inside another box.
    const isInFile = version === 0 || (next(2) & 15) === 0;
    next(2);
    const base = next(sizes.base);
    for (let extents = next(2); extents > 0; extents--) {
      next(sizes.index);
      const start = base + next(sizes.offset);
      const bytes = next(sizes.length);
      if (kind !== undefined && isInFile && bytes <= MAX_METADATA_BYTES) items.push({ kind, start, bytes });
    }
  }
  return items.sort((a, b) => a.start - b.start);
}

/** Returns the metadata items that a box `meta` lists. */
function findItems(meta: Buffer): Item[] {
  // The first four bytes are version and flags.
  const boxes = readBoxes(meta.subarray(4));
  const findContent = (wanted: string) => boxes.find(({ type }) => type === wanted)?.content;
  const [iinf, iloc] = [findContent('iinf'), findContent('iloc')];
  if (iinf === undefined || iloc === undefined) return [];
  try {
    return readItems(iloc, readKinds(iinf));
  } catch (error) {
    if (error instanceof RangeError) return [];
    throw error;
  }
}

/** Cleans an item of the kind Exif: the distance to the Exif data, then the data. */
function cleanExifItem(data: Buffer, report: Report): void {
  if (data.length < 4) return;
  const start = data.readUInt32BE(0) + 4;
  eraseExif(data.subarray(start <= data.length ? start : 4), report);
}

/** HEIC and AVIF: the items with Exif and XMP, whose positions are listed at the start of the file. */
export async function* cleanHeif(reader: PieceReader, report: Report): AsyncGenerator<Uint8Array> {
  let position = 0;
  let items: Item[] = [];
  for (let count = 0; count < MAX_BOXES; count++) {
    const head = await reader.peek(8);
    const size = head.length === 8 ? head.readUInt32BE(0) : 0;
    const type = head.toString('latin1', 4);
    if (type === 'mdat' || size < 8 || size > MAX_METADATA_BYTES) break;
    const box = await reader.take(size);
    position += box.length;
    if (type === 'meta') items = findItems(box.subarray(8));
    yield box;
    if (type === 'meta') break;
  }
  for (const { kind, start, bytes } of items) {
    if (start < position) continue;
    yield* reader.pass(start - position);
    const data = await reader.take(bytes);
    position = start + data.length;
    if (kind === 'Exif') cleanExifItem(data, report);
    else if (eraseXmpPosition(data)) report();
    yield data;
  }
  yield* reader.pass();
}
