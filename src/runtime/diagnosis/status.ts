import { join } from 'node:path';
import type { ProcessRole } from '../../declare/process-role.ts';
import { connectAndCheckRedis } from '../../platform/data/redis/check.ts';
import { explainRedisProblem } from '../../platform/data/redis/problems.ts';
import { withDeadline } from '../../platform/helpers/concurrency/deadline.ts';
import { VERSION } from '../../platform/helpers/version.ts';
import { type Finding, failure, warning } from '../../platform/observability/finding.ts';
import type { Platform } from '../../platform/platform.ts';
import type { BacklogState } from '../../platform/work/leased-work/backlog.ts';
import { MAX_OUTBOX_SECONDS } from '../../platform/work/outbox/state.ts';
import type { ProcessList, QueueState } from '../../platform/work/processes/facts.ts';
import { describeVersions, readProcesses } from '../../platform/work/processes/list.ts';
import { MAX_QUEUE_SECONDS, readQueues } from '../../platform/work/queues/state.ts';
import { type DiagnosedApp, type DiagnoseOptions, describeRedisFailure, diagnoseFeatures } from './diagnose.ts';
import { diagnoseMigrations } from './migrations.ts';
import { describePostgresFailure } from './postgres.ts';
import { findMissingWorkers, type RoleState, readRoles } from './processes.ts';

const DEADLINE_MS = 5000;

/** A process that runs. Another version of Belfry may not say everything about itself: the other members are null then. */
interface ProcessSummary {
  id: string;
  roles: readonly string[];
  host: string | null;
  pid: number | null;
  /** The versions of Belfry, of the app if the environment names it, and of Node.js. */
  version: string | null;
  appVersion: string | null;
  node: string | null;
  /** ISO 8601. */
  startedAt: string | null;
  seenAt: string;
}

/** A role that the app needs. */
interface RoleSummary {
  role: ProcessRole;
  /** When the last process that has the role was seen: ISO 8601, null without one. */
  seenAt: string | null;
  /** The number of processes that have the role; null: not known, without Redis. */
  processes: number | null;
  /** The rows in Postgres that wait for the role, by what they are; empty without Postgres. */
  waiting: readonly ({ name: string } & BacklogState)[];
}

/** The state of an app and its processes, for `belfry status`. What could not be read is null, and `problems` says why. */
export interface AppStatus {
  /** Whether all of it could be read. */
  isComplete: boolean;
  /** The errors first. */
  problems: readonly Finding[];
  /** Of Belfry and Node.js: those of this process. */
  versions: { belfry: string; node: string; postgres: string | null; redis: string | null };
  migrations: { pending: readonly string[] } | null;
  roles: readonly RoleSummary[];
  processes: readonly ProcessSummary[] | null;
  queues: readonly Omit<QueueState, 'failures'>[] | null;
  /** The rows that the relay has not processed, counted up to 100,000. */
  outbox: { rows: number; isCapped: boolean; oldestSeconds: number | null } | null;
}

/** A value, or why it could not be read. */
type Reading<T> = { value: T } | { problem: Finding };

const valueOrNull = <T>(reading: Reading<T>): T | null => ('value' in reading ? reading.value : null);
const problemsOf = (readings: readonly Reading<unknown>[]) =>
  readings.flatMap((one) => ('problem' in one ? [one.problem] : []));

async function readPostgresVersion({ database, env }: Platform): Promise<Reading<string>> {
  const select = { text: `select current_setting('server_version')`, values: [] };
  try {
    const [row] = await withDeadline(database.write<[string]>(select), DEADLINE_MS);
    return { value: row![0].split(' ')[0]! };
  } catch (error) {
    return { problem: describePostgresFailure(error, env) };
  }
}

async function readRedisVersion(platform: Platform): Promise<Reading<string>> {
  try {
    const { versions } = await withDeadline(connectAndCheckRedis(platform), DEADLINE_MS);
    return { value: versions.join(', ') };
  } catch (error) {
    return { problem: describeRedisFailure(error, platform) };
  }
}

async function readAllQueues(platform: Platform, list: ProcessList): Promise<Reading<QueueState[]>> {
  const { redis, env } = platform;
  try {
    return { value: await readQueues(platform, list) };
  } catch (error) {
    const why = explainRedisProblem(redis.lastError() ?? error, redis.address, env.redisPrefix);
    return { problem: failure(`The queues are not known: ${why}`) };
  }
}

