import type { KeyedQueue } from '../../platform/helpers/concurrency/serial-queue.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import type { Archive } from './archive.ts';
import type { Codec } from './codec.ts';
import type { Store } from './store.ts';
import type { VersionOf } from './versions.ts';

/** A resource with its store, as operations use it. */
export interface Entity {
  resource: CompiledResource;
  store: Store;
  codec: Codec;
  versionOf: VersionOf;
  queue: KeyedQueue;
  /** The archive of its deleted records, with soft delete. */
  archive: Archive | undefined;
}

/** The resources of an app with their stores. */
export interface EntityContext {
  entities: Pick<ReadonlyMap<string, Entity>, 'get'>;
  /** The names of all resources. */
  names: readonly string[];
}
