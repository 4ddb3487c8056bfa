/** An object of an OpenAPI document. */
export type Json = Record<string, unknown>;

/** Whether a value is an object, and neither null nor a list. */
export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value as an object; an empty one if it is none. */
export function asObject(value: unknown): Json {
  return isObject(value) ? value : {};
}

/** Returns the value as a list; an empty one if it is none. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns a copy with all keys sorted, so that the same content has the same text. */
export function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isObject(value)) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, sortKeys(value[name])]));
}

/** Returns the names in either object, with whether each object has them. */
export function compareNames(before: Json, after: Json): { removed: string[]; added: string[]; kept: string[] } {
  const names = Object.keys(before);
  return {
    removed: names.filter((name) => !Object.hasOwn(after, name)),
    added: Object.keys(after).filter((name) => !Object.hasOwn(before, name)),
    kept: names.filter((name) => Object.hasOwn(after, name)),
  };
}

/**
 * Follows a reference, such as `{ $ref: '#/components/schemas/Post' }`.
 *
 * @returns the value and, if it was a reference, the pointer
 * @throws Error if the reference leads nowhere
 */
export function resolve(value: unknown, document: Json): { value: unknown; pointer?: string } {
  const pointer = asObject(value).$ref;
  if (typeof pointer !== 'string') return { value };
  const segments = pointer.split('/').slice(1);
  const target = segments.reduce<unknown>((parent, segment) => asObject(parent)[decodeSegment(segment)], document);
  if (target === undefined) throw new Error(`The reference ${pointer} leads nowhere.`);
  return { value: resolve(target, document).value, pointer };
}

/** Decodes a segment of a JSON pointer in a URL (RFC 6901, section 6). */
function decodeSegment(segment: string): string {
  return decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~');
}
