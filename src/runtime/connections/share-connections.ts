import { shareConnections } from '../../platform/data/postgres/lanes.ts';
import { readConnectionLimits } from '../../platform/data/postgres/server-limits.ts';
import type { Platform } from '../../platform/platform.ts';

const ADJUST_EVERY_MS = 60_000;
// Processes that start together find each other in the registry only after that.
const FIRST_ADJUSTMENT_MS = 15_000;
// A pooler's connections are cheap, and it decides how many of them Postgres gets.
const POOLED_MAX = 20;

/** What a `web` process without POOL_MAX may use. */
interface ConnectionShare {
  /** The maximum number of connections of the process. */
  poolMax: number;
  /** The connections that the server allows. */
  allowed: number;
  /** The connections that other programs have open, apart from `web` processes. */
  openElsewhere: number;
  /** The running `web` processes. */
  webs: number;
}

/**
 * Computes the share of a `web` process of the connections that Postgres allows. Undefined behind a session pooler, because its pool may be
 * small.
 *
 * @param isWeb whether this process is one of those that share the connections
 * @throws the error of Postgres or Redis if one of them does not respond
 */
export async function readConnectionShare(
  { database, processes }: Pick<Platform, 'database' | 'processes'>,
  isWeb: boolean,
): Promise<ConnectionShare | undefined> {
  const [limits, running] = await Promise.all([readConnectionLimits(database), processes.list()]);
  const { allowed, pooler } = limits;
  const others = running.processes.filter(({ id, roles }) => id !== processes.id && roles?.includes('web'));
  const webs = Math.max(1, others.length + (isWeb ? 1 : 0));
  if (pooler === 'session') return undefined;
  const openInWebs = others.reduce((sum, { facts }) => sum + (facts?.connections?.open ?? 0), 0);
  const openElsewhere = Math.max(0, limits.openElsewhere - openInWebs);
  const poolMax = pooler === 'transaction' ? POOLED_MAX : shareConnections(allowed, openElsewhere, webs);
  return { poolMax, allowed, openElsewhere, webs };
}

/**
 * Gives a `web` process without POOL_MAX its share of the connections that Postgres allows, and adjusts it as processes come and go.
 *
 * @returns what ends the adjustments
 */
export async function startSharingConnections(
  platform: Pick<Platform, 'database' | 'processes' | 'log'>,
): Promise<() => Promise<void>> {
  const { database, log } = platform;
  let adjusting = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  const adjust = async () => {
    try {
      const share = await readConnectionShare(platform, true);
      if (share !== undefined) database.resize(share.poolMax);
    } catch (error) {
      log.debug({ err: error }, 'the limits of Postgres connections could not be read; the process keeps its maximum');
    }
  };
  const adjustAfter = (ms: number) => {
    timer = setTimeout(() => {
      adjusting = adjust();
      adjustAfter(ADJUST_EVERY_MS);
    }, ms).unref();
  };
  await adjust();
  adjustAfter(FIRST_ADJUSTMENT_MS);
  return () => {
    clearTimeout(timer);
    return adjusting;
  };
}
