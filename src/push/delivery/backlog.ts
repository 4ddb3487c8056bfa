import type { Database } from '../../platform/data/postgres/database.ts';
import { type Backlog, createBacklogReader } from '../../platform/work/leased-work/backlog.ts';
import { isPushQueue } from '../send/jobs.ts';

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
