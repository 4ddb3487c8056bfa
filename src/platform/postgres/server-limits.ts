import { IS_RUNNING } from '../crypto/processes.ts';
import type { Logger } from '../observability/log.ts';
import type { Database } from './database.ts';

type LimitsRow = [serverLimit: number, roleLimit: number, databaseLimit: number, others: number, processes: number];

// The connections that this role can have on the server, in the role's and the database's own limits (-1: none), and those of all
// other programs now. Only superusers may use reserved connections, but they should stay free, too.
const SELECT_LIMITS = `
  select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
      - coalesce(current_setting('reserved_connections', true), '0')::int,
    (select rolconnlimit from pg_roles where rolname = current_user),
    (select datconnlimit from pg_database where datname = current_database()),
    (select count(*)::int from pg_stat_activity where backend_type = 'client backend') - $1::int,
    (select count(*)::int from encryption_processes where ${IS_RUNNING})`;

/**
 * Logs at the start how many connections this process may open and how many the server allows, with a warning if they do not fit beside
 * those that other programs have open now. Other processes may open more later: docs/hosting.md has the sizes.
 */
export async function logConnectionLimits(
  database: Database,
  log: Logger,
  { server = 'Postgres', setting = 'POOL_MAX' } = {},
): Promise<void> {
  const { max, open } = database.stats();
  const { pooler } = database.link() ?? { pooler: 'none' };
  try {
    const [row] = await database.write<LimitsRow>({ text: SELECT_LIMITS, values: [pooler === 'none' ? open : 0] });
    const [serverLimit, roleLimit, databaseLimit, others, processes] = row!;
    const allowed = Math.min(...[serverLimit, roleLimit, databaseLimit].filter((limit) => limit >= 0));
    const numbers = { poolMax: max, allowed, openElsewhere: others, processes, pooler };
    // A pooler's clients are not connections of the server.
    if (pooler !== 'none') log.info(numbers, `this process opens up to ${max} connections to the pooler`);
    else if (max + others <= allowed) log.info(numbers, `this process opens up to ${max} ${server} connections`);
    else
      log.warn(
        numbers,
        `this process may open ${max} ${server} connections, but the server allows ${allowed} and other programs have ${others} open: ` +
          `set ${setting} to ${Math.max(2, Math.floor(allowed / Math.max(1, processes)))} or less in each process, or use a pooler (docs/hosting.md)`,
      );
  } catch (error) {
    log.warn({ err: error }, `the limits of ${server} connections could not be read`);
  }
}
