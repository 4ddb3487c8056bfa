import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Pool } from 'undici';
import type { Bench, Figure, Group } from '../../figure.ts';
import { countRedisCommands, type RedisCalls, subtractCalls, sumCalls } from '../../measure/redis-calls.ts';
import { createWireTap, type WireTap } from '../../measure/wire-tap.ts';
import {
  addEndpoints,
  removeEndpoints,
  resetDatabaseAndRedis,
  startBelfry,
  startReceiver,
  waitUntilEndpointJobsEnd,
} from '../../setup/belfry.ts';
import type { Child } from '../../setup/children.ts';
import { UNDELIVERED, waitUntilEmpty, withClient } from '../../setup/database.ts';
import type { Role } from '../../setup/environment.ts';
import { createArticleJson, getSessionToken, USERS } from '../../setup/seed.ts';

const NAME = 'webhooks.unit';
const IDLE_SECONDS = 20;
const SETTLE_MS = 3000;
const ROLES = ['web', 'relay', 'webhook-worker', 'push-worker', 'job-worker'] as const satisfies readonly Role[];
/** The processes that turn a committed event into a delivery. */
const DELIVERING = ['relay', 'webhook-worker'] as const satisfies readonly Role[];

/** A load: creates, each with one event, that begin `everyMs` apart. */
interface Load {
  creates: number;
  everyMs: number;
  endpoints: number;
}

const LOADS: Record<string, Load> = {
  slow: { creates: 500, everyMs: 20, endpoints: 1 },
  rare: { creates: 15, everyMs: 2500, endpoints: 1 },
  burst: { creates: 3000, everyMs: 0, endpoints: 1 },
  fanout: { creates: 200, everyMs: 50, endpoints: 21 },
};

interface MeasuredProcess {
  role: Role;
  child: Child;
  tap: WireTap;
}

/** What the processes have used since a point in time. */
interface Usage {
  statements: Record<Role, number>;
  cpuMs: Record<Role, number>;
  walBytes: number;
  redisCommands: RedisCalls;
}

async function startTappedProcesses(bench: Bench): Promise<MeasuredProcess[]> {
  const start = async (role: Role): Promise<MeasuredProcess> => {
    const tap = await createWireTap(bench.servers.databaseUrl);
    return { role, tap, child: await startBelfry(bench, role, { DATABASE_URL: tap.url }) };
  };
  const web = await start('web');
  return [web, ...(await Promise.all(ROLES.slice(1).map(start)))];
}

/** Lists the most frequent commands. @param per what to divide the counts by */
const listCalls = (calls: RedisCalls, per: number) =>
  [...calls]
    .sort(([, a], [, b]) => b - a)
    .slice(0, 6)
    .map(([name, count]) => `${name} ${(count / per).toFixed(1)}`)
    .join(', ');

/** Runs `work` and returns what the processes have used meanwhile. */
async function measureUsage(
  bench: Bench,
  redis: Redis,
  processes: readonly MeasuredProcess[],
  work: () => Promise<unknown>,
): Promise<Usage> {
  const byRole = async (read: (process: MeasuredProcess) => number | Promise<number>) =>
    Object.fromEntries(
      await Promise.all(processes.map(async (process) => [process.role, await read(process)])),
    ) as Record<Role, number>;
  const readCpu = () => byRole(async ({ child }) => (await child.call<number>('cpu')) / 1000);
  return withClient(bench.servers.databaseUrl, async (client) => {
    const readWal = async () => {
      const { rows } = await client.query<{ bytes: string }>(`select pg_current_wal_lsn() - '0/0' as bytes`);
      return Number(rows[0]!.bytes);
    };
    const before = { cpu: await readCpu(), wal: await readWal(), redis: await countRedisCommands(redis) };
    for (const { tap } of processes) tap.reset();
    await work();
    const statements = await byRole(({ tap }) => tap.counts().statements);
    const [redisAfter, walAfter, cpu] = [await countRedisCommands(redis), await readWal(), await readCpu()];
    const cpuMs = Object.fromEntries(ROLES.map((role) => [role, cpu[role] - before.cpu[role]])) as Record<Role, number>;
    return {
      statements,
      cpuMs,
      walBytes: walAfter - before.wal,
      redisCommands: subtractCalls(redisAfter, before.redis),
    };
  });
}

/** Creates records and waits until all of their deliveries have succeeded. */
async function deliver(bench: Bench, web: Child, { creates, everyMs }: Load): Promise<void> {
  const pool = new Pool(web.url, { connections: 50 });
  const headers = { authorization: `Bearer ${getSessionToken(0)}`, 'content-type': 'application/json' };
  const begin = performance.now();
  try {
    const running: Promise<unknown>[] = [];
    for (let number = 0; number < creates; number++) {
      if (everyMs > 0) await sleep(Math.max(0, begin + number * everyMs - performance.now()));
      const body = createArticleJson(number);
      running.push(pool.request({ method: 'POST', path: '/api/articles', headers, body }).then((r) => r.body.dump()));
    }
    await Promise.all(running);
  } finally {
    await pool.close();
  }
  await withClient(bench.servers.databaseUrl, async (client) => {
    await waitUntilEmpty(client, 'select from outbox limit 1');
    await waitUntilEmpty(client, UNDELIVERED);
  });
}

