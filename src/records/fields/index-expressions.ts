import { quoteIdentifier } from '../../platform/postgres/quote-identifier.ts';

// At 4 bytes a character an index still has room for them, and for the record's id.
const PREFIX_CHARACTERS = 600;

/** The SQL function that joins the items of an array: unlike array_to_string it is immutable, as an index requires. */
export const ARRAY_TEXT = 'belfry_array_text';

/** Creates what indexes over arrays of texts need. */
export const CREATE_ARRAY_TEXT = `CREATE OR REPLACE FUNCTION ${ARRAY_TEXT}(text[]) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN array_to_string($1, E'\\n');`;

/**
 * What a unique index over texts of any length holds of a text. The backslashes are doubled so that the cast to bytea takes the
 * text as it is; `convert_to` is not immutable.
 */
export function digestSql(column: string): string {
  return `sha256(replace(${quoteIdentifier(column)}, '\\', '\\\\')::bytea)`;
}

/**
 * What a list of long texts is sorted by: their start, which an index has room for.
 *
 * @param text SQL
 */
export function prefixSql(text: string): string {
  return `left(${text}, ${PREFIX_CHARACTERS})`;
}

/** The items of an array of texts as one text: contains whatever an item contains. */
export function arrayTextSql(column: string): string {
  return `${ARRAY_TEXT}(${quoteIdentifier(column)})`;
}
