import type { z } from 'zod';
import {
  ApiError,
  addressOf,
  type ConfirmStep,
  type Executor,
  type RouteContext,
  type StoredRecord,
  validationError,
} from '../../extension/index.ts';
import { detectCodeMethod, readFactorForUpdate, reportAndAssertPassed, tryCode, WRONG_CODE } from './attempt.ts';
import { generateRecoveryCodes, hashRecoveryCode } from './codes.ts';
import type { TwoFactorContext } from './context.ts';
import type { disableByAdminInput, disableInput, recoveryCodesShape, renewInput } from './shapes.ts';
import { REMOVE_CONFIRMED_FACTOR, RENEW_CODES, SELECT_FACTOR_FOR_UPDATE, SELECT_STATUS } from './sql.ts';
import { ownedChallenges } from './user-data.ts';

function notEnabledError(): ApiError {
  return new ApiError('CONFLICT', 'Two-factor authentication is not enabled');
}

/**
 * Runs `change` if the code is right, in the transaction that uses the code up; throws if it is wrong. Returns false if the user has no
 * second factor.
 *
 * @param field the field of the body that the error names
 */
async function changeWithCode(
  { host, accounts, settings }: TwoFactorContext,
  ctx: RouteContext,
  code: string,
  change: (tx: Executor) => Promise<unknown>,
  field = 'code',
): Promise<boolean> {
  const result = await host.database.transaction(async (tx) => {
    await accounts.holdCredential(ctx, tx);
    const factor = await readFactorForUpdate(tx, SELECT_FACTOR_FOR_UPDATE, ctx.user!.id);
    if (factor === undefined) return undefined;
    const given = { method: detectCodeMethod(code), code };
    const outcome = await tryCode(tx, { keyring: host.keyring, settings }, factor, given);
    if (outcome?.kind === 'passed') await change(tx);
    return outcome;
  });
  if (result === undefined) return false;
  reportAndAssertPassed(host.events, ctx.req, result, () => validationError({ [field]: WRONG_CODE }));
  return true;
}

/** Creates the step that requires a code before an irreversible operation, if the signed-in user has a second factor. */
export function createCodeConfirmStep(context: TwoFactorContext): ConfirmStep {
  return async (ctx, code, field) => {
    if (code !== undefined) await changeWithCode(context, ctx, code, async () => undefined, field);
    else if ((await readEnabledAt(context.host.database, ctx.user!.id)) !== undefined)
      throw validationError({ [field]: 'Is required' });
  };
}

/** Returns when a user turned two-factor on, ISO 8601; undefined if it is off. */
export async function readEnabledAt(database: Executor, userId: string): Promise<string | undefined> {
  return (await database.write<[enabledAt: string]>({ text: SELECT_STATUS, values: [userId] }))[0]?.[0];
}

/** Removes the second factor of a user and the logins that wait for its code. Returns false if the user has no second factor. */
async function removeFactorAndChallenges(tx: Executor, userId: string): Promise<boolean> {
  const rows = await tx.write({ text: REMOVE_CONFIRMED_FACTOR, values: [userId] });
  if (rows.length > 0) await ownedChallenges.remove(tx, [userId]);
  return rows.length > 0;
}

/** `POST /auth/2fa/disable`, with the password and a code. */
export async function disableOwnFactor(
  context: TwoFactorContext,
  ctx: RouteContext<z.output<typeof disableInput>>,
): Promise<void> {
  const { id } = ctx.user!;
  await context.accounts.confirmCaller(ctx, ctx.input.password, 'password');
  if (!(await changeWithCode(context, ctx, ctx.input.code, (tx) => removeFactorAndChallenges(tx, id))))
    throw notEnabledError();
  const payload = { userId: id, by: id, reason: 'user', ip: addressOf(ctx.req) };
  context.host.events.emit('security.two_factor_disabled', payload);
}

/**
 * `DELETE /admin/users/:id/2fa`, for a user who has lost the app and the recovery codes. The caller confirms it as a change of the power of an
 * account: their session alone must not be enough to change the two-factor of another user.
 */
export async function disableFactorByAdmin(
  context: TwoFactorContext,
  ctx: RouteContext<z.output<typeof disableByAdminInput>, StoredRecord>,
): Promise<void> {
  const [admin, userId] = [ctx.user!.id, ctx.params.id!];
  if (admin === userId)
    throw new ApiError('FORBIDDEN', 'Disable your own two-factor authentication with POST /api/auth/2fa/disable');
  await context.accounts.power.confirm(ctx, ctx.doc, ctx.input.code);
  await disableFactorOfUser(context, userId, ctx);
}

/**
 * Disables the two-factor authentication of another user than the caller, whose rights and second factor have been checked.
 *
 * @throws ApiError NOT_FOUND
 */
export async function disableFactorOfUser(
  { host }: Pick<TwoFactorContext, 'host'>,
  userId: string,
  { user, req }: Pick<RouteContext, 'user' | 'req'>,
): Promise<void> {
  if (!(await host.database.transaction((tx) => removeFactorAndChallenges(tx, userId)))) {
    throw new ApiError('NOT_FOUND', 'Two-factor authentication is not enabled for this user');
  }
  const payload = { userId, by: user?.id ?? null, reason: 'admin', ip: addressOf(req) };
  host.events.emit('security.two_factor_disabled', payload);
}

/**
 * `POST /auth/2fa/recovery-codes`: replaces the recovery codes. It requires a code, because a recovery code can turn two-factor off
 * and the password must not be enough for that.
 */
export async function renewRecoveryCodes(
  context: TwoFactorContext,
  ctx: RouteContext<z.output<typeof renewInput>>,
): Promise<z.input<typeof recoveryCodesShape>> {
  const { id } = ctx.user!;
  const { password, code } = ctx.input;
  const recoveryCodes = generateRecoveryCodes(context.settings.recoveryCodes);
  const hashes = recoveryCodes.map((recoveryCode) => hashRecoveryCode(id, recoveryCode));
  const renew = (on: Executor) => on.write({ text: RENEW_CODES, values: [id, hashes] });
  if (password !== undefined) await context.accounts.confirmPassword(id, password, 'password');
  if (!(await changeWithCode(context, ctx, code, renew))) throw notEnabledError();
  context.host.events.emit('security.recovery_codes_renewed', { userId: id, ip: addressOf(ctx.req) });
  return { recoveryCodes };
}
