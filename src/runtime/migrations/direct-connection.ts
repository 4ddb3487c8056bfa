import pg from 'pg';
import {
  createClientConfig,
  FORMATS,
  isStartupParameterRefused,
  ROLE_SETTINGS,
  SET_SESSION,
} from '../../platform/data/postgres/session.ts';
import { StartupError } from '../../platform/helpers/config-errors.ts';
import type { Logger } from '../../platform/observability/log.ts';
import type { Environment } from '../../platform/settings/environment.ts';

type Addresses = Pick<Environment, 'databaseUrl' | 'databaseDirectUrl' | 'databasePooler' | 'redisPrefix'> &
  Partial<Pick<Environment, 'replica'>>;

/** Whether the environment says that the app reaches Postgres, or its replica, through a pooler. */
export function isPoolerConfigured({ databaseDirectUrl, databasePooler, replica }: Addresses): boolean {
  return databaseDirectUrl !== undefined || databasePooler === 'transaction' || replica?.pooler === 'transaction';
}

function createPoolerError({ databaseDirectUrl }: Addresses): StartupError {
  const name = databaseDirectUrl === undefined ? 'DATABASE_URL' : 'DATABASE_DIRECT_URL';
  return new StartupError(`The database cannot be migrated through a connection pooler, and ${name} leads to one:`, [
    'migrations hold a lock in one session, and a transaction pooler changes sessions between statements',
    'set DATABASE_DIRECT_URL to the address of Postgres itself, or DATABASE_POOLER=session if the pooler keeps sessions',
    'nothing was changed',
  ]);
}

async function connect(config: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(config);
  // Without a listener, a connection lost between two statements would end the process. A running statement reports the loss itself.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Connects with the session settings as startup parameters; undefined if a pooler refuses them, or answers instead of Postgres. */
async function connectDirectly(config: pg.ClientConfig, isPoolerPossible: boolean): Promise<pg.Client | undefined> {
  let client: pg.Client;
  try {
    client = await connect(config);
  } catch (error) {
    if (isPoolerPossible && isStartupParameterRefused(error)) return undefined;
    throw error;
  }
  if (!isPoolerPossible) return client;
  // A pooler invents the id that it announces.
  const { rows } = await client.query('select pg_backend_pid() as id');
  if (rows[0].id === (client as pg.Client & { processID: number }).processID) return client;
  await client.end();
  return undefined;
}

/**
 * Opens the session of a migration: without time limits, and never through a transaction pooler.
 *
 * @throws StartupError if there is only a transaction pooler
 */
export async function connectForMigrations(addresses: Addresses): Promise<pg.Client> {
  const { databaseUrl, databaseDirectUrl, databasePooler, redisPrefix } = addresses;
  const url = databaseDirectUrl ?? databaseUrl;
  if (databaseDirectUrl === undefined && databasePooler === 'transaction') throw createPoolerError(addresses);
  const config = (startup: boolean) => createClientConfig(url, redisPrefix, startup);
  if (databaseDirectUrl === undefined && databasePooler === 'session') {
    const client = await connect(config(false));
    await client.query(SET_SESSION);
    return client;
  }
  const client = await connectDirectly(config(true), databasePooler !== 'none' || databaseDirectUrl !== undefined);
  if (client === undefined) throw createPoolerError(addresses);
  return client;
}

/**
 * Checks that the direct address leads to the database of DATABASE_URL. Otherwise another database could be migrated by mistake.
 *
 * @throws StartupError if it leads to another database
 */
export async function assertSameDatabase(direct: pg.Client, { databaseUrl, redisPrefix }: Addresses): Promise<void> {
  // A server's start time, in microseconds, distinguishes it from every other server.
  const identify = async (client: pg.Client) => {
    const { rows } = await client.query(
      `select current_database() || ' ' || extract(epoch from pg_postmaster_start_time()) as id`,
    );
    return rows[0].id as string;
  };
  const usual = await connect(createClientConfig(databaseUrl, redisPrefix, false));
  try {
    if ((await identify(direct)) === (await identify(usual))) return;
  } finally {
    await usual.end();
  }
  throw new StartupError('The database cannot be migrated:', [
    'DATABASE_DIRECT_URL leads to another database than DATABASE_URL',
    'set it to the address of the Postgres server that the pooler uses, with the same database',
    'nothing was changed',
  ]);
}

/**
 * Gives the session's role the settings that sessions behind a pooler need, as defaults in this database. Keeps time limits that the
 * role already has. Needs no special rights.
 */
export async function setRoleSettings(client: pg.Client, log: Logger): Promise<void> {
  const { rows } = await client.query<{ database: string; config: string[] | null }>(
    `select quote_ident(current_database()) as database, (
       select s.setconfig from pg_db_role_setting s
        where s.setrole = current_user::regrole and s.setdatabase = (select oid from pg_database where datname = current_database())
     ) as config`,
  );
  const { database, config } = rows[0]!;
  const current = new Map(
    (config ?? []).map((entry) => {
      const [name = '', ...value] = entry.split('=');
      return [name.toLowerCase(), value.join('=')];
    }),
  );
  const missing = Object.entries(ROLE_SETTINGS).filter(([name, value]) =>
    Object.hasOwn(FORMATS, name) ? current.get(name) !== value : !current.has(name),
  );
  for (const [name, value] of missing)
    await client.query(`alter role current_user in database ${database} set ${name} = '${value}'`);
  if (missing.length > 0)
    log.warn(
      { settings: Object.fromEntries(missing) },
      'the role of the database has new default settings; make the pooler reconnect (PgBouncer: RECONNECT)',
    );
}
