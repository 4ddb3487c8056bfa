import type { z } from 'zod';
import { type CheckedLogin, hashToken, type RouteContext } from '../../extension/index.ts';
import { type GivenUse, reportAndAssertPassed, signInErrors, usePasskey } from './authentication.ts';
import { noSession, openSecondFactorChallenge } from './challenges.ts';
import { readDescriptors } from './passkeys.ts';
import type { PasskeyContext } from './settings.ts';
import type { secondFactorInput, secondFactorShape } from './shapes.ts';
import { SELECT_USER_OF_SECOND_FACTOR } from './sql.ts';
import { createRequestOptions } from './webauthn.ts';

/**
 * Opens a challenge and returns the response to the login, if the user has a passkey and has not signed in with two factors already;
 * otherwise undefined.
 */
export async function askForPasskey(
  { host, users, settings }: PasskeyContext,
  login: CheckedLogin,
): Promise<z.input<typeof secondFactorShape> | undefined> {
  if (login.multiFactor) return undefined;
  const allowed = await readDescriptors(host.database, login.user.id);
  if (allowed.length === 0) return undefined;
  const opened = await openSecondFactorChallenge(host.database, users, login, settings.challengeTtl / 60_000);
  if (opened === undefined) return undefined;
  const { token, challenge, expiresAt } = opened;
  const options = await createRequestOptions(settings, challenge, allowed);
  return { mfaRequired: true, mfaToken: token, methods: ['passkey'], expiresAt, options };
}

/** `POST /auth/passkeys/second-factor`: starts the session of a login that waits for a passkey. */
export async function finishSecondFactor(
  context: PasskeyContext,
  ctx: RouteContext<z.output<typeof secondFactorInput>>,
): Promise<object> {
  const { host, accounts } = context;
  const { mfaToken, response } = ctx.input;
  const find = { text: SELECT_USER_OF_SECOND_FACTOR, values: [hashToken(mfaToken)] };
  const [found] = await host.database.read<[userId: string]>(find);
  if (found === undefined) throw signInErrors.noChallenge();
  const [userId] = found;
  const given: GivenUse = { purpose: 'second-factor', token: mfaToken, owner: noSession(userId), response };
  const use = await host.database.transaction(async (tx) => {
    await accounts.lockUser(userId, tx);
    return usePasskey(tx, context, userId, given);
  });
  reportAndAssertPassed(context, ctx, use, signInErrors);
  return accounts.resumeLogin({ userId, passwordProof: use.passwordProof, multiFactor: true }, ctx);
}
