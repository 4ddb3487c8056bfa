/** For commands that need nothing but the database: what else an app asks of its environment, with values that nothing looks at. */
export const DATABASE_ONLY = { REDIS_URL: 'redis://none', NODE_ENV: 'test', LOG_LEVEL: 'warn' };
