import { z } from 'zod';
import type { Accounts } from '../../declare/accounts.ts';
import { isAccountActive, isEmailVerified } from '../../declare/actor.ts';
import type { FeatureParts } from '../../declare/extension.ts';
import type { RouteContext } from '../../declare/route.ts';
import { hashToken } from '../../platform/data/crypto/token.ts';
import { createKeyedQueue, type KeyedQueue } from '../../platform/helpers/concurrency/serial-queue.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import type { Entity } from '../../records/store/entity.ts';
import { type Lockout, signInLockoutName } from '../lockout/lockout.ts';
import type { PasswordHasher } from '../passwords/password-hash.ts';
import { checkNewPassword } from '../passwords/password-rules.ts';
import {
  createResetMailComposer,
  forgotInput,
  forgotOutput,
  queueResetMail,
  RESET_MAIL,
  type ResetMailDependencies,
} from './request.ts';

const text = z.string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') });

/** The body of `POST /auth/password/reset`. The password rules check `password` later. */
const resetInput = z.strictObject({
  token: text,
  password: text.meta({ format: 'password', minLength: 8, maxLength: 128 }),
});

/** What setting a new password with a link needs. */
interface ResetDependencies extends ResetMailDependencies, Pick<Accounts, 'revoke' | 'verifyEmail'> {
  hasher: PasswordHasher;
  /** The user resource. */
  user: Entity;
  lockout: Lockout;
}

/**
 * `POST /auth/password/reset`: sets a new password with a one-time link. Runs the revocation steps with the cause `password_reset`,
 * which end all sessions, and clears the lockout of the user.
 */
async function resetPassword(
  accounts: ResetDependencies,
  queue: KeyedQueue,
  ctx: RouteContext<z.output<typeof resetInput>>,
): Promise<void> {
  // Requests with one link run one after the other, so that those that come too late hash no password.
  await queue(hashToken(ctx.input.token), () => redeemLink(accounts, ctx));
}

async function redeemLink(accounts: ResetDependencies, ctx: RouteContext<z.output<typeof resetInput>>): Promise<void> {
  const { host, users, hasher, lockout, resets, revoke } = accounts;
  const { token } = ctx.input;
  const ip = addressOf(ctx.req);
  const tracksVerification = accounts.user.resource.field.has('emailVerifiedAt');
  const user = await resets.findUserByToken(token);
  if (user === undefined || !isAccountActive(user)) throw new ApiError('INVALID_TOKEN');
  // Check the password before the token is used up, so that a refused password does not cost the link.
  const password = await checkNewPassword(accounts.user.resource, ctx.input.password, user, 'password');
  const hash = await hasher.hash(password);
  await host.transaction(async (tx) => {
    // Lock the user's row first, as a password change does; a different order could deadlock.
    const changed = await users.overwritePasswordHash(user.id, hash, tx.database);
    if (!changed || !(await resets.useToken(user.id, token, tx.database))) throw new ApiError('INVALID_TOKEN');
    // The link proves that the user owns the address. A second factor stays: the mailbox alone must not remove it.
    const firstProof = tracksVerification && !isEmailVerified(user);
    await revoke({ cause: 'password_reset', userIds: [user.id], firstProof, ip }, tx);
    if (firstProof) await accounts.verifyEmail(user.id, String(user.email), tx, { claim: false, request: ctx.req });
  });
  await Promise.all(
    [signInLockoutName(String(user.email)), `password:${user.id}`].map((name) =>
      lockout.clearFailedAttemptsAndLock(name),
    ),
  );
  host.events.emit('auth.password_reset', { user, ip });
}

export { createResets, ownedResets, passwordResets } from './store.ts';

/** Creates the feature parts for forgotten passwords: the routes, and the e-mail with the link. */
export function createResetFeature(accounts: ResetDependencies) {
  const tags = ['auth'];
  const queue = createKeyedQueue();
  return {
    routes: [
      {
        method: 'POST',
        path: '/auth/password/forgot',
        policy: 'public',
        rateLimit: 'auth',
        input: forgotInput,
        output: forgotOutput,
        errors: [],
        status: 202,
        operationId: 'forgotPassword',
        tags,
        summary: 'Request an e-mail with a link to set a new password',
        handler: (ctx) => queueResetMail(accounts, ctx),
      },
      {
        method: 'POST',
        path: '/auth/password/reset',
        policy: 'public',
        rateLimit: 'auth',
        input: resetInput,
        errors: ['INVALID_TOKEN'],
        status: 204,
        operationId: 'resetPassword',
        tags,
        summary: 'Set a new password with the token from a reset link; all sessions end',
        handler: (ctx) => resetPassword(accounts, queue, ctx),
      },
    ],
    mails: { [RESET_MAIL]: createResetMailComposer(accounts) },
  } satisfies FeatureParts;
}
