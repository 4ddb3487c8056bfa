import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy in front of a server: it can record what clients send, cut connections, and stall without closing them. */
export interface TcpProxy {
  /** The server's address through the proxy. */
  url: string;
  /** The data that clients sent since this array was last emptied, one item per write. */
  sent: Buffer[];
  /** Cuts all connections, and every new one. */
  shut(): void;
  /** Passes nothing through, in either direction, but keeps connections open. */
  hang(): void;
  /** Passes data through again, beginning with the data that was held back. */
  reopen(): void;
  close(): void;
}

/** Starts a proxy in front of a server. */
export async function startTcpProxy(target: URL): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const sent: Buffer[] = [];
  let state: 'open' | 'shut' | 'hanging' = 'open';
  const server = createServer((client) => {
    if (state === 'shut') return void client.destroy();
    const upstream = connect(Number(target.port), target.hostname);
    client.on('data', (chunk) => sent.push(chunk));
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy()).on('close', () => sockets.delete(socket));
      socket.pipe(other);
      if (state === 'hanging') socket.pause();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const through = new URL(target);
  through.host = `127.0.0.1:${(server.address() as { port: number }).port}`;
  return {
    url: through.href,
    sent,
    shut() {
      state = 'shut';
      for (const socket of sockets) socket.destroy();
    },
    hang() {
      state = 'hanging';
      for (const socket of sockets) socket.pause();
    },
    reopen() {
      state = 'open';
      for (const socket of sockets) socket.resume();
    },
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
