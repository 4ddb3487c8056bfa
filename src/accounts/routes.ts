import { getOrganisationRole, isEmailVerified } from '../declare/actor.ts';
import type { StoredRecord } from '../declare/host.ts';
import type { Route, RouteContext } from '../declare/route.ts';
import { recordShape } from '../declare/route.ts';
import { ApiError, invalidSessionError } from '../platform/helpers/errors.ts';
import { addressOf } from '../platform/http/client-address.ts';
import { createRequestContext } from '../records/access/operation-context.ts';
import type { RecordsContext } from '../records/operations/context.ts';
import { updateRecord } from '../records/operations/update.ts';
import { changePassword, changePasswordInput } from './change-password.ts';
import type { AccountsDependencies } from './context.ts';
import { createProof, loginShape, registrationShape } from './sign-in/finish-login.ts';
import { login, loginInput } from './sign-in/login.ts';
import { registrationClosedError } from './users/users.ts';

/** Returns the response of the first sign-in step that a new user needs; undefined if the session can start. */
async function askForStepAtRegistration(
  accounts: AccountsDependencies,
  ctx: RouteContext,
  user: StoredRecord,
): Promise<object | undefined> {
  const account = await accounts.users.findAccountById(user.id);
  if (account === undefined || isEmailVerified(account.user) !== isEmailVerified(user)) throw invalidSessionError();
  ctx.res.setHeader('Cache-Control', 'no-store');
  return accounts.signInSteps.askNext(
    { user: account.user, method: 'password', multiFactor: false, passedSteps: 0, isRegistration: true, req: ctx.req },
    createProof(account.passwordHash),
  );
}

/** Emits `auth.registered`. `userAgent` names the client, because the user registered with it and has signed in from it. */
function emitRegistered({ host }: Pick<AccountsDependencies, 'host'>, user: StoredRecord, { req }: RouteContext): void {
  const userAgent = String(req.headers['user-agent'] ?? '');
  host.events.emit('auth.registered', { user, ip: addressOf(req), userAgent });
}

/** `POST /auth/register`: creates a user by the rules of the user resource, as an anonymous caller, and starts a session. */
async function registerAndStartSession(accounts: AccountsDependencies, ctx: RouteContext) {
  if (!accounts.host.settings.auth.register) throw registrationClosedError();
  const user = await accounts.users.registerUser(ctx.body, ctx.req);
  const asks = accounts.signInSteps.registrationOutput !== undefined;
  const step = asks ? await askForStepAtRegistration(accounts, ctx, user) : undefined;
  if (step !== undefined) {
    emitRegistered(accounts, user, ctx);
    return step;
  }
  const session = await accounts.sessions.startSession(user.id, ctx.req, { unlessVerified: !isEmailVerified(user) });
  // The user has been deleted since it was created, or claimed by the owner of the address.
  if (session === undefined) throw invalidSessionError();
  emitRegistered(accounts, user, ctx);
  ctx.res.setHeader('Cache-Control', 'no-store');
  return { user: accounts.users.asSeenBySelf(user), ...session };
}

/** The routes below `/api/auth`. */
export function accountRoutes(accounts: AccountsDependencies, context: RecordsContext): Route[] {
  const tags = ['auth'];
  function readMe({ user }: RouteContext) {
    if (getOrganisationRole(user) !== undefined)
      throw new ApiError(
        'FORBIDDEN',
        'This API key belongs to an organisation and not to a user; GET /api/organisations returns the organisation',
      );
    return accounts.users.asSeenBySelf(user as never);
  }
  return [
    {
      method: 'POST',
      path: '/auth/register',
      policy: 'public',
      rateLimit: 'auth',
      body: 'json',
      bodyShape: recordShape('user', 'register'),
      output: registrationShape(accounts.signInSteps),
      errors: ['FORBIDDEN'],
      status: 201,
      operationId: 'register',
      tags,
      summary: 'Create an account and start a session',
      handler: (ctx) => registerAndStartSession(accounts, ctx),
    },
    {
      method: 'POST',
      path: '/auth/login',
      policy: 'public',
      rateLimit: 'auth',
      input: loginInput,
      output: loginShape(accounts.signInSteps),
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
      errors: ['FORBIDDEN'],
      operationId: 'readMe',
      // Every key tells whose it is.
      organisationKeys: true,
      tags,
      summary: 'Read the signed-in user',
      handler: readMe,
    },
    {
      method: 'PATCH',
      path: '/auth/me',
      body: 'json',
      bodyShape: recordShape('user', 'update'),
      output: recordShape('user'),
      errors: ['FORBIDDEN', 'NOT_FOUND', 'CONFLICT', 'RECENT_SIGN_IN_REQUIRED'],
      operationId: 'updateMe',
      tags,
      summary: 'Change your profile',
      async handler(ctx) {
        const changed = await updateRecord(context, accounts.user, ctx.user!.id, ctx.body, createRequestContext(ctx));
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
      summary: 'Change your password; all your other sessions end',
      handler: (ctx) => changePassword(accounts, ctx),
    },
  ];
}
