/** The table that keeps the deleted records of a table. */
export function archiveTable(table: string): string {
  return `${table}_deleted`;
}
