import { createReadStream } from 'node:fs';
import { access, constants, copyFile, type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { StartupError } from '../../helpers/config-errors.ts';
import { newId } from '../../helpers/ids.ts';
import { type FileStorage, StorageError } from './storage.ts';

/** Keys as Belfry creates them: segments of letters, digits, `-`, `_` and `.`, none of which begins with a dot. */
const KEY = /^[a-z0-9_-][a-z0-9._-]*(?:\/[a-z0-9_-][a-z0-9._-]*)*$/;
const MAX_KEY_LENGTH = 200;
/** Only the owner of the process reads and writes files. */
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
/** Bytes that are collected before a write: small network chunks would cost a system call each. */
const WRITE_BYTES = 512 * 1024;

const REASONS: Readonly<Record<string, StorageError['reason']>> = {
  ENOENT: 'missing',
  ENOTDIR: 'missing',
  ENOSPC: 'full',
  EDQUOT: 'full',
  EFBIG: 'full',
  EACCES: 'denied',
  EPERM: 'denied',
  EROFS: 'denied',
  // A symbolic link in the place of a file, which O_NOFOLLOW refuses.
  ELOOP: 'denied',
};

/** Converts an error of the file system. An error of the body (a client that disconnected) stays unchanged. */
function rethrowAsStorageError(error: unknown): never {
  if (error instanceof StorageError || !(error instanceof Error)) throw error;
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined || syscall === 'read') throw error;
  const reason = REASONS[code] ?? 'unavailable';
  throw new StorageError(reason, `The file system refused "${syscall}" with ${code}`, { cause: error });
}

/** The error of a file system call on a stored file, including reads. */
function toReadError(error: unknown): StorageError {
  const { code = 'an error' } = error as NodeJS.ErrnoException;
  return new StorageError(REASONS[code] ?? 'unavailable', `The file could not be read: ${code}`, { cause: error });
}

function assertNotAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new StorageError('aborted', 'The write was aborted', { cause: signal.reason });
}

/** Writes chunks one after the other, without copying them into one buffer. */
async function writeFully(file: FileHandle, chunks: Uint8Array[], bytes: number, position: number): Promise<void> {
  const { bytesWritten } = await file.writev(chunks, position);
  if (bytesWritten === bytes) return;
  // A disk that is almost full may take a part; the next write then reports the error.
  const rest = Buffer.concat(chunks, bytes).subarray(bytesWritten);
  await writeFully(file, [rest], rest.length, position + bytesWritten);
}

/** Writes a body from a position on, in large pieces, while the next piece arrives. Returns the position after it. */
async function writeBody(
  file: FileHandle,
  body: AsyncIterable<Uint8Array>,
  start: number,
  signal: AbortSignal | undefined,
): Promise<number> {
  let position = start;
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  let writing: Promise<void> = Promise.resolve();
  const flush = async () => {
    await writing;
    writing = writeFully(file, pending, pendingBytes, position);
    // The error is thrown where the write is awaited.
    writing.catch(() => undefined);
    position += pendingBytes;
    pending = [];
    pendingBytes = 0;
  };
  try {
    for await (const chunk of body) {
      assertNotAborted(signal);
      pending.push(chunk);
      pendingBytes += chunk.length;
      if (pendingBytes >= WRITE_BYTES) await flush();
    }
    assertNotAborted(signal);
    if (pendingBytes > 0) await flush();
  } finally {
    // The file must not be closed while a write runs.
    await writing.catch(() => undefined);
  }
  await writing;
  return position;
}

/** Makes the entries of a folder durable: a rename survives a power failure only then. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

const removeIfThere = (path: string) => rm(path, { force: true });

/** Runs work on a new temporary file, which is removed if the work fails. */
async function withTemporaryFile<T>(folder: string, work: (file: FileHandle, path: string) => Promise<T>): Promise<T> {
  const path = join(folder, newId());
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const create = () => open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, FILE_MODE);
  const file = await create().catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
    return create();
  });
  try {
    return await work(file, path);
  } catch (error) {
    await removeIfThere(path).catch(() => undefined);
    throw error;
  } finally {
    await file.close().catch(() => undefined);
  }
}

async function moveDurably(from: string, to: string): Promise<void> {
  const folder = dirname(to);
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  await rename(from, to);
  await syncFolder(folder);
}

