import {
  findsRowSql,
  type Host,
  isRecordChange,
  leaveTransaction,
  type OutboxConsumer,
  type Sweep,
  writeInBatches,
} from '../../../extension/index.ts';
import { BATCHES_PER_SWEEP } from '../../../platform/data/postgres/write-in-batches.ts';
import type { RealtimeSettings } from '../settings/settings.ts';
import type { Appender } from './appender.ts';
import { ENTRY_KIND_FIELDS, packEvent } from './entry.ts';
import { ADD_WAITING, DROP_OLD, IS_ANY_WAITING, TAKE_WAITING, TRY_LOCK } from './waiting-sql.ts';

/**
 * Creates the relay consumer that adds changes of records to the Redis stream before the relay's transaction commits. While Redis is
 * unreachable, changes are stored in `realtime_waiting`. New changes are stored there too until a sweep has moved all of them to Redis.
 */
export function createRealtimeForwarder({ resources }: Pick<Host, 'resources'>, appender: Appender): OutboxConsumer {
  const names = new Set(resources.map((gateway) => gateway.name));
  return {
    wants: (row) => isRecordChange(row) && names.has(row.resource!),
    async handle(rows, tx) {
      const entries = rows.map(packEvent);
      const [waiting] = await tx.write({ name: 'realtime_is_waiting', text: IS_ANY_WAITING, values: [] });
      // Before the commit on purpose: a relay that dies in between adds the entries again. It locks only rows of the outbox meanwhile.
      const add = () => appender.addEntries(entries.map((text) => [ENTRY_KIND_FIELDS.event, text]));
      if (waiting === undefined && (await leaveTransaction(add))) return undefined;
      const values = [rows.map((row) => row.eventId), rows.map((row) => row.id), entries];
      await tx.write({ name: 'realtime_wait', text: ADD_WAITING, values });
      return undefined;
    },
  };
}

const MOVE_EVERY_MS = 1000;
const TICK_EVERY_MS = 10_000;
const MOVED_AT_ONCE = 500;
// Timeout in ms for moving a batch to Redis. Long, because nothing waits for a move, and a move that times out sends its events twice.
const MOVE_DEADLINE_MS = 5000;
const BYTES_AT_ONCE = 8_000_000;
// Maximum batches in one run of the sweep, so that a stopping relay does not wait long for the current run.
const BATCHES_A_RUN = 100;
/** The `event_id` of the row in `realtime_waiting` that stands for dropped events. No event has this id. */
export const DROPPED_MARKER_ID = 'dropped';

/** Thrown to roll back a move of waiting events when Redis is unreachable. The appender has already logged the reason. */
class RedisAwayError extends Error {
  override readonly name = 'RedisAwayError';
}

/** Creates the sweeps that move waiting events to the Redis stream and add ticks to it. */
export function createRealtimeSweeps(
  { database }: Pick<Host, 'database'>,
  appender: Appender,
  { windowSeconds }: Pick<RealtimeSettings, 'windowSeconds'>,
): Sweep[] {
  /**
   * Moves one batch of waiting events to Redis and returns the number of rows. Rolls back if Redis becomes unreachable meanwhile; the
   * entries that Redis already has are then added again by a later move.
   */
  const moveBatchToRedis = () =>
    database.transaction(async (tx) => {
      const [lock] = await tx.write<[boolean]>({ text: TRY_LOCK, values: [] });
      if (lock?.[0] !== true) return 0;
      const values = [MOVED_AT_ONCE, BYTES_AT_ONCE];
      const rows = await tx.write<[position: number, entry: string]>({ text: TAKE_WAITING, values });
      const sorted = rows.sort(([a], [b]) => a - b);
      const entries = sorted.map(
        ([, text]) => [text === '' ? ENTRY_KIND_FIELDS.lost : ENTRY_KIND_FIELDS.event, text] as const,
      );
      const add = () => appender.addEntries(entries, MOVE_DEADLINE_MS);
      // Before the commit on purpose, as in the consumer.
      if (entries.length > 0 && !(await leaveTransaction(add))) throw new RedisAwayError();
      return rows.length;
    });

  async function moveWaitingEventsToRedis(): Promise<number> {
    const dropped = [DROPPED_MARKER_ID, windowSeconds];
    let total = await writeInBatches(database, DROP_OLD, dropped, { maxBatches: BATCHES_PER_SWEEP });
    try {
      for (let batch = 0; batch < BATCHES_A_RUN; batch++) {
        const moved = await moveBatchToRedis();
        if (moved === 0) break;
        total += moved;
      }
    } catch (error) {
      if (!(error instanceof RedisAwayError)) throw error;
    }
    return total;
  }

  return [
    {
      name: 'events that wait for Redis',
      everyMs: MOVE_EVERY_MS,
      condition: findsRowSql(IS_ANY_WAITING),
      run: moveWaitingEventsToRedis,
    },
    { name: 'the window of events', everyMs: TICK_EVERY_MS, run: appender.addTickAndTrim },
  ];
}
