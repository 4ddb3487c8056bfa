import type { FeatureParts } from '../../declare/extension.ts';
import { PROCESS_ROLES, type ProcessRole } from '../../declare/process-role.ts';
import { withDeadline } from '../../platform/helpers/concurrency/deadline.ts';
import { type Finding, failure, warning } from '../../platform/observability/finding.ts';
import type { Platform } from '../../platform/platform.ts';
import type { BacklogState } from '../../platform/work/leased-work/backlog.ts';
import { MAX_COUNTED_ROWS, readOutboxState } from '../../platform/work/outbox/state.ts';
import type { RunningProcess } from '../../platform/work/processes/facts.ts';

/** What the checks of processes need of an app. */
export type WorkParts = Pick<FeatureParts, 'workers' | 'backlogs'>;

/** Rows that wait for a role. */
interface WaitingRows extends BacklogState {
  names: readonly [one: string, many: string];
  ownsQueue(name: string): boolean;
}

/** A role of the app's processes. */
export interface RoleState {
  role: ProcessRole;
  /** The number of processes that have the role, and when the last of them was seen: ISO 8601, null without one. */
  processes: number;
  seenAt: string | null;
  /** The rows that wait for the role, which are empty while Postgres is not usable. */
  waiting: readonly WaitingRows[];
}

const DEADLINE_MS = 5000;

/** The variable that disables a role in `web`, and the queues that wait without a process of the role. */
const ROLES: Partial<Record<ProcessRole, { variable: string; queues: string }>> = {
  relay: { variable: 'RELAY', queues: 'the outbox, so events, webhooks and e-mails wait' },
  'webhook-worker': { variable: 'WEBHOOKS_WORKER', queues: 'the queues of webhooks' },
  'push-worker': { variable: 'PUSH_WORKER', queues: 'the queues of push messages, e-mails and extensions' },
  'job-worker': { variable: 'JOB_WORKER', queues: 'the queues of background jobs' },
};

/** Reads the rows that wait for each role: one statement for each kind, side by side. */
async function readBacklogs(
  { database }: Pick<Platform, 'database'>,
  { backlogs = [] }: WorkParts,
): Promise<(WaitingRows & { role: ProcessRole })[]> {
  const readEvents = async () => {
    const { rows, oldestSeconds } = await readOutboxState(database);
    return { due: rows, isCapped: rows >= MAX_COUNTED_ROWS, oldestSeconds };
  };
  const events = {
    role: 'relay',
    names: ['event in the outbox', 'events in the outbox'],
    ownsQueue: () => false,
    read: readEvents,
  } as const;
  const all = [events, ...backlogs];
  // What cannot be read is left out; the check of Postgres says why.
  const states = await Promise.allSettled(all.map(({ read }) => withDeadline(read(), DEADLINE_MS)));
  return states.flatMap((state, index) =>
    state.status === 'rejected'
      ? []
      : [{ role: all[index]!.role, names: all[index]!.names, ownsQueue: all[index]!.ownsQueue, ...state.value }],
  );
}

/** Reads the roles that the app needs, with the processes that have them and the rows that wait for them. */
export async function readRoles(
  platform: Pick<Platform, 'database'>,
  parts: WorkParts,
  processes: readonly RunningProcess[],
): Promise<RoleState[]> {
  const backlogs = await readBacklogs(platform, parts);
  const needed = PROCESS_ROLES.filter(
    (role) => role === 'web' || role === 'relay' || Object.hasOwn(parts.workers ?? {}, role),
  );
  return needed.map((role) => {
    const having = processes.filter(({ roles }) => roles?.includes(role));
    const seenAt = having.map((one) => one.seenAt).sort();
    return {
      role,
      processes: having.length,
      seenAt: seenAt.at(-1) ?? null,
      waiting: backlogs.filter((one) => one.role === role).map(({ role: _, ...rows }) => rows),
    };
  });
}

const countRows = ({ due, isCapped, names: [one, many] }: WaitingRows) =>
  `${due}${isCapped ? ' or more' : ''} ${due === 1 ? one : many}`;

