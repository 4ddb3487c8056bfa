import type { ExtensionHost, FeatureParts, Job, ProcessRole } from '../declare/extension.ts';
import type { Queues, RunningWorker } from '../platform/redis/queues.ts';

const DEFAULTS = { role: 'push-worker', concurrency: 5, attempts: 5 } as const satisfies Partial<Job>;
const FIRST_PAUSE_MS = 1000;

/** Encodes any text as a job id: BullMQ refuses integers and colons. Different texts get different ids. */
function encodeJobId(id: string): string {
  return `row-${id.replaceAll('%', '%25').replaceAll(':', '%3A')}`;
}

/** The jobs of one extension. */
interface ExtensionJobs {
  /** The interface with which the extension adds jobs. */
  api: ExtensionHost['jobs'];
  /** Takes the declared jobs. Returns, for each job, a feature with the worker that runs the job. */
  createWorkerFeatures(jobs: FeatureParts['jobs']): FeatureParts[];
}

/**
 * Creates the jobs of an extension, each with its own queue.
 *
 * @param extension the name of the extension
 */
export function createJobsOfExtension(queues: Queues, extension: string): ExtensionJobs {
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
        const startWorker = (): RunningWorker =>
          queues.work(queueNameOf(name), ({ data }) => run(data.id), concurrency);
        return { workers: { [role]: startWorker } as Partial<Record<ProcessRole, () => RunningWorker>> };
      });
    },
  };
}
