import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';

/** A session that is connected to a database. */
interface Session {
  pid: number;
  application: string;
  state: string;
  query: string;
}

/** A Postgres server on which tests create databases. */
export interface DatabaseServer {
  /** Runs a statement in the database of the server's address. */
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Returns the address of a database of this server. */
  addressOf(database: string): string;
  /** Creates a database as a copy of a template. Waits up to 5 s for other copies of the template. */
  copyDatabase(template: string, name: string): Promise<void>;
  /**
   * Drops a database.
   *
   * @param isPooled whether a pooler may keep sessions open: then they are not waited for and not returned
   * @returns a line for each session that was still connected to it and did not end within 2 s; empty if there was none
   */
  dropDatabase(name: string, isPooled?: boolean): Promise<string[]>;
}

const TEMPLATE_BUSY = '55006';
const SESSION_WAIT_MS = 2000;

type RefClient = Client & { ref(): void; unref(): void };

/**
 * Creates the access to a server. All statements use one connection per process: a connection for each create and drop would cost as
 * much as the work itself.
 *
 * @param url the address of a superuser
 */
export function createDatabaseServer(url: string): DatabaseServer {
  let connection: Promise<RefClient> | undefined;
  /** The number of statements that have not ended. */
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();

  function connect(): Promise<RefClient> {
    connection ??= (async () => {
      const client = new Client({ connectionString: url }) as RefClient;
      client.on('error', () => {
        connection = undefined;
      });
      await client.connect();
      return client;
    })();
    connection.catch(() => {
      connection = undefined;
    });
    return connection;
  }

  async function runStatement<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]> {
    const client = await connect();
    return (await client.query<Row>(text, [...values])).rows;
  }

  async function query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const client = await connect();
    // The idle connection must not keep the process alive, but a process that waits for a statement must not end.
    waiting += 1;
    client.ref();
    // A connection runs one statement at a time.
    const result = last.then(() => runStatement<Row>(text, values));
    last = result.catch(() => undefined);
    try {
      return await result;
    } finally {
      waiting -= 1;
      if (waiting === 0) client.unref();
    }
  }

  /** The sessions still connected to a database. A session that was just closed needs a moment to end. */
  async function waitForSessionsToEnd(name: string): Promise<Session[]> {
    for (const end = performance.now() + SESSION_WAIT_MS; ; await sleep(20)) {
      const sessions = await query<Session>(
        `select pid, application_name as application, coalesce(state, '') as state, left(query, 80) as query
           from pg_stat_activity where datname = $1 and backend_type = 'client backend'`,
        [name],
      );
      if (sessions.length === 0 || performance.now() > end) return sessions;
    }
  }

  return {
    query,
    addressOf(name) {
      const address = new URL(url);
      address.pathname = `/${name}`;
      return address.href;
    },
    async copyDatabase(template, name) {
      for (let attempt = 1; ; attempt++) {
        try {
          await query(`create database ${name} template ${template}`);
          return;
        } catch (error) {
          if ((error as { code?: string }).code !== TEMPLATE_BUSY || attempt === 100) throw error;
          await sleep(50);
        }
      }
    },
    async dropDatabase(name, isPooled = false) {
      const sessions = isPooled ? [] : await waitForSessionsToEnd(name);
      await query(`drop database if exists ${name} with (force)`);
      return sessions.map(
        ({ pid, application, state, query: text }) => `pid ${pid} ${application} (${state}): ${text}`,
      );
    },
  };
}
