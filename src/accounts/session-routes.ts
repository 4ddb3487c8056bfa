import { z } from 'zod';
import type { Route } from '../declare/route.ts';
import { ApiError } from '../platform/errors.ts';
import { isId } from '../platform/ids.ts';
import type { AccountsContext } from './context.ts';

const sessionRecord = z
  .object({
    id: z.string(),
    current: z.boolean().meta({ description: 'Whether it is the session that asks' }),
    createdAt: z.iso.datetime(),
    lastUsedAt: z.iso.datetime().meta({ description: 'Refreshed at most every 5 minutes' }),
    expiresAt: z.iso.datetime(),
    ip: z.string().meta({ description: 'The address that it was started from' }),
    userAgent: z.string(),
  })
  .meta({ id: 'Session' });

/** The routes by which users look at their sessions and end them. */
export function sessionRoutes({ sessions }: Pick<AccountsContext, 'sessions'>): Route[] {
  const tags = ['auth'];
  return [
    {
      method: 'POST',
      path: '/auth/logout',
      errors: [],
      status: 204,
      operationId: 'logout',
      tags,
      summary: 'End this session',
      async handler(ctx) {
        await sessions.end(ctx.auth!.id, ctx.user!.id);
      },
    },
    {
      method: 'POST',
      path: '/auth/logout-all',
      errors: [],
      status: 204,
      operationId: 'logoutAll',
      tags,
      summary: 'End all your sessions, this one included',
      handler: (ctx) => sessions.endAll(ctx.user!.id),
    },
    {
      method: 'GET',
      path: '/auth/sessions',
      output: z.array(sessionRecord),
      errors: [],
      operationId: 'listMySessions',
      tags,
      summary: 'Your live sessions: this one first, then the newest',
      handler: (ctx) => sessions.list(ctx.user!.id, ctx.auth!.id),
    },
    {
      method: 'DELETE',
      path: '/auth/sessions/:sessionId',
      errors: ['NOT_FOUND'],
      status: 204,
      operationId: 'endMySession',
      tags,
      summary: 'End one of your sessions',
      async handler(ctx) {
        const id = ctx.params.sessionId;
        if (!isId(id) || !(await sessions.end(id, ctx.user!.id))) throw new ApiError('NOT_FOUND');
      },
    },
  ];
}
