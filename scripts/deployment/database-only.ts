import { basename } from 'node:path';

/** The name of this command in log lines: `migrate` for scripts/migrate.ts. */
export const COMMAND = { LOG_PROCESS: basename(process.argv[1] ?? 'command', '.ts') };

/** The rest of an app's required environment, with unused values, for commands that need only the database. */
export const DATABASE_ONLY = { REDIS_URL: 'redis://none', NODE_ENV: 'test', LOG_LEVEL: 'warn', ...COMMAND };
