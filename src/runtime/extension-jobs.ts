import type { ExtensionHost, FeatureParts, Job, Role } from '../declare/extension.ts';
import type { Queues, RunningWorker } from '../platform/queues.ts';

const DEFAULTS = { role: 'push-worker', concurrency: 5, attempts: 5 } as const satisfies Partial<Job>;
const FIRST_PAUSE_MS = 1000;

/** Any text as the id of a job, of which BullMQ takes no whole number and no colon. Two texts never become one. */
function jobIdOf(id: string): string {
  return `row-${id.replaceAll('%', '%25').replaceAll(':', '%3A')}`;
}

/** The jobs of one extension. */
interface ExtensionJobs {
  /** What the extension hands them out with. */
  handout: ExtensionHost['jobs'];
  /** The workers that do them, a feature for each job. */
  features(jobs: FeatureParts['jobs']): FeatureParts[];
}

/**
 * The jobs of an extension, each in a queue of its own.
 *
 * @param extension its name
 */
export function createExtensionJobs(queues: Queues, extension: string): ExtensionJobs {
  let known: FeatureParts['jobs'] = {};
  // A sign that no job name may have (checkJobs), so that two extensions never share a queue: "mail" has the job "sync-now",
  // "mail-sync" the job "now". Nor is it a colon, which BullMQ keeps for itself.
  const queueOf = (job: string) => `${extension}/${job}`;
  return {
    handout: {
      async add(name, ids) {
        const job = known?.[name];
        if (job === undefined) throw new Error(`extension "${extension}" has no job "${name}"`);
        const opts = {
          attempts: job.attempts ?? DEFAULTS.attempts,
          backoff: { type: 'exponential', delay: FIRST_PAUSE_MS },
        };
        // The same id twice is one job, as long as the first waits.
        const jobs = ids.map((id) => ({ name, data: { id }, opts: { ...opts, jobId: jobIdOf(id) } }));
        if (jobs.length > 0) await queues.add(queueOf(name), jobs);
      },
    },
    features(jobs = {}) {
      known = jobs;
      return Object.entries(jobs).map(([name, { role = DEFAULTS.role, concurrency = DEFAULTS.concurrency, run }]) => {
        const start = (): RunningWorker => queues.work(queueOf(name), ({ data }) => run(data.id), concurrency);
        return { workers: { [role]: start } as Partial<Record<Role, () => RunningWorker>> };
      });
    },
  };
}
