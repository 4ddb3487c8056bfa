import { randomBytes } from 'node:crypto';
import type { Viewer } from '../../declare/actor.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { newId } from '../../platform/helpers/ids.ts';
import type { Logger } from '../../platform/observability/log.ts';
import type { FileRules } from '../../records/fields/types/file.ts';
import type { FileRow, FileStore, PendingLimits, StoredContent } from '../store/store.ts';
import { cleanFileName } from './file-name.ts';
import { createVariantKeys } from './images.ts';
import type { UploadTarget } from './targets.ts';
import type { Uploader } from './uploader.ts';

/** The announced facts about an upload. */
export interface Announced {
  name: string | undefined;
  /** The media type that the client claims. */
  type: string;
  /** The size; undefined if it is not known. */
  bytes: number | undefined;
  /** The header `Upload-Metadata` of a resumable upload. */
  uploadMetadata?: string | undefined;
}

/** A row that was inserted for an upload. */
export interface StartedUpload {
  id: string;
  storageKey: string;
  name: string;
}

/** The rules of a file that code stores: it may be larger and of any type, because the field checks it when it is set. */
const UNLIMITED: FileRules = {
  maxBytes: Number.MAX_SAFE_INTEGER,
  types: ['*/*'],
  image: undefined,
  keepLocation: false,
};

/** The rules of an upload for a field, or for code. */
export const rulesOf = (target: UploadTarget | undefined) => target?.rules ?? UNLIMITED;

/** A storage key: random, so that it reveals nothing, and in 65,536 folders, so that none becomes large. */
export function createStorageKey(): string {
  const random = randomBytes(20).toString('hex');
  return `${random.slice(0, 2)}/${random.slice(2, 4)}/${random.slice(4)}`;
}

/** Whether a caller may continue or use an upload. */
export function ownsUpload(
  { userId, tokenHash }: Pick<FileRow, 'userId' | 'tokenHash'>,
  user: Viewer | undefined,
  givenTokenHash: string | undefined,
): boolean {
  if (userId !== null) return user?.id === userId;
  return tokenHash !== null && givenTokenHash === tokenHash;
}

/** Creates the functions that insert, finish and discard the rows of uploads. */
export function createUploadRows(store: FileStore, limits: PendingLimits, log: Logger) {
  /** Discards an upload or a copy. If that fails, it expires later. */
  async function discard(id: string, states?: readonly 'receiving'[]): Promise<void> {
    await store
      .discard([id], states)
      .catch((error: unknown) => log.warn({ err: error }, 'an upload was not discarded'));
  }

  /** Returns an upload that this or another request has finished. @throws ApiError NOT_FOUND */
  async function getFinished(id: string, finished: FileRow | undefined): Promise<FileRow> {
    const row = finished ?? (await store.find([id]))[0];
    if (row?.state !== 'pending') throw new ApiError('NOT_FOUND', 'This upload has expired or was cancelled');
    return row;
  }

  return {
    discard,
    getFinished,

    /**
     * Discards an upload if its content is invalid, unless another request has finished it with valid content. After a failure of the storage,
     * the client may complete the upload again.
     */
    async discardIfInvalid(id: string, error: unknown): Promise<void> {
      if (error instanceof ApiError && error.status < 500) await discard(id, ['receiving']);
    },

    /** Makes an upload pending. @throws ApiError NOT_FOUND if it was removed meanwhile */
    async finish(id: string, content: StoredContent): Promise<FileRow> {
      return getFinished(id, await store.finish(id, content, limits));
    },

    /** Inserts the row of an upload. @throws ApiError LIMIT_REACHED */
    async insert(
      target: UploadTarget | undefined,
      { userId, key, tokenHash }: Uploader,
      { name, type, bytes, uploadMetadata }: Announced & { bytes: number },
      isResumable: boolean,
    ): Promise<StartedUpload> {
      const storageKey = createStorageKey();
      const rules = rulesOf(target);
      const upload = {
        id: newId(),
        resource: target?.resource.name ?? null,
        field: target?.field.name ?? null,
        userId: userId ?? null,
        uploader: key,
        tokenHash: tokenHash ?? null,
        storageKey,
        variants: createVariantKeys(rules, storageKey),
        name: cleanFileName(name),
        type,
        bytes,
        isResumable,
        uploadMetadata: uploadMetadata ?? null,
      };
      // A single file that the field accepts is never refused for its size alone.
      const room = { ...limits, bytes: Math.max(limits.bytes, rules.maxBytes) };
      if (!(await store.insert(upload, room)))
        throw new ApiError(
          'LIMIT_REACHED',
          `You have too many uploads that no record uses yet: at most ${room.count} files with ${room.bytes} bytes. Use them, or wait until they expire`,
        );
      return upload;
    },
  };
}
