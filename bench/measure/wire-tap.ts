import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** The traffic since the last `reset`. */
interface Counts {
  /** How often the client sent while no response was outstanding on any connection: the sequential round trips. */
  roundTrips: number;
  /** Statements, each with its own Sync, or simple queries. */
  statements: number;
  /** Chunks that arrived from the client. While it waits for each response, these are its write calls. */
  writes: number;
}

/** A proxy between a program and its Postgres. */
export interface WireTap {
  /** The database's address through the tap. */
  url: string;
  reset(): void;
  counts(): Counts;
  close(): Promise<void>;
}

const SYNC = 0x53;
const QUERY = 0x51;
const READY_FOR_QUERY = 0x5a;

/**
 * Counts the messages of a stream by type (https://www.postgresql.org/docs/current/protocol-overview.html).
 *
 * @param hasStartupMessage whether the stream begins with a start-up message, which has a length but no type
 */
function createMessageCounter(types: readonly number[], hasStartupMessage: boolean): (chunk: Buffer) => number {
  let incomplete: Buffer = Buffer.alloc(0);
  let atStart = hasStartupMessage;
  return (chunk) => {
    let data = incomplete.length === 0 ? chunk : Buffer.concat([incomplete, chunk]);
    let count = 0;
    for (;;) {
      const typeLength = atStart ? 0 : 1;
      if (data.length < 4 + typeLength) break;
      const messageLength = data.readUInt32BE(typeLength) + typeLength;
      if (data.length < messageLength) break;
      // A start-up is also followed by a ReadyForQuery.
      if (atStart || types.includes(data[0]!)) count++;
      atStart = false;
      data = data.subarray(messageLength);
    }
    incomplete = data;
    return count;
  };
}

/**
 * Puts a tap in front of a Postgres. Responses are delayed, as on a network, so that everything that a program sends without
 * waiting for the previous response is certainly sent together.
 *
 * @param delayMs the delay of each response; 0 only counts
 */
export async function createWireTap(databaseUrl: string, delayMs = 0): Promise<WireTap> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let outstanding = 0;
  let counts: Counts = { roundTrips: 0, statements: 0, writes: 0 };

  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ host: target.hostname, port: Number(target.port), noDelay: true });
    const countStatements = createMessageCounter([SYNC, QUERY], true);
    const countReplies = createMessageCounter([READY_FOR_QUERY], false);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
    }
    client
      .on('close', () => upstream.destroy())
      .on('data', (chunk) => {
        const count = countStatements(chunk);
        if (count > 0 && outstanding === 0) counts.roundTrips++;
        counts.statements += count;
        counts.writes += 1;
        outstanding += count;
        upstream.write(chunk);
      });
    upstream
      .on('close', () => client.destroy())
      .on('data', (chunk) => {
        const reply = () => {
          outstanding -= countReplies(chunk);
          client.write(chunk);
        };
        if (delayMs === 0) reply();
        else setTimeout(reply, delayMs);
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    reset() {
      counts = { roundTrips: 0, statements: 0, writes: 0 };
    },
    counts: () => counts,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
