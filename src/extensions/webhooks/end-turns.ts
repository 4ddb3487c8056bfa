import type { Host } from '../../declare/host.ts';
import { type AddToBatch, createMicroBatch } from '../../platform/micro-batch.ts';
import { plainArray, textArray } from '../../platform/postgres/array-literal.ts';
import { retryTransient } from '../../platform/postgres/retry.ts';
import { WRITE_RETRY_MS } from './leases.ts';
import type { RateState } from './rate.ts';
import { END_TURNS } from './sql/turns.ts';

/** A turn that is over. */
export interface EndedTurn {
  endpointId: string;
  holder: string;
  /** The attempts of deliveries that were sent and whose results could not be written. */
  left: ReadonlyMap<string, number>;
  /** What is known of the endpoint's rate, where it has one. */
  rate: RateState | undefined;
}

const MOST = 500;

/** Makes what ends turns, in batches that form by themselves. One that cannot be ended ends with its lease. */
export function createEndTurns({ database, log }: Pick<Host, 'database' | 'log'>): AddToBatch<EndedTurn> {
  async function write(turns: EndedTurn[]): Promise<void> {
    const values = [
      plainArray(turns.map(({ endpointId }) => endpointId)),
      plainArray(turns.map(({ holder }) => holder)),
      textArray(turns.map(({ left }) => (left.size > 0 ? JSON.stringify(Object.fromEntries(left)) : null))),
      textArray(turns.map(({ rate }) => (rate === undefined ? null : JSON.stringify(rate)))),
    ];
    try {
      const statement = { name: 'webhook_end_turns', text: END_TURNS, values };
      await retryTransient(() => database.write(statement), WRITE_RETRY_MS);
    } catch (error) {
      log.error({ err: error, turns: turns.length }, 'turns of webhook endpoints last until their leases run out');
    }
  }
  return createMicroBatch(write, MOST);
}
