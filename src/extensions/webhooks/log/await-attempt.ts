import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../../../platform/errors.ts';
import type { Database } from '../../../platform/postgres/database.ts';
import type { DeliveryRow } from './delivery.ts';
import { READ_DELIVERY } from './deliveries-sql.ts';

/** For the worker to take it up, and to write the result back. */
const MARGIN_MS = 1000;
const FIRST_LOOK_MS = 20;
const LONGEST_PAUSE_MS = 250;

/** Waits until a delivery was attempted, and gives it as it then stands. `isLeft`: whether the caller has gone away. */
export type AwaitAttempt = (id: string, endpointId: string, isLeft: () => boolean) => Promise<DeliveryRow>;

/**
 * Makes what waits for attempts. It looks into the table, ever less often: whichever worker makes the attempt, and with Redis away,
 * the row tells. Rejects with NOT_FOUND when the delivery was deleted meanwhile.
 */
export function createAwaitAttempt(database: Database, { timeoutMs }: { timeoutMs: number }): AwaitAttempt {
  return async (id, endpointId, isLeft) => {
    const end = performance.now() + timeoutMs + MARGIN_MS;
    for (let pause = FIRST_LOOK_MS; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
      await sleep(pause);
      const statement = { name: 'webhook_delivery', text: READ_DELIVERY, values: [id, endpointId] };
      const [row] = await database.read<DeliveryRow>(statement);
      if (row === undefined) throw new ApiError('NOT_FOUND');
      const [, , , status, attempts] = row;
      const isMade = attempts > 0 && status !== 'sending';
      if (isMade || isLeft() || performance.now() >= end) return row;
    }
  };
}
