import type { TransactionalPushSender } from '../declare/push.ts';
import type { Services } from '../declare/service.ts';
import type { CallerTransaction, Transaction } from '../declare/transaction.ts';
import type { Platform } from '../platform/platform.ts';
import type { KeyedQueue } from '../platform/serial-queue.ts';
import type { OperationContext } from './access/operation-context.ts';
import type { VersionOf } from './operations/versions.ts';
import type { CompiledResource } from './schema/compiled.ts';
import type { Archive } from './store/archive.ts';
import type { Codec } from './store/codec.ts';
import type { Store } from './store/store.ts';

/** A resource with its store: what the operations work on. */
export interface Entity {
  resource: CompiledResource;
  store: Store;
  codec: Codec;
  versionOf: VersionOf;
  queue: KeyedQueue;
  /** Its deleted records, with soft delete. */
  archive: Archive | undefined;
}

/**
 * A further step of deletions, in the same transaction, after the records are deleted.
 *
 * @param ids of the deleted records
 * @param operation the context of the deletion
 */
export type DeletionStep = (
  ids: readonly string[],
  operation: Pick<OperationContext, 'req'>,
  tx: CallerTransaction,
) => Promise<void>;

/** The transaction that operations run in. */
export interface OperationTransaction extends Pick<Transaction, 'database' | 'afterCommit'> {
  /** Rolls the transaction back at its end, even if the caller of the operation catches the error. */
  abort(error: unknown): unknown;
}

/** What operations need beside the entity. */
export interface RecordsContext extends Pick<Platform, 'events' | 'wake' | 'settings' | 'log'> {
  entities: Pick<ReadonlyMap<string, Entity>, 'get'>;
  /** Of all resources. */
  names: readonly string[];
  service: Services;
  /** What hooks push by. */
  push: TransactionalPushSender;
  /** By resource name. A resource without one is deleted by a single statement, outside of any transaction. */
  deletionSteps: Map<string, DeletionStep>;
  /** The transaction in which the operations run; undefined outside of one. */
  transaction: OperationTransaction | undefined;
  /** @throws Error in a transaction, of services that are not of it */
  assertOutsideTransaction(): void;
  /** Hashes a password field's value before it is stored. */
  hashPassword(password: string): Promise<string>;
  /**
   * Does what follows a change once it is committed: at once, or, in a transaction, after that.
   *
   * @param work gets the context outside of any transaction
   */
  afterCommit(work: (outside: RecordsContext) => Promise<void>): Promise<void>;
  /**
   * Does a write that has a `before` hook, so that what the hook writes by its service is committed with it or not at all: not when
   * `work` rejects, nor when it gives undefined.
   *
   * @param work gets what to work with
   * @param options `always`: the write needs a transaction even where the hook writes nothing
   */
  withTransaction<T>(
    entity: Entity,
    operation: OperationContext,
    work: (context: RecordsContext, entity: Entity, operation: OperationContext) => Promise<T>,
    options?: { always?: boolean },
  ): Promise<T>;
}
