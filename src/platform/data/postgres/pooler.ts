import { randomBytes } from 'node:crypto';
import { StartupError } from '../../helpers/config-errors.ts';
import type { Logger } from '../../observability/log.ts';
import { type OnResult, openConnection, type PooledConnection } from './connection.ts';
import {
  createClientConfig,
  HAS_FORMATS,
  isStartupParameterRefused,
  POOLER_FORMATS,
  type PoolerSetting,
  ROLE_SETTINGS,
  SET_SESSION,
  STATEMENT_TIMEOUT_MS,
} from './session.ts';

/** How a process reaches Postgres, determined by its first connection. */
export interface DatabaseAccess {
  /** `transaction`: each transaction may run in another session, so nothing may depend on a session. */
  pooler: 'none' | 'session' | 'transaction';
  /**
   * Whether named statements are prepared. A transaction pooler without them gets one statement at a time on each connection: PgBouncer
   * before 1.21 gives a session to another client as soon as it has sent all results, even if it has already passed on the first messages
   * of the next statement. Clients would then get each other's results. Later versions prepare named statements by default.
   */
  preparesStatements: boolean;
}

const DIRECT: DatabaseAccess = { pooler: 'none', preparesStatements: true };

/** Opens connections as the pooler requires, and finds out what it requires with the first one. */
interface Connector {
  /** @param timeoutMs the time limit of statements; behind a transaction pooler the limit of the role applies */
  open(timeoutMs: number): Promise<PooledConnection>;
  /** Undefined before the first connection. */
  access(): DatabaseAccess | undefined;
}

type ProbeRow = [backendId: number, hasFormats: boolean, statementTimeoutMs: number];

const PROBE = `
  select pg_backend_pid(), ${HAS_FORMATS},
    (select setting::int from pg_settings where name = 'statement_timeout')`;

/**
 * Whether a connection leads to a pooler: it announces another session than the one that runs statements, or it ignored the
 * session settings. Costs one round trip.
 */
async function isPooled(connection: PooledConnection): Promise<boolean> {
  const [row] = await connection.run<ProbeRow>({ text: PROBE, values: [] });
  const [backendId, hasFormats, timeoutMs] = row!;
  return backendId !== connection.announcedId || !hasFormats || timeoutMs !== connection.timeoutMs;
}

/** Whether a pooler gives each session the named statements that it needs: it then replaces their names by its own. */
async function managesNames(connection: PooledConnection): Promise<boolean> {
  const name = `belfry_${randomBytes(6).toString('hex')}`;
  await connection.execute('begin');
  try {
    await connection.run({ name, text: 'select 1', values: [] });
    const rows = await connection.run<[string]>({ text: 'select name from pg_prepared_statements', values: [] });
    const names = rows.map(([each]) => each);
    // The session outlives this connection and would keep the statement.
    if (names.includes(name)) await connection.execute(`deallocate ${name}`);
    return names.length > 0 && !names.includes(name);
  } finally {
    await connection.execute('rollback');
  }
}

/** The statement that gives a role the settings that a session behind a pooler needs. */
function createRoleSettingsSql(role: string, database: string): string[] {
  return Object.entries(ROLE_SETTINGS).map(
    ([name, value]) => `alter role ${role} in database ${database} set ${name} = '${value}'`,
  );
}

/** Checks what statements see through a transaction pooler. @throws StartupError if values would be read wrongly */
async function checkRoleSettings(connection: PooledConnection, log: Logger): Promise<void> {
  const text = `select quote_ident(current_user), quote_ident(current_database()), ${HAS_FORMATS},
    (select setting::int from pg_settings where name = 'statement_timeout')`;
  const [row] = await connection.run<[string, string, boolean, number]>({ text, values: [] });
  const [role, database, hasFormats, timeoutMs] = row!;
  const statements = createRoleSettingsSql(role, database);
  const fix = 'run npx belfry migrate with DATABASE_DIRECT_URL, or these statements; then make the pooler reconnect';
  if (!hasFormats)
    throw new StartupError('Through the connection pooler, Postgres does not print values as the app reads them:', [
      `${fix} (PgBouncer: RECONNECT):`,
      ...statements.map((statement) => `${statement};`),
    ]);
  if (timeoutMs === 0 || timeoutMs > STATEMENT_TIMEOUT_MS)
    log.warn({ statements }, `through the pooler, statements have no time limit of ${STATEMENT_TIMEOUT_MS} ms: ${fix}`);
}

