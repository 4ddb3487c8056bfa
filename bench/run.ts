// `npm run bench [-- names…] [--json] [--write] [--reps N] [--seconds N] [--profile folder]`: measures Belfry against its
// baselines on a Postgres and a Redis of its own. A name is a group (`records`) or a figure (`records.read`).
import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { onStopRequest } from '../src/dev-servers/on-stop-request.ts';
import type { Figure, Group } from './figure.ts';
import { loginImpact } from './groups/accounts/login-impact.ts';
import { logins } from './groups/accounts/logins.ts';
import { rateLimits } from './groups/accounts/rate-limits.ts';
import { signIns } from './groups/accounts/sign-ins.ts';
import { audit } from './groups/audit.ts';
import { client } from './groups/client.ts';
import { erasure } from './groups/erasure.ts';
import { files } from './groups/files.ts';
import { connections } from './groups/hosting/connections.ts';
import { recovery } from './groups/hosting/recovery.ts';
import { restart } from './groups/hosting/restart.ts';
import { jobs } from './groups/jobs.ts';
import { packaged } from './groups/package.ts';
import { pushAccept } from './groups/push/accept.ts';
import { pushProviders } from './groups/push/providers.ts';
import { realtime } from './groups/realtime.ts';
import { recordsAggregates } from './groups/records/aggregates.ts';
import { recordsBatch } from './groups/records/batch.ts';
import { recordsRelated } from './groups/records/related.ts';
import { recordsRoundTrips } from './groups/records/round-trips.ts';
import { recordsScale } from './groups/records/scale.ts';
import { recordsThroughput } from './groups/records/throughput.ts';
import { rejectionCost } from './groups/rejection-cost.ts';
import { relay } from './groups/relay.ts';
import { startup } from './groups/startup.ts';
import { webhookDefaultThroughput } from './groups/webhooks/default-throughput.ts';
import { webhookDeliveries } from './groups/webhooks/deliveries.ts';
import { webhookFanOut } from './groups/webhooks/fan-out.ts';
import { hangingReceiver } from './groups/webhooks/hanging-receiver.ts';
import { webhookLatency } from './groups/webhooks/latency.ts';
import { webhookLatencyUnderLoad } from './groups/webhooks/latency-under-load.ts';
import { webhookMemory } from './groups/webhooks/memory.ts';
import { webhookStorage } from './groups/webhooks/storage.ts';
import { webhookUnitCosts } from './groups/webhooks/unit-costs.ts';
import { formatJson, formatMarkdown, formatTable, isMachineBusy } from './report.ts';
import { createChildren } from './setup/children.ts';
import { seedDatabase } from './setup/seed.ts';
import { type BenchServices, startBenchServices } from './setup/services.ts';

const GROUPS: readonly Group[] = [
  recordsThroughput,
  recordsBatch,
  recordsRoundTrips,
  recordsRelated,
  recordsAggregates,
  rateLimits,
  rejectionCost,
  logins,
  signIns,
  loginImpact,
  relay,
  audit,
  webhookDeliveries,
  webhookDefaultThroughput,
  webhookLatency,
  webhookLatencyUnderLoad,
  hangingReceiver,
  webhookFanOut,
  webhookMemory,
  webhookUnitCosts,
  webhookStorage,
  erasure,
  pushAccept,
  pushProviders,
  jobs,
  realtime,
  restart,
  recovery,
  connections,
  startup,
  files,
  client,
  packaged,
  recordsScale,
];
const MAX_RUN_MS = 40 * 60_000;

const { values: options, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    reps: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '2' },
    profile: { type: 'string' },
  },
});
const knownGroups = GROUPS.map((group) => group.name);
const unknownNames = names.filter((name) => !knownGroups.includes(name.split('.')[0]!));
const [reps, seconds] = [Number(options.reps), Number(options.seconds)];
if (unknownNames.length > 0)
  fail(`Unknown group or figure: ${unknownNames.join(', ')}. The groups are ${[...new Set(knownGroups)].join(', ')}.`);
if (!Number.isInteger(reps) || reps < 1 || !(seconds > 0))
  fail('--reps must be a whole number of at least 1, and --seconds a number greater than 0.');
if (options.write && names.length > 0)
  fail('--write saves the results of a complete run: do not combine it with names.');

/** Prints progress to standard error, since with `--json` standard output contains only the figures. */
const logProgress = (line: string) => console.error(line);
const children = createChildren(options.profile);
let services: BenchServices | undefined;
const stop = async () => {
  await children.stopAll();
  await services?.stop();
};
onStopRequest(stop);
const watchdog = setTimeout(() => {
  logProgress(`The benchmark was stopped after ${MAX_RUN_MS / 60_000} minutes.`);
  void stop().finally(() => process.exit(1));
}, MAX_RUN_MS);

try {
  const begin = performance.now();
  const [load = 0] = loadavg();
  if (isMachineBusy(load))
    logProgress(`The machine is busy (load average ${load.toFixed(1)}): the figures are only approximate.`);
  services = await startBenchServices(logProgress);
  logProgress(`Postgres ${services.postgres}; Redis ${services.redis}`);
  await seedDatabase(services);
  const isRequested = (figure: string) =>
    names.length === 0 || names.some((name) => figure === name || figure.startsWith(`${name}.`));
  const bench = {
    servers: services,
    children,
    reps,
    seconds,
    warmUpSeconds: 2 * seconds,
    isRequested,
    logProgress,
  };
  const figures: Figure[] = [];
  for (const group of GROUPS) {
    figures.push(...(await group.run(bench)));
  }
  const took = (performance.now() - begin) / 1000;
  console.log(options.json ? formatJson(figures) : formatTable(figures));
  if (options.write) {
    const { postgres, redis } = services;
    const page = formatMarkdown(figures, { postgres, redis, reps, seconds, durationSeconds: took, loadAverage: load });
    writeFileSync(new URL('RESULTS.md', import.meta.url), page);
  }
} catch (error) {
  logProgress(String((error as Error).stack ?? error));
  process.exitCode = 1;
} finally {
  clearTimeout(watchdog);
  await stop();
}

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}
