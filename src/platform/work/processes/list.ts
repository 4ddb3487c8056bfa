import type { RedisConnections } from '../../data/redis/connections.ts';
import { explainRedisProblem, isRedisError } from '../../data/redis/problems.ts';
import type { ProcessList, RunningProcess } from './facts.ts';
import type { ProcessRegistry } from './registry.ts';

/** What the list is read from. */
interface ProcessSources {
  processes: ProcessRegistry;
  redis: RedisConnections;
  env: { redisPrefix: string };
}

/** Reads the processes that run. One round trip to Redis. Without Redis, none is known. */
export async function readProcesses({ processes: registry, redis, env }: ProcessSources): Promise<ProcessList> {
  try {
    const { processes, queues } = await registry.list();
    const sorted = processes.sort((a, b) => (a.startedAt ?? '').localeCompare(b.startedAt ?? ''));
    return { processes: sorted, queues, own: registry.id, problem: null };
  } catch (error) {
    if (!isRedisError(error)) throw error;
    const cause = redis.lastError() ?? error;
    const problem = `The processes are not known: ${explainRedisProblem(cause, redis.address, env.redisPrefix)}`;
    return { processes: [], queues: [], own: registry.id, problem };
  }
}

/** Describes that processes of several versions run; undefined if all are of one. */
export function describeVersions(processes: readonly RunningProcess[]): string | undefined {
  const versions = new Set(processes.map(({ version, appVersion }) => `${version} ${appVersion ?? ''}`));
  return versions.size > 1 ? `Processes run ${versions.size} different versions` : undefined;
}
