import { randomBytes } from 'node:crypto';
import type { Viewer } from '../../declare/actor.ts';
import { mayHaveLocation, removeLocation } from '../../platform/data/storage/images/location/index.ts';
import { isTextType } from '../../platform/data/storage/media-types/names.ts';
import { type FileStorage, StorageError } from '../../platform/data/storage/storage.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { newId } from '../../platform/helpers/ids.ts';
import type { Logger } from '../../platform/observability/log.ts';
import type { FileRules } from '../../records/fields/types/file.ts';
import { type FileRow, type FileStore, isRemoved, type PendingLimits, type StoredContent } from '../store/store.ts';
import { assertSizeFits, type ContentFacts, checkContent, peekBody } from './content.ts';
import { cleanFileName } from './file-name.ts';
import { createImageFacts, variantKeysOf } from './images.ts';
import { createRecognition } from './recognition.ts';
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

/** Receives files and makes them pending, whatever the way in which their bytes arrive. */
export interface Uploads {
  /** Receives a whole file as a stream. @param hashes whether to compute the SHA-256 */
  receive(
    target: UploadTarget | undefined,
    uploader: Uploader,
    announced: Announced,
    body: AsyncIterable<Uint8Array>,
    options?: { hashes?: boolean; signal?: AbortSignal },
  ): Promise<FileRow>;
  /** Inserts the row of an upload whose bytes arrive later. @throws ApiError LIMIT_REACHED or PAYLOAD_TOO_LARGE */
  start(
    target: UploadTarget,
    uploader: Uploader,
    announced: Announced & { bytes: number },
    isResumable: boolean,
  ): Promise<StartedUpload>;
  /** Checks the stored bytes of a direct upload, and makes it pending. An invalid one is discarded. */
  finishDirect(target: UploadTarget, row: FileRow, storedBytes: number): Promise<FileRow>;
  /**
   * Checks the bytes of a resumable upload that has all of them, and makes it pending. An invalid one is discarded.
   *
   * @throws ApiError CONFLICT if too many requests complete it at once
   */
  finishResumable(target: UploadTarget, row: FileRow): Promise<FileRow>;
}

/** Converts an error of the storage to the error of the response, and logs it. Other errors stay unchanged. */
export function toUploadError(error: unknown, log: Logger): unknown {
  if (!(error instanceof StorageError)) return error;
  log.error({ err: error, reason: error.reason }, 'the file storage failed');
  return new ApiError(error.reason === 'full' ? 'STORAGE_FULL' : 'UNAVAILABLE', undefined, { cause: error });
}

/** A storage key: random, so that it reveals nothing, and in 65,536 folders, so that none becomes large. */
function createStorageKey(): string {
  const random = randomBytes(20).toString('hex');
  return `${random.slice(0, 2)}/${random.slice(2, 4)}/${random.slice(4)}`;
}

/** The key under which the bytes of a resumable upload arrive. */
export const uploadKeyOf = ({ storageKey }: Pick<FileRow, 'storageKey'>) => `${storageKey}.upload`;

/** The rules of a file that code stores: it may be larger and of any type, because the field checks it when it is set. */
const UNLIMITED: FileRules = {
  maxBytes: Number.MAX_SAFE_INTEGER,
  types: ['*/*'],
  image: undefined,
  keepLocation: false,
};

