import {
  type ErasureTarget,
  findErasureTargets,
  type Host,
  type ResourceGateway,
  type UserData,
} from '../../extension/index.ts';
import { ENTRY_KIND_FIELDS, entryPositionOf, erasureGapKey, type PackedEvent, redisStreamKey } from './events/entry.ts';
import { DROPPED_MARKER_ID } from './events/forwarding.ts';
import { REMOVE_WAITING, WAITING_WITH } from './events/waiting-sql.ts';

// Entries read at once. Few, because an entry may be twice as large as a record.
const ENTRIES_AT_ONCE = 50;

/** What the erasure of a user's data does with a stored event: keep it, remove it, or remove it and leave a gap (`erasureGapKey`). */
type EventErasure = 'stays' | 'goes' | 'leaves a gap';

/**
 * Decides what an erasure does with an event. An event of a record that the erasure deletes or anonymizes can go, because the erasure
 * emits an event of that record. If the record was deleted before, or has another owner now, there is no such event: its removal leaves a gap.
 */
function decideEventErasure(text: string, userId: string, shares: ReadonlyMap<string, ErasureTarget>): EventErasure {
  if (!text.includes(userId)) return 'stays';
  const [, name, resource, , record, previous, byErasure] = JSON.parse(text) as PackedEvent;
  const column = shares.get(resource)?.plan.ownerColumn;
  if (column === undefined || byErasure) return 'stays';
  const isTheirs = record[column] === userId;
  if (!isTheirs && previous?.[column] !== userId) return 'stays';
  return isTheirs && name !== `${resource}.deleted` ? 'goes' : 'leaves a gap';
}

/**
 * Creates the function that removes the events of a user's records, so that resuming streams do not get them. It also notifies the
 * processes with open streams, which drop unsent bytes of slow clients. Returns the number of events removed.
 */
function createEventEraser(
  { database, redis, env, resources }: Pick<Host, 'database' | 'redis' | 'env' | 'resources'>,
  users: ResourceGateway,
): (userId: string) => Promise<number> {
  const shares = new Map(findErasureTargets(resources, users).map((share) => [share.gateway.name, share]));
  const [key, gaps] = [redisStreamKey(env.redisPrefix), erasureGapKey(env.redisPrefix)];

  async function eraseEventsWaitingInPostgres(userId: string): Promise<number> {
    let removed = 0;
    for (let after = ''; ; ) {
      const values = [userId, after, ENTRIES_AT_ONCE];
      const rows = await database.write<[eventId: string, entry: string]>({ text: WAITING_WITH, values });
      const erasures = rows.map(([id, entry]) => ({ id, erasure: decideEventErasure(entry, userId, shares) }));
      const ids = erasures.flatMap(({ id, erasure }) => (erasure === 'stays' ? [] : [id]));
      if (ids.length > 0) {
        const gap = erasures.some(({ erasure }) => erasure === 'leaves a gap') ? DROPPED_MARKER_ID : null;
        removed += (await database.write({ text: REMOVE_WAITING, values: [ids, gap] })).length;
      }
      if (rows.length < ENTRIES_AT_ONCE) return removed;
      after = rows.at(-1)![0];
    }
  }

  async function eraseEventsInRedis(userId: string): Promise<number> {
    let removed = 0;
    for (let from = '-'; ; ) {
      const rows = await redis.commands.xrange(key, from, '+', 'COUNT', ENTRIES_AT_ONCE);
      const erasures = rows.flatMap(([id, [field, text = '']]) => {
        const erasure = field === ENTRY_KIND_FIELDS.event ? decideEventErasure(text, userId, shares) : 'stays';
        return erasure === 'stays' ? [] : [{ id, erasure }];
      });
      // Store the gap before removing entries, so that no client stream resumes across the gap without a reset.
      const gap = erasures.findLast(({ erasure }) => erasure === 'leaves a gap');
      if (gap !== undefined) await redis.commands.zadd(gaps, 'GT', entryPositionOf(gap.id), 'gap');
      if (erasures.length > 0) removed += await redis.commands.xdel(key, ...erasures.map(({ id }) => id));
      if (rows.length < ENTRIES_AT_ONCE) break;
      from = `(${rows.at(-1)![0]}`;
    }
    if (removed > 0) await redis.commands.xadd(key, '*', ENTRY_KIND_FIELDS.erased, '');
    return removed;
  }

  // Erase events that wait in Postgres first: events that a relay moves to Redis meanwhile are then found in Redis.
  return async (userId) => (await eraseEventsWaitingInPostgres(userId)) + (await eraseEventsInRedis(userId));
}

/** Describes the stored changes of a user's records for exports and erasures. Only the records themselves are exported. */
export function describeEventUserData(
  host: Pick<Host, 'database' | 'redis' | 'env' | 'resources'>,
  users: ResourceGateway,
): UserData {
  return {
    name: 'streamEvents',
    description: 'Changes of the user’s records, kept for minutes for streams that resume; not exported',
    tables: ['realtime_waiting'],
    async *rows() {},
    erase: createEventEraser(host, users),
  };
}
