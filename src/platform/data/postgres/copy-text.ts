const SPECIAL = /[\\\n\r\t]/;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

const toCopyText = (value: string) =>
  SPECIAL.test(value) ? value.replace(/[\\\n\r\t]/g, (character) => ESCAPES[character]!) : value;

/** Returns columns of a row in the text format of `copy`. A row ends with a line break; a tab separates it from further columns. */
export function toCopyColumns(values: readonly (string | null | undefined)[]): string {
  return values.map((value) => (value === null || value === undefined ? '\\N' : toCopyText(value))).join('\t');
}
