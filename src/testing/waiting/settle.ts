import type { AssembledApp } from '../../runtime/assemble.ts';
import { type WaitOptions, waitFor } from './wait.ts';

/** By table: the condition on rows with work that is due or in progress. Rows that wait for a later time, such as a retry, do not count. */
const DUE_ROWS: Readonly<Record<string, string>> = {
  outbox: 'available_at <= now()',
  mails: 'finished_at is null and due_at <= now()',
  push_chunks: 'finished_at is null and due_at <= now()',
  background_jobs: `status = 'running' or (status = 'waiting' and run_at <= now())`,
  webhook_deliveries: `status = 'sending' or next_attempt_at <= now()`,
};

/** An idle webhook worker keeps the job of its last endpoint for some seconds, so its work is counted by rows alone. */
const isCountedByRows = (queue: string) => queue.startsWith('webhooks');

/** Consecutive checks that must find no work: between two steps, work may be in neither a row nor a queue for a moment. */
const QUIET_CHECKS = 2;

/** A kind of work that is due or in progress: the name of a table or queue, and how much of it there is. */
type PendingWork = [name: string, count: number];

/** Returns the work of an app that is due or in progress. */
async function findPendingWork({ platform: { database, queues }, tables }: AssembledApp): Promise<PendingWork[]> {
  const names = Object.keys(DUE_ROWS).filter((name) => name in tables);
  const counts = names.map((name) => `(select count(*)::int from ${name} where ${DUE_ROWS[name]})`);
  const [row = []] = await database.write<number[]>({ text: `select ${counts.join(', ')}`, values: [] });
  const rows = names.map((name, i): PendingWork => [name, row[i]!]);
  const jobs = queues
    .workedQueues()
    .filter((name) => !isCountedByRows(name))
    .map(async (name): Promise<PendingWork> => {
      const queue = queues.queue(name);
      const [states, delayed] = await Promise.all([
        queue.getJobCounts('active', 'waiting', 'prioritized'),
        queue.getDelayed(),
      ]);
      const due = delayed.filter((job) => job !== undefined && job.timestamp + job.delay <= Date.now());
      return [`jobs in ${name}`, Object.values(states).reduce((sum, count) => sum + count, 0) + due.length];
    });
  return [...rows, ...(await Promise.all(jobs))].filter(([, count]) => count > 0);
}

/**
 * Waits until an app has no more work that is due: events, webhook deliveries, e-mails, pushes and jobs. Jobs that run are waited for, too.
 *
 * @throws Error naming the work that is left
 */
export async function settle(parts: AssembledApp, options?: WaitOptions): Promise<void> {
  let quiet = 0;
  let pending: PendingWork[] = [];
  await waitFor(
    async () => {
      pending = await findPendingWork(parts);
      quiet = pending.length === 0 ? quiet + 1 : 0;
      return quiet === QUIET_CHECKS ? true : undefined;
    },
    (ms) => {
      const list = pending.map(([name, count]) => `${name}: ${count}`).join(', ');
      return `The app still has work after ${ms} ms: ${list}. If the work needs longer, pass settle({ timeoutMs })`;
    },
    options,
  );
}
