import { type Bench, createRatio, type Figure, type Group } from '../../figure.ts';
import { runInterleaved } from '../../measure/interleave.ts';
import { runLoad } from '../../measure/load.ts';
import { startBelfry } from '../../setup/belfry.ts';
import { resetDatabase } from '../../setup/database.ts';
import { createArticleJson, getSessionToken, USERS } from '../../setup/seed.ts';
import { OPERATIONS } from './operations.ts';

const CONNECTIONS = 20;
/** A batch keeps a process busy for longer than a request, so that few connections are enough. */
const BATCH_CONNECTIONS = 2;
const BATCH_SIZE = 1000;

let created = 0;

function createBatchJson(): string {
  const operations = Array.from({ length: BATCH_SIZE }, () => `{"op":"create","data":${createArticleJson(created++)}}`);
  return `{"operations":[${operations.join()}]}`;
}

async function measure(bench: Bench, url: string): Promise<Figure> {
  // Created before the measurement: the generator shares the processors with the server.
  const bodies = Array.from({ length: 8 }, createBatchJson);
  const runBatches = async (seconds: number) => {
    const createRequest = (connection: number) => ({
      method: 'POST' as const,
      path: '/api/articles/batch',
      token: getSessionToken(connection % USERS),
      body: bodies[created++ % bodies.length]!,
      status: 200,
    });
    const { perSecond } = await runLoad(url, createRequest, { connections: BATCH_CONNECTIONS, seconds });
    return perSecond * BATCH_SIZE;
  };
  const runSingle = async (seconds: number) =>
    (await runLoad(url, OPERATIONS.create, { connections: CONNECTIONS, seconds })).perSecond;
  await runSingle(bench.warmUpSeconds);
  await runBatches(bench.warmUpSeconds);
  const createRun = (run: (seconds: number) => Promise<number>) => async () => {
    await resetDatabase(bench.servers.databaseUrl);
    return run(bench.seconds);
  };
  const { batch, single } = await runInterleaved(
    { batch: createRun(runBatches), single: createRun(runSingle) },
    bench.reps,
  );
  return createRatio('records.batch', batch, single, `records created by batches of ${BATCH_SIZE} and one by one`);
}

/** Compares creates in batches of 1,000 with creates in requests of their own. */
export const recordsBatch: Group = {
  name: 'records',
  async run(bench) {
    if (!bench.isRequested('records.batch')) return [];
    const server = await startBelfry(bench, 'web');
    bench.logProgress('records.batch …');
    const figure = await measure(bench, server.url);
    await server.stop();
    await resetDatabase(bench.servers.databaseUrl);
    return [figure];
  },
};
