import { buffer } from 'node:stream/consumers';
import { mayHaveLocation, removeLocation } from '../../platform/data/storage/images/location/index.ts';
import { createBlockSource, createBufferSource } from '../../platform/data/storage/media-types/byte-source.ts';
import { chooseClaimedType, isTextType } from '../../platform/data/storage/media-types/names.ts';
import { recognizeStart } from '../../platform/data/storage/media-types/recognize.ts';
import type { FileStorage } from '../../platform/data/storage/storage.ts';
import { matchesMediaType } from '../../platform/http/bodies/body-stream.ts';
import type { FileRules } from '../../records/fields/types/file.ts';
import type { FileRow, StoredContent } from '../store/store.ts';
import { assertTypeIsAccepted, type ContentFacts, checkContent, type PeekedBody, peekBody } from './content.ts';
import type { ImageFacts } from './images.ts';
import type { UploadTarget } from './targets.ts';

/** A file whose first bytes have been looked at, and whose type the field may accept. */
interface RecognizedUpload {
  /** The type, as far as the first bytes tell it. */
  type: string;
  /**
   * Returns the type of the stored file. Reads it only if its type depends on more than the first bytes.
   *
   * @throws ApiError VALIDATION_ERROR if the field does not accept it; StorageError
   */
  settle(storageKey: string, bytes: number): Promise<string>;
}

/** Creates the function that recognizes files for a field by their content. It throws a VALIDATION_ERROR for a type that the field cannot accept. */
export function createRecognition(storage: Pick<FileStorage, 'read'>) {
  return async (
    { first, isWhole }: Pick<PeekedBody, 'first' | 'isWhole'>,
    { type: claimed, name }: { type: string; name: string },
    rules: FileRules,
    field: string,
  ): Promise<RecognizedUpload> => {
    const { type: guess, finish, candidates = [] } = await recognizeStart(first);
    const isSettled = finish === undefined || isWhole;
    const found = isWhole ? await finish?.(createBufferSource(first)) : undefined;
    const type = chooseClaimedType(found ?? guess, claimed, name);
    const mayBeAccepted = !isSettled && candidates.some((one) => matchesMediaType(one, rules.types));
    if (first.length > 0 && !mayBeAccepted) assertTypeIsAccepted(type, rules, field);
    return {
      type,
      async settle(storageKey, bytes) {
        if (isSettled) return type;
        const readRange = async (start: number, end: number) => buffer(await storage.read(storageKey, { start, end }));
        const settled = await finish(createBlockSource(bytes, readRange));
        assertTypeIsAccepted(settled, rules, field);
        return settled;
      },
    };
  };
}

/** Removes the place where a stored photo was taken. Writes the photo again only if it has one. */
async function removeStoredLocation(storage: FileStorage, storageKey: string, type: string, bytes: number) {
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

/** Creates the check of stored bytes, which checks what `checkContent` checks of arriving ones. It throws an ApiError or a StorageError. */
export function createStoredContentCheck(
  storage: FileStorage,
  recognize: ReturnType<typeof createRecognition>,
  images: ImageFacts,
) {
  return async (
    { field, rules }: UploadTarget,
    row: Pick<FileRow, 'type' | 'name'>,
    storageKey: string,
    bytes: number,
  ): Promise<StoredContent> => {
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
    if (mayHaveLocation(type) && !rules.keepLocation) await removeStoredLocation(storage, storageKey, type, bytes);
    return { type, ...facts, ...(await images.read(rules, storageKey, field.name)) };
  };
}
