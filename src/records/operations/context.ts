import type { StoredRecord } from '../../declare/host.ts';
import type { Platform } from '../../platform/platform.ts';
import type { OperationContext } from '../access/operation-context.ts';
import type { DeletionContext } from '../references/cascade.ts';
import type { Values } from '../schema/compiled.ts';
import type { Entity, EntityContext } from '../store/entity.ts';
import type { FilesContext } from '../writes/files.ts';

/** Adds values to the changes of an update that sets a field. */
export interface DerivedChanges {
  /** The field that determines the values. */
  field: string;
  /** Returns the changes with the values added. `before` is the record before the update. */
  derive(changes: Values, before: StoredRecord): Values;
}

/** The dependencies of operations besides the entity. */
export interface RecordsContext extends DeletionContext, FilesContext, Pick<Platform, 'settings' | 'languages'> {
  /** The same resources with stores that read from the read replica; undefined without one. */
  replicaEntities: EntityContext['entities'] | undefined;
  /** By resource name, rules that add values to the validated changes of an update: values that the value of another field determines. */
  derivedChanges: Map<string, DerivedChanges>;
  /** @throws Error if a service that does not belong to a transaction is called inside that transaction */
  assertOutsideTransaction(): void;
  /**
   * Runs a write that has a `before` hook. The write and the writes of the hook's service are committed together or not at all. All are
   * rolled back if `work` rejects or returns undefined.
   *
   * @param work receives the context, entity and operation to use
   * @param options `always`: the write needs a transaction even if the hook writes nothing
   */
  withTransaction<T>(
    entity: Entity,
    operation: OperationContext,
    work: (context: RecordsContext, entity: Entity, operation: OperationContext) => Promise<T>,
    options?: { always?: boolean },
  ): Promise<T>;
}