/** Creates the receiver of uploads. */
export function createUploads({
  storage,
  store,
  limits,
  log,
}: {
  storage: FileStorage;
  store: FileStore;
  limits: PendingLimits;
  log: Logger;
}): Uploads {
  const images = createImageFacts(storage);
  const recognize = createRecognition(storage);
  const fieldOf = (target: UploadTarget | undefined) => target?.field.name ?? 'file';
  const rulesOf = (target: UploadTarget | undefined) => target?.rules ?? UNLIMITED;

  async function insert(
    target: UploadTarget | undefined,
    { userId, key, tokenHash }: Uploader,
    { name, type, bytes, uploadMetadata }: Announced & { bytes: number },
    isResumable: boolean,
  ): Promise<StartedUpload> {
    const storageKey = createStorageKey();
    const upload = {
      id: newId(),
      resource: target?.resource.name ?? null,
      field: target?.field.name ?? null,
      userId: userId ?? null,
      uploader: key,
      tokenHash: tokenHash ?? null,
      storageKey,
      variants: variantKeysOf(rulesOf(target), storageKey),
      name: cleanFileName(name),
      type,
      bytes,
      isResumable,
      uploadMetadata: uploadMetadata ?? null,
    };
    // A single file that the field accepts is never refused for its size alone.
    const room = { ...limits, bytes: Math.max(limits.bytes, rulesOf(target).maxBytes) };
    if (!(await store.insert(upload, room)))
      throw new ApiError(
        'LIMIT_REACHED',
        `You have too many uploads that no record uses yet: at most ${room.count} files with ${room.bytes} bytes. Use them, or wait until they expire`,
      );
    return upload;
  }

  async function discardQuietly(id: string, states?: readonly 'receiving'[]): Promise<void> {
    // If this fails, the upload expires later.
    await store
      .discard([id], states)
      .catch((error: unknown) => log.warn({ err: error }, 'an upload was not discarded'));
  }

  /** Removes the bytes of an upload that was removed while they arrived, for example because its user was erased: no sweep might find them. */
  async function removeIfForgotten({ id, storageKey }: StartedUpload, target: UploadTarget | undefined): Promise<void> {
    try {
      const [row] = await store.find([id]);
      if (row !== undefined && !isRemoved(row)) return;
      const variants = Object.values(variantKeysOf(rulesOf(target), storageKey) ?? {});
      await storage.remove([storageKey, ...variants.map(({ key }) => key)]);
    } catch (error) {
      log.error({ err: error, key: storageKey }, 'the bytes of a removed upload may still be in the storage');
    }
  }

  /** Returns an upload that this or another request has finished. @throws ApiError NOT_FOUND */
  async function getFinished(id: string, finished: FileRow | undefined): Promise<FileRow> {
    const row = finished ?? (await store.find([id]))[0];
    if (row?.state !== 'pending') throw new ApiError('NOT_FOUND', 'This upload has expired or was cancelled');
    return row;
  }

  /** Removes the place where a stored photo was taken. Writes it again only if it has one. */
  async function cleanStored(storageKey: string, type: string, bytes: number): Promise<void> {
    const source = await storage.read(storageKey);
    let hasLocation = false;
    const report = () => {
      hasLocation = true;
    };
    for await (const _ of removeLocation(source, type, report)) if (hasLocation) break;
    source.destroy();
    if (!hasLocation) return;
    await storage.write(storageKey, removeLocation(await storage.read(storageKey), type), { bytes, type });
  }

  /** Checks stored bytes as `checkContent` checks arriving ones. @throws ApiError, StorageError */
  async function checkStored(
    { field, rules }: UploadTarget,
    row: Pick<FileRow, 'type' | 'name'>,
    storageKey: string,
    bytes: number,
  ): Promise<StoredContent> {
    const body = await storage.read(storageKey);
    const facts: ContentFacts = { bytes, sha256: undefined };
    let type: string;
    try {
      const { all, ...peeked } = await peekBody(body);
      const recognized = await recognize(peeked, row, rules, field.name);
      type = await recognized.settle(storageKey, bytes);
      if (isTextType(type)) {
        const options = { type, maxBytes: rules.maxBytes, field: field.name, hashes: false };
        for await (const _ of checkContent(all, options, facts));
      }
    } finally {
      body.destroy();
    }
    if (mayHaveLocation(type) && !rules.keepLocation) await cleanStored(storageKey, type, bytes);
    const image = await images.read(rules, storageKey, field.name);
    return { type, ...facts, ...image };
  }

  /**
   * Discards an upload if its content is invalid, unless another request has finished it with valid content. After a failure of the storage,
   * the client may complete the upload again.
   */
  async function discardIfInvalid(id: string, error: unknown): Promise<void> {
    if (error instanceof ApiError && error.status < 500) await discardQuietly(id, ['receiving']);
  }

  return {
    async receive(
      target,
      uploader,
      { name, type: claimed, bytes: announced },
      received,
      { hashes = false, signal } = {},
    ) {
      const [rules, field] = [rulesOf(target), fieldOf(target)];
      const { all, ...peeked } = await peekBody(received);
      const recognized = await recognize(peeked, { type: claimed, name: cleanFileName(name) }, rules, field);
      const { type } = recognized;
      const expected = Math.min(announced ?? rules.maxBytes, rules.maxBytes);
      const upload = await insert(target, uploader, { name, type, bytes: target === undefined ? 0 : expected }, false);
      try {
        const facts: ContentFacts = { bytes: 0, sha256: undefined };
        const body = rules.keepLocation ? all : removeLocation(all, type);
        const checked = checkContent(body, { type, maxBytes: rules.maxBytes, field, hashes }, facts);
        await storage.write(upload.storageKey, checked, { type, ...(signal && { signal }) });
        const settled = await recognized.settle(upload.storageKey, facts.bytes);
        const image = await images.read(rules, upload.storageKey, field);
        const content = { type: settled, ...facts, ...image };
        return await getFinished(upload.id, await store.finish(upload.id, content, limits));
      } catch (error) {
        await discardQuietly(upload.id);
        await removeIfForgotten(upload, target);
        throw toUploadError(error, log);
      }
    },

    async start(target, uploader, announced, isResumable) {
      assertSizeFits(announced.bytes, target.rules, target.field.name);
      return insert(target, uploader, announced, isResumable);
    },

    async finishDirect(target, row, storedBytes) {
      const content = await checkStored(target, row, row.storageKey, storedBytes).catch(async (error: unknown) => {
        await discardIfInvalid(row.id, error);
        throw toUploadError(error, log);
      });
      return getFinished(row.id, await store.finish(row.id, content, limits));
    },

    async finishResumable(target, row) {
      const storageKey = createStorageKey();
      const copy = { id: newId(), storageKey, variants: variantKeysOf(target.rules, storageKey) };
      if (!(await store.startCopy(row.id, copy))) {
        const [current] = await store.find([row.id]);
        if (current?.state === 'receiving')
          throw new ApiError('CONFLICT', 'Other requests complete this upload; try again in a moment');
        return getFinished(row.id, current);
      }
      const key = uploadKeyOf(row);
      let finished: FileRow | undefined;
      try {
        const { bytes } = await storage.complete(key, storageKey, { type: row.type });
        // A late part of an earlier request may have replaced bytes.
        if (bytes !== row.bytes)
          throw new ApiError(
            'CONFLICT',
            `The upload has ${bytes} bytes instead of ${row.bytes}; upload the file again`,
          );
        const content = await checkStored(target, row, storageKey, bytes);
        finished = await store.finishCopy({ id: row.id, key }, copy, content, limits);
      } catch (error) {
        await discardIfInvalid(row.id, error);
        await discardQuietly(copy.id);
        throw toUploadError(error, log);
      }
      if (finished === undefined) await discardQuietly(copy.id);
      else
        await storage
          .remove([key])
          .catch((error: unknown) => log.warn({ err: error }, 'the bytes of a finished upload are removed later'));
      return getFinished(row.id, finished);
    },
  };
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
