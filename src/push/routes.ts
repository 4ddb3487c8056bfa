import { z } from 'zod';
import { PLATFORMS } from '../accounts/devices/index.ts';
import type { PushSender } from '../declare/push.ts';
import type { Route, RouteContext } from '../declare/route.ts';
import { ApiError } from '../platform/helpers/errors.ts';
import { isId } from '../platform/helpers/ids.ts';
import { readBuiltFile } from '../platform/http/built-pages.ts';
import { memoizeAsync, prepareContent, sendContent } from '../platform/http/served-bytes.ts';
import type { Platform } from '../platform/platform.ts';
import { readPush } from './history/read-push.ts';
import { messageShape } from './message/message.ts';

/** Rate limit per client for sending pushes. It is low, because one push can reach every user. */
const SEND_LIMIT = { limit: 60, windowMs: 60_000 };
const MAX_DEVICES_PER_PAGE = 100;
/** Highest page number that can be requested. */
const MAX_PAGES = 100_000;

const timeSchema = z.iso.datetime();
const status = z.enum(['captured', 'sent', 'partial', 'failed', 'no-devices', 'queued']);
const countSchema = (description: string) => z.int().meta({ description });

const resultShape = z
  .strictObject({
    id: z.string(),
    status: status.meta({ description: '`queued`: the push is stored and will be sent; read its results later' }),
    devices: z.int(),
    results: z.array(
      z.strictObject({
        device: z.string().nullable().meta({ description: 'Null for a raw token' }),
        ok: z.boolean(),
        id: z.string().optional().meta({ description: "The provider's id of the notification" }),
        error: z.string().optional(),
      }),
    ),
  })
  .meta({ id: 'PushResult' });

const pushShape = z
  .strictObject({
    id: z.string(),
    status,
    message: z.record(z.string(), z.unknown()).meta({ description: 'With defaults applied, without raw tokens' }),
    createdAt: timeSchema,
    expiresAt: timeSchema.nullable(),
    finishedAt: timeSchema.nullable().meta({ description: 'When the first attempt for the last device ended' }),
    counts: z.strictObject({
      devices: countSchema('Devices found so far'),
      queued: countSchema('Not attempted yet'),
      accepted: countSchema('Accepted by the provider, or captured'),
      failed: countSchema('Failed permanently'),
      retrying: countSchema('Failed, to be retried'),
      receipts: countSchema('With a later report from the provider'),
      receiptsFailed: countSchema('With a later report from the provider that the notification failed'),
      opened: countSchema('Tapped by the user'),
    }),
    devices: z.array(
      z.strictObject({
        device: z.string().nullable(),
        user: z.string().nullable(),
        platform: z.enum(PLATFORMS),
        token: z.string().meta({ description: 'Masked' }),
        transport: z.string().nullable(),
        ok: z.boolean().nullable(),
        error: z.string().nullable(),
        timeline: z.array(
          z.strictObject({
            at: timeSchema,
            event: z.enum(['queued', 'sent', 'accepted', 'refused', 'retry', 'receipt', 'opened']),
            ok: z.boolean().optional(),
            id: z.string().optional(),
            error: z.string().optional(),
          }),
        ),
      }),
    ),
    page: z
      .strictObject({ total: z.int(), page: z.int(), limit: z.int(), pages: z.int() })
      .meta({ description: 'The page of `devices` in this response' }),
  })
  .meta({ id: 'Push' });

const querySchema = z.strictObject({
  page: z.coerce.number().int().min(1).max(MAX_PAGES).default(1),
  limit: z.coerce.number().int().min(1).max(MAX_DEVICES_PER_PAGE).default(20),
});
const queryShape = z.object({
  page: z.int().min(1).max(MAX_PAGES).default(1).meta({ description: 'The page of devices to return' }),
  limit: z.int().min(1).max(MAX_DEVICES_PER_PAGE).default(20).meta({ description: 'Devices per page' }),
});

function readPageQuery(query: RouteContext['query']): { page: number; limit: number } {
  const parsed = querySchema.safeParse({ ...query });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  if (issue?.code === 'unrecognized_keys') {
    throw new ApiError(
      'BAD_REQUEST',
      `Unknown query parameter ${issue.keys.map((key) => JSON.stringify(key)).join(', ')}`,
    );
  }
  const name = String(issue?.path[0]);
  const most = name === 'limit' ? MAX_DEVICES_PER_PAGE : MAX_PAGES;
  throw new ApiError('BAD_REQUEST', `${name} must be a whole number from 1 to ${most}`);
}

/** Creates the routes that admins and their scripts use to send pushes and to read the results. */
export function createPushRoutes({ database }: Pick<Platform, 'database'>, sender: PushSender): Route[] {
  const common = { policy: 'admin', scope: 'push:send', tags: ['push'] };
  return [
    {
      ...common,
      method: 'POST',
      path: '/push',
      summary: 'Send a push message',
      description:
        'Waits a short time for the results. For a large audience, or if the results take longer, the status is `queued`; read the results later.',
      body: 'json',
      bodyShape: messageShape,
      output: resultShape,
      errors: ['VALIDATION_ERROR'],
      status: 201,
      operationId: 'sendPush',
      rateLimit: SEND_LIMIT,
      idempotent: true,
      handler: (ctx: RouteContext) => sender.send(ctx.body),
    },
    {
      ...common,
      method: 'GET',
      path: '/push/:id',
      summary: 'Read the results of a push, device by device',
      queryShape,
      output: pushShape,
      errors: ['BAD_REQUEST', 'NOT_FOUND'],
      operationId: 'readPush',
      async handler(ctx: RouteContext) {
        const { page, limit } = readPageQuery(ctx.query);
        const { id } = ctx.params;
        const push = isId(id) ? await readPush(database, id, { page, limit }) : undefined;
        if (push === undefined) throw new ApiError('NOT_FOUND');
        const total = push.counts.devices;
        const devices = push.devices.map(({ name: _, ...device }) => device);
        return { ...push, devices, page: { total, page, limit, pages: Math.ceil(total / limit) } };
      },
    },
  ];
}

// `no-cache` lets browsers get a new version soon. The other header lets the service worker control the whole site, not only /push/.
const SCRIPT_HEADERS = { 'Cache-Control': 'no-cache', 'Service-Worker-Allowed': '/' };
const JAVASCRIPT = 'text/javascript; charset=utf-8';

function scriptRoute(name: string, content: () => Promise<Buffer>): Route {
  const ready = memoizeAsync(async () => prepareContent(JAVASCRIPT, await content(), SCRIPT_HEADERS));
  return {
    method: 'GET',
    path: `/push/${name}`,
    policy: 'public',
    async handler({ req, res }) {
      sendContent(req, res, await ready());
    },
  };
}

/**
 * Creates the routes of the scripts that web pages use to subscribe: `/push/client.js`, its `key.js`, and the service worker `/push/sw.js`.
 *
 * @param vapidPublicKey base64url
 */
export function createBrowserScriptRoutes(vapidPublicKey: string): Route[] {
  const builtScriptRoute = (name: string) => scriptRoute(name, () => readBuiltFile(`push/${name}`));
  const key = `export const vapidPublicKey = ${JSON.stringify(vapidPublicKey)};\n`;
  return [
    builtScriptRoute('client.js'),
    builtScriptRoute('sw.js'),
    scriptRoute('key.js', async () => Buffer.from(key)),
  ];
}
