import type { ServerOptions } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Express } from 'express';
import type { ProcessRole } from '../declare/process-role.ts';
import { warnIfLocaleIsAsciiOnly } from '../platform/data/postgres/locale.ts';
import { logConnectionLimits } from '../platform/data/postgres/server-limits.ts';
import { createRedisCheck } from '../platform/data/redis/check.ts';
import { StartupError } from '../platform/helpers/config-errors.ts';
import { VERSION } from '../platform/helpers/version.ts';
import { createPendingResponses } from '../platform/http/pending-responses.ts';
import { describeAddress, type ListeningServer, startHttpServer } from '../platform/http/server.ts';
import { createWorkLogger } from '../platform/observability/log-work.ts';
import { addProcessMetrics } from '../platform/observability/metrics.ts';
import type { Environment } from '../platform/settings/environment.ts';
import { addOutboxMetrics } from '../platform/work/outbox/metrics.ts';
import { startRelay } from '../platform/work/outbox/relay.ts';
import { createReadLimits } from '../rules/credential-scopes.ts';
import type { AssembledApp } from './assemble.ts';
import { withPostgresAndRedis } from './connections/connect.ts';
import { startSharingConnections } from './connections/share-connections.ts';
import { createApi } from './http/api.ts';
import {
  addCheckMetrics,
  createMonitoringApp,
  type Health,
  type HealthChecks,
  shareHealthCheck,
} from './http/monitoring.ts';
import { assertSchemaMatchesDeclarations, findMissingSchemaParts } from './migrations/check-schema.ts';
import { warnIfDatabaseIsNewer } from './migrations/state.ts';
import type { Shutdown } from './shutdown.ts';

export interface StartOptions {
  /** The port of the role `web`. Default: PORT; 0 for any free port. */
  port?: number;
  /** The roles to start in this process. Default: the roles that the environment does not disable. */
  roles?: readonly ProcessRole[];
}

function listEnabledRoles(env: Environment): ProcessRole[] {
  const roles: ProcessRole[] = ['web'];
  if (env.relay) roles.push('relay');
  if (env.webhooksWorker) roles.push('webhook-worker');
  if (env.pushWorker) roles.push('push-worker');
  if (env.jobWorker) roles.push('job-worker');
  return roles;
}

/** Returns the name of a process for log lines. A process that runs `web` is named `web`, whatever other roles it runs. */
function formatProcessName(roles: readonly ProcessRole[]): string {
  return roles.includes('web') ? 'web' : roles.join('+');
}

function startRelayRole({ platform, parts }: AssembledApp) {
  addOutboxMetrics(platform);
  return startRelay({
    database: platform.database,
    redis: platform.redis,
    prefix: platform.env.redisPrefix,
    consumers: parts.consumers ?? [],
    sweeps: parts.sweeps ?? [],
    log: platform.log,
    logWork: createWorkLogger(platform),
    tracing: platform.tracing,
    settings: platform.settings.relay,
  });
}

/** Whether a resource of the app can be searched. */
function isSearchable({ records }: AssembledApp): boolean {
  return [...records.entities.values()].some(({ resource }) => resource.fields.some(({ spec }) => spec.searchable));
}

/** Creates the health checks of what every role needs. */
function createDependencyChecks({ platform, tables, declared }: AssembledApp): HealthChecks {
  return {
    postgres: shareHealthCheck(() => platform.database.write({ text: 'select 1', values: [] })),
    redis: shareHealthCheck(createRedisCheck(platform)),
    migrations: shareHealthCheck(async () => {
      const missing = await findMissingSchemaParts(platform.database, { tables, declared });
      if (missing.length > 0) throw new Error(`missing: ${missing.join(', ')}`);
    }),
  };
}

// As in the server: an import of node:http would load an HTTP client.
const { IncomingMessage, ServerResponse } = process.getBuiltinModule('node:http');

/**
 * Creates the classes of the requests and responses of an Express application. Express changes the prototypes of both for each request, which
 * takes longer than all of its routing. Instances of these classes have the right prototypes from the beginning.
 */
