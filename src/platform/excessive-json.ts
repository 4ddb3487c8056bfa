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

/** The rule that an object with too many fields breaks. */
export function tooManyKeys(maxKeys: number): string {
  return `Must have at most ${maxKeys} fields in one object`;
}

/**
 * What of a parsed JSON value is beyond what is allowed, as the rule that it breaks; undefined for one that is not.
 *
 * @param maxKeys fields that one object may have
 * @param maxRootKeys the same of the value itself: more, where its fields are counted as they are checked, so that errors can name them
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
      // Of an object with thousands of fields Object.values alone takes longer than the parser.
      for (const name of names) {
        const one = (value as Record<string, unknown>)[name];
        if (typeof one === 'object' && one !== null) next.push(one);
      }
    }
    level = next;
  }
  return undefined;
}
