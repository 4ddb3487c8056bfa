// `npm run chaos`: sends webhooks through real processes while the relay and the webhook-worker are killed (SIGKILL) at random
// moments, Redis is emptied and Postgres is restarted. Exits with 1 if a delivery is lost, arrives under another webhook-id, or
// arrives twice although it was not in flight at a disruption.
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { onStopRequest } from '../../src/dev-servers/on-stop-request.ts';
import { ensureDatabase } from '../../src/dev-servers/ping.ts';
import { startPostgres } from '../../src/dev-servers/postgres.ts';
import { ensurePostgresAccount } from '../../src/dev-servers/postgres-account.ts';
import { startRedis } from '../../src/dev-servers/redis.ts';
import { createTemporaryFolder, removeStaleTemporaryFolders } from '../../src/dev-servers/temporary-folder.ts';
import { startTiers } from '../demo/tiers.ts';
import { readChaosArguments } from './arguments.ts';
import { checkDeliveries, hasFailed } from './delivery-check.ts';
import { createSeededRandom, type Disruption, planDisruptions } from './disruptions.ts';
import { countUnfinished, expireLeasesAndRetries, type HeldDelivery, readHeldDeliveries } from './held-deliveries.ts';
import { prepareLoad } from './load.ts';
import { startReceivers } from './receiver.ts';

// Deliveries per second. Fewer than a worker can send, so that disruptions hit it while it works and no backlog builds up.
const RATE = 300;
const MIN_RUN_MS = 3000;
// How long a disruption waits for deliveries in flight.
const IN_FLIGHT_TIMEOUT_MS = 2000;
// Deliveries of a killed worker are reclaimed when their lease expires, and then wait for their retry.
const FINISH_TIMEOUT_MS = 180_000;

let options: ReturnType<typeof readChaosArguments>;
try {
  options = readChaosArguments(process.argv.slice(2));
} catch (error) {
  console.error((error as Error).message);
  process.exit(1);
}
const { deliveries, kills, seed, hurry, json } = options;
const printLine = (line: string) => (json ? console.error(line) : console.log(line));
const random = createSeededRandom(seed);

await removeStaleTemporaryFolders();
const folder = createTemporaryFolder('chaos', ensurePostgresAccount());
const [postgres, redis] = await Promise.all([startPostgres(folder), startRedis(folder, printLine)]);
await ensureDatabase(postgres.url);
const receivers = await startReceivers(createSeededRandom(seed + 1));
/** Number of processes that exited without being killed. It must stay 0. */
let crashCount = 0;
const tiers = await startTiers(
  {
    NODE_ENV: 'development',
    LOG_LEVEL: 'fatal',
    // This program acts as a proxy, since the clients' addresses are made up.
    TRUST_PROXY: 'loopback',
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    SVC_ENCRYPTION_KEYS: randomBytes(32).toString('base64'),
  },
  ['relay', 'webhook-worker'],
  (tier, code) => {
    crashCount += 1;
    printLine(`  ${tier} crashed (${code})`);
  },
);
const stop = async () => {
  await tiers.stop();
  await receivers.close();
  await Promise.all([postgres.stop(), redis.stop()]);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
};
onStopRequest(stop);

/**
 * The attempts that workers held at disruptions, whose results may be lost. Each attempt counts once, although a dead worker holds it
 * until its lease expires.
 */
const held = new Map<string, HeldDelivery>();

async function flushRedis(): Promise<void> {
  const client = new Redis(redis.url);
  await client.flushall();
  client.disconnect();
}

const keyOf = ({ messageId, attempts }: HeldDelivery) => `${messageId} ${attempts}`;

/** Adds the deliveries that workers hold now. Returns the number of new ones. */
async function recordHeldDeliveries(): Promise<number> {
  const before = held.size;
  for (const one of await readHeldDeliveries(postgres.url)) held.set(keyOf(one), one);
  return held.size - before;
}

