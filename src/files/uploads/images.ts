import { ImageError } from '../../platform/data/storage/images/image.ts';
import { inspectImage } from '../../platform/data/storage/images/inspect.ts';
import { createVariant, type ImageVariantInput, variantSchema } from '../../platform/data/storage/images/variant.ts';
import type { FileStorage } from '../../platform/data/storage/storage.ts';
import { ApiError, validationError } from '../../platform/helpers/errors.ts';
import type { FileRules } from '../../records/fields/types/file.ts';
import type { StoredContent, StoredVariant } from '../store/store.ts';

/** The keys of the variants of a file, by name. The row has them before they are stored, so that their bytes are never forgotten. */
export function createVariantKeys(
  { image }: FileRules,
  storageKey: string,
): Record<string, { key: string }> | undefined {
  const names = Object.keys(image?.variants ?? {});
  if (names.length === 0) return undefined;
  return Object.fromEntries(names.map((name, i) => [name, { key: `${storageKey}.v${i}` }]));
}

/** Reads the size of stored images and creates their variants. */
export interface ImageFacts {
  /**
   * Returns the facts about a stored image; nothing for a field without image rules.
   *
   * @throws ApiError VALIDATION_ERROR for a file that is not an image or has too many pixels; UNAVAILABLE if too many images are waiting
   */
  read(
    rules: FileRules,
    storageKey: string,
    field: string,
  ): Promise<Pick<StoredContent, 'width' | 'height' | 'variants'>>;
}

/** Creates the reader of images in a storage. */
export function createImageFacts(storage: FileStorage): ImageFacts {
  async function readSize(storageKey: string, limits: { maxPixels: number; maxBytes: number }) {
    const source = await storage.read(storageKey);
    try {
      return await inspectImage(source, limits);
    } finally {
      source.destroy();
    }
  }

  async function storeVariant(
    storageKey: string,
    key: string,
    declared: ImageVariantInput,
    limits: { maxPixels: number; maxBytes: number },
  ): Promise<StoredVariant> {
    const source = await storage.read(storageKey);
    const { stream, type, bytes, width, height } = await createVariant(source, variantSchema.parse(declared), limits);
    await storage.write(key, stream, { bytes, type });
    return { key, type, bytes, width, height };
  }

  return {
    async read(rules, storageKey, field) {
      const { image, maxBytes } = rules;
      if (image === undefined) return {};
      const limits = { maxPixels: image.maxPixels, maxBytes };
      try {
        const { width, height } = await readSize(storageKey, limits);
        const keys = createVariantKeys(rules, storageKey);
        if (keys === undefined) return { width, height };
        const variants: Record<string, StoredVariant> = {};
        for (const [name, { key }] of Object.entries(keys))
          variants[name] = await storeVariant(storageKey, key, image.variants[name]!, limits);
        return { width, height, variants };
      } catch (error) {
        if (!(error instanceof ImageError)) throw error;
        if (error.reason === 'busy') throw new ApiError('UNAVAILABLE', error.message, { cause: error });
        throw validationError({ [field]: error.message });
      }
    },
  };
}
