import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A request as it arrived. */
export interface ReceivedRequest {
  at: number;
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** The raw body. */
  body: string;
}

/** A response: a status, or code that responds itself. */
type Answer = number | ((request: ReceivedRequest, res: ServerResponse, req: IncomingMessage) => unknown);

/** A receiver of webhooks: a real server on loopback. */
export interface Receiver {
  url: string;
  /** All requests, in order of arrival. */
  requests: ReceivedRequest[];
  /** The number of requests in flight now, and the highest number so far. */
  inFlight: { now: number; most: number };
  /** Sets the responses from now on. A list is used in order, and its last response repeats. Default 204. */
  answer(...responses: Answer[]): void;
  /** Resolves when this many requests have arrived; rejects after `ms` (60 s). */
  received(count: number, ms?: number): Promise<ReceivedRequest[]>;
  close(): Promise<void>;
}

/** Starts a receiver. */
export async function startReceiver(): Promise<Receiver> {
  const requests: ReceivedRequest[] = [];
  const inFlight = { now: 0, most: 0 };
  let responses: Answer[] = [204];
  let wakeUp: () => void = () => undefined;

  const server = createServer(async (req, res) => {
    inFlight.now += 1;
    inFlight.most = Math.max(inFlight.most, inFlight.now);
    res.once('close', () => {
      inFlight.now -= 1;
    });
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk);
      const { method = '', url: path = '', headers } = req;
      const request = { at: Date.now(), method, path, headers, body: Buffer.concat(chunks).toString('utf8') };
      requests.push(request);
      wakeUp();
      const response = responses.length > 1 ? responses.shift()! : responses[0]!;
      if (typeof response === 'function') await response(request, res, req);
      else res.writeHead(response).end();
    } catch {
      res.destroy(); // the sender disconnected before the response
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    requests,
    inFlight,
    answer(...next) {
      responses = next;
    },
    async received(count, ms = 60_000) {
      const end = Date.now() + ms;
      while (requests.length < count) {
        const left = end - Date.now();
        if (left <= 0) throw new Error(`${requests.length} of ${count} requests arrived within ${ms} ms`);
        await Promise.race([
          new Promise<void>((resolve) => {
            wakeUp = resolve;
          }),
          sleep(Math.min(left, 50)),
        ]);
      }
      return requests;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
