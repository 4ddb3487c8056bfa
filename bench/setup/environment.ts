/** The prefix of every key in Redis. */
export const REDIS_PREFIX = 'bench';

/** The addresses of the services of a run. */
export interface Servers {
  databaseUrl: string;
  redisUrl: string;
}

/** A role of a Belfry process. */
export type Role = 'web' | 'relay' | 'webhook-worker' | 'push-worker' | 'job-worker';

/** Returns the environment of a measured Belfry process: production, a log of warnings only, one role. */
export function createBelfryEnvironment(
  { databaseUrl, redisUrl }: Servers,
  role: Role = 'web',
): Record<string, string> {
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
