import type { ResourceGateway } from '../../declare/host.ts';

/** The names of a resource's tables: with soft delete, also the table of the deleted records. */
export function tablesOf({ table, archiveTable }: Pick<ResourceGateway, 'table' | 'archiveTable'>): string[] {
  return archiveTable === undefined ? [table] : [table, archiveTable];
}
