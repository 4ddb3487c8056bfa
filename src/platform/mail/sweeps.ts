import type { Sweep } from '../outbox/relay.ts';
import type { Platform } from '../platform.ts';
import { removeInBatches } from '../postgres/write-in-batches.ts';
import { MAIL_QUEUE, mailJob } from './sender.ts';

const KEPT_DAYS = 7;
const JOBS_AT_ONCE = 1000;
const RETENTION_EVERY_MS = 60_000;

// Index mails_due_at_index. One that is new most likely has its job.
const OVERDUE = `
  select id from mails
  where finished_at is null and due_at <= now() and (claimed_until is null or claimed_until <= now())
    and (attempts > 0 or created_at < now() - interval '5 seconds')
  order by due_at limit ${JOBS_AT_ONCE}`;
// Index mails_finished_at_index.
const OLD = `
  delete from mails where id in (
    select id from mails where finished_at < now() - interval '${KEPT_DAYS} days' order by finished_at limit $1
    for update skip locked
  ) returning 1`;

/** Periodic work of e-mail: those that are due and have no job get one, old ones are removed. */
export function mailSweeps({
  database,
  queues,
  settings,
}: Pick<Platform, 'database' | 'queues' | 'settings'>): Sweep[] {
  return [
    {
      name: 'mail jobs',
      everyMs: settings.relay.sweepMs,
      async run() {
        const rows = await database.write<[string]>({ name: 'mail_overdue', text: OVERDUE, values: [] });
        // One whose job is still there keeps it: adding a job with the id of a live one does nothing.
        await queues.add(
          MAIL_QUEUE,
          rows.map(([id]) => mailJob(id)),
        );
        return rows.length;
      },
    },
    {
      name: 'mail retention',
      everyMs: RETENTION_EVERY_MS,
      run: () => removeInBatches(database, OLD),
    },
  ];
}
