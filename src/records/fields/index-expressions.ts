import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';

// At 4 bytes per character, an index entry has room for this many characters and for the record's id.
const PREFIX_CHARACTERS = 600;

/** The SQL function that joins the items of an array. Unlike array_to_string it is immutable, as an index requires. */
export const ARRAY_TEXT = 'belfry_array_text';

/** The SQL statement that creates the function for joining the items of an array. */
export const CREATE_ARRAY_TEXT = `CREATE OR REPLACE FUNCTION ${ARRAY_TEXT}(text[]) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN array_to_string($1, E'\\n');`;

/**
 * The expression of a unique index over texts of any length: their SHA-256. The backslashes are doubled so that the cast to bytea reads the
 * text literally; `convert_to` is not immutable.
 */
export function digestSql(column: string): string {
  return `sha256(replace(${quoteIdentifier(column)}, '\\', '\\\\')::bytea)`;
}

/**
 * The expression that sorts long texts: their beginning, which fits into an index.
 *
 * @param text the text, as SQL
 */
export function prefixSql(text: string): string {
  return `left(${text}, ${PREFIX_CHARACTERS})`;
}

/** The items of an array of texts, joined into one text for the search index. */
export function arrayTextSql(column: string): string {
  return `${ARRAY_TEXT}(${quoteIdentifier(column)})`;
}

// A sequence of three characters that a search index holds: of a word, or of a word and its padding, two spaces before it and one after it
// (https://www.postgresql.org/docs/current/pgtrgm.html). The searched text may begin and end inside of a word.
const INDEXED_SEQUENCE = /[\p{L}\p{N}]{3}|[\p{L}\p{N}]{2}[^\p{L}\p{N}]|[^\p{L}\p{N}][\p{L}\p{N}]/u;

/** Whether a search index can find a text: `bel`, but not `be`. Other texts are searched in every row. */
export function isServedByTrigrams(text: string): boolean {
  return INDEXED_SEQUENCE.test(text);
}
