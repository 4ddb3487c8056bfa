import type { Database } from '../../platform/data/postgres/database.ts';
import type { Platform } from '../../platform/platform.ts';
import { type Backlog, createBacklogReader } from '../../platform/work/leased-work/backlog.ts';
import { createOverdueSearch } from '../../platform/work/leased-work/overdue-search.ts';
import { createReclaimSweep, createRetentionSweep } from '../../platform/work/leased-work/sweeps.ts';
import type { Sweep } from '../../platform/work/outbox/relay.ts';
import { AUDIENCE_QUEUE, createAudienceJob, enqueueChunks, isPushQueue } from '../send/jobs.ts';

const RETENTION_DAYS = 30;
const JOBS_PER_SWEEP = 1000;
const ROWS_PER_BATCH = 5000;

// Deletes results of old pushes. Uses pushes_created_at_index, then the primary key of the results.
const DELETE_OLD_RESULTS = `
  with old as (
    select r.push_id, r.position from pushes p join push_results r on r.push_id = p.id
    where p.created_at < now() - interval '${RETENTION_DAYS} days' limit $1
  )
  delete from push_results r using old where r.push_id = old.push_id and r.position = old.position returning 1`;
const DELETE_OLD_PUSHES = `
  delete from pushes where id in (
    select p.id from pushes p
    where p.created_at < now() - interval '${RETENTION_DAYS} days'
      and not exists (select from push_results r where r.push_id = p.id)
    limit $1
  ) returning 1`;

/**
 * Sweeps of push: they enqueue chunks and audiences that lost their jobs again, and delete old pushes.
 *
 * @param installed names of the transports of this app
 */
export function createPushSweeps(
  { database, queues, settings }: Pick<Platform, 'database' | 'queues' | 'settings'>,
  installed: ReadonlySet<string>,
): Sweep[] {
  const everyMs = settings.relay.sweepMs;
  // Chunks without a job. Uses push_chunks_open_index. Skips new and claimed chunks, which most likely still have their jobs.
  const overdueChunks = createOverdueSearch<[string, number, string | null, number, boolean]>(
    database,
    'push_overdue',
    {
      table: 'push_chunks',
      time: 'due_at',
      open: 'finished_at is null',
      overdue: `due_at < now() - interval '5 seconds' and (claimed_until is null or claimed_until <= now())`,
      columns: 'push_id, chunk, transport, last_position - first_position + 1, bulk',
      limit: JOBS_PER_SWEEP,
    },
  );
  // Pushes whose audience is not fully looked up and most likely has no job. Uses push_audiences_touched_at_index.
  const overdueAudiences = createOverdueSearch<[string]>(database, 'push_left', {
    table: 'push_audiences',
    time: 'touched_at',
    overdue: `touched_at < now() - interval '5 seconds'`,
    columns: 'push_id',
    limit: 100,
  });
  return [
    createReclaimSweep({
      name: 'push jobs',
      everyMs,
      condition: overdueChunks.condition,
      async find() {
        const rows = await overdueChunks.find();
        return rows.map(([pushId, chunk, transport, size, bulk]) => ({ pushId, chunk, transport, size, bulk }));
      },
      addJobs: (chunks) => enqueueChunks(queues, installed, chunks),
    }),
    createReclaimSweep({
      name: 'push audiences',
      everyMs,
      ...overdueAudiences,
      addJobs: (rows) =>
        queues.add(
          AUDIENCE_QUEUE,
          rows.map(([pushId]) => createAudienceJob(pushId)),
        ),
    }),
    createRetentionSweep(database, {
      name: 'push retention',
      removals: [
        { text: DELETE_OLD_RESULTS, rowsPerBatch: ROWS_PER_BATCH },
        { text: DELETE_OLD_PUSHES, rowsPerBatch: ROWS_PER_BATCH },
      ],
    }),
  ];
}

// Uses push_chunks_open_index.
const DUE_PUSHES = `
  select min(due_at) from push_chunks
  where finished_at is null and due_at <= now() and (claimed_until is null or claimed_until <= now())
  group by push_id order by 1`;

/** The pushes that have devices to send to, and no worker that does. */
export const createPushBacklog = (database: Database): Backlog<'push-worker'> => ({
  role: 'push-worker',
  names: ['push message', 'push messages'],
  ownsQueue: isPushQueue,
  read: createBacklogReader(database, DUE_PUSHES),
});
