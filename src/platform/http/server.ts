import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerOptions, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { StartupError } from '../helpers/config-errors.ts';
import { ApiError, type ErrorCode } from '../helpers/errors.ts';
import { createConnectionDrain } from './drain-connections.ts';
import { hasBody } from './json-body.ts';
import { assignRequestId } from './request-context.ts';
import { watchRequestDeadlines } from './request-deadlines.ts';
import { sendError } from './response.ts';
import { watchStalledConnections } from './stalled-connections.ts';

// An import of node:http reads all its exports, and one of them, WebSocket, loads an HTTP client that takes 12 MB.
const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http');

/** A server that is listening. */
export interface ListeningServer {
  /** `http://127.0.0.1:<port>`, or the address of the given host. */
  url: string;
  /**
   * Continues to serve, but from now on every response closes its connection, so that clients open the next one to another process.
   */
  startDraining(): void;
  /**
   * Stops accepting connections, lets requests in progress finish within `graceMs`, then closes the remaining ones.
   *
   * @param lingerMs ms that a kept-alive connection must have been quiet before it is closed; default 0
   */
  close(graceMs: number, lingerMs?: number): Promise<void>;
}

/** How a server treats clients that do not read their responses. */
interface StallRules {
  /** How long a client may read almost nothing, in ms. */
  stallMs: number;
  /** Whether response memory is short for the client of a connection. If so, the client must read faster. */
  isMemoryShort?(socket: Socket): boolean;
  /** Called for each connection that is destroyed. */
  onStalled?(socket: Socket): void;
}

/**
 * Starts a server, on all addresses of this machine unless a host is given.
 *
 * @param where `port`: 0 for any free one; `setting`: the name of the setting for the port; `host`: an IP address or localhost
 * @param classes the classes of requests and responses; left out: those of Node
 * @throws StartupError if the port is in use, or the host is not an address of this machine
 */
export async function startHttpServer(
  handler: RequestListener,
  { port, setting, host }: { port: number; setting: string; host?: string | undefined },
  { stallMs, isMemoryShort = () => false, onStalled = () => undefined }: StallRules,
  classes: Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'> = {},
): Promise<ListeningServer> {
  const server = createServer(
    {
      ...classes,
      keepAliveTimeout: 65_000,
      headersTimeout: 60_000,
      // `deadlines` ends slow requests: uploads may take longer than other requests.
      requestTimeout: 0,
      // Room for a filter with a thousand ids in the query.
      maxHeaderSize: 65_536,
      // Node would refuse a missing Host header without an error envelope, so `hasOneValidHost` checks the header instead.
      requireHostHeader: false,
    },
    (req, res) => {
      drain.addResponse(res);
      if (!req.complete && hasBody(req)) deadlines.add(req);
      if (isValidRequestHead(req)) handler(req, res);
      else refuseRequest(req, res, 'BAD_REQUEST');
    },
  );
  const drain = createConnectionDrain(server);
  const deadlines = watchRequestDeadlines(server, stallMs);
  server.on('checkExpectation', (req, res) => refuseRequest(req, res, 'EXPECTATION_FAILED'));
  server.on('connect', (_req, socket) => writeErrorToSocket(socket, 'BAD_REQUEST'));
  server.on('clientError', refuseMalformedRequest);
  const stopChecks = watchStalledConnections(server, stallMs, isMemoryShort, onStalled);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const problem = describeListenError(error, { port, setting, host });
      reject(problem === undefined ? error : new StartupError('The server cannot listen:', [problem]));
    });
    server.listen({ port, ...(host !== undefined && { host }) }, resolve);
  });
  return {
    url: urlOf(server.address() as AddressInfo),
    startDraining: drain.start,
    close: async (graceMs, lingerMs = 0) => {
      await drain.close(lingerMs, graceMs);
      stopChecks();
      deadlines.stop();
    },
  };
}

/** A message that says how to fix an unusable port or host; undefined for other errors. */
function describeListenError(
  { code }: NodeJS.ErrnoException,
  { port, setting, host }: { port: number; setting: string; host?: string | undefined },
): string | undefined {
  if (code === 'EADDRINUSE') return `port ${port} is in use. Set ${setting} to another port`;
  if (code === 'EADDRNOTAVAIL')
    return `HOST=${host} is not an address of this machine. Use 127.0.0.1, or 0.0.0.0 for all addresses`;
  return undefined;
}

/**
 * Returns the address of a server for people: `http://localhost:<port>` if it listens on all addresses or on a loopback address, as the
 * address is written everywhere else. Passkeys and links in e-mails of development work only there.
 *
 * @param url the URL of a listening server
 */
export function describeAddress(url: string): string {
  const { hostname, port } = new URL(url);
  return hostname === '127.0.0.1' || hostname === '[::1]' ? `http://localhost:${port}` : url;
}

/** Returns the URL under which programs on this machine reach a server. */
function urlOf({ address, family, port }: AddressInfo): string {
  if (address === '::' || address === '0.0.0.0') return `http://127.0.0.1:${port}`;
  return family === 'IPv6' ? `http://[${address}]:${port}` : `http://${address}:${port}`;
}

/** Sends an error response to a request that must not reach the app, and closes the connection after it. */
function refuseRequest(req: IncomingMessage, res: ServerResponse, code: ErrorCode): void {
  const requestId = assignRequestId(req);
  res.setHeader('X-Request-Id', requestId);
  res.setHeader('Connection', 'close');
  sendError(res, new ApiError(code), requestId);
}

const MALFORMED: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
};

/** Responds to malformed HTTP with the error envelope, like every other error. */
function refuseMalformedRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  const { _httpMessage: currentResponse } = socket as Duplex & { _httpMessage?: ServerResponse | null };
  // If the head of a response has been sent, the client would read an error response as part of its body.
  if (!socket.writable || error.code === 'ECONNRESET' || currentResponse?.headersSent) socket.destroy();
  // The client sent a complete request before the malformed one: send that request's response, then close the connection.
  else if (currentResponse?.req.complete) currentResponse.setHeader('Connection', 'close');
  else writeErrorToSocket(socket, MALFORMED[error.code ?? ''] ?? 'BAD_REQUEST');
}

/** Sends an error response to a request that has no response object, and closes the connection. */
function writeErrorToSocket(socket: Duplex, code: ErrorCode): void {
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

// RFC 3986 §3.2.2 and §3.2.3: a name or an IPv4 address, or an IPv6 address in brackets; a port.
const HOST = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\da-f:.]+\])(?::\d*)?$/i;

/** Nearly all requests have the same host. */
let lastValidHost: string | undefined;

/** Whether a request has exactly one valid host, as HTTP/1.1 requires (RFC 9112 §3.2). Proxies could interpret two hosts differently. */
function hasOneValidHost({ rawHeaders, httpVersion, headers }: IncomingMessage): boolean {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts !== 1) return hosts === 0 && httpVersion === '1.0';
  const host = headers.host!;
  if (host === lastValidHost) return true;
  if (!HOST.test(host)) return false;
  lastValidHost = host;
  return true;
}

/** Whether all proxies on the way read the body alike: unencoded, or in chunks since HTTP/1.1 (RFC 9112 §6.1). */
function hasSafeTransferEncoding({ headers, httpVersion }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  return coding === undefined || (coding.toLowerCase() === 'chunked' && httpVersion !== '1.0');
}

/** Whether a request head that Node accepts may be passed to the app. */
function isValidRequestHead(req: IncomingMessage): boolean {
  return hasOneValidHost(req) && hasSafeTransferEncoding(req);
}
