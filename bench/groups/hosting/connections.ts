import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres } from '../../../src/dev-servers/postgres.ts';
import { createBenchApp } from '../../apps/articles.ts';
import { type Bench, createRatio, type Figure, type Group } from '../../figure.ts';
import { runInterleaved } from '../../measure/interleave.ts';
import { openLoad, runLoad } from '../../measure/load.ts';
import { startBelfry } from '../../setup/belfry.ts';
import { resetDatabase, withClient } from '../../setup/database.ts';
import { createBelfryEnvironment, type Role } from '../../setup/environment.ts';
import { seedDatabase } from '../../setup/seed.ts';
import { OPERATIONS } from '../records/operations.ts';

/** The processes of docs/operate/hosting.md by `max_connections`, each with its POOL_MAX. */
const PLANS: Record<number, readonly [role: Role, poolMax: number][]> = {
  20: [
    ['web', 8],
    ['relay', 3],
    ['webhook-worker', 3],
    ['push-worker', 2],
  ],
  40: [
    ['web', 20],
    ['relay', 5],
    ['webhook-worker', 5],
    ['push-worker', 3],
  ],
  100: [
    ['web', 28],
    ['web', 28],
    ['relay', 10],
    ['webhook-worker', 10],
    ['push-worker', 6],
  ],
};
const CLIENTS = 200;
const CONNECTIONS = 20;
const SMALL_POOL_MAX = '8';
const LARGE_POOL_MAX = '28';
const NAME = 'app';

const MIX = [OPERATIONS.read, OPERATIONS.list, OPERATIONS.create, OPERATIONS.update, OPERATIONS.list];

/** Samples the connections of the app's role until `stop`, which returns the most that were seen. */
function watchConnections(superuserUrl: string): { stop(): Promise<number> } {
  let most = 0;
  let stopping = false;
  const sampling = withClient(superuserUrl, async (client) => {
    while (!stopping) {
      const { rows } = await client.query<{ n: number }>(
        'select count(*)::int as n from pg_stat_activity where usename = $1',
        [NAME],
      );
      most = Math.max(most, rows[0]!.n);
      await sleep(5);
    }
  });
  return {
    async stop() {
      stopping = true;
      await sampling;
      return most;
    },
  };
}

/** Runs all processes of a plan under load on a Postgres of this size, with a migration in between. */
async function measurePlan(bench: Bench, size: number): Promise<Figure> {
  const postgres = await startPostgres(undefined, true, [`max_connections=${size}`]);
  const url = new URL(postgres.url);
  [url.username, url.password, url.pathname] = [NAME, NAME, NAME];
  const servers = { ...bench.servers, databaseUrl: url.href };
  // The app's role is no superuser, so the reserved connections stay out of its reach.
  await withClient(postgres.url, async (client) => {
    await client.query(`create role ${NAME} login password '${NAME}'`);
    await client.query(`grant pg_checkpoint to ${NAME}`);
    await client.query(`create database ${NAME} owner ${NAME}`);
  });
  const planBench = { ...bench, servers };
  try {
    await seedDatabase(servers);
    const processes = [];
    for (const [role, poolMax] of PLANS[size]!)
      processes.push({ role, child: await startBelfry(planBench, role, { POOL_MAX: String(poolMax) }) });
    const watch = watchConnections(postgres.url);
    const webs = processes.filter(({ role }) => role === 'web');
    const loads = webs.map(({ child }) => openLoad(child.url, (n) => MIX[n % MIX.length]!(n), CLIENTS / webs.length));
    await sleep(bench.seconds * 1000);
    const app = createBenchApp(createBelfryEnvironment(servers));
    await app.migrate({ mode: 'sync' });
    await app.close();
    await sleep(bench.seconds * 1000);
    const results = await Promise.all(loads.map((load) => load.stop()));
    const most = await watch.stop();
    for (const { child } of processes) await child.terminate();
    const requests = results.reduce((sum, result) => sum + result.requests, 0);
    const errors = results.flatMap((result) => result.errors);
    const first = errors[0] === undefined ? '' : `; ${errors[0].slice(0, 200)}`;
    return {
      name: `hosting.connections.${size}`,
      value: errors.length,
      unit: 'requests',
      note: `failed, of ${requests} by ${CLIENTS} clients at once; at most ${most} of ${size} connections${first}`,
    };
  } finally {
    await postgres.stop();
  }
}

/** Compares a process with the few connections of a small plan to one with many. */
async function measureDefault(bench: Bench, name: 'read' | 'list' | 'create' | 'update'): Promise<Figure> {
  const small = await startBelfry(bench, 'web', { POOL_MAX: SMALL_POOL_MAX });
  const large = await startBelfry(bench, 'web', { POOL_MAX: LARGE_POOL_MAX });
  const createRun = (url: string, seconds: number) => async () => {
    if (name === 'create' || name === 'update') await resetDatabase(bench.servers.databaseUrl);
    return runLoad(url, OPERATIONS[name], { connections: CONNECTIONS, seconds });
  };
  try {
    await runInterleaved(
      { small: createRun(small.url, bench.warmUpSeconds), large: createRun(large.url, bench.warmUpSeconds) },
      1,
    );
    const results = await runInterleaved(
      { small: createRun(small.url, bench.seconds), large: createRun(large.url, bench.seconds) },
      bench.reps,
    );
    const speedsOf = (side: keyof typeof results) => results[side].map(({ perSecond }) => perSecond);
    return createRatio(
      `hosting.connections.${name}`,
      speedsOf('small'),
      speedsOf('large'),
      `POOL_MAX=${SMALL_POOL_MAX} to POOL_MAX=${LARGE_POOL_MAX}`,
    );
  } finally {
    await Promise.all([small.stop(), large.stop()]);
  }
}

/** Measures whether the plans of docs/operate/hosting.md answer every request, and what few connections cost. */
export const connections: Group = {
  name: 'hosting',
  async run(bench) {
    const figures: Figure[] = [];
    for (const size of Object.keys(PLANS).map(Number)) {
      if (!bench.isRequested(`hosting.connections.${size}`)) continue;
      bench.logProgress(`hosting.connections.${size} …`);
      figures.push(await measurePlan(bench, size));
    }
    for (const name of ['read', 'list', 'create', 'update'] as const) {
      if (!bench.isRequested(`hosting.connections.${name}`)) continue;
      bench.logProgress(`hosting.connections.${name} …`);
      figures.push(await measureDefault(bench, name));
    }
    await resetDatabase(bench.servers.databaseUrl);
    return figures;
  },
};
