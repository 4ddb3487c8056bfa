import type { FileStorage } from '../storage.ts';
import { StorageError } from '../storage.ts';
import type { S3Client } from './client.ts';
import { startMultipartUpload } from './multipart.ts';
import type { S3Objects } from './objects.ts';
import { forEachPart, MAX_PARTS, PART_BYTES, sendInParts } from './parts.ts';

/** A multipart upload would have to know the key and the type of the file from the start, so the pieces are objects of their own. */
const PIECE = '/.part-';
const PIECE_KEY = /\/\.part-\d{5}$/;

const pieceKey = (uploadKey: string, index: number) => `${uploadKey}${PIECE}${String(index).padStart(5, '0')}`;

/** Resumable uploads. */
interface S3ResumableUploads extends Pick<FileStorage, 'append' | 'complete'> {
  /** Returns the keys of all objects of an upload; empty if there is none. */
  findPieces(uploadKey: string): Promise<string[]>;
}

/**
 * Creates the resumable uploads of a bucket. The pieces of an upload are objects of exactly 8 MiB, except for the last one, numbered by
 * their position. No other state is needed, so an upload survives restarts and can continue in another process. A further part is
 * appended to the last piece, which is read and written again. To complete an upload, S3 copies its pieces into the file; they stay until they
 * are removed.
 */
export function createS3ResumableUploads(client: S3Client, objects: S3Objects): S3ResumableUploads {
  async function listPieces(uploadKey: string, after?: string) {
    return (await objects.list(uploadKey + PIECE, after)).filter(({ key }) => PIECE_KEY.test(key));
  }

  async function* readPieceThenBody(key: string, bytes: number, body: AsyncIterable<Uint8Array>, signal?: AbortSignal) {
    const action = 'read an upload';
    const headers = { range: `bytes=0-${bytes - 1}` };
    const piece = await client.open({ action, method: 'GET', key, headers, signal });
    yield* piece.body;
    yield* body;
  }

  return {
    async append(uploadKey, offset, body, { signal }) {
      const first = Math.floor(offset / PART_BYTES);
      const kept = offset % PART_BYTES;
      // Without kept bytes in the first piece, the piece before it shows whether the bytes before the offset are stored.
      const checked = kept > 0 ? first : first - 1;
      const stored = await listPieces(uploadKey, checked > 0 ? pieceKey(uploadKey, checked - 1) : undefined);
      const before = stored.find(({ key }) => key === pieceKey(uploadKey, checked));
      if (offset > 0 && (before?.bytes ?? 0) < (kept > 0 ? kept : PART_BYTES)) {
        throw new StorageError('missing', 'Earlier parts of the upload are missing');
      }
      // An attempt that was cut off may have stored more than was recorded.
      const isStale = ({ key }: { key: string }) => key > pieceKey(uploadKey, first);
      await objects.remove(stored.filter(isStale).map(({ key }) => key));

      const whole = kept > 0 ? readPieceThenBody(pieceKey(uploadKey, first), kept, body, signal) : body;
      const appended = await sendInParts(
        whole,
        async (part, index, stop) => {
          // The first piece is written even if it is empty, because it replaces a longer one or begins the upload.
          if (part.length === 0 && index > 0) return;
          await objects.put(pieceKey(uploadKey, first + index), part, 'application/octet-stream', stop);
        },
        signal,
      );
      return { length: first * PART_BYTES + appended };
    },

    async complete(uploadKey, key, { type }) {
      const pieces = (await listPieces(uploadKey)).filter(({ bytes }, index) => index === 0 || bytes > 0);
      const isWhole = pieces.every(({ key: piece, bytes }, index) => {
        return piece === pieceKey(uploadKey, index) && (bytes === PART_BYTES || index === pieces.length - 1);
      });
      if (pieces.length === 0 || !isWhole || pieces.length > MAX_PARTS) {
        throw new StorageError('missing', 'Parts of the upload are missing');
      }
      const bytes = pieces.reduce((sum, piece) => sum + piece.bytes, 0);
      if (pieces.length === 1) {
        const headers = {
          'content-type': type,
          'x-amz-copy-source': objects.toCopySource(pieces[0]!.key),
          'x-amz-metadata-directive': 'REPLACE',
        };
        await client.send({ action: 'complete an upload', method: 'PUT', key, headers });
      } else {
        const upload = await startMultipartUpload(client, objects.toCopySource, key, type);
        try {
          await forEachPart(pieces, (piece, index) => upload.copyPart(index + 1, piece.key));
          await upload.complete(bytes);
        } catch (error) {
          await upload.abort().catch(() => undefined);
          throw error;
        }
      }
      // A late request may have replaced a piece after the list.
      const file = await objects.stat(key);
      if (file === undefined) throw new StorageError('missing', 'The completed upload was removed');
      return file;
    },

    findPieces: async (uploadKey) => (await listPieces(uploadKey)).map(({ key }) => key),
  };
}