/** Copies a file, so that a request which still has the original open cannot change the copy. @param folder for a temporary file */
async function copyDurably(from: string, to: string, folder: string): Promise<void> {
  await withTemporaryFile(folder, async (file, path) => {
    await copyFile(from, path, constants.COPYFILE_FICLONE);
    await file.sync();
    await moveDurably(path, to);
  });
}

/** Continues an upload at this position. Returns the new length. */
async function appendToFile(
  path: string,
  offset: number,
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<number> {
  const { O_WRONLY, O_CREAT, O_NOFOLLOW } = constants;
  if (offset === 0) await mkdir(dirname(path), { recursive: true, mode: FOLDER_MODE });
  const file = await open(path, O_WRONLY | O_NOFOLLOW | (offset === 0 ? O_CREAT : 0), FILE_MODE);
  try {
    if ((await file.stat()).size < offset) throw new StorageError('missing', 'Earlier parts of the upload are missing');
    // An attempt that was cut off may have written more than was recorded.
    await file.truncate(offset);
    const length = await writeBody(file, body, offset, signal);
    await file.sync();
    return length;
  } finally {
    await file.close();
  }
}

/**
 * Keeps files in a directory of this machine. All processes of the app must share it: several machines need a network file system, or
 * another storage.
 *
 * @throws StartupError without a directory
 * @example files: { storage: disk({ directory: '/var/lib/my-app/files' }) }
 */
export function disk({ directory }: { directory: string }): FileStorage {
  if (typeof directory !== 'string' || directory === '')
    throw new StartupError('The file storage has errors:', [
      'disk.directory: must be a path, such as /var/lib/my-app/files',
    ]);
  const root = resolve(directory);
  const temporary = join(root, 'temporary');

  function pathOf(key: string): string {
    if (key.length > MAX_KEY_LENGTH || !KEY.test(key)) throw new StorageError('denied', 'The key is malformed');
    return join(root, 'stored', key);
  }

  return {
    name: 'disk',

    async write(key, body, { signal }) {
      const path = pathOf(key);
      const written = withTemporaryFile(temporary, async (file, unfinished) => {
        const bytes = await writeBody(file, body, 0, signal);
        await file.sync();
        await moveDurably(unfinished, path);
        return { bytes };
      });
      return written.catch(rethrowAsStorageError);
    },

    async read(key, { start, end, signal } = {}) {
      const file = await open(pathOf(key), constants.O_RDONLY | constants.O_NOFOLLOW).catch((error: unknown) => {
        throw toReadError(error);
      });
      const range = { ...(start !== undefined && { start }), ...(end !== undefined && { end }) };
      const options = { fd: file, highWaterMark: 256 * 1024, ...range, ...(signal && { signal }) };
      return createReadStream('', options) as Readable;
    },

    async remove(keys) {
      for (const key of keys) await removeIfThere(pathOf(key)).catch(rethrowAsStorageError);
    },

    async append(uploadKey, offset, body, { signal }) {
      return { length: await appendToFile(pathOf(uploadKey), offset, body, signal).catch(rethrowAsStorageError) };
    },

    async complete(uploadKey, key) {
      const [upload, path] = [pathOf(uploadKey), pathOf(key)];
      // Also refuses a symbolic link.
      if ((await statFile(upload)) === undefined) throw new StorageError('missing', 'The upload is missing');
      await copyDurably(upload, path, temporary).catch(rethrowAsStorageError);
      return (await statFile(path))!;
    },

    stat: async (key) => statFile(pathOf(key)),

    async check() {
      await mkdir(root, { recursive: true, mode: FOLDER_MODE }).catch((error: unknown) => {
        throw new StorageError('denied', `The directory ${root} cannot be created: ${(error as Error).message}`);
      });
      await access(root, constants.R_OK | constants.W_OK | constants.X_OK).catch(() => {
        throw new StorageError('denied', `The directory ${root} is not readable and writable by this process`);
      });
    },
  };
}

async function statFile(path: string): Promise<{ bytes: number } | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      return { bytes: (await file.stat()).size };
    } finally {
      await file.close();
    }
  } catch (error) {
    const failure = toReadError(error);
    if (failure.reason === 'missing') return undefined;
    throw failure;
  }
}
