import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verifyWebhook, type WebhookPayload } from '@belfry/verify-webhook';
import type { TestUser } from './users.ts';
import { type WaitOptions, waitFor } from './waiting/wait.ts';

/** A webhook that arrived with a valid signature. */
export interface ReceivedWebhook<Data = Record<string, unknown>> {
  /** The id of the message, the same in each attempt to deliver it. */
  id: string;
  /** The event, such as `task.created`. */
  type: string;
  /** When the event happened, as ISO 8601 in UTC. */
  timestamp: string;
  /** The record, as the owner of the endpoint may read it. */
  data: Data;
  /** The status that the receiver responded with. */
  status: number;
}

/** A receiver of webhooks: a server on this machine, registered as an endpoint of a user. */
export interface WebhookReceiver {
  /** The id of the endpoint. */
  endpoint: string;
  /** The secret of the endpoint. */
  secret: string;
  url: string;
  /** The events that the receiver accepted, in order of arrival. */
  events: ReceivedWebhook[];
  /** Every attempt to deliver an event, including those that the receiver refused. */
  attempts: ReceivedWebhook[];
  /**
   * Waits for an accepted event. Each event is returned once, so that a second call waits for a second event.
   *
   * @param type the event, such as `task.created`; default: any event
   * @throws Error saying what arrived instead
   */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into data freely
  next<Data = any>(type?: string, options?: WaitOptions): Promise<ReceivedWebhook<Data>>;
  /** Sets the statuses of the next responses; the last one repeats. Default: 204. */
  respondWith(...statuses: number[]): void;
  close(): Promise<void>;
}

async function readBody(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/** Creates the endpoint. @throws Error with the response if the app refuses it */
async function createEndpoint({ api, email }: TestUser<unknown>, url: string, events: readonly string[]) {
  const { status, body } = await api.post('/api/webhooks', { url, events });
  if (status === 201) return body.data as { id: string; secret: string };
  const reason = status === 404 ? 'the app has no extension webhooks()' : `${status} ${JSON.stringify(body)}`;
  throw new Error(`receiveWebhooks: ${email} could not create an endpoint for ${events.join(', ')}: ${reason}`);
}

/** Starts a receiver, and registers it as an endpoint of a user. */
export async function receiveWebhooks(user: TestUser<unknown>, events: readonly string[]): Promise<WebhookReceiver> {
  const attempts: ReceivedWebhook[] = [];
  const refusals: string[] = [];
  const returned = new Set<ReceivedWebhook>();
  let statuses = [204];
  let endpoint: { id: string; secret: string } | undefined;

  async function receive(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await readBody(req);
    try {
      const payload = verifyWebhook<WebhookPayload>(endpoint?.secret ?? '', req.headers, body);
      const status = statuses.length > 1 ? statuses.shift()! : statuses[0]!;
      const id = String(req.headers['webhook-id']);
      attempts.push({ id, ...payload, data: payload.data as Record<string, unknown>, status });
      res.writeHead(status).end();
    } catch (error) {
      refusals.push((error as Error).message);
      res.writeHead(400).end();
    }
  }

  const server = createServer((req, res) => void receive(req, res).catch(() => res.destroy()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  try {
    endpoint = await createEndpoint(user, url, events);
  } catch (error) {
    await close();
    throw error;
  }
  const accepted = () => attempts.filter(({ status }) => status >= 200 && status < 300);

  function explainMissing(type: string | undefined, ms: number): string {
    const lines = [
      ...attempts.map(
        (one) => `  - ${one.type}, answered ${one.status}${returned.has(one) ? ', returned by next() before' : ''}`,
      ),
      ...refusals.map((message) => `  - a request that is not a valid webhook: ${message}`),
    ];
    const arrived = lines.length === 0 ? ' Nothing arrived.' : ` This arrived:\n${lines.join('\n')}`;
    const subscribed = `${user.email} receives ${events.join(', ')} of the records that they may read.`;
    return `No new event${type === undefined ? '' : ` "${type}"`} within ${ms} ms. ${subscribed}${arrived}`;
  }

  return {
    endpoint: endpoint.id,
    secret: endpoint.secret,
    url,
    attempts,
    get events() {
      return accepted();
    },
    async next(type, options) {
      const find = () => accepted().find((one) => !returned.has(one) && (type === undefined || one.type === type));
      const event = await waitFor(find, (ms) => explainMissing(type, ms), options);
      returned.add(event);
      return event as never;
    },
    respondWith(...next) {
      if (next.length === 0) throw new TypeError('respondWith needs at least one status');
      statuses = next;
    },
    close,
  };
}
