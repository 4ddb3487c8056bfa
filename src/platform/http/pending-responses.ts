import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ApiError } from '../helpers/errors.ts';
import { addressOf, clientKeyOf } from './client-address.ts';
import { createPerRequestStore } from './per-request.ts';

/** Limits for the memory that responses use, from the time their data is loaded until the client has received them. */
interface PendingBounds {
  /** Maximum bytes of unread responses of one client. */
  pendingBytesPerClient: number;
  /** Maximum bytes of unread responses of all clients of the process. */
  pendingBytes: number;
}

/** Responses up to this size in bytes fit into the kernel's buffer of a connection that has nothing else to send. */
const FREE_BYTES = 16 * 1024;
/** Responses up to this size in bytes are small: they may use the reserve of each limit. */
const SMALL_BYTES = 256 * 1024;
/** The reserve for small responses, as a fraction of each limit: clients that do not read large responses must not block small ones. */
const RESERVE = 1 / 4;
const RETRY_AFTER_SECONDS = 5;

/** Counts the bytes that unfinished responses hold, for each client and in total. */
export interface PendingResponses {
  /**
   * Starts counting the response to a request. Its bytes are released when the response or its connection closes.
   *
   * @throws ApiError UNAVAILABLE if the client, or the process, has no room even for a small response
   */
  startCounting(req: IncomingMessage, res: ServerResponse): void;
  /** Whether the client of a connection, or all clients together, hold more than half of their limit. */
  isMemoryShort(socket: Socket): boolean;
}

/** The counted state of one response. */
interface PendingResponse {
  /** The bytes that count against the limits. */
  bytes: number;
  /** The bytes of the records that were loaded for the response. */
  loadedBytes: number;
  /** Returns how many more bytes the response may hold; never fewer than the size of a small response. */
  availableBytes(): number;
  /** Sets the bytes that the response holds. @throws ApiError UNAVAILABLE if there is no room, unless `isForced` */
  setBytes(bytes: number, isForced: boolean): void;
  res: ServerResponse;
}

const pendingResponses = createPerRequestStore<PendingResponse>('pending response');

