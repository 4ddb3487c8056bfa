import { createHash } from 'node:crypto';
import { StorageError } from '../storage.ts';
import type { S3Client } from './client.ts';
import { findBlocks, findElements, S3Error, toS3Error } from './errors.ts';
import { startMultipartUpload } from './multipart.ts';
import { PART_BYTES, sendInParts } from './parts.ts';

/** The number of keys that S3 deletes with one request. */
const MAX_DELETED = 1000;

/** An object in a list. */
interface ListedObject {
  key: string;
  bytes: number;
}

/** The operations on objects of the bucket. Keys are without the prefix. */
export interface S3Objects {
  /** Stores a stream of any length. On error or abort, nothing remains. */
  write(
    key: string,
    body: AsyncIterable<Uint8Array>,
    options: { bytes?: number; type: string; signal?: AbortSignal },
  ): Promise<{ bytes: number }>;
  put(key: string, body: Uint8Array, type: string, signal?: AbortSignal): Promise<void>;
  /** Lists objects in the order of their keys. @param after only keys after this one */
  list(start: string, after?: string): Promise<ListedObject[]>;
  remove(keys: readonly string[]): Promise<void>;
  /** @returns undefined if the object does not exist */
  stat(key: string): Promise<{ bytes: number } | undefined>;
  /** The value of `x-amz-copy-source` for a key. */
  toCopySource(key: string): string;
}

/** Throws if a delete request succeeded as a whole, but not for each key. */
function assertAllDeleted(text: string): void {
  const failed = findBlocks(text, 'Error').find((error) => findElements(error, 'Code')[0] !== 'NoSuchKey');
  if (failed !== undefined) throw toS3Error('remove files', { status: 200, headers: {}, text: failed });
}

/** Creates the operations on objects of a bucket. */
export function createS3Objects(client: S3Client, { bucket, prefix }: { bucket: string; prefix: string }): S3Objects {
  const toCopySource = (key: string) => `/${bucket}/${prefix}${key}`;

  async function put(key: string, body: Uint8Array, type: string, signal?: AbortSignal): Promise<void> {
    const headers = { 'content-type': type };
    await client.send({ action: 'store a file', method: 'PUT', key, headers, body, signal });
  }

  async function remove(keys: readonly string[]): Promise<void> {
    for (let start = 0; start < keys.length; start += MAX_DELETED) {
      const objects = keys
        .slice(start, start + MAX_DELETED)
        .map((key) => `<Object><Key>${prefix}${key}</Key></Object>`);
      const body = `<Delete><Quiet>true</Quiet>${objects.join('')}</Delete>`;
      const headers = {
        'content-type': 'application/xml',
        // S3 requires a checksum for this request. MD5 is the one that all storages accept.
        'content-md5': createHash('md5').update(body).digest('base64'),
      };
      const query = { delete: '' };
      const { text } = await client.send({ action: 'remove files', method: 'POST', query, headers, body });
      assertAllDeleted(text);
    }
  }

  return {
    put,
    remove,
    toCopySource,

    async write(key, body, { bytes: expected, type, signal }) {
      let upload: ReturnType<typeof startMultipartUpload> | undefined;
      // A request whose response is lost may still take effect, so a failed write removes the key even without a response.
      let mayExist = false;
      try {
        const bytes = await sendInParts(
          body,
          async (part, index, stop) => {
            if (expected !== undefined && index * PART_BYTES + part.length > expected) {
              throw new StorageError('aborted', `The body has more than the announced ${expected} bytes`);
            }
            if (index === 0 && part.length < PART_BYTES) {
              if (expected !== undefined && part.length !== expected) {
                throw new StorageError('aborted', `The body has ${part.length} bytes instead of ${expected}`);
              }
              mayExist = true;
              return put(key, part, type, stop);
            }
            upload ??= startMultipartUpload(client, toCopySource, key, type);
            if (part.length > 0) await (await upload).sendPart(index + 1, part, stop);
          },
          signal,
        );
        if (expected !== undefined && bytes !== expected) {
          throw new StorageError('aborted', `The body has ${bytes} bytes instead of ${expected}`);
        }
        if (upload !== undefined) {
          mayExist = true;
          await (await upload).complete(bytes);
        }
        return { bytes };
      } catch (error) {
        // The original error matters more than a failed clean-up; the lifecycle rule of the bucket removes what remains.
        await upload?.then((started) => started.abort()).catch(() => undefined);
        if (mayExist) await remove([key]).catch(() => undefined);
        throw error;
      }
    },

    async list(start, after) {
      const found: ListedObject[] = [];
      let token: string | undefined;
      do {
        const { text } = await client.send({
          action: 'list files',
          method: 'GET',
          query: {
            'list-type': '2',
            prefix: prefix + start,
            ...(after !== undefined && { 'start-after': prefix + after }),
            ...(token !== undefined && { 'continuation-token': token }),
          },
        });
        for (const object of findBlocks(text, 'Contents')) {
          const key = findElements(object, 'Key')[0] ?? '';
          found.push({ key: key.slice(prefix.length), bytes: Number(findElements(object, 'Size')[0]) });
        }
        token =
          findElements(text, 'IsTruncated')[0] === 'true' ? findElements(text, 'NextContinuationToken')[0] : undefined;
      } while (token);
      return found;
    },

    async stat(key) {
      try {
        const response = await client.send({ action: 'find a file', method: 'HEAD', key });
        return { bytes: Number(response.header('content-length')) };
      } catch (error) {
        if (error instanceof S3Error && error.reason === 'missing') return undefined;
        throw error;
      }
    },
  };
}
