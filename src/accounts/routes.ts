import { recordShape } from '../declare/record-shape.ts';
import type { Route, RouteContext } from '../declare/route.ts';
import { requestIdOf } from '../platform/http/request-id.ts';
import type { Entity, RecordsContext } from '../records/context.ts';
import { update } from '../records/operations/update.ts';
import { login, loginInput } from './login.ts';
import { newSessionShape } from './output.ts';
import type { AccountParts } from './parts.ts';
import { register } from './register.ts';

/** The routes below `/api/auth`. */
export function accountRoutes(parts: AccountParts, context: RecordsContext, user: Entity): Route[] {
  const tags = ['auth'];
  const self = (ctx: RouteContext) => parts.users.showToSelf(ctx.user as never, ctx.req);
  return [
    {
      method: 'POST',
      path: '/auth/register',
      policy: 'public',
      rateLimit: 'auth',
      body: 'json',
      bodyShape: recordShape('user', 'register'),
      output: newSessionShape,
      errors: ['FORBIDDEN'],
      status: 201,
      operationId: 'register',
      tags,
      summary: 'Create an account and a session',
      handler: (ctx) => register(parts, ctx),
    },
    {
      method: 'POST',
      path: '/auth/login',
      policy: 'public',
      rateLimit: 'auth',
      input: loginInput,
      output: newSessionShape,
      errors: ['FORBIDDEN'],
      operationId: 'login',
      tags,
      summary: 'Start a session',
      handler: (ctx) => login(parts, ctx),
    },
    {
      method: 'POST',
      path: '/auth/logout',
      errors: [],
      status: 204,
      operationId: 'logout',
      tags,
      summary: 'End this session',
      async handler(ctx) {
        await parts.sessions.end(ctx.auth!.id);
      },
    },
    {
      method: 'GET',
      path: '/auth/me',
      output: recordShape('user'),
      errors: [],
      operationId: 'readMe',
      tags,
      summary: 'Who is signed in',
      handler: self,
    },
    {
      method: 'PATCH',
      path: '/auth/me',
      body: 'json',
      bodyShape: recordShape('user', 'update'),
      output: recordShape('user'),
      errors: ['FORBIDDEN', 'NOT_FOUND', 'CONFLICT'],
      operationId: 'updateMe',
      tags,
      summary: 'Change the own profile',
      async handler(ctx) {
        const acting = { user: ctx.user, req: ctx.req, requestId: requestIdOf(ctx.req), system: false };
        const changed = await update(context, user, ctx.user!.id, ctx.body, acting);
        return parts.users.showToSelf(changed, ctx.req);
      },
    },
  ];
}
