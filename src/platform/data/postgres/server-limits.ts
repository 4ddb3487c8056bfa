import type { Logger } from '../../observability/log.ts';
import type { Database } from './database.ts';

/** A condition on `encryption_processes`: the process is running. A killed process counts as running for up to a minute. */
export const IS_RUNNING = `seen_at > now() - interval '60 seconds'`;

type LimitsRow = [
  serverLimit: number,
  roleLimit: number,
  databaseLimit: number,
  onServer: number,
  ofRole: number,
  inDatabase: number,
  processes: number,
];

// The connections that this role can have on the server, in the role's and the database's own limits (-1: none), and those that count
// against each limit now. Only superusers may use reserved connections, but they should stay free, too. Without pg_read_all_stats, the
// kind of the sessions of other roles is hidden; their role and database are not.
const SELECT_LIMITS = `
  with sessions as (
    select usesysid, datname from pg_stat_activity
    where usesysid is not null and datid is not null and coalesce(backend_type, 'client backend') = 'client backend'
  )
  select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
      - coalesce(current_setting('reserved_connections', true), '0')::int,
    (select rolconnlimit from pg_roles where rolname = current_user),
    (select datconnlimit from pg_database where datname = current_database()),
    (select count(*)::int from sessions),
    (select count(*)::int from sessions where usesysid = (select oid from pg_roles where rolname = current_user)),
    (select count(*)::int from sessions where datname = current_database()),
    (select count(*)::int from encryption_processes where ${IS_RUNNING})`;

/** The connections to Postgres that this process may open, and those that are allowed. */
interface ConnectionLimits {
  /** The maximum of this process (POOL_MAX). */
  poolMax: number;
  /** The limit of the server, the role or the database that leaves the fewest connections to this process. */
  allowed: number;
  /** The connections of other programs that count against that limit now. */
  openElsewhere: number;
  /** The number of running processes of the app. */
  processes: number;
  pooler: string;
}

/** Reads the limits of connections. */
export async function readConnectionLimits(database: Database): Promise<ConnectionLimits> {
  const [row] = await database.write<LimitsRow>({ text: SELECT_LIMITS, values: [] });
  const [serverLimit, roleLimit, databaseLimit, onServer, ofRole, inDatabase, processes] = row!;
  const { max, open } = database.stats();
  const { pooler } = database.access()!;
  const own = pooler === 'none' ? open : 0;
  const limits = [
    { allowed: serverLimit, others: onServer - own },
    { allowed: roleLimit, others: ofRole - own },
    { allowed: databaseLimit, others: inDatabase - own },
  ].filter(({ allowed }) => allowed >= 0);
  // The limit that leaves the fewest connections to this process.
  const { allowed, others } = limits.reduce((a, b) => (b.allowed - b.others < a.allowed - a.others ? b : a));
  // Postgres counts a connection that this process has just opened a moment later.
  return { poolMax: max, allowed, openElsewhere: Math.max(0, others), processes, pooler };
}

/** Whether a process can open all of its connections now. A pooler's clients are not connections of the server. */
export function areConnectionsAvailable({ poolMax, allowed, openElsewhere, pooler }: ConnectionLimits): boolean {
  return pooler !== 'none' || poolMax + openElsewhere <= allowed;
}

/**
 * Logs at the start how many connections this process may open and how many the server allows, with a warning if they do not fit beside
 * those that other programs have open now. Other processes may open more later: docs/operate/hosting.md has the sizes.
 *
 * @param setting the variable that limits the connections
 */
export async function logConnectionLimits(
  database: Database,
  log: Logger,
  { server = 'Postgres', setting = 'POOL_MAX' } = {},
): Promise<void> {
  try {
    const limits = await readConnectionLimits(database);
    const { poolMax, allowed, openElsewhere, pooler } = limits;
    if (pooler !== 'none') log.info(limits, `this process opens up to ${poolMax} connections to the pooler`);
    else if (areConnectionsAvailable(limits))
      log.info(limits, `this process opens up to ${poolMax} ${server} connections`);
    else
      log.warn(
        limits,
        `this process may open ${poolMax} ${server} connections, but of the ${allowed} that are allowed, other programs have ${openElsewhere} open: ` +
          `lower ${setting} in each process, or use a pooler (docs/operate/hosting.md has the sizes)`,
      );
  } catch (error) {
    log.warn({ err: error }, `the limits of ${server} connections could not be read`);
  }
}
