import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

/** The messages that one endpoint received. */
export interface Arrivals {
  /** The `webhook-id` of each message, with the id of its record and the ms from commit to the first receipt. */
  messages: Map<string, { record: string; ms: number }>;
  /** Requests whose signature was not valid. */
  refused: number;
  /** Requests whose `webhook-id` had arrived before. */
  duplicates: number;
}

/** A receiver of webhooks with any number of endpoints. It verifies with the public library instead of Belfry's code. */
export interface Receiver {
  /** Returns the address of an endpoint. */
  url(name: string): string;
  /** Sets the secret of an endpoint. Earlier messages are refused. */
  trust(name: string, secret: string): void;
  arrivals(name: string): Arrivals;
  close(): Promise<void>;
}

async function readBody(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/** Starts the receiver on a free port of this machine. */
export async function startReceiver(): Promise<Receiver> {
  const secrets = new Map<string, Webhook>();
  const arrived = new Map<string, Arrivals>();
  const arrivals = (name: string) => {
    const found = arrived.get(name) ?? { messages: new Map(), refused: 0, duplicates: 0 };
    arrived.set(name, found);
    return found;
  };

  const server = createServer(async (req, res) => {
    const at = Date.now();
    const here = arrivals(req.url!.slice(1));
    try {
      const body = await readBody(req);
      const payload = secrets.get(req.url!.slice(1))!.verify(body, req.headers as Record<string, string>) as {
        timestamp: string;
        data: { id: string };
      };
      const id = String(req.headers['webhook-id']);
      if (here.messages.has(id)) here.duplicates += 1;
      else here.messages.set(id, { record: payload.data.id, ms: at - Date.parse(payload.timestamp) });
      res.writeHead(204).end();
    } catch {
      here.refused += 1;
      res.writeHead(400).end();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: (name) => `http://127.0.0.1:${port}/${name}`,
    trust: (name, secret) => secrets.set(name, new Webhook(secret)),
    arrivals,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
