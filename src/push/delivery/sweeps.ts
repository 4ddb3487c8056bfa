import { createReclaimSweep } from '../../platform/leased-work/sweeps.ts';
import type { Sweep } from '../../platform/outbox/relay.ts';
import type { Platform } from '../../platform/platform.ts';
import { createPartitionSweep } from '../../platform/postgres/daily-partitions.ts';
import { writeInBatches } from '../../platform/postgres/write-in-batches.ts';
import { KEEP_PUSHES_MS, leastKeptPushId } from '../history/retention.ts';
import { AUDIENCE_QUEUE, createAudienceJob, enqueueChunks } from './jobs.ts';

const JOBS_PER_SWEEP = 1000;
const PARTITIONS_EVERY_MS = 10 * 60_000;

// Selects chunks without a job. Uses push_chunks_open_index. Skips new and claimed chunks, which most likely still have their jobs.
const SELECT_OVERDUE_CHUNKS = `
  select push_id, chunk, transport, last_position - first_position + 1, bulk from push_chunks
  where finished_at is null and due_at < now() - interval '5 seconds' and (claimed_until is null or claimed_until <= now())
  order by due_at limit ${JOBS_PER_SWEEP}`;
// Selects pushes whose audience is not fully looked up and most likely has no job. Uses push_audiences_touched_at_index.
const SELECT_OVERDUE_AUDIENCES = `select push_id from push_audiences where touched_at < now() - interval '5 seconds' order by touched_at limit 100`;

// Deletes audiences of pushes that are no longer kept, because no worker looked them up in time. $1 least id of the kept pushes. Uses the
// primary key.
const DELETE_OLD_AUDIENCES = `
  delete from push_audiences where push_id in (select push_id from push_audiences where push_id < $1 limit $2) returning 1`;

/** The tables that are partitioned by the id of the push. */
const PARTITIONED = [
  ['pushes', 'id'],
  ['push_chunks', 'push_id'],
  ['push_results', 'push_id'],
] as const;

/**
 * Creates the sweeps of push: they enqueue chunks and audiences again whose jobs were lost, create the partitions of the next days, and drop old
 * ones.
 *
 * @param installed names of the transports of this app
 */
export function createPushSweeps(
  { database, log, queues, settings }: Pick<Platform, 'database' | 'log' | 'queues' | 'settings'>,
  installed: ReadonlySet<string>,
): Sweep[] {
  const everyMs = settings.relay.sweepMs;
  return [
    createReclaimSweep({
      name: 'push jobs',
      everyMs,
      async find() {
        type Overdue = [string, number, string | null, number, boolean];
        const rows = await database.write<Overdue>({ name: 'push_overdue', text: SELECT_OVERDUE_CHUNKS, values: [] });
        return rows.map(([pushId, chunk, transport, size, bulk]) => ({ pushId, chunk, transport, size, bulk }));
      },
      addJobs: (chunks) => enqueueChunks(queues, installed, chunks),
    }),
    createReclaimSweep({
      name: 'push audiences',
      everyMs,
      find: () => database.write<[string]>({ name: 'push_left', text: SELECT_OVERDUE_AUDIENCES, values: [] }),
      addJobs: (rows) =>
        queues.add(
          AUDIENCE_QUEUE,
          rows.map(([pushId]) => createAudienceJob(pushId)),
        ),
    }),
    ...PARTITIONED.map(([table, column]) => {
      const partitions = { table, column, key: 'id', keepMs: KEEP_PUSHES_MS } as const;
      return createPartitionSweep(database, log, {
        name: `${table} retention`,
        everyMs: PARTITIONS_EVERY_MS,
        partitions,
      });
    }),
    {
      name: 'push_audiences retention',
      everyMs: PARTITIONS_EVERY_MS,
      run: () => writeInBatches(database, DELETE_OLD_AUDIENCES, [leastKeptPushId()]),
    },
  ];
}
