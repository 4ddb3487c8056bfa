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
 * @param entries each is requested after the content of the one before it has been read
 * @param at the modification time of the files
 */
export async function* streamZip(entries: Iterable<ZipEntry>, at: Date): AsyncGenerator<Buffer> {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  let current: Readable | undefined;
  const iterator = entries[Symbol.iterator]();
  const addNext = () => {
    const { done, value } = iterator.next();
    if (done) {
      zip.end();
      return;
    }
    zip.addReadStreamLazy(value.path, { mtime: at }, (take) => {
      current = Readable.from(value.content(), { objectMode: false });
      // yazl does not forward errors of the content stream to its output.
      current.once('error', (error) => output.destroy(error));
      current.once('end', addNext);
      take(null, current);
    });
  };
  zip.on('error', (error: Error) => output.destroy(error));
  addNext();
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