function createLoadFigures(name: string, { creates, everyMs, endpoints }: Load, usage: Usage): Figure[] {
  const deliveries = creates * endpoints;
  const per = (count: number) => count / deliveries;
  const list = (values: Record<Role, number>, digits: number) =>
    ROLES.map((role) => `${role} ${per(values[role]).toFixed(digits)}`).join(', ');
  const sum = (values: Record<Role, number>) => DELIVERING.reduce((total, role) => total + per(values[role]), 0);
  const load = `${creates} creates ${everyMs > 0 ? `${everyMs} ms apart` : 'at once'}, ${endpoints} ${endpoints === 1 ? 'endpoint' : 'endpoints'}`;
  return [
    {
      name: `${NAME}.${name}.statements`,
      value: sum(usage.statements),
      unit: 'statements',
      note: `${load}; ${list(usage.statements, 2)}`,
    },
    { name: `${NAME}.${name}.wal`, value: per(usage.walBytes), unit: 'bytes', note: `${load}; with the creates` },
    {
      name: `${NAME}.${name}.redis`,
      value: per(sumCalls(usage.redisCommands)),
      unit: 'commands',
      note: `${load}; all processes: ${listCalls(usage.redisCommands, deliveries)}`,
    },
    { name: `${NAME}.${name}.cpu`, value: sum(usage.cpuMs), unit: 'ms', note: `${load}; ${list(usage.cpuMs, 2)}` },
  ];
}

async function measureIdleCosts(bench: Bench, redis: Redis, processes: readonly MeasuredProcess[]): Promise<Figure[]> {
  await waitUntilEndpointJobsEnd(bench);
  await sleep(SETTLE_MS);
  const idle = await measureUsage(bench, redis, processes, () => sleep(IDLE_SECONDS * 1000));
  const perSecond = (count: number) => count / IDLE_SECONDS;
  return [
    {
      name: `${NAME}.idle.redis`,
      value: perSecond(sumCalls(idle.redisCommands)),
      unit: 'commands/s',
      note: `${ROLES.join(', ')}; for ${IDLE_SECONDS} s: ${listCalls(idle.redisCommands, IDLE_SECONDS)}`,
    },
    {
      name: `${NAME}.idle.statements`,
      value: ROLES.reduce((sum, role) => sum + perSecond(idle.statements[role]), 0),
      unit: 'statements/s',
      note: ROLES.map((role) => `${role} ${perSecond(idle.statements[role]).toFixed(1)}`).join(', '),
    },
  ];
}

/** Measures the bytes that a finished delivery takes in the log, with its indexes. */
function measureStoredBytes(bench: Bench): Promise<Figure> {
  return withClient(bench.servers.databaseUrl, async (client) => {
    const { rows } = await client.query<{ deliveries: number; bytes: number; body: number }>(
      `select (select count(*)::int from webhook_delivery_log) as deliveries, sum(pg_total_relation_size(relid))::int as bytes,
         (select avg(octet_length(body))::int from webhook_delivery_log) as body
       from pg_partition_tree('webhook_delivery_log') where isleaf and pg_relation_size(relid) > 0`,
    );
    const { deliveries, bytes, body } = rows[0]!;
    const note = `${deliveries} deliveries with bodies of ${body} bytes`;
    return { name: `${NAME}.stored`, value: bytes / deliveries, unit: 'bytes', note };
  });
}

/** Measures what a delivery costs in statements, WAL, Redis commands and CPU time, and what idle processes cost. */
export const webhookUnitCosts: Group = {
  name: 'webhooks',
  async run(bench) {
    if (!bench.isRequested(NAME)) return [];
    bench.logProgress(`${NAME} …`);
    const redis = new Redis(bench.servers.redisUrl);
    const receiver = await startReceiver(bench, 1);
    const processes = await startTappedProcesses(bench);
    const figures: Figure[] = [];
    try {
      const [{ child: web }] = processes as [MeasuredProcess];
      await deliver(bench, web, { creates: 100, everyMs: 10, endpoints: 1 });
      figures.push(...(await measureIdleCosts(bench, redis, processes)));
      for (const [name, load] of Object.entries(LOADS)) {
        const others = Array.from({ length: load.endpoints - 1 }, (_, i) => (i + 1) % USERS);
        if (others.length > 0) await addEndpoints(bench, receiver, others);
        await waitUntilEndpointJobsEnd(bench);
        await resetDatabaseAndRedis(bench);
        await deliver(bench, web, { creates: 20, everyMs: 10, endpoints: load.endpoints });
        const usage = await measureUsage(bench, redis, processes, () => deliver(bench, web, load));
        figures.push(...createLoadFigures(name, load, usage));
      }
      figures.push(await measureStoredBytes(bench));
    } finally {
      redis.disconnect();
      await Promise.all([receiver.stop(), ...processes.map(({ child }) => child.stop())]);
      await Promise.all(processes.map(({ tap }) => tap.close()));
    }
    await removeEndpoints(bench);
    return figures;
  },
};
