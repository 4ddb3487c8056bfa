import type { Host } from '../../../extension/index.ts';
import {
  MAX_COUNTED_ROWS,
  MAX_OUTBOX_SECONDS,
  type OutboxState,
  readOutboxState,
} from '../../../platform/work/outbox/state.ts';
import type { ConnectionFacts, ProcessList, QueueState } from '../../../platform/work/processes/facts.ts';
import { describeVersions } from '../../../platform/work/processes/list.ts';
import { MAX_QUEUE_SECONDS } from '../../../platform/work/queues/state.ts';
import { summarizeRequests } from './processes.ts';
import type { Concern, Overview, RequestSummary } from './responses.ts';

/** What the overview is computed from. */
interface Readings {
  postgres: Overview['postgres'];
  redis: Overview['redis'];
  /** Undefined if it could not be read. */
  outbox: OutboxState | undefined;
  /** Undefined if they could not be read. */
  queues: readonly QueueState[] | undefined;
  list: ProcessList;
  requests: RequestSummary;
}

const MAX_SNAPSHOT_SECONDS = 600;
const MAX_FAILED_SHARE = 0.05;
/** With fewer requests, a share says little. */
const MIN_REQUESTS = 20;
const MAX_MEMORY_SHARE = 0.9;
const MAX_CONNECTION_SHARE = 0.9;
const MAX_BUSY = 0.9;

const warning = (message: string, section: Concern['section'] = 'overview'): Concern => ({
  level: 'warning',
  message,
  section,
});
const failure = (message: string, section: Concern['section'] = 'overview'): Concern => ({
  level: 'error',
  message,
  section,
});
const countProcesses = (count: number) => (count === 1 ? 'one process' : `${count} processes`);
const percent = (share: number) => `${Math.round(share * 100)} %`;

function checkServers({ postgres, redis }: Readings): Concern[] {
  const found: Concern[] = [];
  if ('problem' in postgres) found.push(failure(postgres.problem));
  else {
    const { connections, maxConnections } = postgres;
    if (connections > MAX_CONNECTION_SHARE * maxConnections)
      found.push(warning(`Postgres has ${connections} of ${maxConnections} connections open`));
  }
  if ('problem' in redis) return [...found, failure(redis.problem)];
  for (const { address, evictionPolicy, usedBytes, maxBytes } of redis.servers) {
    if (evictionPolicy !== null && evictionPolicy !== 'noeviction')
      found.push(
        warning(`Redis at ${address} deletes keys when its memory is full (maxmemory-policy ${evictionPolicy})`),
      );
    if (usedBytes !== null && maxBytes !== null && maxBytes > 0 && usedBytes > MAX_MEMORY_SHARE * maxBytes)
      found.push(failure(`Redis at ${address} uses ${percent(usedBytes / maxBytes)} of its memory`));
  }
  return found;
}

function checkWork({ outbox, queues, list }: Readings): Concern[] {
  const found: Concern[] = [];
  const { oldestSeconds, snapshotSeconds } = outbox ?? {};
  const hasRelay = list.processes.some(({ roles }) => roles?.includes('relay'));
  if (list.problem === null && !hasRelay)
    found.push(failure('No process with the role relay runs: events, webhooks and e-mails wait', 'processes'));
  if ((oldestSeconds ?? 0) > MAX_OUTBOX_SECONDS)
    found.push(failure(`The first row of the outbox has waited for ${Math.round(oldestSeconds!)} s`, 'queues'));
  if ((snapshotSeconds ?? 0) > MAX_SNAPSHOT_SECONDS)
    found.push(
      warning(
        `A transaction has been open for ${Math.round(snapshotSeconds! / 60)} minutes: until it ends, vacuum cannot remove deleted rows`,
      ),
    );
  for (const { name, waiting, delayed, workers, oldestSeconds: waited } of queues ?? []) {
    if (waiting + delayed > 0 && workers === 0) found.push(failure(`No process works on the queue ${name}`, 'queues'));
    else if ((waited ?? 0) > MAX_QUEUE_SECONDS)
      found.push(warning(`The next entry of the queue ${name} has waited for ${waited} s`, 'queues'));
  }
  return found;
}

function checkProcesses({ list: { processes, problem }, requests }: Readings): Concern[] {
  const found: Concern[] = [];
  if (problem !== null) found.push(failure(problem, 'processes'));
  const versions = describeVersions(processes);
  if (versions !== undefined) found.push(warning(versions, 'processes'));
  // A short queue is usual in a burst.
  const isCrowded = ({ waiting, max }: ConnectionFacts) => waiting > 2 * max;
  const waiting = processes.filter(({ facts: { connections } = {} }) => connections && isCrowded(connections)).length;
  if (waiting > 0)
    found.push(warning(`Callers wait for a connection to Postgres in ${countProcesses(waiting)}`, 'processes'));
  const busy = processes.filter(({ eventLoop }) => (eventLoop?.busy ?? 0) > MAX_BUSY).length;
  if (busy > 0)
    found.push(warning(`The event loop is busy nearly all the time in ${countProcesses(busy)}`, 'processes'));
  const { count, failed, seconds } = requests;
  if (count >= MIN_REQUESTS && failed > MAX_FAILED_SHARE * count)
    found.push(failure(`${percent(failed / count)} of the requests of the last ${seconds} s failed`, 'slow'));
  return found;
}

/** What the overview reads; each function shares its results. */
interface OverviewSources {
  readPostgres: () => Promise<Overview['postgres']>;
  readRedis: () => Promise<Overview['redis']>;
  readList: () => Promise<ProcessList>;
  readQueues: () => Promise<QueueState[]>;
}

/** Adds up the entries of queues. */
function countEntries(queues: readonly QueueState[]) {
  const sum = (name: 'waiting' | 'active' | 'delayed' | 'failed') =>
    queues.reduce((total, queue) => total + queue[name], 0);
  const [waiting, active, delayed, failed] = [sum('waiting'), sum('active'), sum('delayed'), sum('failed')];
  return { count: queues.length, waiting, active, delayed, failed };
}

/**
 * Reads what the overview shows. Three statements in Postgres and, in Redis, two commands for each server, one script, and two round trips
 * for the queues; nearly all of it side by side.
 */
export async function readOverview(host: Pick<Host, 'database'>, sources: OverviewSources): Promise<Overview> {
  const [postgres, redis, list, outbox, queues] = await Promise.all([
    sources.readPostgres(),
    sources.readRedis(),
    sources.readList(),
    // The state of the servers says why these could not be read.
    readOutboxState(host.database).catch(() => undefined),
    sources.readQueues().catch(() => undefined),
  ]);
  const requests = summarizeRequests(list.processes);
  const readings = { postgres, redis, outbox, queues, list, requests };
  return {
    concerns: [...checkServers(readings), ...checkProcesses(readings), ...checkWork(readings)],
    postgres,
    redis,
    outbox: outbox && { ...outbox, isCapped: outbox.rows >= MAX_COUNTED_ROWS },
    // What only Redis knows is undefined while Redis is not usable.
    queues: queues && countEntries(queues),
    requests: list.problem === null ? requests : undefined,
    processes:
      list.problem === null
        ? list.processes.map(({ id, roles, version, appVersion }) => ({ id, roles, version, appVersion }))
        : undefined,
  };
}
