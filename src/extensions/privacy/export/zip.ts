import { once } from 'node:events';
import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';

/** A file in an archive. */
export interface ZipEntry {
  path: string;
  /** Called after the content of all earlier entries has been read. */
  content(): AsyncIterable<Buffer>;
}

/**
 * Streams a ZIP archive, as fast as it is read. If the reader stops early, the iterator of the current entry is closed.
 *
 * @param at the modification time of the files
 */
export async function* streamZip(entries: readonly ZipEntry[], at: Date): AsyncGenerator<Buffer> {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  let current: Readable | undefined;
  for (const { path, content } of entries) {
    zip.addReadStreamLazy(path, { mtime: at }, (take) => {
      current = Readable.from(content(), { objectMode: false });
      // yazl does not forward errors of the content stream to its output.
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

/** Regroups a stream of bytes into chunks of `bytes` bytes; the last chunk may be shorter. */
export async function* splitIntoChunks(source: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer> {
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
