import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';

/** How an endpoint responds: at once, after a delay, or with 503 to the first attempt of some messages. */
export type Behaviour = 'prompt' | 'slow' | 'failing';

/** The deliveries of one record to one endpoint: how often each `webhook-id` was accepted. */
export type Arrivals = Map<string, number>;

/** The receivers of the run. They verify with the public library. */
export interface Receivers {
  url(name: string): string;
  /** Sets the secret and the behaviour of an endpoint. Earlier messages are refused. */
  open(name: string, secret: string, behaviour: Behaviour): void;
  /** Deliveries by record. */
  arrivals(name: string): Map<string, Arrivals>;
  /** Requests whose signature was not valid. */
  refused(): number;
  /** Number of accepted deliveries, without repeated ones. */
  received(): number;
  close(): Promise<void>;
}

const SLOW_MS = 60;
/** A `failing` endpoint responds with 503 to the first attempt of one in this many messages. */
const FAILING_ONE_IN = 10;

interface Endpoint {
  webhook: Webhook;
  behaviour: Behaviour;
  arrived: Map<string, Arrivals>;
  failed: Set<string>;
}

async function readBody(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/**
 * Starts the receivers on a free port of this machine.
 *
 * @param random decides which messages fail at first
 */
export async function startReceivers(random: () => number): Promise<Receivers> {
  const endpoints = new Map<string, Endpoint>();
  let refused = 0;
  let received = 0;

  /** Returns whether a message gets 503 this time, which happens once per message. */
  function shouldFail({ behaviour, failed, arrived }: Endpoint, id: string, record: string): boolean {
    if (behaviour !== 'failing' || failed.has(id) || arrived.get(record)?.has(id)) return false;
    failed.add(id);
    return random() < 1 / FAILING_ONE_IN;
  }

  async function handleDelivery(endpoint: Endpoint, req: IncomingMessage): Promise<number> {
    const body = await readBody(req);
    let record: string;
    try {
      const payload = endpoint.webhook.verify(body, req.headers as Record<string, string>);
      record = (payload as { data: { id: string } }).data.id;
    } catch {
      refused += 1;
      return 400;
    }
    const id = String(req.headers['webhook-id']);
    if (shouldFail(endpoint, id, record)) return 503;
    if (endpoint.behaviour === 'slow') await sleep(SLOW_MS);
    const ids: Arrivals = endpoint.arrived.get(record) ?? new Map();
    endpoint.arrived.set(record, ids);
    if (ids.size === 0) received += 1;
    ids.set(id, (ids.get(id) ?? 0) + 1);
    return 204;
  }

  const server = createServer({ keepAliveTimeout: 65_000 }, async (req, res) => {
    const endpoint = endpoints.get(req.url!.slice(1));
    try {
      res.writeHead(endpoint === undefined ? 404 : await handleDelivery(endpoint, req)).end();
    } catch {
      res.destroy(); // the sender was killed in the middle of the request
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: (name) => `http://127.0.0.1:${port}/${name}`,
    open(name, secret, behaviour) {
      endpoints.set(name, { webhook: new Webhook(secret), behaviour, arrived: new Map(), failed: new Set() });
    },
    arrivals: (name) => endpoints.get(name)!.arrived,
    refused: () => refused,
    received: () => received,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
