import { Readable } from 'node:stream';
import { createSemaphore } from '../../../helpers/concurrency/semaphore.ts';
import { type FileStorage, StorageError } from '../storage.ts';
import { createS3Client, toS3ReadError } from './client.ts';
import { S3Error } from './errors.ts';
import { createS3Objects } from './objects.ts';
import { createS3ResumableUploads } from './resumable.ts';
import { readS3Settings, type S3Options } from './settings.ts';

/** Keys as Belfry creates them: segments of letters, digits, `-`, `_` and `.`, none of which begins with a dot. */
const KEY = /^[a-z0-9_-][a-z0-9._-]*(?:\/[a-z0-9_-][a-z0-9._-]*)*$/;
const MAX_KEY_LENGTH = 200;
/** Requests that look for the pieces of removed uploads at the same time. */
const CONCURRENT_LISTS = 8;

function assertKey(key: string): void {
  if (key.length > MAX_KEY_LENGTH || !KEY.test(key)) throw new StorageError('denied', 'The key is malformed');
}

/** Passes a response on and converts its errors. Destroying the returned stream closes the connection. */
async function* readBody(body: Readable, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw toS3ReadError(error, signal);
  }
}

/** Returns the value of a `Range` header; undefined for the whole file. */
function toRange(start: number | undefined, end: number | undefined): string | undefined {
  if (start === undefined && end === undefined) return undefined;
  return `bytes=${start ?? 0}-${end ?? ''}`;
}

/**
 * Keeps files in a bucket of Amazon S3 or of a compatible storage, such as Cloudflare R2, MinIO, Garage or Backblaze B2.
 *
 * @param variables the environment, from which the credentials are read if `credentials` is not set
 * @throws StartupError naming every option that is unknown or malformed
 * @example files: { storage: s3({ bucket: 'my-app-files', region: 'eu-central-1' }) }
 */
export function s3(
  options: S3Options,
  variables: Record<string, string | undefined> = process.env,
): Required<FileStorage> {
  const settings = readS3Settings(options, variables);
  const client = createS3Client(settings);
  const objects = createS3Objects(client, settings);
  const uploads = createS3ResumableUploads(client, objects);

  return {
    name: 's3',

    async write(key, body, writeOptions) {
      assertKey(key);
      return objects.write(key, body, writeOptions);
    },

    async read(key, { start, end, signal } = {}) {
      assertKey(key);
      const range = toRange(start, end);
      try {
        const headers: Record<string, string> = range === undefined ? {} : { range };
        const { status, body } = await client.open({ action: 'read a file', method: 'GET', key, headers, signal });
        if (range !== undefined && status !== 206) {
          body.destroy();
          throw new S3Error('unavailable', 'S3 could not read a file: it ignored the range');
        }
        return Readable.from(readBody(body, signal), { objectMode: false, highWaterMark: 256 * 1024 });
      } catch (error) {
        // The range begins after the end of the file.
        if (error instanceof S3Error && error.code === 'InvalidRange') return Readable.from([], { objectMode: false });
        throw error;
      }
    },

    async remove(keys) {
      for (const key of keys) assertKey(key);
      const semaphore = createSemaphore(CONCURRENT_LISTS);
      const pieces = await Promise.all(keys.map((key) => semaphore.run(() => uploads.findPieces(key))));
      await objects.remove([...keys, ...pieces.flat()]);
    },

    async append(uploadKey, offset, body, appendOptions) {
      assertKey(uploadKey);
      return uploads.append(uploadKey, offset, body, appendOptions);
    },

    async complete(uploadKey, key, completeOptions) {
      assertKey(uploadKey);
      assertKey(key);
      return uploads.complete(uploadKey, key, completeOptions);
    },

    async stat(key) {
      assertKey(key);
      return objects.stat(key);
    },

    async signUpload(key, { bytes, type, expiresInMs, sha256 }) {
      assertKey(key);
      const headers = {
        'content-type': type,
        // Otherwise a client could replace the file after its content was checked, for as long as the URL is valid.
        ...(settings.conditionalUploads && { 'if-none-match': '*' }),
        ...(sha256 !== undefined && { 'x-amz-checksum-sha256': Buffer.from(sha256, 'hex').toString('base64') }),
      };
      // Clients set the length themselves; browsers do not let a page set it.
      const signed = { ...headers, 'content-length': String(bytes) };
      return { url: await client.sign({ method: 'PUT', key, headers: signed }, expiresInMs), method: 'PUT', headers };
    },

    async signRead(key, { type, disposition, expiresInMs }) {
      assertKey(key);
      const query = { 'response-content-type': type, 'response-content-disposition': disposition };
      return client.sign({ method: 'GET', key, query }, expiresInMs);
    },

    async check() {
      try {
        await client.send({ action: `use the bucket "${settings.bucket}"`, method: 'HEAD' });
      } catch (error) {
        if (!(error instanceof S3Error) || error.reason !== 'missing') throw error;
        const text = `The bucket "${settings.bucket}" does not exist. Create it, or correct s3.bucket`;
        throw new S3Error('denied', text, { cause: error });
      }
    },
  };
}
