import type { Environment } from './config/environment.ts';
import type { Settings } from './config/settings.ts';
import type { Keyring } from './crypto/keyring.ts';
import type { Events } from './events.ts';
import type { Limits } from './limits/index.ts';
import type { Logger } from './observability/log.ts';
import type { LogTail } from './observability/log-tail.ts';
import type { Metrics } from './observability/metrics.ts';
import type { Tracing } from './observability/tracing.ts';
import type { RelayWakeUp } from './outbox/wake.ts';
import type { Database } from './postgres/database.ts';
import type { ProcessRegistry } from './processes/registry.ts';
import type { SlowLog } from './processes/slow-log.ts';
import type { RedisConnections } from './redis/connections.ts';
import type { Queues } from './redis/queues.ts';
import type { Replica } from './replica/index.ts';

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
  events: Events;
  /** All processes of the app that run. */
  processes: ProcessRegistry;
  slowLog: SlowLog;
  /** Undefined in production. */
  logTail: LogTail | undefined;
}
