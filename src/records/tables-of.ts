import type { ResourceView } from '../declare/host.ts';

/** The names of the tables that the records of a resource are in: with soft delete that of the deleted ones, too. */
export function tablesOf({ table, archiveTable }: Pick<ResourceView, 'table' | 'archiveTable'>): string[] {
  return archiveTable === undefined ? [table] : [table, archiveTable];
}
