import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StartupError } from '../environment.ts';

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
  const server = createServer({ keepAliveTimeout: 65_000, headersTimeout: 60_000, requestTimeout: 60_000 }, handler);
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

async function closeServer(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(timer);
}
