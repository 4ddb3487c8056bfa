import type { StoredRecord } from '../../declare/host.ts';
import type { CallerTransaction } from '../../declare/service.ts';
import type { Executor } from '../../platform/data/postgres/queryable.ts';
import type { ErrorCode } from '../../platform/helpers/errors.ts';
import type { OperationContext } from '../access/operation-context.ts';
import type { CompiledResource, Values } from '../schema/compiled.ts';
import { abortOnError, type TransactionContext } from './transaction.ts';

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

/** What the checks of guarded changes need. */
export interface GuardContext extends TransactionContext {
  /** By resource name, additional rules for the changes that users make. */
  changeGuards: Map<string, ChangeGuard>;
}

/** The additional rules for changes of a resource's records; undefined if there are none, or if the system makes the change. */
export function findGuard(
  { changeGuards }: Pick<GuardContext, 'changeGuards'>,
  { name }: Pick<CompiledResource, 'name'>,
  { system }: Pick<OperationContext, 'system'>,
): ChangeGuard | undefined {
  return system ? undefined : changeGuards.get(name);
}

/** The errors of the additional rules for changes of a resource's records. Complete only after all features are set up. */
export function listGuardErrors(
  { changeGuards }: Pick<GuardContext, 'changeGuards'>,
  { name }: Pick<CompiledResource, 'name'>,
): readonly ErrorCode[] {
  return changeGuards.get(name)?.errors ?? [];
}

/**
 * Checks a change that is written but not committed. If it is refused, the transaction is rolled back, even if the caller catches the error.
 *
 * @param context in a transaction
 * @throws ApiError
 */
export async function checkWritten(
  { transaction }: TransactionContext,
  guard: ChangeGuard,
  change: GuardedChange,
  operation: OperationContext,
): Promise<void> {
  await abortOnError(transaction!, () => guard.check(change, operation, transaction));
}