function createMessageClasses(app: Express): Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'> {
  class AppRequest extends IncomingMessage {}
  class AppResponse extends ServerResponse {}
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  app.request = AppRequest.prototype as Express['request'];
  app.response = AppResponse.prototype as Express['response'];
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse as typeof ServerResponse };
}

async function startWebServer({ platform, parts, host, records }: AssembledApp, port: number, health: Health) {
  const pending = createPendingResponses(platform.settings.http);
  const { routes = [], pages = [], authenticators = [] } = parts;
  const findReadLimit = createReadLimits(
    () => routes,
    () => authenticators,
  );
  const api = createApi({ routes, pages }, { host, records, authenticators, findReadLimit }, health, pending);
  return startHttpServer(
    api,
    { port, setting: 'PORT', host: platform.env.host },
    {
      stallMs: platform.settings.http.stallMs,
      isMemoryShort: pending.isMemoryShort,
      onStalled: ({ remoteAddress }) =>
        platform.log.info({ ip: remoteAddress }, 'a client stopped reading its response; its connection was closed'),
    },
    createMessageClasses(api),
  );
}

/**
 * Starts the servers of health checks and metrics: one server if both have the same port. Without METRICS_TOKEN, metrics are only for
 * programs on this machine.
 *
 * @param health undefined: `web` serves the health checks of this process
 */
async function startMonitoringServers(
  { platform }: AssembledApp,
  health: Health | undefined,
  shutdown: Shutdown,
): Promise<{ metricsUrl: string; healthUrl: string }> {
  const { metrics, env, log, settings } = platform;
  const { healthPort, metricsPort, metricsToken: token, host } = env;
  const start = async (port: number, setting: string, app: Parameters<typeof createMonitoringApp>[0]) => {
    const isLocal = app.health === undefined && token === undefined;
    const address = { port, setting, host: isLocal ? '127.0.0.1' : host };
    const server = await startHttpServer(createMonitoringApp(app), address, { stallMs: settings.http.stallMs });
    shutdown.addSupport(() => server.close(0));
    if (app.health !== undefined) log.info({ url: `${server.url}/readyz` }, 'serving health checks');
    if (app.metrics !== undefined) log.info({ url: `${server.url}/metrics` }, 'serving metrics');
    return server.url;
  };
  const servedMetrics = metricsPort === undefined ? undefined : { metrics, token };
  const isShared = health !== undefined && healthPort === metricsPort;
  let healthUrl = '';
  if (health !== undefined && healthPort !== undefined)
    healthUrl = await start(healthPort, 'HEALTH_PORT', { health, metrics: isShared ? servedMetrics : undefined });
  let metricsUrl = isShared && servedMetrics !== undefined ? healthUrl : '';
  if (metricsPort !== undefined && !isShared)
    metricsUrl = await start(metricsPort, 'METRICS_PORT', { health: undefined, metrics: servedMetrics });
  return { healthUrl, metricsUrl: metricsUrl && `${metricsUrl}/metrics` };
}

/** ms that a kept-alive connection must have been quiet before a server that served through its drain delay closes it. */
const MAX_LINGER_MS = 1000;

/**
 * Stops `web` without a failed request. Load balancers learn from `/readyz` and from closed connections to send requests elsewhere; until
 * they have, the process goes on serving. Then streams end, and the server closes when the last response is sent.
 *
 * @param stopWebWorkers ends the streams
 */
async function stopWeb(
  { platform: { env, settings } }: AssembledApp,
  server: ListeningServer,
  stopWebWorkers: () => Promise<void>,
): Promise<void> {
  server.startDraining();
  if (env.drainDelayMs > 0) await sleep(env.drainDelayMs);
  const lingerMs = Math.min(env.drainDelayMs, MAX_LINGER_MS);
  await Promise.all([stopWebWorkers(), server.close(settings.graceMs, lingerMs)]);
}

/** @throws StartupError if the file storage cannot be used */
async function assertStorageIsUsable({ files }: AssembledApp): Promise<void> {
  try {
    await files.check();
  } catch (error) {
    throw new StartupError('The app cannot use its file storage:', [(error as Error).message]);
  }
}

