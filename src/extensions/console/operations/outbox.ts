import { ApiError, type Host } from '../../../extension/index.ts';
import { MAX_COUNTED_ROWS, readOutboxState } from '../../../platform/work/outbox/state.ts';
import type { Outbox } from './responses.ts';

const MAX_EVENTS = 100;
const MAX_FAILING = 50;
const MAX_RETRIED = 10_000;
/** Rows that wait for longer than this, although they have not failed, are listed as stuck: the relay takes rows within seconds. */
const STUCK_SECONDS = 60;

const BY_EVENT = `
  select name, count(*)::int, extract(epoch from now() - min(created_at))::float8,
    count(*) filter (where attempts > 0)::int, max(attempts)::int
  from (select name, created_at, attempts from outbox order by id limit ${MAX_COUNTED_ROWS}) counted
  group by name order by 2 desc, 1 limit ${MAX_EVENTS}`;

const STUCK = `
  select id::text, event_id, name, resource, record_id, attempts, error, created_at, available_at
  from (select * from outbox order by id limit ${MAX_COUNTED_ROWS}) counted
  where attempts > 0 or created_at < now() - interval '${STUCK_SECONDS} seconds'
  order by id limit ${MAX_FAILING}`;

const RETRY = `
  update outbox set available_at = now() where id in (
    select id from outbox where available_at > now() and ($1::bigint is null or id = $1) order by id limit ${MAX_RETRIED}
    for update skip locked)
  returning id`;

type EventRow = [name: string, waiting: number, oldestSeconds: number, failing: number, attempts: number];
type StuckRow = [
  id: string,
  eventId: string,
  name: string,
  resource: string | null,
  record: string | null,
  attempts: number,
  error: string | null,
  createdAt: string,
  availableAt: string,
];

/** Reads the outbox: three statements side by side, each bounded to the first 100,000 rows. */
export async function readOutbox({ database }: Pick<Host, 'database'>): Promise<Outbox> {
  const [state, events, stuck] = await Promise.all([
    readOutboxState(database),
    database.readSlowly<EventRow>({ text: BY_EVENT, values: [] }),
    database.readSlowly<StuckRow>({ text: STUCK, values: [] }),
  ]);
  return {
    ...state,
    isCapped: state.rows >= MAX_COUNTED_ROWS,
    events: events.map(([name, waiting, oldestSeconds, failing, attempts]) => ({
      ...{ name, waiting, failing, attempts },
      oldestSeconds: Math.round(oldestSeconds),
    })),
    stuck: stuck.map(([id, eventId, name, resource, record, attempts, error, createdAt, availableAt]) => ({
      ...{ id, eventId, name, resource, record, attempts, error },
      createdAt: new Date(createdAt).toISOString(),
      availableAt: new Date(availableAt).toISOString(),
    })),
  };
}

/**
 * Makes the relay process rows that failed now, instead of at their next attempt.
 *
 * @param id undefined: the first 10,000 of all rows
 * @returns the number of rows
 * @throws ApiError CONFLICT if the row with this id does not wait for another attempt
 */
export async function retryOutboxRows(
  { database, wake }: Pick<Host, 'database' | 'wake'>,
  id: string | undefined,
): Promise<number> {
  const rows = await database.write<[string]>({ text: RETRY, values: [id ?? null] });
  if (rows.length === 0 && id !== undefined)
    throw new ApiError('CONFLICT', 'This row does not wait for another attempt any more');
  wake.hint();
  return rows.length;
}
