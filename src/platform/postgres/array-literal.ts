/** A column of a statement's rows, for `unnest`. */
type Value = string | number | boolean | null;

/**
 * An array parameter as Postgres reads it, of values that need no quotes: numbers, booleans, ids, timestamps. pg's own way escapes
 * each element as if it could hold anything, which takes longer than the statement on long arrays.
 */
export function plainArray(values: readonly Value[]): string {
  return `{${values.map((value) => (value === null ? 'NULL' : value)).join(',')}}`;
}

const SPECIAL = /["\\]/;

/** An array parameter of any texts. */
export function textArray(values: readonly (string | null)[]): string {
  const elements = values.map((value) => {
    if (value === null) return 'NULL';
    return `"${SPECIAL.test(value) ? value.replace(/["\\]/g, '\\$&') : value}"`;
  });
  return `{${elements.join(',')}}`;
}
