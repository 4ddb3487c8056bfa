import type { z } from 'zod';
import {
  ApiError,
  type CheckedLogin,
  generateToken,
  hashToken,
  isWellFormedToken,
  type RouteContext,
} from '../../extension/index.ts';
import { type CodeAttemptResult, readFactorForUpdate, reportAndAssertPassed, tryCode, WRONG_CODE } from './attempt.ts';
import type { TwoFactorContext } from './context.ts';
import type { challengeShape, verifyInput } from './shapes.ts';
import {
  CLOSE_CHALLENGE,
  COUNT_WRONG_CODE_OF_CHALLENGE,
  openChallengeSql,
  SELECT_CHALLENGED_FACTOR_FOR_UPDATE,
} from './sql.ts';

/** Distinguishes challenge tokens from session tokens and API keys. */
const PREFIX = 'svc_mfa_';

/** Stores a challenge and returns the response to the login, if the user has a second factor; undefined for other users. */
export async function openChallengeIfEnabled(
  { host, settings, users }: TwoFactorContext,
  { user, passwordProof, multiFactor }: CheckedLogin,
): Promise<z.input<typeof challengeShape> | undefined> {
  if (multiFactor) return undefined;
  const mfaToken = generateToken(PREFIX);
  const values = [hashToken(mfaToken), user.id, passwordProof, settings.challengeTtl];
  const statement = { name: 'two_factor_challenge', text: openChallengeSql(users.table), values };
  const [row] = await host.database.write<[expiresAt: string, recoveryCodes: number]>(statement);
  if (row === undefined) return undefined;
  const [expiresAt, recoveryCodes] = row;
  return { mfaRequired: true, mfaToken, methods: recoveryCodes > 0 ? ['totp', 'recovery'] : ['totp'], expiresAt };
}

function invalidChallengeError(): ApiError {
  const details = { mfaToken: 'Must be the token of a sign-in in progress' };
  return new ApiError('UNAUTHORIZED', 'This sign-in is no longer valid; sign in again', { details });
}

const wrongCodeError = () => new ApiError('UNAUTHORIZED', 'This code is not valid', { details: { code: WRONG_CODE } });

/** `POST /auth/2fa/verify`: starts the session of a login that waits for a code. */
export async function verifyCodeAndResumeLogin(
  context: TwoFactorContext,
  ctx: RouteContext<z.output<typeof verifyInput>>,
): Promise<object> {
  const { host, settings } = context;
  const { mfaToken, method, code } = ctx.input;
  if (!isWellFormedToken(mfaToken, PREFIX)) throw invalidChallengeError();
  const hash = hashToken(mfaToken);
  let passwordProof = '';
  const outcome = await host.database.transaction(async (tx): Promise<CodeAttemptResult | undefined> => {
    const factor = await readFactorForUpdate(tx, SELECT_CHALLENGED_FACTOR_FOR_UPDATE, hash);
    if (factor === undefined) return undefined;
    return tryCode(tx, { keyring: host.keyring, settings }, factor, { method, code }, async (right) => {
      const values = [hash, settings.challengeAttempts];
      const rows = await tx.write<[string]>({ text: right ? CLOSE_CHALLENGE : COUNT_WRONG_CODE_OF_CHALLENGE, values });
      if (right && rows.length > 0) passwordProof = rows[0]![0];
      return rows.length > 0;
    });
  });
  if (outcome === undefined) throw invalidChallengeError();
  reportAndAssertPassed(host.events, ctx.req, outcome, wrongCodeError);
  return context.accounts.resumeLogin({ userId: outcome.userId, passwordProof, multiFactor: true }, ctx);
}
