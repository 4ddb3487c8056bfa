import pg from 'pg';
import type { Logger } from '../observability/log.ts';
import { createPipeline, type Statement } from './pipeline.ts';
import type { Executor, Queryable } from './queryable.ts';
import { retryConflicts } from './retry.ts';
import { typeParsers } from './values.ts';

export type { Executor } from './queryable.ts';

/** The Postgres connections of one app. */
export interface Database extends Queryable {
  /** Runs `work` in one transaction: committed when it resolves, rolled back when it rejects. */
  transaction<T>(work: (tx: Executor & { client: pg.PoolClient }) => Promise<T>): Promise<T>;
  pool: pg.Pool;
  /** Ends all connections once their running statements have finished. */
  close(): Promise<void>;
}

const READ_CONNECTIONS = 2;
const LIST_CONNECTIONS = 2;
// Enough to keep the connections busy. Responses may be large, and a statement that has not been sent can still be refused.
const MAX_LISTS_SENT = 8;
const SCAN_CONNECTIONS = 4;
const WRITE_CONNECTIONS = 20;
const CONNECT_TIMEOUT_MS = 3000;
const STATEMENT_TIMEOUT_MS = 15_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000;
// Clients can request any number of lists, so a slow one must end before it affects others.
const LIST_TIMEOUT_MS = 5000;

// The formats that `typeParsers` and `quoteLiteral` rely on.
const SESSION = '-c timezone=UTC -c datestyle=ISO -c extra_float_digits=1 -c standard_conforming_strings=on';

/** Adds the session settings to a database URL, after the options that the URL already has: the later of two values wins. */
function addSessionSettings(url: string): string {
  const address = new URL(url);
  const given = address.searchParams.get('options');
  address.searchParams.set('options', given === null ? SESSION : `${given} ${SESSION}`);
  return address.href;
}

/**
 * Opens the database. Connections are opened at first use.
 *
 * @param url `postgres://…`
 * @param name the application name in pg_stat_activity
 */
export function openDatabase(url: string, name: string, log: Logger): Database {
  const config: pg.ClientConfig = {
    connectionString: addSessionSettings(url),
    application_name: name,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    // Without a client-side limit, queries would wait forever if the server vanishes without closing the connection.
    query_timeout: STATEMENT_TIMEOUT_MS + 5000,
    // Code that stalls inside a transaction must not keep its locks forever.
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    keepAlive: true,
    types: typeParsers,
  };
  const pool = new pg.Pool({ ...config, max: WRITE_CONNECTIONS, idleTimeoutMillis: 30_000 });
  pool.on('error', (error) => log.warn({ err: error }, 'an idle database connection was lost'));
  const pipeline = createPipeline(config, READ_CONNECTIONS, log);
  const lists = createPipeline(
    { ...config, statement_timeout: LIST_TIMEOUT_MS },
    LIST_CONNECTIONS,
    log,
    MAX_LISTS_SENT,
  );
  const scans = new pg.Pool({
    ...config,
    statement_timeout: LIST_TIMEOUT_MS,
    max: SCAN_CONNECTIONS,
    idleTimeoutMillis: 30_000,
  });
  scans.on('error', (error) => log.warn({ err: error }, 'an idle database connection was lost'));

  const runStatement = async <Row extends unknown[]>(client: pg.Pool | pg.PoolClient, statement: Statement) =>
    (await client.query<Row>({ ...statement, rowMode: 'array' })).rows;

  return {
    read: (statement) => pipeline.query(statement),
    readList: (statement) => lists.query(statement),
    readSlowly: (statement) => runStatement(scans, statement),
    write: (statement) => retryConflicts(() => runStatement(pool, statement)),
    async transaction(work) {
      const client = await pool.connect();
      let broken: Error | undefined;
      // The client has no other error listener between two statements; without this one, a lost connection would end the process.
      const onLost = (error: Error) => {
        broken = error;
      };
      client.on('error', onLost);
      try {
        await client.query('begin');
        const result = await work({ client, write: (statement) => runStatement(client, statement) });
        await client.query('commit');
        return result;
      } catch (error) {
        await client.query('rollback').catch((failure: Error) => {
          broken = failure;
        });
        throw error;
      } finally {
        client.off('error', onLost);
        client.release(broken);
      }
    },
    pool,
    async close() {
      await Promise.all([pipeline.close(), lists.close(), scans.end(), pool.end()]);
    },
  };
}
