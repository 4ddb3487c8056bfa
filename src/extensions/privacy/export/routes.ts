import { z } from 'zod';
import type { Accounts } from '../../../declare/accounts.ts';
import type { Host, ResourceGateway } from '../../../declare/host.ts';
import type { Route, RouteContext } from '../../../declare/route.ts';
import { ApiError } from '../../../platform/errors.ts';
import { addressOf } from '../../../platform/http/client-address.ts';
import { sendJson } from '../../../platform/http/response.ts';
import { isId } from '../../../platform/ids.ts';
import { createDownloadHandler } from './download.ts';
import type { Links } from './links.ts';
import { isExportable } from './make-export.ts';
import type { Export, Exports } from './store.ts';

const time = z.iso.datetime();

/** The shape of an export in responses. */
const exportShape = z
  .strictObject({
    id: z.string(),
    status: z.enum(['preparing', 'ready', 'failed']),
    records: z.int().meta({ description: 'So far' }),
    bytes: z.int().nullable().meta({ description: 'Of the file; null until it is ready' }),
    requestedAt: time,
    finishedAt: time.nullable(),
    expiresAt: time.nullable().meta({ description: 'Until then the link works; a failure is told until then' }),
    url: z
      .url()
      .nullable()
      .meta({ description: 'Where the zip is fetched, without signing in; null until it is ready' }),
  })
  .meta({ id: 'DataExport' });

const DAY_MS = 86_400_000;
const POLLS = { limit: 60, windowMs: 60_000 };
const POLL_SECONDS = 3;

/** Dependencies of the routes. */
export interface ExportParts {
  exports: Exports;
  users: ResourceGateway;
  links: Links;
  holdCredential: Accounts['holdCredential'];
  /** Maximum number of exports of one user that one requester may start in a day. */
  perDay: number;
  /** Enqueues the job of an export. */
  begin(id: string): Promise<void>;
}

function show({ status, seal, ...one }: Export, links: Links) {
  return {
    id: one.id,
    status: status === 'waiting' || status === 'running' ? 'preparing' : status,
    records: one.records,
    bytes: one.bytes,
    requestedAt: one.createdAt,
    finishedAt: one.finishedAt,
    expiresAt: one.expiresAt,
    url: status === 'ready' ? links.of({ seal }) : null,
  };
}

/** The routes by which users export their own data, and admins the data of any user. */
export function exportRoutes(host: Host, parts: ExportParts): Route[] {
  const { exports, users, links, holdCredential, perDay, begin } = parts;
  const { enabled = host.env.nodeEnv !== 'test' } = host.settings.rateLimit;
  const limiter = enabled
    ? host.limits.limiter('personal data exports', { limit: perDay, windowMs: DAY_MS })
    : undefined;

  async function start(userId: string, ctx: RouteContext): Promise<Export> {
    const by = ctx.user!.id;
    const made = await exports.create(userId, by, (tx) => holdCredential(ctx, tx));
    if (made === undefined) return (await exports.read(userId, by)) ?? start(userId, ctx);
    // Check the limit only here: of many concurrent requests, only one starts an export and counts.
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
    await begin(made.id);
    return made;
  }

  /** Responds with the state of the export. The first call starts the export. */
  async function tell(userId: string, ctx: RouteContext): Promise<unknown> {
    const one = (await exports.read(userId, ctx.user!.id)) ?? (await start(userId, ctx));
    const shown = show(one, links);
    ctx.res.setHeader('Cache-Control', 'no-store');
    if (shown.status !== 'preparing') return shown;
    ctx.res.setHeader('Retry-After', POLL_SECONDS);
    sendJson(ctx.res, 202, { data: shown });
    return undefined;
  }

  async function exportable(id: string | undefined): Promise<string> {
    const [user] = isId(id) ? await users.load([id]) : [];
    if (user === undefined) throw new ApiError('NOT_FOUND');
    if (!isExportable(user)) throw new ApiError('CONFLICT', 'The account is being erased');
    return user.id;
  }

  const common = { output: exportShape, pending: true, rateLimit: POLLS } as const;
  const removal = { method: 'DELETE', status: 204 } as const;
  const admin = { policy: 'admin', scope: 'privacy:export', tags: ['privacy'] };
  return [
    {
      ...common,
      method: 'GET',
      path: '/auth/me/export',
      summary: 'Everything that is held about you, as a zip',
      description:
        'The first call begins an export. Later ones tell its state and, once it is ready, a link, which is mailed as well. When that has expired, or the export was removed, a call begins a new one.',
      errors: ['RATE_LIMITED'],
      operationId: 'exportMe',
      tags: ['auth'],
      handler: (ctx) => tell(ctx.user!.id, ctx),
    },
    {
      ...removal,
      path: '/auth/me/export',
      summary: 'Remove your export; its link is dead at once',
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
      summary: 'Everything that is held about a user, as a zip',
      description: 'As `GET /api/auth/me/export`, for the admin who asks: the link is mailed to them.',
      errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED'],
      operationId: 'exportUser',
      handler: async (ctx) => tell(await exportable(ctx.params.id), ctx),
    },
    {
      ...removal,
      ...admin,
      path: '/admin/users/:id/export',
      summary: 'Remove the export that you asked for of a user; its link is dead at once',
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
      rateLimit: POLLS,
      file: 'application/zip',
      summary: 'Fetch an export by its link',
      errors: ['NOT_FOUND'],
      operationId: 'fetchExport',
      tags: ['privacy'],
      handler: createDownloadHandler(host, parts),
    },
  ];
}