/**
 * Starts roles in this process.
 *
 * @param shutdown gets every started part
 */
export async function startRoles(
  assembly: AssembledApp,
  options: StartOptions,
  shutdown: Shutdown,
): Promise<{ url: string; metricsUrl: string; healthUrl: string }> {
  const { platform, parts, encryption } = assembly;
  const { env } = platform;
  const roles = options.roles ?? listEnabledRoles(env);
  const isWeb = roles.includes('web');
  const webPort = options.port ?? env.port;
  // Workers do not listen on PORT, which many platforms set for every process.
  if (isWeb && webPort !== 0 && env.metricsPort === webPort)
    throw new StartupError('Environment variables are invalid:', [
      `METRICS_PORT must differ from PORT (${webPort}); without METRICS_PORT, and with METRICS_TOKEN, web serves /metrics on PORT`,
    ]);
  const processName = formatProcessName(roles);
  if (env.logProcess === undefined) platform.log.setBindings({ process: processName });
  await platform.tracing.start({ log: platform.log, version: VERSION, processName });
  const registration = await withPostgresAndRedis(platform, async () => {
    await assertSchemaMatchesDeclarations(platform.database, assembly);
    await warnIfDatabaseIsNewer(platform.database, platform.log);
    if (isSearchable(assembly)) await warnIfLocaleIsAsciiOnly(platform.database, platform.log);
    return encryption.registerKeys();
  });
  shutdown.addSupport(() => registration.deleteRegistration());
  shutdown.addSupport(() => platform.processes.stop());
  await assertStorageIsUsable(assembly);
  if (isWeb && env.poolMax === undefined) shutdown.addSupport(await startSharingConnections(platform));
  await logConnectionLimits(platform.database, platform.log);
  if (isWeb) await platform.replica?.start();

  /** The parts of this process that work in a loop. `isRunning` false: the loop has ended or is stuck. */
  const loops: { isRunning?(): boolean }[] = [];
  for (const role of roles) {
    if (role === 'web') continue;
    const worker = await parts.workers?.[role]?.();
    if (worker === undefined) continue;
    loops.push(worker);
    shutdown.addWork(() => worker.stop());
  }
  if (roles.includes('relay')) {
    const relay = startRelayRole(assembly);
    loops.push(relay);
    shutdown.addWork(() => relay.stop());
  }

  platform.processes.start(roles);
  const checks = createDependencyChecks(assembly);
  const { isStopping: isDraining } = shutdown;
  const loopCheck = async () => {
    if (loops.some(({ isRunning }) => isRunning?.() === false)) throw new Error('a worker has ended or is stuck');
  };
  if (env.metricsPort !== undefined || env.metricsToken !== undefined) addProcessMetrics(platform.metrics);
  // If HEALTH_PORT is the port of `web`, that server has the same routes.
  const isServedByWeb = isWeb && env.healthPort === webPort && webPort !== 0;
  // Requests work without Redis, while a process with workers only does nothing.
  const dispensable = new Set(isWeb && platform.settings.http.readyWithoutRedis ? ['redis'] : []);
  const health = { checks: loops.length > 0 ? { ...checks, workers: loopCheck } : checks, dispensable, isDraining };
  addCheckMetrics(platform.metrics, health.checks);
  const monitoring = await startMonitoringServers(assembly, isServedByWeb ? undefined : health, shutdown);
  if (!isWeb) {
    platform.log.info({ roles }, `running with the roles ${roles.join(', ')}`);
    return { url: '', ...monitoring };
  }
  const server = await startWebServer(assembly, webPort, { checks, dispensable, isDraining });
  let stopWebWorkers = async () => {};
  shutdown.addWork(() => stopWeb(assembly, server, () => stopWebWorkers()));
  const webWorker = await parts.workers?.web?.();
  if (webWorker !== undefined) stopWebWorkers = () => webWorker.stop();
  const address = describeAddress(server.url);
  platform.log.info({ roles, url: address }, `listens on ${address} with the roles ${roles.join(', ')}`);
  return { url: server.url, ...monitoring };
}