/** Waits until a delivery is in flight, for a short time at most. */
async function waitForDeliveryInFlight(): Promise<void> {
  for (const end = Date.now() + IN_FLIGHT_TIMEOUT_MS; ; await sleep(10)) {
    // Deliveries that dead workers still hold do not count.
    const isNew = (one: HeldDelivery) => !held.has(keyOf(one));
    if ((await readHeldDeliveries(postgres.url)).some(isNew) || Date.now() > end) return;
  }
}

/** Causes a disruption and returns its log line. */
async function causeDisruption({ kind, downMs: awayMs }: Disruption): Promise<string> {
  if (kind === 'flush Redis') {
    await flushRedis();
    return 'FLUSHALL on Redis';
  }
  if (kind === 'restart Postgres') {
    // Stop the worker between counting its deliveries and stopping Postgres, so that the count is exact.
    await waitForDeliveryInFlight();
    tiers.signal('webhook-worker', 'SIGSTOP');
    const heldCount = await recordHeldDeliveries();
    await postgres.restart(awayMs, () => tiers.signal('webhook-worker', 'SIGCONT'));
    return `Postgres restarted, ${heldCount} deliveries in flight`;
  }
  const tier = kind === 'kill relay' ? 'relay' : 'webhook-worker';
  if (tier === 'webhook-worker') await waitForDeliveryInFlight();
  await tiers.kill(tier);
  const inFlightNote = tier === 'webhook-worker' ? `, ${await recordHeldDeliveries()} deliveries in flight` : '';
  await sleep(awayMs);
  tiers.start(tier);
  return `SIGKILL ${tier}${inFlightNote}`;
}

async function causeDisruptions(disruptions: readonly Disruption[], runMs: number): Promise<void> {
  const startedAt = performance.now();
  for (const disruption of disruptions) {
    await sleep(Math.max(0, disruption.at * runMs - (performance.now() - startedAt)));
    const at = (performance.now() - startedAt) / 1000;
    printLine(`  ${at.toFixed(1).padStart(6)} s  ${await causeDisruption(disruption)}`);
  }
  // Without an empty Redis, other workers would take over the jobs of a killed worker only after 20 s.
  if (hurry) await flushRedis();
}

const load = await prepareLoad(tiers.url, receivers, { deliveries, random });
const runMs = Math.max(MIN_RUN_MS, (load.deliveries / RATE) * 1000);
const formatCount = (count: number) => count.toLocaleString('en-US');
printLine(
  `${formatCount(load.deliveries)} deliveries to ${load.endpoints} endpoints in ${Math.round(runMs / 1000)} s; seed ${seed}\n`,
);
const startedAt = performance.now();
const [expected] = await Promise.all([load.run(runMs), causeDisruptions(planDisruptions(kills, random), runMs)]);
for (const end = Date.now() + FINISH_TIMEOUT_MS; Date.now() < end && crashCount === 0; await sleep(200)) {
  if ((await countUnfinished(postgres.url)) === 0) break;
  if (hurry) await expireLeasesAndRetries(postgres.url, [...held.values()]);
}
const seconds = (performance.now() - startedAt) / 1000;
const check = checkDeliveries(expected, receivers, [...held.values()]);
await stop();

const isFailed = crashCount > 0 || hasFailed(check);
if (json)
  console.log(
    JSON.stringify({ seed, kills, seconds: Math.round(seconds), held: held.size, crashes: crashCount, ...check }),
  );
else {
  const lines: [string, number][] = [
    ['sent', check.sent],
    ['received', check.received],
    ['lost', check.lost],
    ['duplicates', check.duplicates],
    ['  in flight at a disruption', check.explained],
    ['  unexplained', check.unexplained],
    ['with a different webhook-id', check.changedIds],
    ['sent to the wrong endpoint', check.misdirected],
    ['invalid signature', check.refused],
    ['processes that crashed', crashCount],
  ];
  console.log('');
  for (const [name, count] of lines) console.log(`  ${name.padEnd(36)}${formatCount(count)}`);
  console.log(
    `\n${isFailed ? 'Some checks failed, see above.' : 'Every delivery arrived.'} ${Math.round(seconds)} s, seed ${seed}.`,
  );
}
process.exit(isFailed ? 1 : 0);
