import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A proxy in front of a server: what goes in can be watched, cut off, and held up without a word. */
export interface TcpProxy {
  /** The server's address through the proxy. */
  url: string;
  /** What was sent in since it was last emptied, write by write. */
  sent: Buffer[];
  /** Cuts all connections, and every new one. */
  shut(): void;
  /** Lets nothing through, in either direction; connections stay. */
  hang(): void;
  /** Lets everything through again, what was held up first. */
  reopen(): void;
  close(): void;
}

/** Puts a proxy in front of a server. */
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
