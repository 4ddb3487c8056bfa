import { recordShape } from '../declare/record-shape.ts';
import type { Route, RouteContext } from '../declare/route.ts';
import { requestContext } from '../records/access/operation-context.ts';
import type { RecordsContext } from '../records/context.ts';
import { updateRecord } from '../records/operations/update.ts';
import { changePassword, changePasswordInput } from './change-password.ts';
import type { AccountsContext } from './context.ts';
import { login, loginInput } from './login.ts';
import { loginShape, newSessionShape } from './output.ts';
import { register } from './register.ts';

/** The routes below `/api/auth`. */
export function accountRoutes(accounts: AccountsContext, context: RecordsContext): Route[] {
  const tags = ['auth'];
  const self = (ctx: RouteContext) => accounts.users.asSeenBySelf(ctx.user as never);
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
      handler: (ctx) => register(accounts, ctx),
    },
    {
      method: 'POST',
      path: '/auth/login',
      policy: 'public',
      rateLimit: 'auth',
      input: loginInput,
      output: loginShape(accounts.signInStep),
      errors: ['FORBIDDEN', 'RATE_LIMITED'],
      operationId: 'login',
      tags,
      summary: 'Start a session',
      handler: (ctx) => login(accounts, ctx),
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
        const changed = await updateRecord(context, accounts.user, ctx.user!.id, ctx.body, requestContext(ctx));
        return accounts.users.asSeenBySelf(changed);
      },
    },
    {
      method: 'POST',
      path: '/auth/password',
      rateLimit: 'auth',
      input: changePasswordInput,
      errors: ['RATE_LIMITED'],
      status: 204,
      operationId: 'changePassword',
      tags,
      summary: 'Change the own password; all other sessions end',
      handler: (ctx) => changePassword(accounts, ctx),
    },
  ];
}
