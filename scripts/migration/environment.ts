/** What a migration does not need from the environment, filled with values that nothing looks at. */
export const MIGRATION_ENVIRONMENT = { REDIS_URL: 'redis://none', NODE_ENV: 'test', LOG_LEVEL: 'warn' };
