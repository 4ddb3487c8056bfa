import type { Request } from 'express';
import { ApiError } from '../../../platform/errors.ts';

const PLAIN = /^[\x21\x23-\x7e][\x21-\x7e]*$/;
// A string in the sense of RFC 9651 §3.3.3, as the draft requires.
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
const LONGEST = 255;

/**
 * Reads `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header). The value may be in double quotes; with and without quotes it is
 * the same key.
 *
 * @returns undefined if there is none
 * @throws ApiError BAD_REQUEST if it is malformed, empty, too long, or repeated
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
