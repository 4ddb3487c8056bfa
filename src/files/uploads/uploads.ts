import { removeLocation } from '../../platform/data/storage/images/location/index.ts';
import { type FileStorage, StorageError } from '../../platform/data/storage/storage.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { newId } from '../../platform/helpers/ids.ts';
import type { Logger } from '../../platform/observability/log.ts';
import { type FileRow, type FileStore, isRemoved, type PendingLimits } from '../store/store.ts';
import { assertSizeFits, type ContentFacts, checkContent, peekBody } from './content.ts';
import { cleanFileName } from './file-name.ts';
import { createImageFacts, createVariantKeys } from './images.ts';
import { createRecognition, createStoredContentCheck } from './recognition.ts';
import type { UploadTarget } from './targets.ts';
import { type Announced, createStorageKey, createUploadRows, rulesOf, type StartedUpload } from './upload-rows.ts';
import type { Uploader } from './uploader.ts';

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
function toUploadError(error: unknown, log: Logger): unknown {
  if (!(error instanceof StorageError)) return error;
  log.error({ err: error, reason: error.reason }, 'the file storage failed');
  return new ApiError(error.reason === 'full' ? 'STORAGE_FULL' : 'UNAVAILABLE', undefined, { cause: error });
}

/** Waits for the storage. @throws ApiError STORAGE_FULL or UNAVAILABLE if it fails */
export async function fromStorage<T>(work: Promise<T>, log: Logger): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw toUploadError(error, log);
  }
}

/** The key under which the bytes of a resumable upload arrive. */
export const uploadKeyOf = ({ storageKey }: Pick<FileRow, 'storageKey'>) => `${storageKey}.upload`;

interface UploadParts {
  storage: FileStorage;
  store: FileStore;
  limits: PendingLimits;
  log: Logger;
  rows: ReturnType<typeof createUploadRows>;
  images: ReturnType<typeof createImageFacts>;
  recognize: ReturnType<typeof createRecognition>;
  checkStored: ReturnType<typeof createStoredContentCheck>;
}

/** Creates the function that receives a whole file. */
function createReceive({ storage, store, log, rows, images, recognize }: UploadParts): Uploads['receive'] {
  /** Removes the bytes of an upload that was removed while they arrived, for example because its user was erased: no sweep might find them. */
  async function removeIfForgotten({ id, storageKey }: StartedUpload, target: UploadTarget | undefined): Promise<void> {
    try {
      const [row] = await store.find([id]);
      if (row !== undefined && !isRemoved(row)) return;
      const variants = Object.values(createVariantKeys(rulesOf(target), storageKey) ?? {});
      await storage.remove([storageKey, ...variants.map(({ key }) => key)]);
    } catch (error) {
      log.error({ err: error, key: storageKey }, 'the bytes of a removed upload may still be in the storage');
    }
  }

  return async (target, uploader, announced, received, { hashes = false, signal } = {}) => {
    const { name, type: claimed } = announced;
    const rules = rulesOf(target);
    const { maxBytes } = rules;
    const field = target?.field.name ?? 'file';
    const { all, ...peeked } = await peekBody(received);
    const recognized = await recognize(peeked, { type: claimed, name: cleanFileName(name) }, rules, field);
    const { type } = recognized;
    const bytes = target === undefined ? 0 : Math.min(announced.bytes ?? maxBytes, maxBytes);
    const upload = await rows.insert(target, uploader, { name, type, bytes }, false);
    try {
      const facts: ContentFacts = { bytes: 0, sha256: undefined };
      const body = rules.keepLocation ? all : removeLocation(all, type);
      const checked = checkContent(body, { type, maxBytes, field, hashes }, facts);
      await storage.write(upload.storageKey, checked, { type, ...(signal && { signal }) });
      const settled = await recognized.settle(upload.storageKey, facts.bytes);
      const image = await images.read(rules, upload.storageKey, field);
      return await rows.finish(upload.id, { type: settled, ...facts, ...image });
    } catch (error) {
      await rows.discard(upload.id);
      await removeIfForgotten(upload, target);
      throw toUploadError(error, log);
    }
  };
}

/** Creates the function that makes a resumable upload pending. */
function createFinishResumable({ storage, store, limits, log, rows, checkStored }: UploadParts) {
  return async (target: UploadTarget, row: FileRow): Promise<FileRow> => {
    const storageKey = createStorageKey();
    const copy = { id: newId(), storageKey, variants: createVariantKeys(target.rules, storageKey) };
    if (!(await store.startCopy(row.id, copy))) {
      const [current] = await store.find([row.id]);
      if (current?.state === 'receiving')
        throw new ApiError('CONFLICT', 'Other requests complete this upload; try again in a moment');
      return rows.getFinished(row.id, current);
    }
    const key = uploadKeyOf(row);
    let finished: FileRow | undefined;
    try {
      const { bytes } = await storage.complete(key, storageKey, { type: row.type });
      // A late part of an earlier request may have replaced bytes.
      if (bytes !== row.bytes)
        throw new ApiError('CONFLICT', `The upload has ${bytes} bytes instead of ${row.bytes}; upload the file again`);
      const content = await checkStored(target, row, storageKey, bytes);
      finished = await store.finishCopy({ id: row.id, key }, copy, content, limits);
    } catch (error) {
      await rows.discardIfInvalid(row.id, error);
      await rows.discard(copy.id);
      throw toUploadError(error, log);
    }
    if (finished === undefined) await rows.discard(copy.id);
    else
      await storage
        .remove([key])
        .catch((error: unknown) => log.warn({ err: error }, 'the bytes of a finished upload are removed later'));
    return rows.getFinished(row.id, finished);
  };
}

/** Creates the receiver of uploads. */
export function createUploads(given: Pick<UploadParts, 'storage' | 'store' | 'limits' | 'log'>): Uploads {
  const { storage, store, limits, log } = given;
  const rows = createUploadRows(store, limits, log);
  const images = createImageFacts(storage);
  const recognize = createRecognition(storage);
  const checkStored = createStoredContentCheck(storage, recognize, images);
  const parts = { ...given, rows, images, recognize, checkStored };
  return {
    receive: createReceive(parts),
    finishResumable: createFinishResumable(parts),

    async start(target, uploader, announced, isResumable) {
      assertSizeFits(announced.bytes, target.rules, target.field.name);
      return rows.insert(target, uploader, announced, isResumable);
    },

    async finishDirect(target, row, storedBytes) {
      const content = await checkStored(target, row, row.storageKey, storedBytes).catch(async (error: unknown) => {
        await rows.discardIfInvalid(row.id, error);
        throw toUploadError(error, log);
      });
      return rows.finish(row.id, content);
    },
  };
}
