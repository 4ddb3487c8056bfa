import { ApiError, type Executor, MINUTE_MS, type RouteContext, type SecondFactor } from '../../extension/index.ts';
import { type ChallengeOwner, openConfirmedPeriod, toChallengeOwner } from './challenges.ts';
import type { PasskeyContext } from './settings.ts';
import { IS_CONFIRMED, NEEDS_CONFIRMATION, SELECT_FIRST_ADDED } from './sql.ts';

/** Records that the caller has confirmed with a passkey, in the transaction that has used it. */
export async function recordConfirmation(
  tx: Executor,
  { host, settings }: PasskeyContext,
  owner: ChallengeOwner,
): Promise<void> {
  if (settings.secondFactor) await openConfirmedPeriod(tx, owner, host.settings.auth.recentSignIn / MINUTE_MS);
}

/** Creates the description of passkeys as a second factor. They have no codes: users confirm with a passkey on their session. */
export function createPasskeyFactor({
  database,
  settings,
}: Pick<PasskeyContext['host'], 'database' | 'settings'>): SecondFactor {
  return {
    hasCodes: false,
    async since(userId) {
      const [row] = await database.write<[addedAt: string | null]>({ text: SELECT_FIRST_ADDED, values: [userId] });
      return row?.[0] ?? undefined;
    },
    async isConfirmed(userId, sessionId, minutes) {
      const earlier = settings.auth.recentSignIn / MINUTE_MS - minutes;
      const statement = { text: IS_CONFIRMED, values: [userId, sessionId, earlier] };
      return (await database.write(statement)).length > 0;
    },
  };
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
  const { userId, sessionId } = toChallengeOwner(ctx);
  const rows = await on.write({ text: NEEDS_CONFIRMATION, values: [userId, sessionId] });
  if (rows.length > 0) throw new ApiError('RECENT_SIGN_IN_REQUIRED', 'Confirm with one of your passkeys first');
}
