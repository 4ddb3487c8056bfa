/** A value, for a message. */
function describeValue(value: unknown): string {
  if (typeof value === 'number' || value === undefined) return String(value);
  const name = typeof value === 'object' && value !== null ? value.constructor?.name : typeof value;
  return /^[aeiou]/i.test(name ?? '') ? `an ${name}` : `a ${name ?? 'value'}`;
}

function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/** A part of a value that JSON cannot hold; undefined if there is none. @param holders the objects that contain the value */
function findNonJson(
  value: unknown,
  path: string,
  holders: readonly object[],
): { path: string; what: string } | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value))
    return undefined;
  if (typeof value !== 'object' || !(Array.isArray(value) || isPlainObject(value)))
    return { path, what: describeValue(value) };
  if (holders.includes(value)) return { path, what: 'an object that contains itself' };
  const inside = [...holders, value];
  for (const [key, member] of Object.entries(value)) {
    const found = findNonJson(member, `${path}.${key}`, inside);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Returns the output of a json field's schema unchanged.
 *
 * @throws Error naming the part that JSON cannot hold: stored, it would not be the value whose type the schema declares
 */
export function assertJsonOutput(value: unknown, path: string): unknown {
  const found = findNonJson(value, path, []);
  if (found === undefined) return value;
  throw new Error(
    `The schema of a json field returned ${found.what} at "${found.path}", which JSON cannot hold; let the schema return plain JSON, such as an ISO string for a date`,
  );
}
