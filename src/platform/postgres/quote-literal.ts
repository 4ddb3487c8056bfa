/** Quotes a text for SQL statements that take no parameters. Such texts come from declarations, never from a request. */
export function quoteLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
