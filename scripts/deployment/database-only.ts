import { basename } from 'node:path';

/** The name of this command in log lines: `migrate` for scripts/migrate.ts. */
export const COMMAND = { LOG_PROCESS: basename(process.argv[1] ?? 'command', '.ts') };

/** For commands that need nothing but the database: what else an app asks of its environment, with values that nothing looks at. */
export const DATABASE_ONLY = { REDIS_URL: 'redis://none', NODE_ENV: 'test', LOG_LEVEL: 'warn', ...COMMAND };
