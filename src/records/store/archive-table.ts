import { boundedIdentifier, primaryKeyName } from '../../platform/postgres/identifiers.ts';

/** The table that keeps the deleted records of a table. */
export function archiveTable(table: string): string {
  return `${table}_deleted`;
}

/** The index of an archive by the time of the deletion. */
export function archiveIndex(archive: string): string {
  return boundedIdentifier(`${archive}_deleted_at_index`);
}

/** The index of an archive by the owner of the records, for erasures and exports. Rows are only written by deletions. */
export function archiveOwnerIndex(archive: string): string {
  return boundedIdentifier(`${archive}_owner_index`);
}

/** The names that an archive takes in the schema: its own, those of its primary key and of its indexes. */
export function archiveNames(table: string): string[] {
  const archive = archiveTable(table);
  return [archive, primaryKeyName(archive), archiveIndex(archive), archiveOwnerIndex(archive)];
}

/** The names that a resource's table takes in the schema besides its indexes, with those of its archive. */
export function tableNames(table: string, softDelete: boolean): string[] {
  return [table, primaryKeyName(table), ...(softDelete ? archiveNames(table) : [])];
}
