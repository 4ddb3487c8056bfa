/** The record, or the entity tag of a response, that a write expects to be current. */
export type IfMatch = string | object;

/** The tags of records as they were received, for records without timestamps. */
const tags = new WeakMap<object, string>();

/** Remembers the entity tag of the response with a record. */
export function rememberTag(record: unknown, headers: Headers): void {
  // Proxies that compress make a tag weak. The server compares only its version, but never accepts a weak one.
  const tag = headers.get('etag')?.replace(/^W\//, '');
  if (tag !== undefined && typeof record === 'object' && record !== null) tags.set(record, tag);
}

/** The tag that stands for the time of the last change: its version is the time in base 36, with a zero as the minus sign. */
function tagOfTime(time: string): string {
  const ms = Date.parse(time);
  if (Number.isNaN(ms)) throw new TypeError(`ifMatch must be a record or an entity tag, not "${time}"`);
  return `"${ms < 0 ? '0' : ''}${Math.abs(ms).toString(36)}-"`;
}

/**
 * Returns the entity tag for `If-Match`.
 *
 * @param expected a record, its `updatedAt`, or the tag of a response
 * @throws TypeError for a record whose version is unknown
 */
export function toEntityTag(expected: IfMatch): string {
  if (typeof expected === 'string') return /^(\*$|"|W\/)/.test(expected) ? expected : tagOfTime(expected);
  const { updatedAt } = expected as { updatedAt?: unknown };
  if (typeof updatedAt === 'string') return tagOfTime(updatedAt);
  const tag = tags.get(expected);
  if (tag !== undefined) return tag;
  throw new TypeError('ifMatch needs a record with updatedAt, or the record that get, create or update returned');
}
