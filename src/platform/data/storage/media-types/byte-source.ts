/** Random access to the bytes of a file. */
export interface ByteSource {
  /** The length of the file. */
  bytes: number;
  /** Reads `length` bytes from a position on. Returns fewer at the end of the file. */
  read(start: number, length: number): Promise<Buffer>;
}

const BLOCK_BYTES = 256 * 1024;
/** Blocks that are kept, so that small reads next to each other need one request. */
const KEPT_BLOCKS = 8;
/** Blocks that are read of one file: a file that is made to be slow is given up. */
const MAX_BLOCKS = 128;

/** Creates a source for bytes in memory. */
export function createBufferSource(bytes: Uint8Array): ByteSource {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { bytes: buffer.length, read: async (start, length) => buffer.subarray(start, start + length) };
}

/**
 * Creates a source for a stored file, which reads it in blocks.
 *
 * @param readRange reads from `start` to `end`, inclusive
 * @throws (`read`) RangeError if a reader needs too many blocks
 */
export function createBlockSource(
  bytes: number,
  readRange: (start: number, end: number) => Promise<Buffer>,
): ByteSource {
  const kept = new Map<number, Buffer>();
  let count = 0;

  async function readBlock(index: number): Promise<Buffer> {
    const known = kept.get(index);
    if (known !== undefined) return known;
    count += 1;
    if (count > MAX_BLOCKS) throw new RangeError('The structure of the file needs too many reads');
    const start = index * BLOCK_BYTES;
    const block = await readRange(start, Math.min(start + BLOCK_BYTES, bytes) - 1);
    if (kept.size === KEPT_BLOCKS) kept.delete(kept.keys().next().value!);
    kept.set(index, block);
    return block;
  }

  return {
    bytes,
    async read(start, length) {
      const end = Math.min(start + length, bytes);
      const parts: Buffer[] = [];
      for (let at = start; at < end; ) {
        const block = await readBlock(Math.floor(at / BLOCK_BYTES));
        const from = at % BLOCK_BYTES;
        const part = block.subarray(from, from + end - at);
        if (part.length === 0) break;
        parts.push(part);
        at += part.length;
      }
      return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    },
  };
}
