import { randomUUID } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { StartupError } from '../environment.ts';
import { ApiError, type ErrorCode } from '../errors.ts';
import { assignRequestId } from './request-id.ts';
import { sendError } from './response.ts';
import { destroyStalledConnections } from './stalled-connections.ts';

/** A server that listens. */
export interface ListeningServer {
  /** `http://127.0.0.1:<port>`, or the address of the given host. */
  url: string;
  /** Stops accepting, lets requests in work finish within `graceMs`, then closes what is left. */
  close(graceMs: number): Promise<void>;
}

/** How a server treats clients that do not read their answers. */
export interface StallRules {
  /** How long a client may read almost nothing. */
  stallMs: number;
  /** Whether memory for answers is short for the client of a connection. Then it must read faster. */
  isCrowded?(socket: Socket): boolean;
  /** Called for each connection that is destroyed. */
  onStalled?(socket: Socket): void;
}

/**
 * Listens, on all addresses of this machine unless a host is named.
 *
 * @param where `port`: 0 for any free one; `setting`: the name that the port was set by; `host`: an IP address or localhost
 * @throws StartupError when the port is in use, or the host is no address of this machine
 */
export async function listen(
  handler: RequestListener,
  { port, setting, host }: { port: number; setting: string; host?: string | undefined },
  { stallMs, isCrowded = () => false, onStalled = () => undefined }: StallRules,
): Promise<ListeningServer> {
  const server = createServer(
    {
      keepAliveTimeout: 65_000,
      headersTimeout: 60_000,
      requestTimeout: 60_000,
      // Room for a filter with a thousand ids in the query.
      maxHeaderSize: 65_536,
      // What it refuses has no envelope.
      requireHostHeader: false,
    },
    (req, res) => {
      if (isSoundHead(req)) handler(req, res);
      else refuse(req, res, 'BAD_REQUEST');
    },
  );
  server.on('checkExpectation', (req, res) => refuse(req, res, 'EXPECTATION_FAILED'));
  server.on('connect', (_req, socket) => refuseRaw(socket, 'BAD_REQUEST'));
  server.on('clientError', refuseMalformed);
  const stopChecks = destroyStalledConnections(server, stallMs, isCrowded, onStalled);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const fault = listenFault(error, { port, setting, host });
      reject(fault === undefined ? error : new StartupError('The server cannot listen:', [fault]));
    });
    server.listen({ port, ...(host !== undefined && { host }) }, resolve);
  });
  return {
    url: urlOf(server.address() as AddressInfo),
    close: async (graceMs) => {
      await closeServer(server, graceMs);
      stopChecks();
    },
  };
}

/** A message that says how to fix an unusable port or host; undefined for other errors. */
function listenFault(
  { code }: NodeJS.ErrnoException,
  { port, setting, host }: { port: number; setting: string; host?: string | undefined },
): string | undefined {
  if (code === 'EADDRINUSE') return `port ${port} is in use; set ${setting} to another one`;
  if (code === 'EADDRNOTAVAIL') return `HOST=${host} is not an address of this machine`;
  return undefined;
}

/** The URL at which a program on this machine reaches a server. */
function urlOf({ address, family, port }: AddressInfo): string {
  if (address === '::' || address === '0.0.0.0') return `http://127.0.0.1:${port}`;
  return family === 'IPv6' ? `http://[${address}]:${port}` : `http://${address}:${port}`;
}

/** Refuses a request that never gets to the app. */
function refuse(req: IncomingMessage, res: ServerResponse, code: ErrorCode): void {
  const requestId = assignRequestId(req);
  res.setHeader('X-Request-Id', requestId);
  res.setHeader('Connection', 'close');
  sendError(res, new ApiError(code), requestId);
}

const MALFORMED: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
};

/** Answers what is no HTTP: with the error envelope like everything else. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  const { _httpMessage: begun } = socket as Duplex & { _httpMessage?: ServerResponse | null };
  // Behind the head of an answer another one would be read as part of it.
  if (!socket.writable || error.code === 'ECONNRESET' || begun?.headersSent) socket.destroy();
  // A whole request came before: it gets its own answer, and then the connection ends.
  else if (begun?.req.complete) begun.setHeader('Connection', 'close');
  else refuseRaw(socket, MALFORMED[error.code ?? ''] ?? 'BAD_REQUEST');
}

/** Refuses where there is no response object to do it with. */
function refuseRaw(socket: Duplex, code: ErrorCode): void {
  const { status, message } = new ApiError(code);
  const requestId = randomUUID();
  const body = JSON.stringify({ error: { code, message, requestId } });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    `X-Request-Id: ${requestId}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

async function closeServer(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(timer);
}

// RFC 3986 §3.2.2 and §3.2.3: a name or an IPv4 address, or an IPv6 address in brackets; a port.
const HOST = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\da-f:.]+\])(?::\d*)?$/i;

/** Whether a request names one host, as HTTP/1.1 asks (RFC 9112 §3.2). Two would be read differently by who stands in between. */
function hasOneHost({ rawHeaders, httpVersion, headers }: IncomingMessage): boolean {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts === 1 ? HOST.test(headers.host!) : hosts === 0 && httpVersion === '1.0';
}

/** Whether a body comes in a form that everybody on the way reads alike: as it is, or in chunks from HTTP/1.1 on (RFC 9112 §6.1). */
function hasPlainTransfer({ headers, httpVersion }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  return coding === undefined || (coding.toLowerCase() === 'chunked' && httpVersion !== '1.0');
}

/** Whether a head that Node lets pass may get to the app. */
function isSoundHead(req: IncomingMessage): boolean {
  return hasOneHost(req) && hasPlainTransfer(req);
}
