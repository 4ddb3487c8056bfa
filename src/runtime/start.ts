import type { ProcessRole } from '../declare/extension.ts';
import type { Environment } from '../platform/config/environment.ts';
import { createPendingResponses } from '../platform/http/pending-responses.ts';
import { startHttpServer } from '../platform/http/server.ts';
import { createWorkLogger } from '../platform/observability/log-work.ts';
import { addProcessMetrics } from '../platform/observability/metrics.ts';
import { startRelay } from '../platform/outbox/relay.ts';
import { createRedisCheck } from '../platform/redis/check.ts';
import type { AssembledApp } from './assemble.ts';
import { withPostgresAndRedis } from './connect.ts';
import { createApi } from './http/api.ts';
import { createMetricsApp } from './http/monitoring.ts';
import { assertSchemaMatchesDeclarations, findMissingSchemaParts } from './migrations/check-schema.ts';
import { warnIfDatabaseIsNewer } from './migrations/state.ts';

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
  return roles;
}

/** Returns the name of a process for log lines. A process that runs `web` is named `web`, whatever other roles it runs. */
function formatProcessName(roles: readonly ProcessRole[]): string {
  return roles.includes('web') ? 'web' : roles.join('+');
}

function startRelayRole({ platform, parts }: AssembledApp) {
  return startRelay({
    database: platform.database,
    subscriber: platform.redis.createBlockingConnection(),
    prefix: platform.env.redisPrefix,
    consumers: parts.consumers ?? [],
    sweeps: parts.sweeps ?? [],
    log: platform.log,
    logWork: createWorkLogger(platform),
    settings: platform.settings.relay,
  });
}

async function startWebServer({ platform, parts, host, records, tables }: AssembledApp, port: number) {
  const pending = createPendingResponses(platform.settings.http);
  const api = createApi(
    { routes: parts.routes ?? [], pages: parts.pages ?? [] },
    { host, records, authenticators: parts.authenticators ?? [] },
    {
      postgres: () => platform.database.write({ text: 'select 1', values: [] }),
      redis: createRedisCheck(platform),
      migrations: async () => {
        const missing = await findMissingSchemaParts(platform.database, tables);
        if (missing.length > 0) throw new Error(`missing: ${missing.join(', ')}`);
      },
    },
    pending,
  );
  return startHttpServer(
    api,
    { port, setting: 'PORT', host: platform.env.host },
    {
      stallMs: platform.settings.http.stallMs,
      isMemoryShort: pending.isMemoryShort,
      onStalled: ({ remoteAddress }) =>
        platform.log.info({ ip: remoteAddress }, 'a client stopped reading its response; its connection was closed'),
    },
  );
}

/** Starts a server for metrics on a separate port; without METRICS_TOKEN, it serves only programs on this machine. */
async function startMetricsServer({ platform }: AssembledApp, port: number) {
  const { metrics, env, log, settings } = platform;
  const host = env.metricsToken === undefined ? '127.0.0.1' : env.host;
  const address = { port, setting: 'METRICS_PORT', host };
  const server = await startHttpServer(createMetricsApp(metrics, env.metricsToken), address, {
    stallMs: settings.http.stallMs,
  });
  log.info({ url: `${server.url}/metrics` }, 'serving metrics');
  return server;
}

/**
 * Starts roles in this process.
 *
 * @param stops receives, for each started role, a function that stops it; the caller runs these functions in reverse order
 */
export async function startRoles(
  assembly: AssembledApp,
  options: StartOptions,
  stops: (() => Promise<void>)[],
): Promise<{ url: string; metricsUrl: string }> {
  const { platform, parts, tables, encryption } = assembly;
  const roles = options.roles ?? listEnabledRoles(platform.env);
  if (platform.env.logProcess === undefined) platform.log.setBindings({ process: formatProcessName(roles) });
  const registration = await withPostgresAndRedis(platform, async () => {
    await assertSchemaMatchesDeclarations(platform.database, tables);
    await warnIfDatabaseIsNewer(platform.database, platform.log);
    return encryption.registerKeys();
  });
  stops.push(() => registration.deleteRegistration());
  const startWorkers = async (role: ProcessRole) => {
    const worker = await parts.workers?.[role]?.();
    if (worker !== undefined) stops.push(() => worker.stop());
  };
  for (const role of roles) if (role !== 'web') await startWorkers(role);
  if (roles.includes('relay')) {
    const relay = startRelayRole(assembly);
    stops.push(() => relay.stop());
  }
  const { metricsPort, metricsToken } = platform.env;
  if (metricsPort !== undefined || metricsToken !== undefined) addProcessMetrics(platform.metrics);
  let metricsUrl = '';
  if (metricsPort !== undefined) {
    const server = await startMetricsServer(assembly, metricsPort);
    stops.push(() => server.close(0));
    metricsUrl = `${server.url}/metrics`;
  }
  if (!roles.includes('web')) {
    platform.log.info({ roles }, `running with the roles ${roles.join(', ')}`);
    return { url: '', metricsUrl };
  }
  const server = await startWebServer(assembly, options.port ?? platform.env.port);
  stops.push(() => server.close(platform.settings.graceMs));
  // Start the workers of `web` last: they are then stopped before the server, which waits for responses that they still write.
  await startWorkers('web');
  platform.log.info({ roles, url: server.url }, `listens on ${server.url} with the roles ${roles.join(', ')}`);
  return { url: server.url, metricsUrl };
}
