import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import {
  ApiError,
  type ConsoleRoute,
  type ExtensionHost,
  isFromThisMachine,
  newId,
  type Route,
  type RouteContext,
} from '../../../extension/index.ts';
import { createEndpointSchema } from '../api/endpoint-schemas.ts';
import { secretEncryptionContext } from '../endpoints/endpoint.ts';
import type { HeaderList } from '../endpoints/headers.ts';
import { listSubscribableNames } from '../settings/events.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import type { OwnerRoutes } from './as-owner.ts';
import { ANSWERS, createInbox, type Inbox } from './receiver-inbox.ts';
import type { Answer, ReceivedContent, Receiver } from './responses.ts';

const PATH = '/console/receiver';
const NAME = /^[0-9a-f]{16}$/;
const MAX_BODY_BYTES = 256 * 1024;
const SLOW_MS = 5000;

/** Verifies a request as receivers do. Returns why it is not valid; undefined if it is valid. */
export type FindVerificationError = (
  secret: string,
  headers: Record<string, string>,
  body: Buffer,
) => { code: string; message: string } | undefined;

/** The receivers of a web process, in its memory. */
interface ReceiverParts {
  /** The page that receives deliveries. */
  page: Route;
  /** The routes of the console. */
  routes: ConsoleRoute[];
}

/** Reads the endpoint whose URL ends with a path. $1 path. Only for development: it reads all endpoints. */
const FIND_BY_PATH = `
  select id, secret, header_masks from webhook_endpoints where right(url, length($1)) = $1 and removed_at is null order by id limit 1`;

/**
 * Refuses requests from other machines, and from pages: browsers send `Origin` or `Sec-Fetch-Site` with requests to other sites, but the
 * worker sends neither.
 */
const requireWorker: RequestHandler = (req, _res, next) => {
  const { origin, 'sec-fetch-site': site } = req.headers;
  if (!isFromThisMachine(req) || origin !== undefined || site !== undefined)
    throw new ApiError('FORBIDDEN', 'The receiver accepts requests only from programs on this machine');
  next();
};

/** @throws ApiError PAYLOAD_TOO_LARGE */
async function readBody(req: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of req) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new ApiError('PAYLOAD_TOO_LARGE');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The address at which this process received a request of the console, for requests from the same machine. */
function getServerOrigin({ socket }: RouteContext['req']): string {
  const address = (socket.localAddress ?? '127.0.0.1').replace(/^::ffff:/, '');
  return `http://${address.includes(':') ? `[${address}]` : address}:${socket.localPort}`;
}

const responseBody = z.strictObject({
  name: z.string().regex(NAME, { error: 'Must be the name of a receiver' }),
  answer: z.enum(Object.keys(ANSWERS) as [Answer, ...Answer[]], {
    error: `Must be one of: ${Object.keys(ANSWERS).join(', ')}`,
  }),
});

/** Why no endpoint can lead to the receiver; undefined if one can. */
function findObstacle({ allowPrivate, requireHttps }: WebhookSettings): string | undefined {
  if (!allowPrivate) return 'webhooks({ allowPrivate: false }) refuses addresses of this machine';
  return requireHttps ? 'webhooks({ requireHttps: true }) refuses http' : undefined;
}

/**
 * Creates the receiver of development, to which endpoints can lead instead of to a server of your own. It keeps the newest requests in the
 * memory of the web process, with the result of verifying their signatures. It must not exist in production.
 */
