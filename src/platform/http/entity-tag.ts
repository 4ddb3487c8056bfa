import { hash } from 'node:crypto';

// 132 bits of SHA-256.
const HASH_LENGTH = 22;
// One element of a list, which may be empty (RFC 9110 §5.6.1, §8.8.3). Headers come as Latin-1.
const ELEMENT = /[ \t]*(?:(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*)?(?:,|$)/y;

/** An entity tag that a client sent. */
export interface EntityTag {
  weak: boolean;
  /** Between the quotes. */
  opaque: string;
}

/**
 * The strong entity tag of an answer: `<version>-<hash>`, or the hash alone.
 *
 * @param bytes all that must be the same for the tag to be the same
 * @param version of the record that the answer holds
 */
export function entityTag(bytes: Buffer, version: string | undefined): string {
  const digest = hash('sha256', bytes, 'base64url').slice(0, HASH_LENGTH);
  return version === undefined ? digest : `${version}-${digest}`;
}

/** The version in a tag that `entityTag` made; undefined when there is none. */
export function versionIn(tag: string): string | undefined {
  const end = tag.length - HASH_LENGTH - 1;
  return end > 0 && tag[end] === '-' ? tag.slice(0, end) : undefined;
}

/**
 * Reads `If-Match` or `If-None-Match`.
 *
 * @returns the tags, `*` for any, or undefined when it is malformed
 */
export function readEntityTags(header: string): '*' | EntityTag[] | undefined {
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
