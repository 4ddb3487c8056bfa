import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../../platform/errors.ts';
import type { OperationContext } from '../access/operation-context.ts';
import type { Entity } from '../context.ts';

const MAX_ATTEMPTS = 12;
const PAUSE_MS = 10;

/**
 * Makes a change that goes through only while the record is as it was when policies, rules and hooks were asked. When somebody was
 * faster they are asked again: in turn with others in this process, since of many who try at once only one gets through, and
 * after pauses of any length, since those in other processes are in no queue of this one.
 *
 * @param attempt gives what was changed; undefined when somebody was faster
 * @throws ApiError CONFLICT
 */
export async function retryOnConflict<Changed>(
  { queue }: Entity,
  id: string,
  operation: OperationContext,
  attempt: (operation: OperationContext) => Promise<Changed | undefined>,
): Promise<Changed> {
  const changed = await attempt(operation);
  if (changed !== undefined) return changed;
  return queue(id, async () => {
    for (let tried = 2; tried <= MAX_ATTEMPTS; tried++) {
      // Somebody new to whoever looks, so that the scope is asked again, too.
      const changed = await attempt({ ...operation });
      if (changed !== undefined) return changed;
      await sleep(Math.random() * tried * PAUSE_MS);
    }
    throw new ApiError('CONFLICT', 'The record is being changed by others; try again');
  });
}
