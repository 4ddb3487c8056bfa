import type { WebhookStatus } from '../../extensions/webhooks/monitoring/status.ts';
import { type Finding, failure, warning } from '../../platform/observability/finding.ts';
import type { AppStatus } from '../../runtime/diagnosis/status.ts';
import type { OpenedApp } from '../project/project.ts';
import { formatCount, pluralize } from '../terminal/terminal.ts';

/** The jobs of all kinds. */
interface JobTotals {
  waiting: number;
  /** Of those that wait: for a later time. */
  scheduled: number;
  running: number;
  failed: number;
  /** Whether there are more than were counted. */
  isCapped: boolean;
}

/** What the command prints. */
export interface StatusReport extends AppStatus {
  /** Null if the app has no webhooks, or if Postgres is not usable. */
  webhooks: Pick<WebhookStatus, 'endpoints' | 'queue' | 'failed'> | null;
  /** Null if Postgres is not usable. */
  jobs: JobTotals | null;
}

async function readWebhooks({ webhooks }: OpenedApp): Promise<StatusReport['webhooks']> {
  if (webhooks === undefined) return null;
  const { endpoints, queue, failed } = await webhooks.status(0);
  return { endpoints, queue, failed };
}

async function readJobs({ jobs }: OpenedApp): Promise<JobTotals> {
  const { kinds, cappedStatuses } = await jobs.overview();
  const sum = (status: 'waiting' | 'running' | 'failed') =>
    kinds.reduce((total, { counts }) => total + counts[status], 0);
  return {
    waiting: sum('waiting'),
    scheduled: kinds.reduce((total, { scheduled }) => total + scheduled, 0),
    running: sum('running'),
    failed: sum('failed'),
    isCapped: cappedStatuses.length > 0,
  };
}

function describeFailedJobs(jobs: JobTotals | null): Finding[] {
  if (jobs === null || jobs.failed === 0) return [];
  const count = jobs.isCapped
    ? `At least ${formatCount(jobs.failed)} background jobs`
    : pluralize(jobs.failed, 'background job');
  return [warning(`${count} failed`, 'see npx belfry jobs list --status failed')];
}

/** Reads everything that the command prints. */
export async function readReport(app: OpenedApp, folder: string): Promise<StatusReport> {
  const status = await app.readStatus({ folder });
  // Without Postgres, or without its tables, they cannot be read either.
  if (status.versions.postgres === null || status.migrations?.pending.length !== 0)
    return { ...status, webhooks: null, jobs: null };
  const [webhooks, jobs] = await Promise.allSettled([readWebhooks(app), readJobs(app)]);
  const failures = [
    { what: 'webhooks', result: webhooks },
    { what: 'background jobs', result: jobs },
  ].flatMap(({ what, result }) =>
    result.status === 'fulfilled' ? [] : [failure(`The ${what} cannot be read: ${(result.reason as Error).message}`)],
  );
  const totals = jobs.status === 'fulfilled' ? jobs.value : null;
  return {
    ...status,
    isComplete: status.isComplete && failures.length === 0,
    problems: [...failures, ...status.problems, ...describeFailedJobs(totals)],
    webhooks: webhooks.status === 'fulfilled' ? webhooks.value : null,
    jobs: totals,
  };
}
