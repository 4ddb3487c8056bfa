import type { StoredRecord } from '../declare/host.ts';
import type { TransactionalPushSender } from '../declare/push.ts';
import type { Senders } from '../declare/senders.ts';
import type { CallerTransaction, Services, Transaction } from '../declare/service.ts';
import type { Statement } from '../platform/data/postgres/connection.ts';
import type { Executor, Queryable } from '../platform/data/postgres/queryable.ts';
import type { KeyedQueue } from '../platform/helpers/concurrency/serial-queue.ts';
import type { ErrorCode } from '../platform/helpers/errors.ts';
import type { Platform } from '../platform/platform.ts';
import type { OperationContext } from './access/operation-context.ts';
import type { RecordFiles } from './files.ts';
import type { Values } from './operations/validate.ts';
import type { VersionOf } from './operations/versions.ts';
import type { CompiledResource } from './schema/compiled.ts';
import type { Referrers } from './schema/references.ts';
import type { Archive } from './store/archive.ts';
import type { Codec } from './store/codec.ts';
import type { Store } from './store/store.ts';

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

/**
 * An additional step of deletions, in the same transaction, after the records are deleted.
 *
 * @param ids the ids of the deleted records
 * @param operation the context of the deletion
 */
export type DeletionStep = (
  ids: readonly string[],
  operation: Pick<OperationContext, 'req'>,
  tx: CallerTransaction,
) => Promise<void>;

/** Adds values to the changes of an update that sets a field. */
export interface DerivedChanges {
  /** The field that determines the values. */
  field: string;
  /** Returns the changes with the values added. `before` is the record before the update. */
  derive(changes: Values, before: StoredRecord): Values;
}

/** A change of a record. */
export interface GuardedChange {
  /** The record before the change; undefined if the change creates or restores it. */
  before?: StoredRecord | undefined;
  /** The record after the change; undefined if the change deletes it. */
  after?: Values | undefined;
}

/** Additional rules for changes of a resource's records that users make; changes with system privilege are not checked. */
export interface ChangeGuard {
  /** The errors of `check`, for the OpenAPI document. */
  errors: readonly ErrorCode[];
  /** The fields whose changes are checked. Creations, deletions and restores are always checked. */
  fields: ReadonlySet<string>;
  /** Delays other checked changes until the transaction ends. Called before the transaction locks any row. */
  lock(database: Executor): Promise<void>;
  /**
   * Checks a change: an update or deletion after it is written, in its transaction; a creation or restore before it is written.
   *
   * @param tx the transaction of an update or deletion
   * @throws ApiError
   */
  check(change: GuardedChange, operation: OperationContext, tx: CallerTransaction | undefined): Promise<void>;
}

/** The transaction in which operations run. */
export interface OperationTransaction extends Pick<Transaction, 'database' | 'afterCommit'> {
  /** Rolls the transaction back at its end, even if the caller of the operation catches the error. */
  abort(error: unknown): unknown;
}

/** The dependencies of operations besides the entity. */
export interface RecordsContext extends Pick<Platform, 'events' | 'wake' | 'settings' | 'log' | 'tracing' | 'replica'> {
  entities: Pick<ReadonlyMap<string, Entity>, 'get'>;
  /** The same resources with stores that read from the read replica; undefined without one. */
  replicaEntities: Pick<ReadonlyMap<string, Entity>, 'get'> | undefined;
  /** Runs the statements of the operations: on the app's connections, or in the transaction. */
  database: Queryable;
  /** Names a statement of operations on several resources, so that Postgres prepares it once per connection. */
  statement(text: string, values: unknown[]): Statement;
  /** The references that must stay valid when the records of a resource are deleted, by the name of that resource. */
  referrers: Referrers;
  /** The names of all resources. */
  names: readonly string[];
  service: Services;
  /** The push sender that hooks receive as `ctx.push`. */
  push: TransactionalPushSender;
  /** What hooks receive to send e-mails, publish events and enqueue jobs. They find the transaction of the calling code by themselves. */
  senders: Senders;
  /**
   * Deletion steps by resource name. A record of a resource without a step is deleted by a single statement, outside of any transaction.
   */
  deletionSteps: Map<string, DeletionStep>;
  /** By resource name, rules that add values to the validated changes of an update: values that the value of another field determines. */
  derivedChanges: Map<string, DerivedChanges>;
  /** By resource name, additional rules for the changes that users make. */
  changeGuards: Map<string, ChangeGuard>;
  /** Undefined if no resource has a file field. */
  files: RecordFiles | undefined;
  /** The transaction in which the operations run; undefined outside of one. */
  transaction: OperationTransaction | undefined;
  /** @throws Error if a service that does not belong to a transaction is called inside that transaction */
  assertOutsideTransaction(): void;
  /** Hashes the value of a password field, before the hash is stored. */
  hashPassword(password: string): Promise<string>;
  /**
   * Runs the work that follows a change: immediately, or, inside a transaction, after its commit.
   *
   * @param work receives the context outside of any transaction
   */
  afterCommit(work: (outside: RecordsContext) => Promise<void>): Promise<void>;
  /**
   * Runs a write that has a `before` hook, so that the writes of the hook's service are committed together with the write or not at all.
   * All are rolled back if `work` rejects or returns undefined.
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
