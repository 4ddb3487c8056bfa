import type { ResourceGateway } from '../../declare/host.ts';

/** The names of the tables that the records of a resource are in: with soft delete that of the deleted ones, too. */
export function tablesOf({ table, archiveTable }: Pick<ResourceGateway, 'table' | 'archiveTable'>): string[] {
  return archiveTable === undefined ? [table] : [table, archiveTable];
}
