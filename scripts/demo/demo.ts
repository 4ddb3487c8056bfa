// `npm run demo`: runs the four processes and a receiver that verifies signatures, and creates 1,000 records from 20 clients. Then
// it repeats that while the relay and the webhook-worker are killed. Exits with 1 if a delivery is missing.
import { randomBytes } from 'node:crypto';
import { whenAskedToStop } from '../services/on-stop-request.ts';
import { startServices } from '../services/start.ts';
import { startReceiver } from './receiver.ts';
import { createRecords, type Expected, type Outcome, outcomeOf } from './run.ts';
import { startTiers } from './tiers.ts';
import { join } from './user.ts';

const RECORDS = 1000;
// The claims of a killed worker are reclaimed when their lease expires.
const PATIENCE_MS = 120_000;

function report(records: number, outcome: Outcome): void {
  const at = (share: number) =>
    outcome.latencies[Math.min(Math.floor(outcome.latencies.length * share), outcome.latencies.length - 1)];
  const lines: [string, string | number | undefined][] = [
    ['records written', records],
    ['deliveries expected', outcome.expected],
    ['received and verified', outcome.received],
    ['missing', outcome.missing],
    ['received by the wrong endpoint', outcome.strangers],
    ['signature refused', outcome.refused],
    ['duplicates', outcome.duplicates],
    ['commit to receipt, median', `${at(0.5)} ms`],
    ['commit to receipt, 99th percentile', `${at(0.99)} ms`],
  ];
  for (const [name, value] of lines) console.log(`  ${name.padEnd(36)}${value}`);
}

const unknown = process.argv.slice(2);
if (unknown.length > 0) {
  console.error(`Unknown argument ${unknown.join(' ')}. npm run demo takes no arguments.`);
  process.exit(1);
}

const services = await startServices({ mode: 'test', announce: console.log });
const receiver = await startReceiver();
const tiers = await startTiers({
  NODE_ENV: 'development',
  LOG_LEVEL: 'error',
  // This program acts as a proxy, since the clients' addresses are made up.
  TRUST_PROXY: 'loopback',
  DATABASE_URL: services.databaseUrl,
  REDIS_URL: services.redisUrl,
  SVC_ENCRYPTION_KEYS: randomBytes(32).toString('base64'),
});
const stop = async () => {
  await tiers.stop();
  await receiver.close();
  await services.stop();
};
whenAskedToStop(stop);

console.log(
  `Four processes are running; web listens on ${tiers.url}. Two users register, each with a webhook endpoint.\n`,
);
const people = [await join(tiers.url, 'ada', receiver), await join(tiers.url, 'grace', receiver)];

console.log(`1. ${RECORDS} records from 20 clients at once`);
const first = await createRecords(people, RECORDS, () => undefined);
const calm = await outcomeOf(first, receiver, PATIENCE_MS);
report(RECORDS, calm);

console.log(`\n2. ${RECORDS} more, while relay and webhook-worker are killed (SIGKILL) and restarted`);
let killed: Promise<void> | undefined;
const second = await createRecords(people, RECORDS, (done) => {
  if (done !== RECORDS / 2) return;
  killed = Promise.all([tiers.kill('relay'), tiers.kill('webhook-worker')]).then(() => {
    tiers.start('relay');
    tiers.start('webhook-worker');
  });
});
await killed;
const both: Expected = new Map([...first].map(([name, ids]) => [name, ids.union(second.get(name)!)]));
const stormy = await outcomeOf(both, receiver, PATIENCE_MS);
report(2 * RECORDS, stormy);
if (stormy.duplicates > 0)
  console.log(
    '  (Duplicates are requests that were in flight at the kill and were sent again. They carry the same webhook-id.)',
  );

await stop();
const failed = [calm, stormy].some((outcome) => outcome.missing + outcome.strangers + outcome.refused > 0);
console.log(failed ? '\nSome checks failed, see above.' : '\nEvery delivery arrived.');
process.exit(failed ? 1 : 0);
