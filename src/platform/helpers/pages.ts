import { z } from 'zod';

/** Returns the schema of a query parameter that is a whole number from 1 to `max`. */
export function countParameter(max: number, defaultCount: number) {
  const error = { error: `Must be a whole number from 1 to ${max}` };
  return z.coerce.number(error).int(error).min(1, error).max(max, error).default(defaultCount);
}

/**
 * Returns a page and the cursor of the next page. The caller has read one row more than `limit`, which shows whether more follow.
 *
 * @param cursorOf returns the cursor of the page that begins after a row
 * @param isCut whether more rows follow although fewer were read
 */
export function toPage<Row>(
  rows: readonly Row[],
  limit: number,
  cursorOf: (last: Row) => string,
  isCut = false,
): { page: Row[]; next: string | null } {
  const page = rows.slice(0, limit);
  return { page, next: isCut || rows.length > limit ? cursorOf(page.at(-1)!) : null };
}
