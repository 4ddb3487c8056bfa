import type { z } from 'zod';
import { ApiError, addressOf, type RouteContext, validationError } from '../../extension/index.ts';
import { readFactorForUpdate, reportAndAssertPassed, tryCode, WRONG_CODE } from './attempt.ts';
import {
  createOtpauthUrl,
  generateRecoveryCodes,
  generateSecret,
  hashRecoveryCode,
  renderQrCode,
  secretEncryptionContext,
} from './codes.ts';
import type { TwoFactorContext } from './context.ts';
import type { codeInput, enrolmentShape, passwordInput, recoveryCodesShape } from './shapes.ts';
import { CONFIRM_FACTOR, SELECT_ENROLMENT_FOR_UPDATE, UPSERT_ENROLMENT } from './sql.ts';

/** `POST /auth/2fa/enrol`: creates a secret and replaces an unconfirmed one. Logins require no code until the secret is confirmed. */
export async function startEnrolment(
  { host, accounts, settings }: TwoFactorContext,
  ctx: RouteContext<z.output<typeof passwordInput>>,
): Promise<z.input<typeof enrolmentShape>> {
  const user = ctx.user!;
  await accounts.confirmCaller(ctx, ctx.input.password, 'password');
  const secret = generateSecret();
  const stored = host.keyring.encrypt(secret, secretEncryptionContext(user.id));
  const rows = await host.database.write({ text: UPSERT_ENROLMENT, values: [user.id, stored] });
  if (rows.length === 0)
    throw new ApiError('CONFLICT', 'Two-factor authentication is already enabled; disable it first');
  const url = createOtpauthUrl(secret, settings.issuer, String(user.email));
  return { secret, otpauthUrl: url, qrCode: renderQrCode(url) };
}

/** `POST /auth/2fa/confirm`: turns two-factor on with a code of the enrolled secret. */
export async function confirmEnrolment(
  { host, accounts, settings }: TwoFactorContext,
  ctx: RouteContext<z.output<typeof codeInput>>,
): Promise<z.input<typeof recoveryCodesShape>> {
  const { id } = ctx.user!;
  const recoveryCodes = generateRecoveryCodes(settings.recoveryCodes);
  const hashes = recoveryCodes.map((code) => hashRecoveryCode(id, code));
  const result = await host.database.transaction(async (tx) => {
    await accounts.holdCredential(ctx, tx);
    const factor = await readFactorForUpdate(tx, SELECT_ENROLMENT_FOR_UPDATE, id);
    if (factor === undefined) return undefined;
    const given = { method: 'totp', code: ctx.input.code } as const;
    const outcome = await tryCode(tx, { keyring: host.keyring, settings }, factor, given);
    if (outcome?.kind === 'passed') await tx.write({ text: CONFIRM_FACTOR, values: [id, hashes] });
    return outcome;
  });
  if (result === undefined)
    throw new ApiError('CONFLICT', 'There is no enrolment to confirm; start one with POST /api/auth/2fa/enrol');
  reportAndAssertPassed(host.events, ctx.req, result, () => validationError({ code: WRONG_CODE }));
  // The session has just confirmed the new factor with a code, and its user gave the password to get the secret.
  await accounts.renewRecentSignIn(ctx);
  host.events.emit('security.two_factor_enabled', { userId: id, ip: addressOf(ctx.req) });
  return { recoveryCodes };
}
