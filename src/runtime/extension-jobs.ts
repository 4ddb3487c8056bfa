import { Counter, Histogram } from 'prom-client';
import type { ExtensionHost, ExtensionJob, FeatureParts } from '../declare/extension.ts';
import type { ProcessRole } from '../declare/process-role.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import type { Platform } from '../platform/platform.ts';
import type { JobData, RunningWorker } from '../platform/work/queues/queues.ts';
import { runJobInSpan } from '../platform/work/queues/tracing.ts';

const DEFAULTS = { role: 'push-worker', concurrency: 5, attempts: 5 } as const satisfies Partial<ExtensionJob>;
const FIRST_PAUSE_MS = 1000;

/** Encodes any text as a job id: BullMQ refuses integers and colons. Different texts get different ids. */
function encodeJobId(id: string): string {
  return `row-${id.replaceAll('%', '%25').replaceAll(':', '%3A')}`;
}

interface JobLabels {
  extension: string;
  job: string;
}

/** The metrics of the jobs of extensions. */
interface JobCounter {
  /** Exports the series of a job before its first run. Prometheus then sees the first failure as an increase. */
  register(labels: JobLabels): void;
  /** Runs the job and counts its outcome and duration. Returns or throws as the job does. */
  count<T>(labels: JobLabels, run: () => Promise<T> | T): Promise<T>;
}

/** Registers the metrics of the jobs of extensions. */
export function createJobCounter({ registry }: Metrics): JobCounter {
  const registers = [registry];
  const runs = new Counter({
    name: 'belfry_jobs_total',
    help: 'Runs of jobs of extensions, by outcome: done, failed.',
    labelNames: ['extension', 'job', 'outcome'],
    registers,
  });
  const seconds = new Histogram({
    name: 'belfry_job_seconds',
    help: 'Duration of these runs.',
    labelNames: ['extension', 'job'],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300],
    registers,
  });
  return {
    register(labels) {
      for (const outcome of ['done', 'failed']) runs.inc({ ...labels, outcome }, 0);
    },
    async count(labels, run) {
      const stopTimer = seconds.startTimer(labels);
      let outcome = 'failed';
      try {
        const result = await run();
        outcome = 'done';
        return result;
      } finally {
        stopTimer();
        runs.inc({ ...labels, outcome });
      }
    },
  };
}

/** The jobs of one extension. */
interface ExtensionJobs {
  /** The interface that the extension uses to add jobs. */
  api: ExtensionHost['jobs'];
  /** Takes the declared jobs. Returns, for each job, a feature with the worker that runs the job. */
  createWorkerFeatures(jobs: FeatureParts['jobs']): FeatureParts[];
}

/**
 * Creates the jobs of an extension, each with its own queue.
 *
 * @param extension the name of the extension
 */
export function createJobsOfExtension(
  { queues, tracing }: Pick<Platform, 'queues' | 'tracing'>,
  extension: string,
  jobCounter: JobCounter,
): ExtensionJobs {
  let declaredJobs: FeatureParts['jobs'] = {};
  // Names of extensions and jobs contain no slash (see `checkExtensionJobs`), so two extensions never share a queue: "mail" may have the
  // job "sync-now", and "mail-sync" the job "now". A colon cannot separate the names, because BullMQ refuses colons in queue names.
  const queueNameOf = (job: string) => `${extension}/${job}`;
  return {
    api: {
      async add(name, ids) {
        const job = declaredJobs?.[name];
        if (job === undefined) throw new Error(`extension "${extension}" has no job "${name}"`);
        const opts = {
          attempts: job.attempts ?? DEFAULTS.attempts,
          backoff: { type: 'exponential', delay: FIRST_PAUSE_MS },
        };
        // Adding the same id again has no effect while the first job waits.
        const jobs = ids.map((id) => ({ name, data: { id }, opts: { ...opts, jobId: encodeJobId(id) } }));
        if (jobs.length > 0) await queues.add(queueNameOf(name), jobs);
      },
    },
    createWorkerFeatures(jobs = {}) {
      declaredJobs = jobs;
      return Object.entries(jobs).map(([name, { role = DEFAULTS.role, concurrency = DEFAULTS.concurrency, run }]) => {
        const labels = { extension, job: name };
        jobCounter.register(labels);
        const queue = queueNameOf(name);
        const runJob = (data: JobData) =>
          runJobInSpan(tracing, queue, data, () => jobCounter.count(labels, () => run(data.id)));
        const startWorker = (): RunningWorker => queues.work(queue, ({ data }) => runJob(data), concurrency);
        return { workers: { [role]: startWorker } as Partial<Record<ProcessRole, () => RunningWorker>> };
      });
    },
  };
}
