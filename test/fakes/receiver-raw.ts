import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** A receiver without an HTTP server: a script decides what happens to each request on a connection. */
export interface RawReceiver {
  url: string;
  /** The number of complete requests received, over all connections. */
  requests: number;
  connections: number;
  close(): void;
}

/**
 * Starts a receiver.
 *
 * @param script called for every complete request; `nth` is its number on the connection, from 1
 * @param options `early`: called instead with the first bytes of each connection, after which nothing more is read
 */
export async function startRawReceiver(
  script: (socket: Socket, nth: number) => void,
  { early = false }: { early?: boolean } = {},
): Promise<RawReceiver> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    receiver.connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    let text = '';
    let nth = 0;
    socket.on('data', (chunk) => {
      if (early) {
        socket.pause();
        return script(socket, 1);
      }
      text += chunk.toString('latin1');
      for (let end = endOfRequest(text); end !== -1; end = endOfRequest(text)) {
        text = text.slice(end);
        receiver.requests += 1;
        nth += 1;
        script(socket, nth);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const receiver: RawReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    requests: 0,
    connections: 0,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
  return receiver;
}

function endOfRequest(text: string): number {
  const head = text.indexOf('\r\n\r\n');
  if (head === -1) return -1;
  const end = head + 4 + Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
  return text.length >= end ? end : -1;
}
