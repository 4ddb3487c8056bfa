/** What every key in Redis begins with. */
export const REDIS_PREFIX = 'bench';

/** Where the services of a run are. */
export interface Servers {
  databaseUrl: string;
  redisUrl: string;
}

/** A role of a Belfry process. */
export type Role = 'web' | 'relay' | 'webhook-worker' | 'push-worker';

/** The environment of a Belfry process under measurement: production, a log of warnings only, one role. */
export function belfryEnvironment({ databaseUrl, redisUrl }: Servers, role: Role = 'web'): Record<string, string> {
  return {
    BENCH_ROLE: role,
    NODE_ENV: 'production',
    APP_URL: 'http://127.0.0.1',
    SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 'bench').toString('base64'),
    LOG_LEVEL: 'warn',
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    REDIS_PREFIX,
  };
}
