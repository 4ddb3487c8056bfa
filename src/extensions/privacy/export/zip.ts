import { once } from 'node:events';
import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';

/** A file in an archive. */
export interface Entry {
  path: string;
  /** Asked for when its turn comes: after the content of those before it. */
  content(): AsyncIterable<Buffer>;
}

/**
 * A zip archive, piece by piece, as fast as it is taken. Whoever stops early ends what an entry's content has open.
 *
 * @param at the time that its files carry
 */
export async function* zipped(entries: readonly Entry[], at: Date): AsyncGenerator<Buffer> {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  let current: Readable | undefined;
  for (const { path, content } of entries) {
    zip.addReadStreamLazy(path, { mtime: at }, (take) => {
      current = Readable.from(content(), { objectMode: false });
      // The library does not hear of it.
      current.once('error', (error) => output.destroy(error));
      take(null, current);
    });
  }
  zip.on('error', (error: Error) => output.destroy(error));
  zip.end();
  try {
    yield* output as AsyncIterable<Buffer>;
  } finally {
    if (current !== undefined && !current.closed) {
      current.destroy();
      await once(current, 'close');
    }
  }
}

/** The same bytes in pieces of one size, but for the last. */
export async function* inPieces(source: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer> {
  let held: Buffer[] = [];
  let size = 0;
  for await (const chunk of source) {
    held.push(chunk);
    size += chunk.length;
    if (size < bytes) continue;
    const all = Buffer.concat(held);
    const end = all.length - (all.length % bytes);
    for (let at = 0; at < end; at += bytes) yield all.subarray(at, at + bytes);
    held = [all.subarray(end)];
    size = all.length - end;
  }
  if (size > 0) yield Buffer.concat(held);
}