/**
 * Creates the opener of a process's connections. A direct connection costs one more round trip for the first connection of a process.
 *
 * @param name the application name in pg_stat_activity
 */
export function createConnector(
  url: string,
  name: string,
  setting: PoolerSetting,
  log: Logger,
  onResult?: OnResult,
): Connector {
  let access: DatabaseAccess | undefined = setting === 'none' ? DIRECT : undefined;
  let detecting: Promise<void> | undefined;
  /** Whether the pooler may accept formats as startup parameters. */
  let acceptsFormats = true;

  async function connect({ pooler, preparesStatements }: DatabaseAccess, timeoutMs: number): Promise<PooledConnection> {
    const isDirect = pooler === 'none';
    const config = createClientConfig(url, name, isDirect);
    const onLost = (error: Error) => log.warn({ err: error }, 'a database connection was lost');
    const ownsSession = pooler !== 'transaction';
    const options = {
      preparesStatements,
      timeoutMs,
      ownsSession,
      pipelines: ownsSession || preparesStatements,
      onLost,
      onResult,
    };
    if (isDirect) return openConnection({ ...config, statement_timeout: timeoutMs }, options);
    try {
      return await openConnection(config, { ...options, startup: acceptsFormats ? POOLER_FORMATS : {} });
    } catch (error) {
      if (!acceptsFormats || !isStartupParameterRefused(error)) throw error;
      acceptsFormats = false;
      return openConnection(config, options);
    }
  }

  /** Runs steps on a new connection, which is closed if one fails. */
  async function prepare(
    connection: PooledConnection,
    steps: (connection: PooledConnection) => Promise<unknown>,
  ): Promise<PooledConnection> {
    try {
      await steps(connection);
      return connection;
    } catch (error) {
      await closeAndWait(connection);
      throw error;
    }
  }

  async function openAs(as: DatabaseAccess, timeoutMs: number): Promise<PooledConnection> {
    const connection = await connect(as, timeoutMs);
    if (as.pooler === 'transaction') connection.graceMs = POOLED_GRACE_MS;
    if (as.pooler !== 'session') return connection;
    return prepare(connection, () => connection.execute(`${SET_SESSION}; set statement_timeout = ${timeoutMs}`));
  }

  /** Opens a direct connection; undefined if there is a pooler. */
  async function openDirect(timeoutMs: number): Promise<PooledConnection | undefined> {
    try {
      const connection = await connect(DIRECT, timeoutMs);
      let pooled = false;
      await prepare(connection, async () => {
        pooled = await isPooled(connection);
      });
      if (!pooled) return connection;
      await closeAndWait(connection);
    } catch (error) {
      if (!isStartupParameterRefused(error)) throw error;
    }
    return undefined;
  }

  async function openFirst(timeoutMs: number): Promise<PooledConnection> {
    const direct = setting === 'auto' ? await openDirect(timeoutMs) : undefined;
    if (direct !== undefined) {
      access = DIRECT;
      return direct;
    }
    if (setting === 'session') {
      access = { pooler: 'session', preparesStatements: true };
      return openAs(access, timeoutMs);
    }
    let preparesStatements = false;
    const probing = await prepare(
      await connect({ pooler: 'transaction', preparesStatements: true }, timeoutMs),
      async (connection) => {
        await checkRoleSettings(connection, log);
        preparesStatements = await managesNames(connection);
      },
    );
    await closeAndWait(probing);
    access = { pooler: 'transaction', preparesStatements };
    log.info(
      access,
      `Postgres is reached through a transaction pooler, ${preparesStatements ? 'with' : 'without'} prepared statements`,
    );
    return openAs(access, timeoutMs);
  }

  return {
    access: () => access,
    async open(timeoutMs) {
      if (access === undefined && detecting !== undefined) await detecting;
      if (access !== undefined) return openAs(access, timeoutMs);
      const first = openFirst(timeoutMs);
      detecting = first
        .then(() => undefined)
        .finally(() => {
          detecting = undefined;
        });
      // A failure is reported to this caller, and to those that wait.
      detecting.catch(() => undefined);
      return first;
    },
  };
}

/** A pooler lets statements wait for a session of its own. */
const POOLED_GRACE_MS = 5000;

async function closeAndWait(connection: PooledConnection): Promise<void> {
  connection.close();
  await connection.closed;
}
