/** Where the services of a run are. */
export interface Servers {
  databaseUrl: string;
  redisUrl: string;
}

/** The environment of a Belfry process under measurement: production, a log of warnings only, no role beside its own. */
export function belfryEnvironment({ databaseUrl, redisUrl }: Servers): Record<string, string> {
  return {
    NODE_ENV: 'production',
    APP_URL: 'http://127.0.0.1',
    SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 'bench').toString('base64'),
    LOG_LEVEL: 'warn',
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    REDIS_PREFIX: 'bench',
    RELAY: 'off',
    WEBHOOKS_WORKER: 'off',
    PUSH_WORKER: 'off',
  };
}
