import { z } from 'zod';
import type { StoredRecord } from '../../../declare/host.ts';
import type { RouteContext } from '../../../declare/route.ts';
import { ApiError } from '../../../platform/errors.ts';
import { type AccountsTabContext, ADMIN } from './context.ts';

const MAX_CODE = 64;

/** A code of the administrator's second factor, in the body of an action. */
export const secondFactorCode = z
  .string({ error: 'Must be a string' })
  .max(MAX_CODE, { error: `Must be at most ${MAX_CODE} characters` })
  .optional();

type Context = Pick<AccountsTabContext, 'host' | 'allowsUser'>;

/**
 * Checks the code that an administrator with two-factor login sends. A passkey is no code, so administrators who have only passkeys count as
 * administrators without a second factor.
 *
 * @throws ApiError VALIDATION_ERROR naming `code`; RATE_LIMITED after too many attempts
 */
async function confirmCode({ host }: Context, ctx: RouteContext): Promise<void> {
  await host.accounts!.confirmSecondFactor(ctx, (ctx.input as { code?: string }).code, 'code');
}

/** Whether the administrator has two-factor login: then a missing code is an error. */
async function hasTwoFactorLogin({ host }: Context, ctx: RouteContext): Promise<boolean> {
  try {
    await host.accounts!.confirmSecondFactor(ctx, undefined, 'code');
    return false;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'VALIDATION_ERROR') return true;
    throw error;
  }
}

/**
 * Confirms an action that weakens or removes a second factor, which a stolen session alone must not be enough for. In development the console has
 * no administrators, and nothing is checked.
 *
 * @param target the user that the action is about; undefined: it is about no user
 * @throws ApiError VALIDATION_ERROR and RATE_LIMITED as for a code; FORBIDDEN if the administrator has no two-factor login and the target may use
 *   the console: otherwise a new account without one would be a way around the codes of all administrators
 */
export async function confirmSecondFactorAction(
  context: Context,
  ctx: RouteContext,
  target: StoredRecord | undefined,
): Promise<void> {
  if (ctx.user === undefined) return;
  if (target !== undefined && target.id !== ctx.user.id && (await context.allowsUser(target))) {
    if (!(await hasTwoFactorLogin(context, ctx)))
      throw new ApiError(
        'FORBIDDEN',
        'This user may use the console. Turn on two-factor login for your own account first, and confirm this with a code',
      );
  }
  await confirmCode(context, ctx);
}

/**
 * Confirms a change of roles, if it gives a user roles with which they have access to the console.
 *
 * @param change the roles before and after
 * @throws ApiError VALIDATION_ERROR and RATE_LIMITED as for a code
 */
export async function confirmGainedRoles(
  context: Context,
  ctx: RouteContext,
  user: StoredRecord,
  { from, to }: { from: readonly string[]; to: readonly string[] },
): Promise<void> {
  const gained = to.filter((role) => !from.includes(role));
  if (ctx.user === undefined || gained.length === 0) return;
  if (gained.includes(ADMIN) || (await context.allowsUser({ ...user, roles: to }))) await confirmCode(context, ctx);
}
