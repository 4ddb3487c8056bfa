/** Levels of arrays and objects in one another. */
export const MOST_LEVELS = 32;

const MOST_VALUES = 100_000;

/**
 * Whether a parsed JSON value is deeper or larger than any honest one. Without recursion: 100 kB of `[` is 50,000 levels, on which
 * JSON.stringify, zod and jsonb fail one after the other.
 */
export function isExcessiveJson(root: unknown): boolean {
  let level: unknown[] = [root];
  let values = 0;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_LEVELS) return true;
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value !== 'object' || value === null) continue;
      const inner = Array.isArray(value) ? value : Object.values(value);
      values += inner.length;
      if (values > MOST_VALUES) return true;
      for (const one of inner) if (typeof one === 'object' && one !== null) next.push(one);
    }
    level = next;
  }
  return false;
}
