import type { ResourceGateway } from '../../declare/host.ts';
import { primaryKeyName, shortenIdentifier } from '../../platform/data/postgres/identifiers.ts';

/** The alias of live and deleted records together, in statements that read both. */
export const ALL_RECORDS_ALIAS = '_all';

/** The name of the table that keeps a table's deleted records. */
export function archiveTable(table: string): string {
  return `${table}_deleted`;
}

/** The name of an archive's index by deletion time. */
export function archiveDeletionTimeIndexName(archive: string): string {
  return shortenIdentifier(`${archive}_deleted_at_index`);
}

/**
 * The name of an archive's index by the owner of the records, which erasures and exports use. The index costs little: only deletions write
 * to an archive.
 */
export function archiveOwnerIndexName(archive: string): string {
  return shortenIdentifier(`${archive}_owner_index`);
}

/** The names that an archive uses in the schema: the names of its table, primary key and indexes. */
export function archiveRelationNames(table: string): string[] {
  const archive = archiveTable(table);
  return [archive, primaryKeyName(archive), archiveDeletionTimeIndexName(archive), archiveOwnerIndexName(archive)];
}

/**
 * The sequence of a table whose value is the second, since 1970, up to which changes of the table's rows are stored
 * (src/records/ranges/triggers.ts).
 */
export function rangeSequenceName(table: string): string {
  return shortenIdentifier(`${table}_ranged_until`);
}

/** The names that a resource's table and its archive use in the schema, besides indexes. */
export function relationNamesOfTable(table: string, softDelete: boolean): string[] {
  return [table, primaryKeyName(table), rangeSequenceName(table), ...(softDelete ? archiveRelationNames(table) : [])];
}

/** The names of a resource's tables: with soft delete, also the table of the deleted records. */
export function tablesOf({ table, archiveTable }: Pick<ResourceGateway, 'table' | 'archiveTable'>): string[] {
  return archiveTable === undefined ? [table] : [table, archiveTable];
}
