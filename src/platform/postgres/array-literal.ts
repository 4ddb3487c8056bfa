/** A value in an array parameter for `unnest`. */
type Value = string | number | boolean | null;

/**
 * The Postgres literal of an array of values that need no quotes: numbers, booleans, ids, timestamps. pg's own conversion escapes
 * each element, which takes longer than the statement itself on long arrays.
 */
export function plainArray(values: readonly Value[]): string {
  return `{${values.map((value) => (value === null ? 'NULL' : value)).join(',')}}`;
}

const SPECIAL = /["\\]/;

/** The Postgres literal of an array of arbitrary texts. */
export function textArray(values: readonly (string | null)[]): string {
  const elements = values.map((value) => {
    if (value === null) return 'NULL';
    return `"${SPECIAL.test(value) ? value.replace(/["\\]/g, '\\$&') : value}"`;
  });
  return `{${elements.join(',')}}`;
}
