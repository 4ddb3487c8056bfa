import type { Keyring } from './data/crypto/keyring.ts';
import type { Database } from './data/postgres/database.ts';
import type { RedisConnections } from './data/redis/connections.ts';
import type { Replica } from './data/replica/index.ts';
import type { Events } from './events.ts';
import type { Languages } from './languages/index.ts';
import type { Logger } from './observability/log.ts';
import type { Metrics } from './observability/metrics.ts';
import type { Tracing } from './observability/tracing.ts';
import type { Environment } from './settings/environment.ts';
import type { Settings } from './settings/settings.ts';
import type { Limits } from './work/limits/index.ts';
import type { RelayWakeUp } from './work/outbox/wake.ts';
import type { LogTail } from './work/processes/log-tail.ts';
import type { ProcessRegistry } from './work/processes/registry.ts';
import type { SlowLog } from './work/processes/slow-log.ts';
import type { Queues } from './work/queues/queues.ts';

/** The shared infrastructure of an app's features: one instance of each per app. */
export interface Platform {
  env: Environment;
  settings: Settings;
  log: Logger;
  metrics: Metrics;
  tracing: Tracing;
  database: Database;
  /** The read replica for lists and exports; undefined: there is none. */
  replica: Replica | undefined;
  redis: RedisConnections;
  queues: Queues;
  limits: Limits;
  wake: RelayWakeUp;
  keyring: Keyring;
  /** The languages of the responses. */
  languages: Languages;
  events: Events;
  /** All processes of the app that run. */
  processes: ProcessRegistry;
  slowLog: SlowLog;
  /** Undefined in production. */
  logTail: LogTail | undefined;
}
