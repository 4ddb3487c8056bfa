import { z } from 'zod';
import {
  type Accounts,
  ApiError,
  addressOf,
  DAY_MS,
  type Host,
  isId,
  type ResourceGateway,
  type Route,
  type RouteContext,
  sendJson,
} from '../../../extension/index.ts';
import { createDownloadHandler } from './download.ts';
import type { ExportLinks } from './links.ts';
import { isExportable } from './make-export.ts';
import type { Export, ExportStore } from './store.ts';

const time = z.iso.datetime();

/** The shape of an export in responses. */
const exportShape = z
  .strictObject({
    id: z.string(),
    status: z.enum(['preparing', 'ready', 'failed']),
    records: z.int().meta({ description: 'Number of records so far' }),
    bytes: z.int().nullable().meta({ description: 'Size of the ZIP file; null until it is ready' }),
    requestedAt: time,
    finishedAt: time.nullable(),
    expiresAt: time.nullable().meta({ description: 'When the link stops working, or when a failed export is removed' }),
    url: z
      .url()
      .nullable()
      .meta({ description: 'Link to the ZIP file, which works without signing in; null until the file is ready' }),
  })
  .meta({ id: 'DataExport' });

const POLL_RATE_LIMIT = { limit: 60, windowMs: 60_000 };
const POLL_SECONDS = 3;

/** Dependencies of the export routes. */
interface ExportRouteDependencies {
  exports: ExportStore;
  users: ResourceGateway;
  links: ExportLinks;
  holdCredential: Accounts['holdCredential'];
  /** Maximum number of exports of one user that one requester may start in a day. */
  perDay: number;
  /** Enqueues the job of an export. */
  enqueue(id: string): Promise<void>;
}

function toExportResponse({ status, seal, ...dataExport }: Export, links: ExportLinks) {
  return {
    id: dataExport.id,
    status: status === 'waiting' || status === 'running' ? 'preparing' : status,
    records: dataExport.records,
    bytes: dataExport.bytes,
    requestedAt: dataExport.createdAt,
    finishedAt: dataExport.finishedAt,
    expiresAt: dataExport.expiresAt,
    url: status === 'ready' ? links.urlOf({ seal }) : null,
  };
}

/** Creates the function that responds with the state of the caller's export of a user. It starts an export if there is none. */
function createExportResponder(host: Host, parts: ExportRouteDependencies) {
  const { exports, links, holdCredential, perDay, enqueue } = parts;
  const { enabled = host.env.nodeEnv !== 'test' } = host.settings.rateLimit;
  const limiter = enabled
    ? host.limits.limiter('personal data exports', { limit: perDay, windowMs: DAY_MS })
    : undefined;

  async function startExport(userId: string, ctx: RouteContext): Promise<Export> {
    const by = ctx.user!.id;
    const createdExport = await exports.create(userId, by, (tx) => holdCredential(ctx, tx));
    if (createdExport === undefined) return (await exports.read(userId, by)) ?? startExport(userId, ctx);
    // Count against the limit only after the export is stored: of many concurrent requests, only one starts an export.
    const verdict = await limiter?.consume(`${by}:${userId}`);
    if (verdict?.allowed === false) {
      await exports.remove(userId, by);
      const retryAfter = Math.max(1, Math.ceil(verdict.leftMs / 1000));
      // In development, a 429 response names the limit, the wait and the setting.
      const limit = `${perDay} per user and day (privacy({ exportsPerDay }))`;
      const text = `Too many requests: exports are limited to ${limit}. Try again in ${retryAfter} seconds.`;
      throw new ApiError('RATE_LIMITED', host.env.nodeEnv === 'development' ? text : undefined, { retryAfter });
    }
    host.events.emit('security.export_requested', { userId, by, ip: addressOf(ctx.req) });
    await enqueue(createdExport.id);
    return createdExport;
  }

  return async (userId: string, ctx: RouteContext): Promise<unknown> => {
    const dataExport = (await exports.read(userId, ctx.user!.id)) ?? (await startExport(userId, ctx));
    const exportResponse = toExportResponse(dataExport, links);
    ctx.res.setHeader('Cache-Control', 'no-store');
    if (exportResponse.status !== 'preparing') return exportResponse;
    ctx.res.setHeader('Retry-After', POLL_SECONDS);
    sendJson(ctx.res, 202, { data: exportResponse });
    return undefined;
  };
}

async function findExportableUserId(users: ResourceGateway, id: string | undefined): Promise<string> {
  const [user] = isId(id) ? await users.load([id]) : [];
  if (user === undefined) throw new ApiError('NOT_FOUND');
  if (!isExportable(user)) throw new ApiError('CONFLICT', 'The account is being erased');
  return user.id;
}

/** The routes by which users export their own data, and admins the data of any user. */
export function exportRoutes(host: Host, parts: ExportRouteDependencies): Route[] {
  const { exports, users } = parts;
  const respondWithExportState = createExportResponder(host, parts);
  const common = { output: exportShape, pending: true, rateLimit: POLL_RATE_LIMIT } as const;
  const removal = { method: 'DELETE', status: 204 } as const;
  const admin = { policy: 'admin', scope: 'privacy:export', tags: ['privacy'] };
  return [
    {
      ...common,
      method: 'GET',
      path: '/auth/me/export',
      summary: 'Download all your data as a ZIP file',
      description:
        'The first call starts an export. Later calls return its state and, once it is ready, a link, which is also sent by e-mail. After the link has expired or the export was removed, a call starts a new one.',
      errors: ['RATE_LIMITED'],
      operationId: 'exportMe',
      tags: ['auth'],
      handler: (ctx) => respondWithExportState(ctx.user!.id, ctx),
    },
    {
      ...removal,
      path: '/auth/me/export',
      summary: 'Remove your export; its link stops working at once',
      errors: [],
      operationId: 'removeMyExport',
      tags: ['auth'],
      handler: (ctx) => exports.remove(ctx.user!.id, ctx.user!.id),
    },
    {
      ...common,
      ...admin,
      method: 'GET',
      path: '/admin/users/:id/export',
      summary: 'Download all data of a user as a ZIP file',
      description: 'Like `GET /api/auth/me/export`. The link is sent to the admin who made the request.',
      errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED'],
      operationId: 'exportUser',
      handler: async (ctx) => respondWithExportState(await findExportableUserId(users, ctx.params.id), ctx),
    },
    {
      ...removal,
      ...admin,
      path: '/admin/users/:id/export',
      summary: 'Remove the export that you requested for a user; its link stops working at once',
      errors: ['NOT_FOUND'],
      operationId: 'removeUserExport',
      async handler(ctx) {
        if (!isId(ctx.params.id)) throw new ApiError('NOT_FOUND');
        await exports.remove(ctx.params.id, ctx.user!.id);
      },
    },
    {
      method: 'GET',
      path: '/auth/exports/:token',
      policy: 'public',
      rateLimit: POLL_RATE_LIMIT,
      file: 'application/zip',
      summary: 'Download an export by its link',
      errors: ['NOT_FOUND'],
      operationId: 'fetchExport',
      tags: ['privacy'],
      handler: createDownloadHandler(host, parts),
    },
  ];
}
