// Handles webhooks in Express, and in other servers that pass the requests and responses of node:http.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { WebhookPayload } from './message.ts';
import { isGenuine } from './node-signatures.ts';
import { BodyError, createReceiver, createTooLargeError, type WebhookHandlerOptions } from './receive.ts';

export { type WebhookPayload, type WebhookVerificationCode, WebhookVerificationError } from './message.ts';
export type {
  WebhookContext,
  WebhookEventHandler,
  WebhookEventHandlers,
  WebhookEventOf,
  WebhookHandlerOptions,
} from './receive.ts';
export type { SeenStore } from './seen-store.ts';

/** A request that another middleware may have read: its raw body, or what a parser made of it. */
type ReadRequest = IncomingMessage & { body?: unknown; rawBody?: unknown };

const MOUNT_HINT =
  'The body was parsed before the webhook handler got it, so its signature cannot be verified. Add the route before app.use(express.json()), or keep the raw body: express.json({ verify: (req, _res, bytes) => { req.rawBody = bytes; } }).';

/** Reads what the client sends. Pauses at the limit. */
function readStream(req: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const fail = (error: BodyError) => {
      req.off('data', onData);
      // What is still on its way is discarded, as node:http does after a response.
      req.resume();
      reject(error);
    };
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      if (length > maxBytes) fail(createTooLargeError());
      else chunks.push(chunk);
    };
    const onLost = () => fail(new BodyError({ status: 400, code: 'BODY_INCOMPLETE' }));
    req.on('data', onData);
    req.once('end', () => resolve(Buffer.concat(chunks)));
    req.once('error', onLost);
    req.once('close', onLost);
    // The client has left before the handler was called.
    if (req.destroyed) onLost();
  });
}

async function readBody(req: ReadRequest, maxBytes: number): Promise<string | Uint8Array> {
  const kept = [req.rawBody, req.body].find((one) => typeof one === 'string' || one instanceof Uint8Array);
  if (kept !== undefined) {
    if (Buffer.byteLength(kept) > maxBytes) throw createTooLargeError();
    return kept;
  }
  if (req.readableDidRead) throw new BodyError({ status: 500, code: 'BODY_ALREADY_READ' }, MOUNT_HINT);
  if (Number(req.headers['content-length']) > maxBytes) throw createTooLargeError();
  return readStream(req, maxBytes);
}

/**
 * Creates a handler of webhooks for a route of Express, or for `createServer` of `node:http`. It reads the raw body, verifies each request,
 * handles each webhook once, and responds as the sender expects. Add the route before a parser, such as `express.json()`.
 *
 * @throws WebhookVerificationError if a secret is malformed
 * @example
 * app.post(
 *   '/hooks',
 *   createWebhookHandler<WebhookEvents>({
 *     secret: process.env.WEBHOOK_SECRET ?? '',
 *     on: { 'post.created': async ({ data }) => console.log(data.title) },
 *   }),
 * );
 */
export function createWebhookHandler<Events extends { type: string } = WebhookPayload>(
  options: WebhookHandlerOptions<Events>,
): (req: IncomingMessage, res: ServerResponse) => Promise<void> {
  const receive = createReceiver(options, isGenuine);
  return async (req, res) => {
    const { method, headers: given } = req;
    const { status, code, headers } = await receive({
      method,
      headers: given,
      readBody: (maxBytes) => readBody(req, maxBytes),
    });
    res.statusCode = status;
    for (const [name, value] of Object.entries(headers ?? {})) res.setHeader(name, value);
    // Nobody waits for the rest of a body that is too long.
    if (!req.complete) res.setHeader('connection', 'close');
    if (code === undefined) {
      res.end();
      return;
    }
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify({ code }));
  };
}
