import { ImageError } from './image.ts';

/** Bytes that may be read at once. No header of an image is longer. */
const MAX_READ_BYTES = 1024 * 1024;

/** Reads a stream from its start. Each method fails with an `ImageError` at the end of the stream, or if the limit is exceeded. */
export interface ByteReader {
  /** The number of bytes that were read or skipped. */
  position(): number;
  /** Returns the next bytes without moving. */
  peek(count: number): Promise<Buffer>;
  read(count: number): Promise<Buffer>;
  skip(count: number): Promise<void>;
  /** Whether no bytes are left. */
  isAtEnd(): Promise<boolean>;
}

/**
 * Creates a reader.
 *
 * @param maxBytes the longest stream that is read
 */
export function createByteReader(source: AsyncIterable<Uint8Array> | Uint8Array, maxBytes: number): ByteReader {
  const chunks = source instanceof Uint8Array ? [source][Symbol.iterator]() : source[Symbol.asyncIterator]();
  let buffered: Buffer = Buffer.alloc(0);
  let position = 0;
  let received = 0;

  /** Reads one more chunk. Returns undefined at the end. */
  async function pull(): Promise<Buffer | undefined> {
    const next = await chunks.next();
    if (next.done) return undefined;
    const { buffer, byteOffset, byteLength } = next.value;
    received += byteLength;
    if (received > maxBytes) throw new ImageError('too_large', `The image must have at most ${maxBytes} bytes`);
    return Buffer.from(buffer, byteOffset, byteLength);
  }

  async function fill(count: number): Promise<boolean> {
    if (buffered.length >= count) return true;
    const collected = [buffered];
    let length = buffered.length;
    let isComplete = true;
    while (length < count) {
      const chunk = await pull();
      if (chunk === undefined) {
        isComplete = false;
        break;
      }
      collected.push(chunk);
      length += chunk.length;
    }
    buffered = Buffer.concat(collected, length);
    return isComplete;
  }

  async function peek(count: number): Promise<Buffer> {
    if (count > MAX_READ_BYTES) throw new ImageError('malformed', 'A header of the image is too long');
    if (!(await fill(count))) throw new ImageError('malformed', 'The image is incomplete');
    return buffered.subarray(0, count);
  }

  return {
    position: () => position,
    peek,
    async read(count) {
      const bytes = await peek(count);
      buffered = buffered.subarray(count);
      position += count;
      return bytes;
    },
    async skip(count) {
      let left = count;
      while (left > buffered.length) {
        left -= buffered.length;
        const chunk = await pull();
        if (chunk === undefined) throw new ImageError('malformed', 'The image is incomplete');
        buffered = chunk;
      }
      buffered = buffered.subarray(left);
      position += count;
    },
    isAtEnd: async () => !(await fill(1)),
  };
}
