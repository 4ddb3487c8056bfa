import { inflateRawSync } from 'node:zlib';
import type { ByteSource } from './byte-source.ts';

/** An entry in the directory of a ZIP archive: PKWARE APPNOTE 6.3, section 4.3.12. */
export interface ZipEntry {
  name: string;
  method: number;
  /** The length of the stored content. */
  storedBytes: number;
  /** The position of its local header. */
  offset: number;
}

const END_BYTES = 22;
const LOCATOR_BYTES = 20;
const ENTRY_BYTES = 46;
const LOCAL_BYTES = 30;
const MAX_COMMENT_BYTES = 0xff_ff;
/** Bytes of a directory that are read: about 80,000 entries. */
const MAX_DIRECTORY_BYTES = 8 * 2 ** 20;
const END = Buffer.from('PK\x05\x06');
const END_64 = 0x06_06_4b_50;
const LOCATOR_64 = 0x07_06_4b_50;
const ENTRY = 0x02_01_4b_50;
const LOCAL = 0x04_03_4b_50;
const IS_IN_EXTRA = 0xff_ff_ff_ff;

const toNumber = (value: bigint) => (value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : Number.NaN);

/** Finds the directory by the record at the end of the archive. */
async function findDirectory(source: ByteSource): Promise<{ offset: number; bytes: number } | undefined> {
  const start = Math.max(0, source.bytes - END_BYTES - MAX_COMMENT_BYTES);
  const tail = await source.read(start, source.bytes - start);
  let at = tail.lastIndexOf(END);
  // The signature can also occur in the comment, which reaches to the end of the file.
  while (at >= 0 && (at + END_BYTES > tail.length || at + END_BYTES + tail.readUInt16LE(at + 20) !== tail.length))
    at = at === 0 ? -1 : tail.lastIndexOf(END, at - 1);
  if (at < 0) return undefined;
  const found = { bytes: tail.readUInt32LE(at + 12), offset: tail.readUInt32LE(at + 16) };
  const locator = await source.read(start + at - LOCATOR_BYTES, LOCATOR_BYTES);
  if (start + at < LOCATOR_BYTES || locator.readUInt32LE(0) !== LOCATOR_64) return found;
  const record = await source.read(toNumber(locator.readBigUInt64LE(8)), 56);
  if (record.length < 56 || record.readUInt32LE(0) !== END_64) return undefined;
  return { bytes: toNumber(record.readBigUInt64LE(40)), offset: toNumber(record.readBigUInt64LE(48)) };
}

/** Returns the sizes of an entry that are too large for its header. */
function readLargeSizes(extra: Buffer, entry: Pick<ZipEntry, 'storedBytes' | 'offset'>, isLarge: boolean) {
  let { storedBytes, offset } = entry;
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    if (extra.readUInt16LE(at) !== 1) continue;
    const values = extra.subarray(at + 4, at + 4 + extra.readUInt16LE(at + 2));
    let next = isLarge ? 8 : 0;
    if (storedBytes === IS_IN_EXTRA && next + 8 <= values.length) {
      storedBytes = toNumber(values.readBigUInt64LE(next));
      next += 8;
    }
    if (offset === IS_IN_EXTRA && next + 8 <= values.length) offset = toNumber(values.readBigUInt64LE(next));
    break;
  }
  return { storedBytes, offset };
}

/**
 * Reads the directory of a ZIP archive, wherever it lies.
 *
 * @returns the entries, and whether these are all; undefined if the archive has no legal directory
 */
export async function readZipDirectory(
  source: ByteSource,
): Promise<{ entries: ZipEntry[]; isComplete: boolean } | undefined> {
  const found = await findDirectory(source);
  if (found === undefined || !(found.offset + found.bytes <= source.bytes)) return undefined;
  const isComplete = found.bytes <= MAX_DIRECTORY_BYTES;
  const directory = await source.read(found.offset, Math.min(found.bytes, MAX_DIRECTORY_BYTES));
  const entries: ZipEntry[] = [];
  for (let at = 0; at + ENTRY_BYTES <= directory.length; ) {
    if (directory.readUInt32LE(at) !== ENTRY) return undefined;
    const nameEnd = at + ENTRY_BYTES + directory.readUInt16LE(at + 28);
    const extraEnd = nameEnd + directory.readUInt16LE(at + 30);
    const sizes = { storedBytes: directory.readUInt32LE(at + 20), offset: directory.readUInt32LE(at + 42) };
    const isLarge = directory.readUInt32LE(at + 24) === IS_IN_EXTRA;
    entries.push({
      name: directory.toString('utf8', at + ENTRY_BYTES, nameEnd),
      method: directory.readUInt16LE(at + 10),
      ...readLargeSizes(directory.subarray(nameEnd, extraEnd), sizes, isLarge),
    });
    at = extraEnd + directory.readUInt16LE(at + 32);
  }
  return { entries, isComplete };
}

/** Returns the content of an entry; undefined if it is longer than `maxBytes`, encrypted or malformed. */
export async function readZipEntry(
  source: ByteSource,
  { method, storedBytes, offset }: ZipEntry,
  maxBytes: number,
): Promise<Buffer | undefined> {
  if (!(storedBytes <= maxBytes)) return undefined;
  const header = await source.read(offset, LOCAL_BYTES);
  if (header.length < LOCAL_BYTES || header.readUInt32LE(0) !== LOCAL || header[6]! & 1) return undefined;
  const start = offset + LOCAL_BYTES + header.readUInt16LE(26) + header.readUInt16LE(28);
  const stored = await source.read(start, storedBytes);
  if (method === 0) return stored;
  try {
    return method === 8 ? inflateRawSync(stored, { maxOutputLength: maxBytes }) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the names in the local headers among the first bytes, which programs read that unpack an archive while it arrives. */
export function findLocalNames(first: Buffer): string[] {
  const names: string[] = [];
  for (let at = 0; at + LOCAL_BYTES <= first.length && first.readUInt32LE(at) === LOCAL; ) {
    const nameEnd = at + LOCAL_BYTES + first.readUInt16LE(at + 26);
    names.push(first.toString('utf8', at + LOCAL_BYTES, nameEnd));
    const storedBytes = first.readUInt32LE(at + 18);
    // The length follows the content, so the next header cannot be told from a header inside the content.
    if ((first[at + 6]! & 8) !== 0 && storedBytes === 0) break;
    at = nameEnd + first.readUInt16LE(at + 28) + storedBytes;
  }
  return names;
}
