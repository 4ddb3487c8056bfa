// `npm run bench [-- names…] [--json] [--write] [--reps N] [--seconds N] [--profile folder]`: measures Belfry against its
// baselines on a Postgres and a Redis of its own. A name is a group (`records`) or a figure (`records.read`).
import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { onStopRequest } from '../scripts/services/on-stop-request.ts';
import { createChildren } from './children.ts';
import type { Figure, Group } from './figure.ts';
import { accounts } from './groups/accounts.ts';
import { audit } from './groups/audit.ts';
import { deliveries } from './groups/deliveries.ts';
import { fanOut } from './groups/fan-out.ts';
import { hanging } from './groups/hanging.ts';
import { http } from './groups/http.ts';
import { latency } from './groups/latency.ts';
import { limits } from './groups/limits.ts';
import { load200 } from './groups/load200.ts';
import { loginImpact } from './groups/login-impact.ts';
import { memory } from './groups/memory.ts';
import { pushAccept } from './groups/push-accept.ts';
import { pushProviders } from './groups/push-providers.ts';
import { queries } from './groups/queries.ts';
import { realtime } from './groups/realtime.ts';
import { records } from './groups/records.ts';
import { relay } from './groups/relay.ts';
import { scale } from './groups/scale.ts';
import { start } from './groups/start.ts';
import { asJson, asMarkdown, asTable, isBusy } from './report.ts';
import { seed } from './seed.ts';
import { type BenchServices, startBenchServices } from './services.ts';

const GROUPS: readonly Group[] = [
  records,
  queries,
  limits,
  http,
  accounts,
  loginImpact,
  relay,
  audit,
  deliveries,
  latency,
  load200,
  hanging,
  fanOut,
  memory,
  pushAccept,
  pushProviders,
  realtime,
  start,
  scale,
];
const LONGEST_MS = 40 * 60_000;

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
const known = GROUPS.map((group) => group.name);
const unknown = names.filter((name) => !known.includes(name.split('.')[0]!));
const [reps, seconds] = [Number(options.reps), Number(options.seconds)];
if (unknown.length > 0) fail(`There is no group ${unknown.join(', ')}; groups: ${[...new Set(known)].join(', ')}`);
if (!Number.isInteger(reps) || reps < 1 || !(seconds > 0))
  fail('--reps takes a whole number, --seconds a number above 0.');
if (options.write && names.length > 0) fail('--write keeps the results of a whole run: give no names with it.');

/** Prints progress to standard error, since with `--json` standard output contains only the figures. */
const say = (line: string) => console.error(line);
const children = createChildren(options.profile);
let services: BenchServices | undefined;
const stop = async () => {
  await children.stopAll();
  await services?.stop();
};
onStopRequest(stop);
const watchdog = setTimeout(() => {
  say('The bench takes too long: stopped.');
  void stop().finally(() => process.exit(1));
}, LONGEST_MS);

try {
  const begin = performance.now();
  const [load = 0] = loadavg();
  if (isBusy(load)) say(`The machine is busy (load average ${load.toFixed(1)}): these figures are rough.`);
  services = await startBenchServices(say);
  say(`Postgres ${services.postgres}; Redis ${services.redis}`);
  await seed(services);
  const wants = (figure: string) =>
    names.length === 0 || names.some((name) => figure === name || figure.startsWith(`${name}.`));
  const bench = { servers: services, children, reps, seconds, warmUpSeconds: 2 * seconds, wants, say };
  const figures: Figure[] = [];
  for (const group of GROUPS) {
    figures.push(...(await group.run(bench)));
  }
  const took = (performance.now() - begin) / 1000;
  console.log(options.json ? asJson(figures) : asTable(figures));
  if (options.write) {
    const { postgres, redis } = services;
    const page = asMarkdown(figures, { postgres, redis, reps, seconds, took, load });
    writeFileSync(new URL('RESULTS.md', import.meta.url), page);
  }
} catch (error) {
  say(String((error as Error).stack ?? error));
  process.exitCode = 1;
} finally {
  clearTimeout(watchdog);
  await stop();
}

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}
