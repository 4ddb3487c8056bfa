import type { Request } from 'express';
import { ApiError } from '../../../platform/errors.ts';

const PLAIN = /^[\x21\x23-\x7e][\x21-\x7e]*$/;
// A string of RFC 9651 §3.3.3, which is what the draft takes.
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
const LONGEST = 255;

/**
 * Reads `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): as it is, or between double quotes, which makes no other
 * key of it.
 *
 * @returns undefined when there is none
 * @throws ApiError BAD_REQUEST when it is malformed, empty, too long, or there are two
 */
export function readIdempotencyKey({ headers }: Request): string | undefined {
  const header = headers['idempotency-key'];
  if (header === undefined) return undefined;
  const text = String(header);
  const key = PLAIN.test(text) ? text : QUOTED.exec(text)?.[1]?.replace(/\\(.)/g, '$1');
  if (key === undefined || key === '' || key.length > LONGEST) {
    throw new ApiError('BAD_REQUEST', `Idempotency-Key must be one key of 1 to ${LONGEST} visible ASCII characters`);
  }
  return key;
}
