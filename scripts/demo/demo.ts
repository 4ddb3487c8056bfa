// `npm run demo`: runs the four processes and a receiver that verifies signatures, and creates 1,000 records from 20 clients. Then
// it repeats that while the relay and the webhook-worker are killed. Exits with 1 if a delivery is missing.
import { randomBytes } from 'node:crypto';
import { onStopRequest } from '../../src/dev-servers/on-stop-request.ts';
import { startServices } from '../../src/dev-servers/start.ts';
import { startReceiver } from './receiver.ts';
import { createRecords, type Expected, type Outcome, waitForOutcome } from './run.ts';
import { startTiers } from './tiers.ts';
import { registerUser } from './user.ts';

const RECORDS = 1000;
// The claims of a killed worker are reclaimed when their lease expires.
const RECEIVE_TIMEOUT_MS = 120_000;

function printOutcome(records: number, outcome: Outcome): void {
  const latencyPercentile = (share: number) =>
    outcome.latencies[Math.min(Math.floor(outcome.latencies.length * share), outcome.latencies.length - 1)];
  const lines: [string, string | number | undefined][] = [
    ['records written', records],
    ['deliveries expected', outcome.expected],
    ['received and verified', outcome.received],
    ['missing', outcome.missing],
    ['received by the wrong endpoint', outcome.misdirected],
    ['invalid signature', outcome.refused],
    ['duplicates', outcome.duplicates],
    ['commit to receipt, median', `${latencyPercentile(0.5)} ms`],
    ['commit to receipt, 99th percentile', `${latencyPercentile(0.99)} ms`],
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
onStopRequest(stop);

console.log(
  `Four processes are running; web listens on ${tiers.url}. Two users register, each with a webhook endpoint.\n`,
);
const users = [await registerUser(tiers.url, 'ada', receiver), await registerUser(tiers.url, 'grace', receiver)];

console.log(`1. ${RECORDS} records from 20 clients at once`);
const first = await createRecords(users, RECORDS, () => undefined);
const outcomeWithoutKills = await waitForOutcome(first, receiver, RECEIVE_TIMEOUT_MS);
printOutcome(RECORDS, outcomeWithoutKills);

console.log(`\n2. ${RECORDS} more, while relay and webhook-worker are killed (SIGKILL) and restarted`);
let killed: Promise<void> | undefined;
const second = await createRecords(users, RECORDS, (done) => {
  if (done !== RECORDS / 2) return;
  killed = Promise.all([tiers.kill('relay'), tiers.kill('webhook-worker')]).then(() => {
    tiers.start('relay');
    tiers.start('webhook-worker');
  });
});
await killed;
const expectedInTotal: Expected = new Map([...first].map(([name, ids]) => [name, ids.union(second.get(name)!)]));
const outcomeWithKills = await waitForOutcome(expectedInTotal, receiver, RECEIVE_TIMEOUT_MS);
printOutcome(2 * RECORDS, outcomeWithKills);
if (outcomeWithKills.duplicates > 0)
  console.log(
    '  (Duplicates are requests that were in flight at the kill and were sent again. They carry the same webhook-id.)',
  );

await stop();
const failed = [outcomeWithoutKills, outcomeWithKills].some(
  (outcome) => outcome.missing + outcome.misdirected + outcome.refused > 0,
);
console.log(failed ? '\nSome checks failed, see above.' : '\nEvery delivery arrived.');
process.exit(failed ? 1 : 0);
