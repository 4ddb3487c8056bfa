import type { RouteContext } from '../../declare/route.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Executor } from '../../platform/postgres/database.ts';
import { type ChallengeOwner, callerAsOwner, openConfirmedPeriod } from './challenges.ts';
import type { PasskeyContext } from './settings.ts';
import { NEEDS_CONFIRMATION } from './sql.ts';

/** Records that the caller has confirmed with a passkey, in the transaction that has used it. */
export async function recordConfirmation(
  tx: Executor,
  { host, settings }: PasskeyContext,
  owner: ChallengeOwner,
): Promise<void> {
  if (settings.secondFactor) await openConfirmedPeriod(tx, owner, host.settings.auth.recentSignInMinutes);
}

/**
 * Checks, if passkeys are the second factor and the user has one, that the caller has recently confirmed with a passkey in this session.
 * Otherwise a stolen session and the password would be enough to replace the second factor.
 *
 * @param on the caller's transaction if it changes passkeys
 * @throws ApiError RECENT_SIGN_IN_REQUIRED
 */
export async function assertConfirmedWithPasskey(
  on: Executor,
  { settings }: PasskeyContext,
  ctx: Pick<RouteContext, 'user' | 'auth'>,
): Promise<void> {
  if (!settings.secondFactor) return;
  const { userId, sessionId } = callerAsOwner(ctx);
  const rows = await on.write({ text: NEEDS_CONFIRMATION, values: [userId, sessionId] });
  if (rows.length > 0) throw new ApiError('RECENT_SIGN_IN_REQUIRED', 'Confirm with one of your passkeys first');
}
