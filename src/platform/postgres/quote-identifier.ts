/** Quotes the name of a table, a column or an index for SQL. Such names come from declarations, never from a request. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
