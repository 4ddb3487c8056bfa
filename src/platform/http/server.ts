import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener, type Server, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { StartupError } from '../environment.ts';
import { ApiError } from '../errors.ts';

/** A server that listens. */
export interface ListeningServer {
  /** `http://127.0.0.1:<port>`. */
  url: string;
  /** Stops accepting, lets requests in work finish within `graceMs`, then closes what is left. */
  close(graceMs: number): Promise<void>;
}

/**
 * Listens on all interfaces.
 *
 * @param port 0 for any free one
 * @throws StartupError when the port is in use
 */
export async function listen(handler: RequestListener, port: number): Promise<ListeningServer> {
  const server = createServer(
    // Headers: room for a filter with a thousand ids in the query.
    { keepAliveTimeout: 65_000, headersTimeout: 60_000, requestTimeout: 60_000, maxHeaderSize: 65_536 },
    handler,
  );
  server.on('clientError', refuseMalformed);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE')
        reject(new StartupError('The server can not listen:', [`port ${port} is in use; set PORT to another one`]));
      else reject(error);
    });
    server.listen(port, resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: (graceMs) => closeServer(server, graceMs),
  };
}

/** Answers what is no HTTP: with the error envelope like everything else. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
  const { code, message } = new ApiError('BAD_REQUEST');
  const body = JSON.stringify({ error: { code, message, requestId: randomUUID() } });
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8`;
  socket.end(`${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`);
}

async function closeServer(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(timer);
}
