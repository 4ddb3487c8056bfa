import type { z } from 'zod';
import {
  ApiError,
  type CheckedLogin,
  type EmailProof,
  isEmailVerified,
  type RouteContext,
  type StoredRecord,
} from '../../extension/index.ts';
import type { EmailVerificationContext } from './context.ts';
import { VERIFY_MAIL } from './mails.ts';
import type { confirmInput, verificationRequiredShape, verifiedShape, verifyInput } from './shapes.ts';

/** The 400 of a link or code that does not work. It does not reveal the reason. */
export function invalidProofError(): ApiError {
  return new ApiError('INVALID_TOKEN', 'This link or code is invalid or has expired');
}

function tooManyMailsError(): ApiError {
  const message = 'Too many e-mails were sent to verify this address; use the newest one, or try again later';
  return new ApiError('RATE_LIMITED', message);
}

/** `POST /auth/email/verification`: sends the e-mail with the link and the code again. */
export async function requestVerification({ host }: EmailVerificationContext, ctx: RouteContext) {
  if (isEmailVerified(ctx.user!)) throw new ApiError('CONFLICT', 'Your e-mail address is already verified');
  await host.mail.sendComposed(VERIFY_MAIL, { user: ctx.user!.id });
  return { message: host.languages.for(ctx.req).text('An e-mail with a link and a code is on its way') };
}

/**
 * Interrupts the registration or login of a user whose address is not verified. The proof is bound to this client, which has already sent
 * the right password: a link alone does not start a session.
 */
export async function askForVerification(
  { host, proofs, mayMail }: EmailVerificationContext,
  { user, passwordProof }: CheckedLogin,
): Promise<z.input<typeof verificationRequiredShape> | undefined> {
  if (isEmailVerified(user)) return undefined;
  // Check the limit before the former link and code end: otherwise no working one would be left.
  if (!(await mayMail(`verify:${user.id}`))) throw tooManyMailsError();
  const proof = { email: String(user.email), userId: user.id, data: { passwordProof } };
  const { id, clientSecret } = await proofs.verify.request(proof, { boundToClient: true });
  await host.mail.sendComposed(VERIFY_MAIL, { user: user.id, proof: id });
  return { emailVerificationRequired: true, verificationToken: clientSecret };
}

/** Finds the proof that a client wants to use up. Both the mailbox and the account are needed: the account's session, or its password. */
async function findProof(
  { proofs }: EmailVerificationContext,
  ctx: RouteContext<z.output<typeof verifyInput>>,
): Promise<EmailProof | undefined> {
  const { token, verificationToken } = ctx.input;
  if (token !== undefined) return proofs.verify.findByToken(token, verificationToken);
  if (verificationToken !== undefined) return proofs.verify.findByClient(verificationToken);
  return proofs.verify.findByUser(ctx.user!.id);
}

/**
 * Uses a proof up and runs `apply` in the same transaction. Wrong codes are limited: with a session per user, without one they count as
 * failed sign-ins of the address.
 *
 * @param email the address of the account
 * @param apply returns false if the proof no longer applies to the account
 */
export async function redeemProof(
  { host, accounts, proofs }: EmailVerificationContext,
  kind: 'verify' | 'change',
  { proof, userId, email }: { proof: EmailProof | undefined; userId: string; email: string },
  ctx: RouteContext<z.output<typeof confirmInput>>,
  apply: (tx: Parameters<Parameters<typeof host.transaction>[0]>[0], user: StoredRecord) => Promise<boolean>,
): Promise<void> {
  const { code } = ctx.input;
  const redeem = () =>
    host.transaction(async (tx) => {
      if (kind === 'change' && proof !== undefined) await accounts.lockInOrder({ emails: [proof.email] }, tx.database);
      const locked = await accounts.lockUser(userId, tx.database);
      if (locked === undefined || proof === undefined || proof.userId !== userId) return undefined;
      const isRight = await (code === undefined
        ? proofs[kind].redeem(proof.id, tx.database)
        : proofs[kind].redeemCode(proof.id, code, tx.database));
      return isRight && (await apply(tx, locked.user)) ? true : undefined;
    });
  // An attempt that throws is not counted: another request has used the proof up, such as that of a double click.
  const redeemCountedCode = async () => {
    const isRedeemed = await redeem();
    if (isRedeemed === undefined && (await proofs[kind].findByUser(userId)) === undefined) throw invalidProofError();
    return isRedeemed;
  };
  // A token cannot be guessed, so only codes are counted.
  const isRedeemed =
    code === undefined
      ? await redeem()
      : await accounts.checkSecret(
          ctx.user === undefined ? { email, request: ctx.req } : { userId },
          redeemCountedCode,
          invalidProofError,
        );
  if (isRedeemed === undefined) throw invalidProofError();
}

/** `POST /auth/email/verify`: verifies the address of the account. Starts the session of a registration or login that waits for it. */
export async function verifyAddress(
  context: EmailVerificationContext,
  ctx: RouteContext<z.output<typeof verifyInput>>,
): Promise<z.input<typeof verifiedShape> | object> {
  const { accounts, users } = context;
  if (ctx.user === undefined && ctx.input.verificationToken === undefined) throw new ApiError('UNAUTHORIZED');
  const proof = await findProof(context, ctx);
  const userId = ctx.user?.id ?? proof?.userId;
  if (userId === undefined) throw invalidProofError();
  const email = String(ctx.user?.email ?? proof?.email);
  await redeemProof(context, 'verify', { proof, userId, email }, ctx, (tx) =>
    accounts.verifyEmail(userId, proof!.email, tx, { claim: false, request: ctx.req }),
  );
  const passwordProof = proof?.data.passwordProof;
  if (ctx.user === undefined && typeof passwordProof === 'string')
    return accounts.resumeLogin({ userId, passwordProof }, ctx);
  const [user] = await users.load([userId]);
  if (user === undefined) throw invalidProofError();
  return { email: String(user.email), emailVerifiedAt: String(user.emailVerifiedAt) };
}
