import { buffer } from 'node:stream/consumers';
import { createBlockSource, createBufferSource } from '../../platform/data/storage/media-types/byte-source.ts';
import { chooseClaimedType } from '../../platform/data/storage/media-types/names.ts';
import { recognizeStart } from '../../platform/data/storage/media-types/recognize.ts';
import type { FileStorage } from '../../platform/data/storage/storage.ts';
import { matchesMediaType } from '../../platform/http/bodies/body-stream.ts';
import type { FileRules } from '../../records/fields/types/file.ts';
import { assertTypeIsAccepted, type PeekedBody } from './content.ts';

/** A file whose first bytes have been looked at, and whose type the field may accept. */
export interface RecognizedUpload {
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
