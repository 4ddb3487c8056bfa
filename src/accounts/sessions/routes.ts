import { z } from 'zod';
import type { Accounts } from '../../declare/accounts.ts';
import type { Host } from '../../declare/host.ts';
import type { Route, RouteContext } from '../../declare/route.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { isId } from '../../platform/helpers/ids.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import { passwordToCheck } from '../passwords/password-input.ts';
import type { Sessions } from './sessions.ts';

const sessionRecord = z
  .object({
    id: z.string(),
    current: z.boolean().meta({ description: 'Whether this request uses the session' }),
    createdAt: z.iso.datetime(),
    lastUsedAt: z.iso.datetime().meta({ description: 'Refreshed at most every 5 minutes' }),
    expiresAt: z.iso.datetime(),
    ip: z.string().meta({ description: 'The address that the session was started from' }),
    userAgent: z.string(),
    method: z.string().meta({ description: 'How you signed in', examples: ['password', 'email_link', 'oidc:google'] }),
    authenticatedAt: z.iso.datetime().meta({ description: 'When you last proved who you are in this session' }),
  })
  .meta({ id: 'Session' });

/** The body of `POST /auth/logout-all`. */
const logoutAllInput = z.strictObject({
  disableWebhooks: z
    .boolean({ error: 'Must be true or false' })
    .default(false)
    .meta({ description: 'Also disable all your webhook endpoints, with the reason `password_reset`' }),
});

/** The body of `POST /auth/reauthenticate`. */
const reauthenticateInput = z.strictObject({
  password: passwordToCheck,
  code: z
    .string({ error: 'Must be a string' })
    .max(64, { error: 'Must be at most 64 characters' })
    .optional()
    .meta({ description: 'A code of your second factor; required if you have one' }),
});

/** The routes with which users list and end their own sessions. */
export function sessionRoutes({
  host,
  sessions,
  revoke,
  confirmIdentity,
}: { host: Host; sessions: Sessions } & Pick<Accounts, 'revoke' | 'confirmIdentity'>): Route[] {
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
        await sessions.endSession(ctx.auth!.id, ctx.user!.id);
      },
    },
    {
      method: 'POST',
      path: '/auth/logout-all',
      input: logoutAllInput,
      errors: [],
      status: 204,
      operationId: 'logoutAll',
      tags,
      summary: 'End all your sessions, this one included',
      description: 'Your data exports are removed as well. The body is optional.',
      async handler(ctx: RouteContext<z.output<typeof logoutAllInput>>) {
        const { disableWebhooks } = ctx.input;
        const revocation = {
          cause: 'logout_all',
          userIds: [ctx.user!.id],
          disableWebhooks,
          ip: addressOf(ctx.req),
        } as const;
        await host.transaction((tx) => revoke(revocation, tx));
      },
    },
    {
      method: 'POST',
      path: '/auth/reauthenticate',
      rateLimit: 'auth',
      input: reauthenticateInput,
      errors: ['RATE_LIMITED', 'RECENT_SIGN_IN_REQUIRED'],
      status: 204,
      operationId: 'reauthenticate',
      tags,
      summary: 'Confirm that it is you, so that this session can use routes that require a recent sign-in',
      description: 'A user without a password signs in again instead.',
      async handler(ctx: RouteContext<z.output<typeof reauthenticateInput>>) {
        await confirmIdentity(ctx, ctx.input, { password: 'password', code: 'code' });
        await sessions.renewRecentSignIn(ctx.auth!.id);
      },
    },
    {
      method: 'GET',
      path: '/auth/sessions',
      output: z.array(sessionRecord),
      errors: [],
      operationId: 'listMySessions',
      tags,
      summary: 'List your live sessions: this one first, then newest first',
      handler: (ctx) => sessions.listLiveSessions(ctx.user!.id, ctx.auth!.id),
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
        if (!isId(id) || !(await sessions.endSession(id, ctx.user!.id))) throw new ApiError('NOT_FOUND');
      },
    },
  ];
}
