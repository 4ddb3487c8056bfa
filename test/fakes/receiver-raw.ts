import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** A receiver that speaks no HTTP by itself: a script says what it does with each request on a connection. */
export interface RawReceiver {
  url: string;
  /** Requests that arrived whole, over all connections. */
  requests: number;
  connections: number;
  close(): void;
}

/**
 * Starts one.
 *
 * @param script called for every request that arrived whole; `nth` counts those of its connection, from 1
 * @param options `early`: called with the first bytes of each connection instead, and nothing more is read
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
