/** Pointers to other directories of TIFF: to that of the position, and to that of Exif. */
const GPS_POINTER = 0x88_25;
const EXIF_POINTER = 0x87_69;
const ENTRY_BYTES = 12;
/** The bytes of one value, by the number of its type. */
const VALUE_BYTES = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4];
/** Directories that are looked at. Real photos have up to four. */
const MAX_DIRECTORIES = 10;
const MAX_ENTRIES = 500;
/** The position has 32 tags; more would only cost time. */
const MAX_POSITION_ENTRIES = 100;

interface Tiff {
  bytes: Buffer;
  isLittle: boolean;
}

const read16 = ({ bytes, isLittle }: Tiff, at: number) => (isLittle ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at));
const read32 = ({ bytes, isLittle }: Tiff, at: number) => (isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));

/** Returns the number of entries in the directory at a position that lie inside the data; undefined if there is none. */
function countEntries(tiff: Tiff, at: number, most: number): number | undefined {
  if (at < 8 || at + 2 > tiff.bytes.length) return undefined;
  const room = Math.floor((tiff.bytes.length - at - 2) / ENTRY_BYTES);
  return Math.min(read16(tiff, at), room, most);
}

/** Overwrites the directory of the position and its values with zeros. */
function erasePosition(tiff: Tiff, at: number): void {
  const count = countEntries(tiff, at, MAX_POSITION_ENTRIES);
  if (count === undefined) return;
  for (let index = 0; index < count; index++) {
    const entry = at + 2 + index * ENTRY_BYTES;
    const bytes = (VALUE_BYTES[read16(tiff, entry + 2)] ?? 1) * read32(tiff, entry + 4);
    const value = read32(tiff, entry + 8);
    // The header of the data is never a value.
    const end = Math.min(value + bytes, tiff.bytes.length);
    if (bytes > 4 && value >= 8 && value < end) tiff.bytes.fill(0, value, end);
  }
  tiff.bytes.fill(0, at, at + 2 + count * ENTRY_BYTES);
}

/** Removes an entry from a directory: the following ones and the pointer to the next directory move up. */
function removeEntry(tiff: Tiff, directory: number, index: number): void {
  const { bytes, isLittle } = tiff;
  const count = read16(tiff, directory);
  // Directories that overlap may have been overwritten.
  if (index >= count) return;
  const at = directory + 2 + index * ENTRY_BYTES;
  const end = Math.min(directory + 2 + count * ENTRY_BYTES + 4, bytes.length);
  bytes.copyWithin(at, at + ENTRY_BYTES, end);
  bytes.fill(0, end - ENTRY_BYTES, end);
  if (isLittle) bytes.writeUInt16LE(count - 1, directory);
  else bytes.writeUInt16BE(count - 1, directory);
}

/**
 * Removes the position from Exif data (a TIFF file), in place. Everything else stays where it is. Never throws: malformed data stays unchanged.
 *
 * @returns whether there was a position
 */
export function eraseExifPosition(bytes: Buffer): boolean {
  const order = bytes.toString('latin1', 0, 2);
  if (bytes.length < 8 || (order !== 'II' && order !== 'MM')) return false;
  const tiff = { bytes, isLittle: order === 'II' };
  const seen = new Set<number>();
  const waiting = [read32(tiff, 4)];
  let hadPosition = false;
  for (let at = waiting.pop(); at !== undefined && seen.size < MAX_DIRECTORIES; at = waiting.pop()) {
    let count = seen.has(at) ? undefined : countEntries(tiff, at, MAX_ENTRIES);
    seen.add(at);
    if (count === undefined) continue;
    for (let index = 0; index < count; index++) {
      const entry = at + 2 + index * ENTRY_BYTES;
      const tag = read16(tiff, entry);
      if (tag === EXIF_POINTER) waiting.push(read32(tiff, entry + 8));
      if (tag !== GPS_POINTER) continue;
      const position = read32(tiff, entry + 8);
      removeEntry(tiff, at, index);
      erasePosition(tiff, position);
      hadPosition = true;
      count -= 1;
      index -= 1;
    }
    const next = at + 2 + count * ENTRY_BYTES;
    if (count === read16(tiff, at) && next + 4 <= bytes.length) waiting.push(read32(tiff, next));
  }
  return hadPosition;
}
