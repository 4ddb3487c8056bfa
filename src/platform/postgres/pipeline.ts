import { Socket } from 'node:net';
import pg from 'pg';
import { ApiError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { createSemaphore } from '../semaphore.ts';

/** A statement: text, values, and a name when it is hot enough to be prepared. Rows come as arrays in column order. */
export interface Statement {
  name?: string;
  text: string;
  values: unknown[];
}

/** A statement, or a function that creates it right before it is sent. */
export type Sendable = Statement | (() => Statement);

const MAX_PENDING = 1000;

/** As the server says it of connections: `isTransient` knows it. */
const tooMany = () => Object.assign(new Error('too many reads wait for the database'), { code: '53300' });

interface Lane {
  client: pg.Client | undefined;
  /** Under the client. Held back while it is corked, until the end of this turn of the event loop. */
  socket: Socket | undefined;
  connecting: Promise<pg.Client> | undefined;
  pending: number;
}

/** A few connections shared by all reads: queries are sent without waiting for the answers of those before them. */
export interface Pipeline {
  /** Runs a read. Fails at once when the database cannot be reached. */
  query<Row extends unknown[]>(statement: Sendable): Promise<Row[]>;
  close(): Promise<void>;
}

/**
 * Creates the shared read connections. Only reads belong here: a commit's fsync would hold up what is queued behind it.
 *
 * @param config of each connection
 * @param size how many connections
 * @param depth the most unanswered queries on all connections together; further queries wait here. Undefined: no limit
 */
export function createPipeline(config: pg.ClientConfig, size: number, log: Logger, depth?: number): Pipeline {
  const gate = depth === undefined ? undefined : createSemaphore(depth, { maxQueue: size * MAX_PENDING });
  const lanes: Lane[] = Array.from({ length: size }, () => ({
    client: undefined,
    socket: undefined,
    connecting: undefined,
    pending: 0,
  }));
  let closed = false;

  async function connect(lane: Lane): Promise<pg.Client> {
    const socket = new Socket();
    const client = new pg.Client({ ...config, pipeline: true, stream: () => socket });
    const forget = () => {
      if (lane.client === client) lane.client = undefined;
    };
    client.on('error', (error) => {
      forget();
      if (!closed) log.warn({ err: error }, 'a read connection was lost');
    });
    client.on('end', forget);
    await client.connect();
    lane.client = client;
    lane.socket = socket;
    return client;
  }

  /** Queries of requests that came in together leave in one write: writing costs more than all else that a query does here. */
  function gather({ socket }: Lane): void {
    if (socket === undefined || socket.writableCorked > 0) return;
    socket.cork();
    setImmediate(() => socket.uncork());
  }

  function clientOf(lane: Lane): pg.Client | Promise<pg.Client> {
    if (lane.client !== undefined) return lane.client;
    lane.connecting ??= connect(lane).finally(() => {
      lane.connecting = undefined;
    });
    return lane.connecting;
  }

  async function send<Row extends unknown[]>(sendable: Sendable): Promise<Row[]> {
    const statement = typeof sendable === 'function' ? sendable() : sendable;
    if (closed) throw new Error('Client was closed and is not queryable');
    // More than can be answered in time: refusing at once beats keeping everybody waiting.
    if (lanes.every((lane) => lane.pending >= MAX_PENDING))
      throw new ApiError('UNAVAILABLE', undefined, { cause: tooMany() });
    const lane = lanes.reduce((least, next) => (next.pending < least.pending ? next : least));
    lane.pending += 1;
    try {
      const client = clientOf(lane);
      const ready = client instanceof Promise ? await client : client;
      gather(lane);
      const result = await ready.query<Row>({ ...statement, rowMode: 'array' });
      return result.rows;
    } finally {
      lane.pending -= 1;
    }
  }

  return {
    query: (sendable) => (gate === undefined ? send(sendable) : gate.run(() => send(sendable))),
    async close() {
      closed = true;
      await Promise.all(
        lanes.map(async (lane) => {
          await lane.connecting?.catch(() => undefined);
          await lane.client?.end();
        }),
      );
    },
  };
}
