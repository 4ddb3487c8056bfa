import type { ErrorCode } from '../../platform/helpers/errors.ts';
import type { OperationContext } from '../access/operation-context.ts';
import type { ChangeGuard, GuardedChange, RecordsContext } from '../context.ts';
import type { CompiledResource } from '../schema/compiled.ts';

/** The additional rules for changes of a resource's records; undefined if there are none, or if the system makes the change. */
export function guardOf(
  { changeGuards }: Pick<RecordsContext, 'changeGuards'>,
  { name }: Pick<CompiledResource, 'name'>,
  { system }: Pick<OperationContext, 'system'>,
): ChangeGuard | undefined {
  return system ? undefined : changeGuards.get(name);
}

/** The errors of the additional rules for changes of a resource's records. Complete only after all features are set up. */
export function guardErrorsOf(
  { changeGuards }: Pick<RecordsContext, 'changeGuards'>,
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
  context: RecordsContext,
  guard: ChangeGuard,
  change: GuardedChange,
  operation: OperationContext,
): Promise<void> {
  const transaction = context.transaction!;
  try {
    await guard.check(change, operation, transaction);
  } catch (error) {
    await transaction.abort(error);
    throw error;
  }
}
