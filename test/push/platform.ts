import { createKeyring } from '../../src/platform/data/crypto/keyring.ts';
import { openDatabase } from '../../src/platform/data/postgres/database.ts';
import { openRedis } from '../../src/platform/data/redis/connections.ts';
import { createEvents } from '../../src/platform/events.ts';
import { createLanguages } from '../../src/platform/languages/index.ts';
import { createLogger } from '../../src/platform/observability/log.ts';
import { createMetrics } from '../../src/platform/observability/metrics.ts';
import { NO_TRACING } from '../../src/platform/observability/tracing.ts';
import type { Platform } from '../../src/platform/platform.ts';
import { readEnvironment } from '../../src/platform/settings/environment.ts';
import { readSettings } from '../../src/platform/settings/settings.ts';
import { createLimits } from '../../src/platform/work/limits/index.ts';
import { createRelayWakeUp } from '../../src/platform/work/outbox/wake.ts';
import { createProcessRegistry } from '../../src/platform/work/processes/registry.ts';
import { createSlowLog } from '../../src/platform/work/processes/slow-log.ts';
import { createQueues } from '../../src/platform/work/queues/queues.ts';

/** A separate platform on the services of a test app, for components that an app does not expose. */
export async function openPlatform(
  variables: Record<string, string>,
  push = {},
): Promise<Platform & { close(): Promise<void> }> {
  const env = readEnvironment(variables);
  const log = createLogger('silent', 'test');
  const metrics = createMetrics();
  const redis = openRedis(env.redis, log);
  const database = openDatabase(env.databaseUrl, env.redisPrefix, log);
  const queues = createQueues(redis, env.redisPrefix, log);
  const slowLog = createSlowLog({ requestMs: 500, statementMs: 200 });
  const identity = { version: 'test', appVersion: undefined };
  return {
    env,
    settings: readSettings({ push }),
    log,
    metrics,
    tracing: NO_TRACING,
    redis,
    replica: undefined,
    database,
    queues,
    limits: createLimits(redis.commands, env.redisPrefix, log, metrics),
    wake: createRelayWakeUp(redis.commands, env.redisPrefix),
    keyring: createKeyring(env.encryptionKeys),
    events: createEvents(log),
    languages: createLanguages({}),
    slowLog,
    logTail: undefined,
    processes: createProcessRegistry(redis.commands, env.redisPrefix, log, slowLog, identity),
    async close() {
      await queues.close();
      await Promise.all([redis.close(), database.close()]);
    },
  };
}
