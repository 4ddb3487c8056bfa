import type { Keyring } from './crypto/keyring.ts';
import type { Environment } from './environment.ts';
import type { Events } from './events.ts';
import type { Limits } from './limits/index.ts';
import type { Logger } from './log.ts';
import type { Metrics } from './metrics.ts';
import type { Wake } from './outbox/wake.ts';
import type { Database } from './postgres/database.ts';
import type { Queues } from './queues.ts';
import type { RedisClients } from './redis.ts';
import type { Settings } from './settings.ts';

/** The shared infrastructure of an app's features: one instance of each per app. */
export interface Platform {
  env: Environment;
  settings: Settings;
  log: Logger;
  metrics: Metrics;
  database: Database;
  redis: RedisClients;
  queues: Queues;
  limits: Limits;
  wake: Wake;
  keyring: Keyring;
  events: Events;
}