/** What the relay, the queues and the versions of the processes have that needs attention. */
function findProblemsOfWork(list: ProcessList, roles: readonly RoleState[], queues: readonly QueueState[]): Finding[] {
  const found: Finding[] = [];
  if (list.processes.length === 0)
    found.push(failure('No process of the app runs', 'start it with npx belfry start (docs/operate/deployment.md)'));
  for (const { role, processes, waiting } of roles) {
    const seconds = Math.max(0, ...waiting.map(({ oldestSeconds }) => oldestSeconds ?? 0));
    if (role === 'relay' && processes > 0 && seconds > MAX_OUTBOX_SECONDS)
      found.push(
        failure(`The first row of the outbox has waited for ${Math.round(seconds)} s`, 'see the log of the relay'),
      );
  }
  for (const { name, workers, oldestSeconds, failed } of queues) {
    if (workers > 0 && (oldestSeconds ?? 0) > MAX_QUEUE_SECONDS)
      found.push(warning(`The next entry of the queue ${name} has waited for ${oldestSeconds} s`));
    if (failed > 0) found.push(warning(`The queue ${name} has ${failed} failed ${failed === 1 ? 'entry' : 'entries'}`));
  }
  const versions = describeVersions(list.processes);
  return versions === undefined ? found : [...found, warning(versions, 'finish the deployment')];
}

function summarizeProcesses({ processes }: ProcessList): ProcessSummary[] {
  return processes.map(({ id, roles = [], host, pid, version, appVersion, node, startedAt, seenAt }) => ({
    ...{ id, roles, seenAt },
    ...{ host: host ?? null, pid: pid ?? null, startedAt: startedAt ?? null },
    ...{ version: version ?? null, appVersion: appVersion ?? null, node: node ?? null },
  }));
}

const summarizeRole = ({ role, processes, seenAt, waiting }: RoleState, areProcessesKnown: boolean): RoleSummary => ({
  role,
  processes: areProcessesKnown ? processes : null,
  seenAt,
  waiting: waiting.map(({ names, due, isCapped, oldestSeconds }) => ({ name: names[1], due, isCapped, oldestSeconds })),
});

/** Reads which migrations are pending, and what the features say. Not without Postgres. */
async function readDatabase({ platform, parts }: DiagnosedApp, folder: string) {
  const { findings, pending } = await diagnoseMigrations(platform.env, folder);
  const problems = findings.filter(({ level }) => level !== 'ok');
  const isInstalled = problems.every(({ level }) => level !== 'error');
  const features = isInstalled ? await diagnoseFeatures(parts) : [];
  return {
    // A database role that cannot read the migrations is a warning.
    isComplete: pending !== undefined || isInstalled,
    migrations: pending === undefined ? null : { pending },
    problems: [...problems, ...features],
  };
}

/** Reads what Redis knows about the processes, and what waits for them. */
async function readWork({ platform, parts }: DiagnosedApp, isRedisUsable: boolean) {
  const unknown: ProcessList = { processes: [], queues: [], own: platform.processes.id, problem: '' };
  const list = isRedisUsable ? await readProcesses(platform) : unknown;
  const roles = await readRoles(platform, parts, list.processes);
  const summaries = roles.map((role) => summarizeRole(role, list.problem === null));
  if (list.problem !== null) {
    const problems = list.problem === '' ? [] : [failure(list.problem)];
    return { roles: summaries, processes: null, queues: null, problems };
  }
  const queues = await readAllQueues(platform, list);
  const missing = 'value' in queues ? await findMissingWorkers(platform, roles, list) : [];
  const problems = [...problemsOf([queues]), ...missing, ...findProblemsOfWork(list, roles, valueOrNull(queues) ?? [])];
  return {
    ...{ roles: summaries, processes: summarizeProcesses(list), problems },
    queues: valueOrNull(queues)?.map(({ failures: _, ...queue }) => queue) ?? null,
  };
}

const toOutbox = ({ due: rows, isCapped, oldestSeconds }: BacklogState) => ({ rows, isCapped, oldestSeconds });

/** Reads the state of an app and its processes. Waits at most a few seconds for a server that is down. Changes nothing. */
export async function readStatus(
  app: DiagnosedApp,
  { folder = join(process.cwd(), 'migrations') }: DiagnoseOptions,
): Promise<AppStatus> {
  const [postgres, redis] = await Promise.all([readPostgresVersion(app.platform), readRedisVersion(app.platform)]);
  const isPostgresUsable = 'value' in postgres;
  const [work, database] = await Promise.all([
    readWork(app, 'value' in redis),
    isPostgresUsable ? readDatabase(app, folder) : { isComplete: false, migrations: null, problems: [] },
  ]);
  const events = work.roles.find(({ role }) => role === 'relay')?.waiting[0];
  const problems = [...problemsOf([postgres, redis]), ...work.problems, ...database.problems];
  return {
    // Without its tables, a database that was not migrated has no outbox.
    isComplete:
      database.isComplete &&
      work.queues !== null &&
      (events !== undefined || database.migrations?.pending.length !== 0),
    problems: problems.toSorted((a, b) => Number(b.level === 'error') - Number(a.level === 'error')),
    versions: {
      belfry: VERSION,
      node: process.versions.node,
      postgres: valueOrNull(postgres),
      redis: valueOrNull(redis),
    },
    migrations: database.migrations,
    roles: work.roles,
    processes: work.processes,
    queues: work.queues,
    outbox: events === undefined ? null : toOutbox(events),
  };
}
