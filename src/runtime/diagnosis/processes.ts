import type { FeatureParts } from '../../declare/extension.ts';
import type { ProcessRole } from '../../declare/process-role.ts';
import { withDeadline } from '../../platform/helpers/concurrency/deadline.ts';
import { type Finding, failure, warning } from '../../platform/observability/finding.ts';
import type { Platform } from '../../platform/platform.ts';
import type { RunningProcess } from '../../platform/work/processes/registry.ts';

const DEADLINE_MS = 5000;

/** The variable that disables a role in `web`, and the queues that wait without a process of the role. */
const ROLES: Partial<Record<ProcessRole, { variable: string; queues: string }>> = {
  relay: { variable: 'RELAY', queues: 'the outbox, so events, webhooks and e-mails wait' },
  'webhook-worker': { variable: 'WEBHOOKS_WORKER', queues: 'the queues of webhooks' },
  'push-worker': { variable: 'PUSH_WORKER', queues: 'the queues of push messages, e-mails and extensions' },
  'job-worker': { variable: 'JOB_WORKER', queues: 'the queues of background jobs' },
};

/** Finds the roles that the app needs and that none of its processes has. An app that does not run at all lacks none. */
function findMissingRoles(
  processes: readonly RunningProcess[],
  workers: NonNullable<FeatureParts['workers']>,
): Finding[] {
  if (processes.length === 0) return [];
  const needed = ['relay', ...Object.keys(workers)] as ProcessRole[];
  return needed.flatMap((role) => {
    const known = ROLES[role];
    if (known === undefined || processes.some(({ roles }) => roles?.includes(role))) return [];
    const { variable, queues } = known;
    return [
      warning(
        `No process works on ${queues}: none has the role ${role}`,
        `start a process with this role, or remove ${variable}=off from the variables of web (docs/deployment.md)`,
      ),
    ];
  });
}

/** Finds the queues that have entries, but no process that works on them. */
async function findUnworkedQueues(
  { queues }: Pick<Platform, 'queues'>,
  processes: readonly RunningProcess[],
  names: readonly string[],
): Promise<Finding[]> {
  const worked = new Set(processes.flatMap(({ facts }) => facts?.queues ?? []).map(({ name }) => name));
  const unworked = names.filter((name) => !worked.has(name));
  const found = await Promise.all(
    unworked.map(async (name) => {
      const counts = await queues.queue(name).getJobCounts('wait', 'prioritized', 'delayed', 'active');
      const entries = Object.values(counts).reduce((sum, count) => sum + count, 0);
      if (entries === 0) return [];
      return [
        failure(
          `No process works on the queue ${name}, which has ${entries} ${entries === 1 ? 'entry' : 'entries'}`,
          'start a process with the role of its worker (docs/deployment.md)',
        ),
      ];
    }),
  );
  return found.flat();
}

/**
 * Checks that processes of the app work on its queues. Says nothing while Redis is not usable, which another check reports.
 *
 * @param workers the workers of the app's features, by role
 */
export async function diagnoseProcesses(
  platform: Pick<Platform, 'processes' | 'queues' | 'redis'>,
  workers: FeatureParts['workers'] = {},
): Promise<Finding[]> {
  // BullMQ waits for Redis without a limit.
  if (platform.redis.commands.status !== 'ready') return [];
  try {
    const { processes, queues } = await platform.processes.list();
    const unworked = await withDeadline(findUnworkedQueues(platform, processes, queues), DEADLINE_MS);
    return [...findMissingRoles(processes, workers), ...unworked];
  } catch {
    return [];
  }
}
