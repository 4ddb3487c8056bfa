import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureDatabase } from '../../../src/dev-servers/ping.ts';
import { startPostgres } from '../../../src/dev-servers/postgres.ts';
import { ensurePostgresAccount } from '../../../src/dev-servers/postgres-account.ts';
import { createTemporaryFolder } from '../../../src/dev-servers/temporary-folder.ts';
import type { Bench, Group } from '../../figure.ts';
import { runRequests } from '../../measure/load.ts';
import { currentTimeMs } from '../../processes/child.ts';
import { startBelfry, startReceiver } from '../../setup/belfry.ts';
import type { Child } from '../../setup/children.ts';
import { UNDELIVERED, withClient } from '../../setup/database.ts';
import { createArticleJson, getSessionToken, seedDatabase, USERS } from '../../setup/seed.ts';

/** Each create causes a webhook to every user. */
const CREATES = 40;
const CONNECTIONS = 20;
const DOWN_MS = 7000;
/** Number of webhooks that have arrived when Postgres crashes; many others are in flight or wait. */
const ARRIVED_BEFORE_CRASH = 300;
const RESPONSE_MS = 100;
const CONCURRENCY = '50';
const TIMEOUT_MS = 90_000;

type Receipts = [recordId: string, at: number, messageId: string][];
type Postgres = Awaited<ReturnType<typeof startPostgres>>;

/** Kills Postgres with SIGKILL, and starts it again after `DOWN_MS`. Resolves with the time from which it accepts connections. */
async function crash(postgres: Postgres): Promise<number> {
  const pid = await withClient(postgres.url, async (client) => {
    const { rows } = await client.query<{ file: string }>(`select pg_read_file('postmaster.pid') as file`);
    return Number.parseInt(rows[0]!.file, 10);
  });
  process.kill(pid, 'SIGKILL');
  await postgres.restart(DOWN_MS);
  return currentTimeMs();
}

/** Waits until nothing is left to send. Returns the requests that the receiver got. */
async function waitForReceipts(receiver: Child, postgres: Postgres): Promise<Receipts> {
  return withClient(postgres.url, async (client) => {
    for (const end = Date.now() + TIMEOUT_MS; Date.now() < end; await sleep(100)) {
      const { rowCount } = await client.query(`(select from outbox limit 1) union all ${UNDELIVERED}`);
      if (rowCount === 0) return receiver.call<Receipts>('receipts');
    }
    throw new Error(`Not all webhooks arrived within ${TIMEOUT_MS / 1000} s of the recovery.`);
  });
}

async function measureRecovery(bench: Bench, postgres: Postgres) {
  const receiver = await startReceiver(bench, USERS, RESPONSE_MS);
  const web = await startBelfry(bench, 'web');
  const others = [
    await startBelfry(bench, 'relay'),
    await startBelfry(bench, 'webhook-worker', { BENCH_CONCURRENCY: CONCURRENCY }),
  ];
  try {
    await receiver.call('watch');
    await runRequests(web.url, CREATES, CONNECTIONS, (n) => {
      const body = createArticleJson(n);
      return { method: 'POST', path: '/api/articles', token: getSessionToken(n % USERS), body, status: 201 };
    });
    while ((await receiver.call<Receipts>('receipts')).length < ARRIVED_BEFORE_CRASH) await sleep(10);
    const recoveredAt = await crash(postgres);
    const receipts = await waitForReceipts(receiver, postgres);
    const messages = new Set(receipts.map(([, , messageId]) => messageId));
    const lastMs = Math.max(...receipts.map(([, at]) => at)) - recoveredAt;
    return { lastMs, count: messages.size, repeated: receipts.length - messages.size };
  } finally {
    await Promise.all([receiver, web, ...others].map((child) => child.stop()));
  }
}

/** Measures the time from the recovery of a crashed Postgres to the last webhook of a burst that the crash interrupted. */
export const recovery: Group = {
  name: 'hosting',
  async run(bench) {
    if (!bench.isRequested('hosting.recovery.lastMs')) return [];
    bench.logProgress('hosting.recovery …');
    const folder = createTemporaryFolder('recovery', ensurePostgresAccount());
    const postgres = await startPostgres(folder);
    try {
      await ensureDatabase(postgres.url);
      const servers = { ...bench.servers, databaseUrl: postgres.url };
      await seedDatabase(servers);
      const { lastMs, count, repeated } = await measureRecovery({ ...bench, servers }, postgres);
      const note = `${count} webhooks; ${repeated} sent again; Postgres was down for ${DOWN_MS / 1000} s`;
      return [{ name: 'hosting.recovery.lastMs', value: lastMs, unit: 'ms', note }];
    } finally {
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    }
  },
};
