/** Levels of arrays and objects in one another. */
export const MOST_LEVELS = 32;

const MOST_VALUES = 100_000;

/**
 * Whether a parsed JSON value is deeper or larger than any honest one. Without recursion: 100 kB of `[` is 50,000 levels, on which
 * JSON.stringify, zod and jsonb fail one after the other.
 */
export function isExcessiveJson(root: unknown): boolean {
  return excessOf(root, Number.POSITIVE_INFINITY) !== undefined;
}

/** The message for an object with too many fields. */
export function tooManyKeys(maxKeys: number): string {
  return `Must have at most ${maxKeys} fields in one object`;
}

/**
 * Checks the limits of a parsed JSON value.
 *
 * @param maxKeys the most fields of one object
 * @param maxRootKeys the most fields of the value itself; infinite if its fields are counted later, so that errors can name them
 * @returns the message of the limit that the value exceeds; undefined if it exceeds none
 */
export function excessOf(root: unknown, maxKeys: number, maxRootKeys = maxKeys): string | undefined {
  let level: unknown[] = [root];
  let values = 0;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_LEVELS) return `Must be nested at most ${MOST_LEVELS} levels deep`;
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value !== 'object' || value === null) continue;
      const names = Array.isArray(value) ? undefined : Object.keys(value);
      if (names !== undefined && names.length > (value === root ? maxRootKeys : maxKeys)) return tooManyKeys(maxKeys);
      values += names === undefined ? (value as unknown[]).length : names.length;
      if (values > MOST_VALUES) return `Must have at most ${MOST_VALUES} values`;
      if (names === undefined) {
        for (const one of value as unknown[]) if (typeof one === 'object' && one !== null) next.push(one);
        continue;
      }
      // For an object with thousands of fields, Object.values alone takes longer than parsing it.
      for (const name of names) {
        const one = (value as Record<string, unknown>)[name];
        if (typeof one === 'object' && one !== null) next.push(one);
      }
    }
    level = next;
  }
  return undefined;
}
