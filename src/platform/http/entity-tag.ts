import { hash } from 'node:crypto';
import { ApiError } from '../helpers/errors.ts';

// Characters of base64: 132 bits of SHA-256.
const HASH_LENGTH = 22;
const VERSION = /^([0-9a-z]+)-/;
// Matches one element of a list of entity tags; an element may be empty (RFC 9110 §5.6.1, §8.8.3). Node decodes headers as Latin-1.
const ELEMENT = /[ \t]*(?:(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*)?(?:,|$)/y;

/** An entity tag that a client sent. */
export interface EntityTag {
  weak: boolean;
  /** The text between the quotes. */
  opaque: string;
}

/**
 * The strong entity tag of a response: `<version>-<hash><viewer>`, or `<hash><viewer>` without a version. No two viewers share a tag.
 *
 * @param body in UTF-8
 * @param version the version of the record in the body: digits and lower-case letters
 * @param viewer a user id; empty for a viewer without one, and if all viewers get the same response
 */
export function createEntityTag(body: Buffer | string, version: string | undefined, viewer = ''): string {
  const digest = hash('sha256', body, 'base64').slice(0, HASH_LENGTH) + viewer;
  return version === undefined ? digest : `${version}-${digest}`;
}

/** Returns the version in an entity tag created by `createEntityTag`; undefined if the tag has none. */
export function versionOfTag(tag: string): string | undefined {
  return VERSION.exec(tag)?.[1];
}

/**
 * Parses `If-Match` or `If-None-Match`.
 *
 * @returns the tags, `*` for any, or undefined if the header is malformed
 */
export function parseEntityTags(header: string): '*' | EntityTag[] | undefined {
  if (header.trim() === '*') return '*';
  const tags: EntityTag[] = [];
  for (let at = 0; at < header.length; at = ELEMENT.lastIndex) {
    ELEMENT.lastIndex = at;
    const element = ELEMENT.exec(header);
    if (element === null) return undefined;
    if (element[2] !== undefined) tags.push({ weak: element[1] !== undefined, opaque: element[2] });
  }
  return tags.length > 0 ? tags : undefined;
}

/** The 400 response to an `If-Match` that `parseEntityTags` cannot parse. */
export function createIfMatchError(): ApiError {
  return new ApiError('BAD_REQUEST', 'If-Match must be * or a list of entity tags in double quotes');
}
