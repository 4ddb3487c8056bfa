import type { SecondFactor } from '../../declare/account-power.ts';
import type { Accounts, ConfirmStep } from '../../declare/accounts.ts';
import type { RouteContext } from '../../declare/route.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { getAuthenticator } from '../../rules/credential.ts';

/** How long (minutes) a second factor that was confirmed on a session lets it create credentials that outlive the session. */
const NEW_CREDENTIAL_MINUTES = 10;

const CONFIRM_FIRST =
  'Confirm this with your second factor: sign in again, send your password and a code to POST /api/auth/reauthenticate, or confirm with a passkey';
const CONFIRM_OR_SEND_CODE = `${CONFIRM_FIRST}, or send a code in the field`;

type Caller = Pick<RouteContext, 'user' | 'auth'>;

/** The second factors of users, which extensions provide. */
export interface SecondFactors {
  /** Whether users of the app can have a second factor at all. */
  areOffered(): boolean;
  /** The second factors that a user has. */
  of(userId: string): Promise<OwnFactor[]>;
  /**
   * Checks that the caller's second factor, if they have one, was confirmed on the session within `minutes`.
   *
   * @throws ApiError RECENT_SIGN_IN_REQUIRED; FORBIDDEN for an API key, which confirms nothing
   */
  assertConfirmed(caller: Caller, minutes: number): Promise<void>;
  confirmNewCredential: Accounts['confirmNewCredential'];
}

/** A second factor of a user. */
interface OwnFactor extends Pick<SecondFactor, 'hasCodes' | 'isConfirmed'> {
  /** When the user turned it on, ISO 8601. */
  at: string;
}

/**
 * Creates the checks of second factors. A sign-in asks for the second factor of the user, and so does a confirmation of the password if the
 * factor has codes. So a session has confirmed the factor if it began, or was confirmed, after the factor was turned on.
 *
 * @param parts the second factors of the app, and its check of codes; complete only after all features are set up
 */
export function createSecondFactors(
  parts: () => { secondFactors: readonly SecondFactor[]; confirmStep: ConfirmStep | undefined },
): SecondFactors {
  async function findFactors(userId: string): Promise<OwnFactor[]> {
    const found = await Promise.all(
      parts().secondFactors.map(async ({ hasCodes, isConfirmed, since }) => ({
        hasCodes,
        isConfirmed,
        at: await since(userId),
      })),
    );
    return found.flatMap(({ at, ...factor }) => (at === undefined ? [] : [{ ...factor, at }]));
  }

  async function isConfirmedOnSession(
    { user, auth }: Caller,
    { hasCodes, isConfirmed, at }: OwnFactor,
    minutes: number,
  ): Promise<boolean> {
    const after = { since: at, beginOnly: !hasCodes };
    if ((await getAuthenticator(auth)?.isSignInRecent?.(auth!.id, minutes, after)) === true) return true;
    return (await isConfirmed?.(user!.id, auth!.id, minutes)) === true;
  }

  async function isAnyConfirmed(caller: Caller, factors: readonly OwnFactor[], minutes: number): Promise<boolean> {
    for (const factor of factors) if (await isConfirmedOnSession(caller, factor, minutes)) return true;
    return false;
  }

  return {
    areOffered: () => parts().secondFactors.length > 0,
    of: findFactors,
    async assertConfirmed(caller, minutes) {
      const factors = await findFactors(caller.user!.id);
      if (factors.length === 0) return;
      if (caller.auth?.via !== 'session')
        throw new ApiError(
          'FORBIDDEN',
          'The owner of this API key has a second factor, which a key cannot confirm; use a session',
        );
      if (!(await isAnyConfirmed(caller, factors, minutes)))
        throw new ApiError('RECENT_SIGN_IN_REQUIRED', CONFIRM_FIRST);
    },
    async confirmNewCredential(ctx, code, field = 'code') {
      // Keys and links end with the user's password, and what they create is limited to what they may do.
      if (ctx.user === undefined || ctx.auth?.via !== 'session') return;
      const factors = await findFactors(ctx.user.id);
      if (factors.length === 0) return;
      const hasCodes = factors.some((factor) => factor.hasCodes);
      // The check of a code needs only the caller and the request.
      if (hasCodes && code !== undefined) await parts().confirmStep?.(ctx as RouteContext, code, field);
      else if (!(await isAnyConfirmed(ctx, factors, NEW_CREDENTIAL_MINUTES)))
        throw new ApiError('RECENT_SIGN_IN_REQUIRED', hasCodes ? `${CONFIRM_OR_SEND_CODE} "${field}"` : CONFIRM_FIRST);
    },
  };
}
