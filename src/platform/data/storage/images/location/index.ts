import { cleanJpeg, cleanPng, cleanWebp, type Report } from './formats.ts';
import { cleanHeif } from './heif.ts';
import { createPieceReader, type PieceReader } from './stream.ts';

type Cleaner = (reader: PieceReader, report: Report) => AsyncGenerator<Uint8Array>;

const CLEANERS = new Map<string, Cleaner>([
  ['image/jpeg', cleanJpeg],
  ['image/png', cleanPng],
  ['image/webp', cleanWebp],
  ['image/heic', cleanHeif],
  ['image/heif', cleanHeif],
  ['image/avif', cleanHeif],
]);

/** Whether the place where a photo of this type was taken can be removed. */
export function mayHaveLocation(type: string): boolean {
  return CLEANERS.has(type);
}

/**
 * Removes the place where a photo was taken from its Exif and XMP metadata, without decoding the image. All lengths stay the same, and so does
 * everything else, such as the orientation. Malformed data is passed on as it is.
 *
 * @param report called when a position was removed
 */
export function removeLocation(
  body: AsyncIterable<Uint8Array>,
  type: string,
  report: Report = () => undefined,
): AsyncIterable<Uint8Array> {
  const clean = CLEANERS.get(type);
  if (clean === undefined) return body;
  return (async function* () {
    const iterator = body[Symbol.asyncIterator]();
    try {
      yield* clean(createPieceReader({ [Symbol.asyncIterator]: () => iterator }), report);
    } finally {
      await iterator.return?.();
    }
  })();
}
