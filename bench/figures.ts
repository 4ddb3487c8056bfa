import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { failWithUsage, parseCommandLine } from './command-line.ts';
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
import { pages } from './groups/pages.ts';
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
import { webhookFilteredFanOut } from './groups/webhooks/filtered-fan-out.ts';
import { hangingReceiver } from './groups/webhooks/hanging-receiver.ts';
import { webhookHeldSnapshot } from './groups/webhooks/held-snapshot.ts';
import { webhookKeptEvents } from './groups/webhooks/kept-events.ts';
import { webhookLatency } from './groups/webhooks/latency.ts';
import { webhookLatencyUnderLoad } from './groups/webhooks/latency-under-load.ts';
import { webhookMemory } from './groups/webhooks/memory.ts';
import { webhookPolling } from './groups/webhooks/polling.ts';
import { webhookUnitCosts } from './groups/webhooks/unit-costs.ts';
import { readPeersSection } from './peers/results-page.ts';
import { formatJson, formatMarkdown, formatTable, isMachineBusy } from './report.ts';
import { runSession, type Session } from './session.ts';
import { seedDatabase } from './setup/seed.ts';

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
  webhookFilteredFanOut,
  webhookKeptEvents,
  webhookMemory,
  webhookPolling,
  webhookUnitCosts,
  webhookHeldSnapshot,
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
  pages,
  packaged,
  recordsScale,
];
const MAX_RUN_MS = 60 * 60_000;

interface Options {
  names: string[];
  json: boolean;
  write: boolean;
  reps: number;
  seconds: number;
  profile: string | undefined;
}

function parseOptions(args: string[]): Options {
  const { values, positionals: names } = parseCommandLine(args, {
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    reps: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '2' },
    profile: { type: 'string' },
  });
  const knownGroups = GROUPS.map((group) => group.name);
  const unknownNames = names.filter((name) => !knownGroups.includes(name.split('.')[0]!));
  const [reps, seconds] = [Number(values.reps), Number(values.seconds)];
  if (unknownNames.length > 0)
    failWithUsage(
      `Unknown group or figure: ${unknownNames.join(', ')}. The groups are ${[...new Set(knownGroups)].join(', ')}.`,
    );
  if (!Number.isInteger(reps) || reps < 1 || !(seconds > 0))
    failWithUsage('--reps must be a whole number of at least 1, and --seconds a number greater than 0.');
  if (values.write && names.length > 0)
    failWithUsage('--write saves the results of a complete run: do not combine it with names.');
  return { names, json: values.json, write: values.write, reps, seconds, profile: values.profile };
}

async function measure(session: Session, { names, json, write, reps, seconds }: Options): Promise<void> {
  const begin = performance.now();
  const [load = 0] = loadavg();
  const { services, children, logProgress } = session;
  await seedDatabase(services);
  const isRequested = (figure: string) =>
    names.length === 0 || names.some((name) => figure === name || figure.startsWith(`${name}.`));
  const bench = { servers: services, children, reps, seconds, warmUpSeconds: 2 * seconds, isRequested, logProgress };
  const figures: Figure[] = [];
  // What the other groups measured takes too long to lose.
  const failures: unknown[] = [];
  for (const group of GROUPS) {
    try {
      figures.push(...(await group.run(bench)));
    } catch (error) {
      if (session.isStopping()) throw error;
      logProgress(`A measurement of ${group.name} failed:\n${String((error as Error).stack ?? error)}`);
      failures.push(error);
      await children.stopAll();
    }
  }
  const took = (performance.now() - begin) / 1000;
  console.log(json ? formatJson(figures) : formatTable(figures));
  if (failures.length > 0)
    throw new Error(`${failures.length} measurements failed (see above)${write ? ', so nothing was written' : ''}.`);
  const isMeasured = (name: string) =>
    figures.some((figure) => figure.name === name || figure.name.startsWith(`${name}.`));
  const unknown = names.filter((name) => !isMeasured(name));
  if (unknown.length > 0) throw new Error(`There is no such figure: ${unknown.join(', ')}.`);
  if (!write) return;
  const { postgres, redis } = services;
  const page = formatMarkdown(figures, { postgres, redis, reps, seconds, durationSeconds: took, loadAverage: load });
  writeFileSync(new URL('RESULTS.md', import.meta.url), page + readPeersSection());
}

/** Measures figures against their baselines, and prints them. */
export async function runFigures(args: string[]): Promise<void> {
  const options = parseOptions(args);
  const [load = 0] = loadavg();
  if (isMachineBusy(load))
    console.error(`The machine is busy (load average ${load.toFixed(1)}): the figures are only approximate.`);
  await runSession({ maxMs: MAX_RUN_MS, profiles: options.profile }, (session) => measure(session, options));
}
