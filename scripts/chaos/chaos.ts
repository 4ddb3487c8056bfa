// `npm run chaos`: sends webhooks through real processes while the relay and the webhook-worker are killed (SIGKILL) at random
// moments, Redis is emptied and Postgres is restarted. Exits with 1 if a delivery is lost, arrives under another webhook-id, or
// arrives twice although it was not in flight at a fault.
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startTiers } from '../demo/tiers.ts';
import { whenAskedToStop } from '../services/on-stop-request.ts';
import { ensureDatabase } from '../services/ping.ts';
import { startPostgres } from '../services/postgres.ts';
import { postgresAccount } from '../services/postgres-account.ts';
import { startRedis } from '../services/redis.ts';
import { clearThrowAways, makeThrowAway } from '../services/temporary-folder.ts';
import { readChaosArguments } from './arguments.ts';
import { balance, isWrong } from './delivery-check.ts';
import { type Fault, planFaults, seeded } from './disruptions.ts';
import { type Held, heldDeliveries, hurryUp, unfinished } from './held-deliveries.ts';
import { prepareLoad } from './load.ts';
import { startReceivers } from './receiver.ts';

// Deliveries per second. Fewer than a worker can send, so that faults hit it while it works and no backlog builds up.
const RATE = 300;
const SHORTEST_MS = 3000;
// How long a fault waits for deliveries in flight.
const SOME_MS = 2000;
// Deliveries of a killed worker are reclaimed when their lease expires, and then wait for their retry.
const PATIENCE_MS = 180_000;

let options: ReturnType<typeof readChaosArguments>;
try {
  options = readChaosArguments(process.argv.slice(2));
} catch (error) {
  console.error((error as Error).message);
  process.exit(1);
}
const { deliveries, kills, seed, hurry, json } = options;
const say = (line: string) => (json ? console.error(line) : console.log(line));
const random = seeded(seed);

await clearThrowAways();
const folder = makeThrowAway('chaos', postgresAccount());
const [postgres, redis] = await Promise.all([startPostgres(folder), startRedis(folder, say)]);
await ensureDatabase(postgres.url);
const receivers = await startReceivers(seeded(seed + 1));
/** Number of processes that exited without being killed. It must stay 0. */
let fallen = 0;
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
    fallen += 1;
    say(`  ${tier} crashed (${code})`);
  },
);
const stop = async () => {
  await tiers.stop();
  await receivers.close();
  await Promise.all([postgres.stop(), redis.stop()]);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
};
whenAskedToStop(stop);

/**
 * The attempts that workers held at faults, whose result may be lost. Each counts once, although dead workers hold it until
 * the lease expires.
 */
const held = new Map<string, Held>();

async function flush(): Promise<void> {
  const client = new Redis(redis.url);
  await client.flushall();
  client.disconnect();
}

const keyOf = ({ messageId, attempts }: Held) => `${messageId} ${attempts}`;

/** Adds the deliveries that workers hold now. Returns the number of new ones. */
async function noteHeld(): Promise<number> {
  const before = held.size;
  for (const one of await heldDeliveries(postgres.url)) held.set(keyOf(one), one);
  return held.size - before;
}

/** Waits until a delivery is in flight, for a short time at most. */
async function inFlight(): Promise<void> {
  for (const end = Date.now() + SOME_MS; ; await sleep(10)) {
    // Deliveries that dead workers still hold do not count.
    const isNew = (one: Held) => !held.has(keyOf(one));
    if ((await heldDeliveries(postgres.url)).some(isNew) || Date.now() > end) return;
  }
}

/** Causes a fault and returns its log line. */
async function strike({ kind, awayMs }: Fault): Promise<string> {
  if (kind === 'flush Redis') {
    await flush();
    return 'FLUSHALL on Redis';
  }
  if (kind === 'restart Postgres') {
    // Stop the worker between counting its deliveries and stopping Postgres, so that the count is exact.
    await inFlight();
    tiers.signal('webhook-worker', 'SIGSTOP');
    const caught = await noteHeld();
    await postgres.restart(awayMs, () => tiers.signal('webhook-worker', 'SIGCONT'));
    return `Postgres restarted, ${caught} deliveries in flight`;
  }
  const tier = kind === 'kill relay' ? 'relay' : 'webhook-worker';
  if (tier === 'webhook-worker') await inFlight();
  await tiers.kill(tier);
  const about = tier === 'webhook-worker' ? `, ${await noteHeld()} deliveries in flight` : '';
  await sleep(awayMs);
  tiers.start(tier);
  return `SIGKILL ${tier}${about}`;
}

async function strikeAll(faults: readonly Fault[], runMs: number): Promise<void> {
  const begun = performance.now();
  for (const fault of faults) {
    await sleep(Math.max(0, fault.at * runMs - (performance.now() - begun)));
    const at = (performance.now() - begun) / 1000;
    say(`  ${at.toFixed(1).padStart(6)} s  ${await strike(fault)}`);
  }
  // Without this, the jobs of a killed worker would be taken over only after 20 s.
  if (hurry) await flush();
}

const load = await prepareLoad(tiers.url, receivers, { deliveries, random });
const runMs = Math.max(SHORTEST_MS, (load.deliveries / RATE) * 1000);
const shown = (count: number) => count.toLocaleString('en-US');
say(
  `${shown(load.deliveries)} deliveries to ${load.endpoints} endpoints in ${Math.round(runMs / 1000)} s; seed ${seed}\n`,
);
const begun = performance.now();
const [expected] = await Promise.all([load.run(runMs), strikeAll(planFaults(kills, random), runMs)]);
for (const end = Date.now() + PATIENCE_MS; Date.now() < end && fallen === 0; await sleep(200)) {
  if ((await unfinished(postgres.url)) === 0) break;
  if (hurry) await hurryUp(postgres.url, [...held.values()]);
}
const took = (performance.now() - begun) / 1000;
const books = balance(expected, receivers, [...held.values()]);
await stop();

const wrong = fallen > 0 || isWrong(books);
if (json) console.log(JSON.stringify({ seed, kills, seconds: Math.round(took), held: held.size, fallen, ...books }));
else {
  const lines: [string, number][] = [
    ['sent', books.sent],
    ['received', books.received],
    ['lost', books.lost],
    ['duplicates', books.duplicates],
    ['  in flight at a fault', books.explained],
    ['  unexplained', books.unexplained],
    ['under another webhook-id', books.otherIds],
    ['not meant for the endpoint', books.strangers],
    ['signature refused', books.refused],
    ['processes that crashed', fallen],
  ];
  console.log('');
  for (const [name, count] of lines) console.log(`  ${name.padEnd(36)}${shown(count)}`);
  console.log(
    `\n${wrong ? 'Some checks failed, see above.' : 'Every delivery arrived.'} ${Math.round(took)} s, seed ${seed}.`,
  );
}
process.exit(wrong ? 1 : 0);
