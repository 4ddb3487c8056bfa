/** Reads a stream piece by piece, so that some pieces can be edited and the rest passed on. Nothing fails at the end of the stream. */
export interface PieceReader {
  /** Returns the next bytes without moving; fewer at the end. */
  peek(count: number): Promise<Buffer>;
  /** Returns the next bytes; fewer at the end. The caller may change them. */
  take(count: number): Promise<Buffer>;
  /** Yields the next bytes as they arrive. @param count default: all that is left */
  pass(count?: number): AsyncGenerator<Uint8Array>;
}

/** Creates a reader. */
export function createPieceReader(body: AsyncIterable<Uint8Array>): PieceReader {
  const chunks = body[Symbol.asyncIterator]();
  let buffered: Buffer = Buffer.alloc(0);

  async function pull(): Promise<boolean> {
    const { done, value } = await chunks.next();
    if (done) return false;
    const chunk = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]);
    return true;
  }

  async function peek(count: number): Promise<Buffer> {
    const parts = [buffered];
    let length = buffered.length;
    while (length < count) {
      const { done, value } = await chunks.next();
      if (done) break;
      parts.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
      length += value.length;
    }
    if (parts.length > 1) buffered = Buffer.concat(parts, length);
    return buffered.subarray(0, count);
  }

  return {
    peek,
    async take(count) {
      // A copy: the bytes of the caller's stream stay as they are.
      const taken = Buffer.from(await peek(count));
      buffered = buffered.subarray(taken.length);
      return taken;
    },
    async *pass(count = Number.POSITIVE_INFINITY) {
      for (let left = count; left > 0; ) {
        if (buffered.length === 0 && !(await pull())) return;
        const part = buffered.subarray(0, left);
        buffered = buffered.subarray(part.length);
        left -= part.length;
        yield part;
      }
    },
  };
}
