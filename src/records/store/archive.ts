import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import { ALL_RECORDS_ALIAS, archiveTable } from '../schema/table-names.ts';
import { createCodec } from './codec.ts';
import { createStore } from './create-store.ts';
import type { Store } from './store.ts';

/**
 * The compiled resource of the archive. Deleted records of a resource with soft delete are kept in a table of their own. Therefore lists,
 * reads, filters, references and unique checks never find them, and cost the same as without soft delete.
 */
function toArchiveResource(resource: CompiledResource): CompiledResource {
  return {
    ...resource,
    table: archiveTable(resource.table),
    archived: true,
    defaultOrder: undefined,
    indexedSorts: new Set(),
    indexes: [],
    constraints: [],
  };
}

/** The compiled resources, and the archives of those with soft delete. */
export function withArchives(resources: readonly CompiledResource[]): CompiledResource[] {
  return resources.flatMap((resource) => (resource.softDelete ? [resource, toArchiveResource(resource)] : [resource]));
}

/** The deleted records of a resource. */
export interface Archive {
  resource: CompiledResource;
  /** Only the deleted records. */
  only: Store;
  /** Deleted and other records together; records that are not deleted have no `deletedAt`. */
  with: Store;
  on(database: Parameters<Store['on']>[0]): Archive;
}

/** Creates the archive of a resource with soft delete. */
export function createArchive(
  resource: CompiledResource,
  platform: { keyring: Parameters<typeof createCodec>[1]; log: Parameters<typeof createCodec>[2] },
  database: Parameters<Store['on']>[0],
): Archive {
  const archive = toArchiveResource(resource);
  const codec = createCodec(archive, platform.keyring, platform.log);
  const own = createCodec(resource, platform.keyring, platform.log).columns;
  const liveRows = `select ${own}, null::timestamptz as "deleted_at", null::text[] as "deleted_under" from ${quoteIdentifier(resource.table)}`;
  const archivedRows = `select ${codec.columns} from ${quoteIdentifier(archive.table)}`;
  const liveAndArchived = { ...archive, source: `(${liveRows} union all ${archivedRows}) ${ALL_RECORDS_ALIAS}` };
  const createArchiveOn = (only: Store, all: Store): Archive => ({
    resource: archive,
    only,
    with: all,
    on: (other) => createArchiveOn(only.on(other), all.on(other)),
  });
  return createArchiveOn(createStore(archive, codec, database), createStore(liveAndArchived, codec, database));
}
