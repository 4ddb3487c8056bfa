import { createHash } from 'node:crypto';
import { isTextType, withBaseType } from '../../platform/data/storage/media-types/names.ts';
import { START_BYTES } from '../../platform/data/storage/media-types/recognize.ts';
import { ApiError, validationError } from '../../platform/helpers/errors.ts';
import { matchesMediaType } from '../../platform/http/bodies/body-stream.ts';
import type { FileRules } from '../../records/fields/types/file.ts';

/** The error for a type that a field does not accept; undefined if it does. */
export function findTypeError(type: string, { types }: FileRules): string | undefined {
  const isAccepted = withBaseType(type).some((one) => matchesMediaType(one, types));
  return isAccepted ? undefined : `Must be ${types.join(' or ')}, not ${type}`;
}

/** @throws ApiError VALIDATION_ERROR naming the type that was found, if a field does not accept it */
export function assertTypeIsAccepted(type: string, rules: FileRules, field: string): void {
  const message = findTypeError(type, rules);
  if (message !== undefined) throw validationError({ [field]: message });
}

/**
 * The error for a file that is too large for a field; undefined if it fits.
 *
 * @param bytes the size as far as it is known
 */
export function findSizeError(bytes: number, { maxBytes }: Pick<FileRules, 'maxBytes'>, field: string) {
  return bytes <= maxBytes
    ? undefined
    : `A file of ${field} must be at most ${maxBytes} bytes; this one has ${Number.isFinite(bytes) ? bytes : 'more'}`;
}

/** @throws ApiError PAYLOAD_TOO_LARGE naming the field and its limit */
export function assertSizeFits(bytes: number, rules: Pick<FileRules, 'maxBytes'>, field: string): void {
  const message = findSizeError(bytes, rules, field);
  if (message !== undefined) throw new ApiError('PAYLOAD_TOO_LARGE', message);
}

/** A body whose first bytes have been read. `all` yields the whole body. */
export interface PeekedBody {
  first: Uint8Array;
  /** Whether the first bytes are the whole body. */
  isWhole: boolean;
  all: AsyncIterable<Uint8Array>;
}

/** Reads the first bytes of a body. */
export async function peekBody(body: AsyncIterable<Uint8Array>): Promise<PeekedBody> {
  const iterator = body[Symbol.asyncIterator]();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let isWhole = false;
  while (bytes < START_BYTES) {
    const { done, value } = await iterator.next();
    isWhole = done === true;
    if (done) break;
    chunks.push(value);
    bytes += value.length;
  }
  async function* all() {
    try {
      yield* chunks;
      for (;;) {
        const { done, value } = await iterator.next();
        if (done) return;
        yield value;
      }
    } finally {
      await iterator.return?.();
    }
  }
  return { first: Buffer.concat(chunks).subarray(0, START_BYTES), isWhole, all: all() };
}

/** The facts about a body that are known once it has passed. */
export interface ContentFacts {
  bytes: number;
  sha256: string | undefined;
}

/**
 * Passes a body on and checks it: its size, and whether a text is valid UTF-8.
 *
 * @param facts receives the facts when the body has ended
 * @throws ApiError PAYLOAD_TOO_LARGE or VALIDATION_ERROR
 */
export async function* checkContent(
  body: AsyncIterable<Uint8Array>,
  { type, maxBytes, field, hashes }: { type: string; maxBytes: number; field: string; hashes: boolean },
  facts: ContentFacts,
): AsyncGenerator<Uint8Array> {
  const decoder = isTextType(type) ? new TextDecoder('utf-8', { fatal: true }) : undefined;
  const hash = hashes ? createHash('sha256') : undefined;
  const decode = (chunk?: Uint8Array) => {
    try {
      decoder?.decode(chunk, { stream: chunk !== undefined });
    } catch {
      throw validationError({ [field]: 'Must be a text in UTF-8' });
    }
  };
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    // The rest has not arrived, so the size is not known.
    if (bytes > maxBytes) assertSizeFits(Number.POSITIVE_INFINITY, { maxBytes }, field);
    decode(chunk);
    hash?.update(chunk);
    yield chunk;
  }
  decode();
  if (bytes === 0) throw validationError({ [field]: 'Must not be empty' });
  facts.bytes = bytes;
  facts.sha256 = hash?.digest('hex');
}
