import { createHash } from 'node:crypto';
import { ApiError, validationError } from '../platform/errors.ts';
import { matchesMediaType } from '../platform/http/bodies/body-stream.ts';
import { SNIFF_BYTES, sniffType } from '../platform/storage/sniff.ts';
import type { FileRules } from '../records/fields/types/file.ts';

const PLAIN_TEXT = 'text/plain';
/** Text formats that cannot be recognized by their content and that browsers never execute. */
const TEXT_TYPES = new Map([
  ['csv', 'text/csv'],
  ['tsv', 'text/tab-separated-values'],
  ['md', 'text/markdown'],
  ['ics', 'text/calendar'],
  ['vcf', 'text/vcard'],
  ['json', 'application/json'],
  ['ndjson', 'application/x-ndjson'],
]);
const KNOWN_TEXT_TYPES = new Set(TEXT_TYPES.values());

/** Whether files of this type are text, which must be UTF-8. */
export function isTextType(type: string): boolean {
  return type === PLAIN_TEXT || KNOWN_TEXT_TYPES.has(type);
}

/**
 * Determines the type of a file from its first bytes. Only between text formats, which look alike, the claimed type or the extension
 * decides.
 */
export function determineType(first: Uint8Array, claimedType: string, name: string): string {
  const found = sniffType(first);
  if (!isTextType(found)) return found;
  if (KNOWN_TEXT_TYPES.has(claimedType)) return claimedType;
  return TEXT_TYPES.get(name.slice(name.lastIndexOf('.') + 1).toLowerCase()) ?? found;
}

/** The error for a type that a field does not accept; undefined if it does. */
export function findTypeError(type: string, { types }: FileRules): string | undefined {
  return matchesMediaType(type, types) ? undefined : `Must be ${types.join(' or ')}, not ${type}`;
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
  all: AsyncIterable<Uint8Array>;
}

/** Reads the first bytes of a body. */
export async function peekBody(body: AsyncIterable<Uint8Array>): Promise<PeekedBody> {
  const iterator = body[Symbol.asyncIterator]();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  while (bytes < SNIFF_BYTES) {
    const { done, value } = await iterator.next();
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
  return { first: Buffer.concat(chunks).subarray(0, SNIFF_BYTES), all: all() };
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