/** Joins parts of a sentence: `a`, `a and b`, `a, b and c`. */
const join = (parts: readonly string[]) => parts.join(', ').replace(/, ([^,]*)$/, ' and $1');

/**
 * Finds the roles that no process has: errors if rows wait for them, and for the relay, without which nothing leaves the app. Without waiting
 * rows, an app that does not run at all lacks none.
 *
 * @param isRunning whether any process of the app runs
 */
function findMissingRoles(roles: readonly RoleState[], isRunning: boolean): Finding[] {
  return roles.flatMap(({ role, processes, waiting }) => {
    const known = ROLES[role];
    if (known === undefined || processes > 0) return [];
    const rows = waiting.filter(({ due }) => due > 0);
    const { variable, queues } = known;
    const start = `npx belfry start ${role}, or remove ${variable}=off from the variables of web (docs/operate/deployment.md)`;
    if (rows.length > 0) {
      const isOne = rows.length === 1 && rows[0]!.due === 1;
      return [
        failure(
          `${join(rows.map(countRows))} ${isOne ? 'waits' : 'wait'} and no ${role} runs`,
          `start one with ${start}`,
        ),
      ];
    }
    if (!isRunning) return [];
    const message = `No process works on ${queues}: none has the role ${role}`;
    const fix = `start a process with this role: ${start}`;
    return [role === 'relay' ? failure(message, fix) : warning(message, fix)];
  });
}

/** Finds the queues that have entries, but no process that works on them. @param isReported whether the rows of a queue are reported as waiting */
async function findUnworkedQueues(
  { queues }: Pick<Platform, 'queues'>,
  processes: readonly RunningProcess[],
  names: readonly string[],
  isReported: (name: string) => boolean,
): Promise<Finding[]> {
  const worked = new Set(processes.flatMap(({ facts }) => facts?.queues ?? []).map(({ name }) => name));
  const unworked = names.filter((name) => !worked.has(name) && !isReported(name));
  const found = await Promise.all(
    unworked.map(async (name) => {
      const counts = await queues.queue(name).getJobCounts('wait', 'prioritized', 'delayed', 'active');
      const entries = Object.values(counts).reduce((sum, count) => sum + count, 0);
      if (entries === 0) return [];
      return [
        failure(
          `No process works on the queue ${name}, which has ${entries} ${entries === 1 ? 'entry' : 'entries'}`,
          'start a process with the role of its worker (docs/operate/deployment.md)',
        ),
      ];
    }),
  );
  return found.flat();
}

/**
 * Finds the roles that no process has, and the queues on which no process works.
 *
 * @param queues the names of all queues
 * @throws the error of Redis if it is not usable
 */
export async function findMissingWorkers(
  platform: Pick<Platform, 'queues'>,
  roles: readonly RoleState[],
  { processes, queues }: { processes: readonly RunningProcess[]; queues: readonly string[] },
): Promise<Finding[]> {
  const unserved = roles.filter((one) => one.processes === 0).flatMap(({ waiting }) => waiting);
  const isReported = (name: string) => unserved.some(({ due, ownsQueue }) => due > 0 && ownsQueue(name));
  const unworked = await withDeadline(findUnworkedQueues(platform, processes, queues, isReported), DEADLINE_MS);
  return [...findMissingRoles(roles, processes.length > 0), ...unworked];
}

/** Checks that processes of the app do its work. Says nothing while Redis is not usable, which another check reports. */
export async function diagnoseProcesses(
  platform: Pick<Platform, 'database' | 'processes' | 'queues' | 'redis'>,
  parts: WorkParts,
): Promise<Finding[]> {
  // BullMQ waits for Redis without a limit.
  if (platform.redis.commands.status !== 'ready') return [];
  try {
    const list = await platform.processes.list();
    return await findMissingWorkers(platform, await readRoles(platform, parts, list.processes), list);
  } catch {
    return [];
  }
}