/** Whether a response may be refused. The response to a write may not, because the write has already happened. */
function canRefuseResponse({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

/**
 * Adds the bytes of loaded records to the response to a request as soon as they are known. The first few do not count: like a single
 * record, they are held only until the response is sent. Has no effect on requests that are not counted.
 *
 * @throws ApiError UNAVAILABLE if there is no room for them
 */
export function reserveResponseBytes(req: IncomingMessage | undefined, bytes: number): void {
  const response = req && pendingResponses.get(req);
  if (response === undefined) return;
  response.loadedBytes += bytes;
  if (response.loadedBytes <= FREE_BYTES && response.bytes === 0) return;
  response.setBytes(response.loadedBytes, !canRefuseResponse(req!));
}

/** The maximum number of bytes for the response to a request; a larger response would be refused. */
export function getAvailableResponseBytes(req: IncomingMessage | undefined): number {
  if (req === undefined || !canRefuseResponse(req)) return Number.POSITIVE_INFINITY;
  return pendingResponses.get(req)?.availableBytes() ?? Number.POSITIVE_INFINITY;
}

/** The 503 response to a client whose response has no room in memory. */
export function createNoRoomError(): ApiError {
  const message = 'Too many responses are waiting to be read. Read them, request less data at once, or try again later';
  return new ApiError('UNAVAILABLE', message, { retryAfter: RETRY_AFTER_SECONDS });
}

/**
 * Sets the bytes of the response to a request once the response is serialized.
 *
 * @param isSent whether the response has already been passed to the connection
 * @throws ApiError UNAVAILABLE if there is no room for them
 */
export function setResponseBytes(req: IncomingMessage, bytes: number, isSent = false): void {
  const response = pendingResponses.get(req);
  if (response === undefined) return;
  // The socket is undefined while an earlier response uses the connection.
  const { socket } = response.res;
  const isFree = bytes <= FREE_BYTES && socket?.writableLength === 0;
  response.setBytes(isFree ? 0 : bytes, isSent || !canRefuseResponse(req));
}

/** Excludes a response from the count, because all responses like it share the same bytes. */
export function ignoreResponseBytes(req: IncomingMessage): void {
  pendingResponses.delete(req);
}

/** Creates the counter of the unread response bytes of one process. */
export function createPendingResponses({ pendingBytesPerClient, pendingBytes }: PendingBounds): PendingResponses {
  const byClient = new Map<string, number>();
  const connections = new WeakMap<Socket, { client: string; releases: Set<() => void> }>();
  let total = 0;

  function addPendingBytes(client: string, bytes: number): void {
    total += bytes;
    const sum = (byClient.get(client) ?? 0) + bytes;
    if (sum === 0) byClient.delete(client);
    else byClient.set(client, sum);
  }

  /** Whether `bytes` fit beside `held` bytes. The only response always fits: otherwise a large one could never be sent. */
  function hasRoom(held: number, bytes: number, limit: number): boolean {
    return held === 0 || held + bytes <= (bytes <= SMALL_BYTES ? limit * (1 + RESERVE) : limit);
  }

  /** Returns the functions that a connection calls when it closes: a response that waits behind another one emits no `close`. */
  function getReleaseCallbacks(socket: Socket, client: string): Set<() => void> {
    const known = connections.get(socket);
    if (known !== undefined) {
      // Behind a proxy, one connection serves many clients.
      known.client = client;
      return known.releases;
    }
    const releases = new Set<() => void>();
    connections.set(socket, { client, releases });
    socket.once('close', () => {
      for (const release of releases) release();
    });
    return releases;
  }

  function createPendingResponse(req: IncomingMessage, res: ServerResponse): PendingResponse {
    const { socket } = req;
    let client: string | undefined;
    let isClosed = false;
    const release = () => {
      if (isClosed) return;
      isClosed = true;
      connections.get(socket)?.releases.delete(release);
      addPendingBytes(client!, -response.bytes);
    };
    const response: PendingResponse = {
      bytes: 0,
      loadedBytes: 0,
      res,
      availableBytes() {
        // A single response always has room.
        if (total === response.bytes) return Number.POSITIVE_INFINITY;
        const own = byClient.get(client ?? clientKeyOf(addressOf(req))) ?? 0;
        const ofClient = own === response.bytes ? Number.POSITIVE_INFINITY : pendingBytesPerClient - own;
        return Math.max(SMALL_BYTES, Math.min(ofClient, pendingBytes - total));
      },
      setBytes(bytes, isForced) {
        if (isClosed || bytes === response.bytes) return;
        // Look up the client only now, because most responses hold no bytes.
        const known = client ?? clientKeyOf(addressOf(req));
        const own = (byClient.get(known) ?? 0) - response.bytes;
        const fits = hasRoom(total - response.bytes, bytes, pendingBytes) && hasRoom(own, bytes, pendingBytesPerClient);
        if (bytes > response.bytes && !fits && !isForced) throw createNoRoomError();
        if (client === undefined) {
          client = known;
          getReleaseCallbacks(socket, client).add(release);
          res.once('close', release);
        }
        addPendingBytes(client, bytes - response.bytes);
        response.bytes = bytes;
      },
    };
    return response;
  }

  return {
    startCounting(req, res) {
      if (total > 0) {
        const own = byClient.get(clientKeyOf(addressOf(req))) ?? 0;
        if (!hasRoom(total, 0, pendingBytes) || !hasRoom(own, 0, pendingBytesPerClient)) throw createNoRoomError();
      }
      pendingResponses.set(req, createPendingResponse(req, res));
    },
    isMemoryShort(socket) {
      if (total > pendingBytes / 2) return true;
      const client = connections.get(socket)?.client;
      return client !== undefined && (byClient.get(client) ?? 0) > pendingBytesPerClient / 2;
    },
  };
}
