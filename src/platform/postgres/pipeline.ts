import { Socket } from 'node:net';
import pg from 'pg';
import { createSemaphore } from '../concurrency/semaphore.ts';
import { ApiError } from '../errors.ts';
import type { Logger } from '../observability/log.ts';

/** A statement: text, values, and a name if it is used often enough to be prepared. Rows are returned as arrays in column order. */
export interface Statement {
  name?: string;
  text: string;
  values: unknown[];
}

/** A statement, or a function that creates it right before it is sent. */
export type Sendable = Statement | (() => Statement);

const MAX_PENDING = 1000;

/** Creates the error of a full queue, with the Postgres code for too many connections, which `isTransient` recognizes. */
const createTooManyReadsError = () =>
  Object.assign(new Error('too many reads are waiting for the database'), { code: '53300' });

interface Connection {
  client: pg.Client | undefined;
  /** The socket of the client. While it is corked, it holds back writes, until the end of this turn of the event loop. */
  socket: Socket | undefined;
  connecting: Promise<pg.Client> | undefined;
  pending: number;
}

/** A few connections shared by all reads: queries are sent without waiting for the responses to earlier ones. */
export interface Pipeline {
  /** Runs a read. Fails at once if the database cannot be reached. */
  query<Row extends unknown[]>(statement: Sendable): Promise<Row[]>;
  close(): Promise<void>;
}

/**
 * Creates the shared read connections. Use them for reads only: a commit's fsync would delay the queries behind it.
 *
 * @param config the configuration of each connection
 * @param size the number of connections
 * @param maxUnanswered the maximum number of unanswered queries on all connections together; further queries wait here. Undefined: no limit
 */
export function createPipeline(config: pg.ClientConfig, size: number, log: Logger, maxUnanswered?: number): Pipeline {
  const semaphore =
    maxUnanswered === undefined ? undefined : createSemaphore(maxUnanswered, { maxQueue: size * MAX_PENDING });
  const connections: Connection[] = Array.from({ length: size }, () => ({
    client: undefined,
    socket: undefined,
    connecting: undefined,
    pending: 0,
  }));
  let closed = false;

  async function connectClient(connection: Connection): Promise<pg.Client> {
    const socket = new Socket();
    const client = new pg.Client({ ...config, pipeline: true, stream: () => socket });
    const removeClient = () => {
      if (connection.client === client) connection.client = undefined;
    };
    client.on('error', (error) => {
      removeClient();
      if (!closed) log.warn({ err: error }, 'a read connection was lost');
    });
    client.on('end', removeClient);
    await client.connect();
    connection.client = client;
    connection.socket = socket;
    return client;
  }

  /** Makes queries of one turn of the event loop leave in one socket write: a write costs more than all other work for a query. */
  function corkUntilNextTick({ socket }: Connection): void {
    if (socket === undefined || socket.writableCorked > 0) return;
    socket.cork();
    setImmediate(() => socket.uncork());
  }

  function getOrConnectClient(connection: Connection): pg.Client | Promise<pg.Client> {
    if (connection.client !== undefined) return connection.client;
    connection.connecting ??= connectClient(connection).finally(() => {
      connection.connecting = undefined;
    });
    return connection.connecting;
  }

  async function sendStatement<Row extends unknown[]>(sendable: Sendable): Promise<Row[]> {
    const statement = typeof sendable === 'function' ? sendable() : sendable;
    if (closed) throw new Error('Client was closed and is not queryable');
    // The queue is longer than Postgres can process in time: refuse at once instead of keeping all callers waiting.
    if (connections.every((connection) => connection.pending >= MAX_PENDING))
      throw new ApiError('UNAVAILABLE', undefined, { cause: createTooManyReadsError() });
    const connection = connections.reduce((least, next) => (next.pending < least.pending ? next : least));
    connection.pending += 1;
    try {
      const client = getOrConnectClient(connection);
      const ready = client instanceof Promise ? await client : client;
      corkUntilNextTick(connection);
      const result = await ready.query<Row>({ ...statement, rowMode: 'array' });
      return result.rows;
    } finally {
      connection.pending -= 1;
    }
  }

  return {
    query: (sendable) =>
      semaphore === undefined ? sendStatement(sendable) : semaphore.run(() => sendStatement(sendable)),
    async close() {
      closed = true;
      await Promise.all(
        connections.map(async (connection) => {
          await connection.connecting?.catch(() => undefined);
          await connection.client?.end();
        }),
      );
    },
  };
}
