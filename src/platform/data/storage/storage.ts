import type { Readable } from 'node:stream';

/** Where the bytes of files are kept. Keys consist of [a-z0-9/._-], chosen by Belfry, at most 200 characters; never derived from client input. */
export interface FileStorage {
  /** `disk`, `s3`. */
  readonly name: string;
  /** Stores a stream. Resolves when it is durable. On error or abort nothing remains under the key. `bytes` if known. @throws StorageError */
  write(
    key: string,
    body: AsyncIterable<Uint8Array>,
    options: { bytes?: number; type: string; signal?: AbortSignal },
  ): Promise<{ bytes: number }>;
  /** Reads all or part (end inclusive). @throws StorageError `missing` */
  read(key: string, options?: { start?: number; end?: number; signal?: AbortSignal }): Promise<Readable>;
  /** Removes keys; missing keys are no error. Idempotent. */
  remove(keys: readonly string[]): Promise<void>;
  /** Appends a part of a resumable upload at `offset`; creates it at offset 0. Resolves with the new length. */
  append(
    uploadKey: string,
    offset: number,
    body: AsyncIterable<Uint8Array>,
    options: { signal?: AbortSignal },
  ): Promise<{ length: number }>;
  /**
   * Copies a resumable upload into the new file `key`, which later writes to the upload do not change. The upload stays until it is removed.
   * `bytes`: the length of the file. @throws StorageError `missing`
   */
  complete(uploadKey: string, key: string, options: { type: string }): Promise<{ bytes: number }>;
  /** A URL by which a client may upload directly; undefined if the storage cannot do it. */
  signUpload?(
    key: string,
    options: { bytes: number; type: string; expiresInMs: number; sha256?: string },
  ): Promise<{ url: string; method: 'PUT'; headers: Record<string, string> }>;
  /** A URL by which a client may read directly; undefined if the storage cannot do it. */
  signRead?(key: string, options: { type: string; disposition: string; expiresInMs: number }): Promise<string>;
  /** Length of a stored file; undefined if it does not exist. */
  stat(key: string): Promise<{ bytes: number } | undefined>;
  /** For doctor and start. */
  check?(): Promise<void>;
}

/** A storage could not do its work. `reason` says why; the message is for the log and has no secrets. */
export class StorageError extends Error {
  override readonly name = 'StorageError';
  readonly reason: 'missing' | 'full' | 'unavailable' | 'denied' | 'aborted';

  constructor(reason: StorageError['reason'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