export function createReceiver(
  { database, keyring, resources, languages }: Pick<ExtensionHost, 'database' | 'keyring' | 'resources' | 'languages'>,
  settings: WebhookSettings,
  as: OwnerRoutes,
  findVerificationError: FindVerificationError,
): ReceiverParts {
  const inbox = createInbox();

  function verify(secret: string, headers: Record<string, string>, body: Buffer): ReceivedContent['verification'] {
    const error = findVerificationError(secret, headers, body);
    if (error === undefined) return { isValid: true, code: 'VALID', message: 'The signature is valid' };
    return { isValid: false, code: error.code, message: error.message };
  }

  async function receive({ req, res, params }: RouteContext): Promise<void> {
    const name = params.name!;
    if (!NAME.test(name)) throw new ApiError('NOT_FOUND');
    const values = [`${PATH}/${name}`];
    const [found] = await database.readSlowly<[id: string, secret: string, masks: HeaderList | null]>({
      text: FIND_BY_PATH,
      values,
    });
    if (found === undefined) throw new ApiError('NOT_FOUND', 'No endpoint leads to this receiver');
    const [endpoint, stored, masks] = found;
    const body = await readBody(req);
    const [secret] = keyring.decrypt(stored, secretEncryptionContext(endpoint)).split(' ');
    const headers = Object.fromEntries(Object.entries(req.headers).map(([key, value]) => [key, String(value)]));
    // Nobody reads the values of custom headers in the console.
    for (const [header, mask] of masks ?? []) headers[header.toLowerCase()] = mask;
    const answer = inbox.answerOf(name);
    const status = ANSWERS[answer];
    const at = new Date().toISOString();
    const verification = verify(secret!, headers, body);
    inbox.keep({ id: newId(), name, endpoint, at, headers, body: body.toString('utf8'), verification, answer, status });
    if (answer === 'slow') await sleep(SLOW_MS);
    res.status(status).end();
  }

  return {
    page: {
      method: 'POST',
      path: `${PATH}/:name`,
      policy: 'public',
      body: 'raw',
      middleware: [requireWorker],
      handler: receive,
    },
    routes: receiverConsoleRoutes({ resources, languages }, settings, as, inbox),
  };
}

function receiverConsoleRoutes(
  { resources, languages }: Pick<ExtensionHost, 'resources' | 'languages'>,
  settings: WebhookSettings,
  as: OwnerRoutes,
  inbox: Inbox,
): ConsoleRoute[] {
  const names = listSubscribableNames(resources, Object.keys(settings.events));

  async function createEndpoint(ctx: RouteContext) {
    const { owner: ownerId, events } = ctx.input;
    const owner = await as.loadNewOwner(ownerId);
    const name = randomBytes(8).toString('hex');
    // The schema checks the address as that of any other endpoint, and fills the defaults.
    const input = createEndpointSchema(settings, names).parse({
      url: `${getServerOrigin(ctx.req)}${PATH}/${name}`,
      events,
      description: 'Receiver of the console',
    });
    return as.perform('createWebhook', ctx, { owner, input });
  }

  return [
    {
      method: 'GET',
      path: '/receiver',
      handler({ req }): Receiver {
        const obstacle = findObstacle(settings);
        return { obstacle: obstacle === undefined ? null : languages.for(req).text(obstacle), ...inbox.list() };
      },
    },
    {
      method: 'GET',
      path: '/receiver/requests/:id',
      handler({ params, req }): ReceivedContent {
        const request = inbox.read(params.id);
        return { ...request, verification: languages.for(req).members(request.verification, ['message']) };
      },
    },
    {
      method: 'POST',
      path: '/receiver/endpoints',
      action: 'receiverCreated',
      input: z.strictObject({ events: createEndpointSchema(settings, names).shape.events, owner: z.string() }),
      status: 201,
      async handler(ctx) {
        const obstacle = findObstacle(settings);
        if (obstacle !== undefined) throw new ApiError('BAD_REQUEST', obstacle);
        return createEndpoint(ctx);
      },
    },
    {
      method: 'POST',
      path: '/receiver/answer',
      action: 'receiverChanged',
      input: responseBody,
      handler({ input: { name, answer } }) {
        inbox.setAnswer(name, answer);
        return { name, answer };
      },
    },
    {
      method: 'DELETE',
      path: '/receiver/requests',
      action: 'receiverCleared',
      handler: inbox.clear,
    },
  ];
}
