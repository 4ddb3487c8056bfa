import type { z } from 'zod';
import { RESET_MAIL } from '../../accounts/reset/request.ts';
import type { RouteContext } from '../../declare/route.ts';
import type { Transaction } from '../../declare/service.ts';
import { ApiError, validationError } from '../../platform/errors.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import { preferredLocaleOf } from '../../platform/mail/texts/locale.ts';
import type { EmailVerificationContext } from './context.ts';
import { CHANGE_MAIL, CHANGED_MAIL } from './mails.ts';
import type { changeInput, confirmInput, undoInput, verifiedShape } from './shapes.ts';
import { invalidProofError, redeemProof } from './verify.ts';

const MINUTES_PER_DAY = 1440;

/**
 * `POST /auth/email`: sends a link and a code to the new address. The response is the same if another account has the address, which would
 * otherwise tell who has an account; then no e-mail is sent.
 */
export async function requestChange(
  { host, accounts, proofs }: EmailVerificationContext,
  ctx: RouteContext<z.output<typeof changeInput>>,
) {
  const { email } = ctx.input;
  const { id: userId, email: current } = ctx.user!;
  if (email === current) throw validationError({ email: 'Is already your e-mail address' });
  await host.transaction(async (tx) => {
    // A reset of the password ends requested changes: one that is requested at the same time must not escape it.
    await accounts.holdCredential(ctx, tx.database);
    const { id } = await proofs.change.request({ email, userId }, { boundToClient: false }, tx.database);
    const data = { user: userId, proof: id, locale: preferredLocaleOf(ctx.req) };
    await host.mail.sendComposed(CHANGE_MAIL, data, tx);
  });
  return { message: 'If this address can be used, an e-mail with a link and a code is on its way to it' };
}

/** Runs a change of a user record whose values come from a client: its validation errors are the client's. */
async function withClientErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isInvalid = error instanceof ApiError && error.code === 'VALIDATION_ERROR';
    throw isInvalid ? validationError(error.details ?? {}) : error;
  }
}

/** `POST /auth/email/confirm`: changes the address. Other sessions end, and the former address gets a link that undoes the change. */
export async function confirmChange(
  context: EmailVerificationContext,
  ctx: RouteContext<z.output<typeof confirmInput>>,
): Promise<z.input<typeof verifiedShape>> {
  const { host, accounts, proofs, settings } = context;
  const userId = ctx.user!.id;
  const { token } = ctx.input;
  const proof = await (token === undefined ? proofs.change.findByUser(userId) : proofs.change.findByToken(token));
  const emailVerifiedAt = new Date().toISOString();
  const ip = addressOf(ctx.req);

  async function notifyFormerAddress(tx: Transaction, formerEmail: string, formerlyVerifiedAt: unknown): Promise<void> {
    // An address that was never confirmed may belong to a stranger, who must not get a link to the account.
    if (typeof formerlyVerifiedAt !== 'string') return;
    const undo = { email: formerEmail, userId, data: { emailVerifiedAt: formerlyVerifiedAt } };
    const { id } = await proofs.undo.request(undo, { boundToClient: false, keepsFormer: true }, tx.database);
    const data = { user: userId, proof: id, at: emailVerifiedAt, ip, minutes: settings.undoDays * MINUTES_PER_DAY };
    await host.mail.sendComposed(CHANGED_MAIL, data, tx);
  }

  const target = { proof, userId, email: String(ctx.user!.email) };
  await withClientErrors(() =>
    redeemProof(
      context,
      'change',
      target,
      ctx,
      async (tx, { email: formerEmail, emailVerifiedAt: formerlyVerifiedAt }) => {
        const changes = { email: proof!.email, emailVerifiedAt };
        const user = await tx.service('user').update(userId, changes, { as: 'system' });
        await accounts.revoke({ cause: 'email_change', userIds: [userId], exceptSession: ctx.auth!.id, ip }, tx);
        await notifyFormerAddress(tx, String(formerEmail), formerlyVerifiedAt);
        tx.afterCommit(() => host.events.emit('auth.email_changed', { user, ip, undone: false }));
        return true;
      },
    ),
  );
  return { email: proof!.email, emailVerifiedAt };
}

/**
 * Frees an address for its owner, who has just proved to own it: another account may have taken it to prevent that. An account that has
 * not confirmed the address is claimed and gets an address that cannot exist (RFC 2606).
 */
async function freeAddress(
  { accounts, users }: EmailVerificationContext,
  email: string,
  ip: string,
  tx: Transaction,
): Promise<void> {
  const holder = await accounts.findUserByEmail(email);
  if (holder === undefined || typeof holder.emailVerifiedAt === 'string') return;
  const locked = await accounts.lockUser(holder.id, tx.database);
  if (locked === undefined || locked.user.email !== email || typeof locked.user.emailVerifiedAt === 'string') return;
  await accounts.removePassword(holder.id, tx.database);
  await accounts.revoke({ cause: 'account_claimed', userIds: [holder.id], ip }, tx);
  await tx.service(users.name).update(holder.id, { email: `${holder.id}@displaced.invalid` }, { as: 'system' });
}

/**
 * `POST /auth/email/undo`: restores the former address with the link that was sent to it. Ends everything that a thief of the account may
 * have created, and removes the password; an e-mail with a link to choose a new one follows.
 */
export async function undoChange(
  context: EmailVerificationContext,
  ctx: RouteContext<z.output<typeof undoInput>>,
): Promise<void> {
  const { host, accounts, proofs } = context;
  const proof = await proofs.undo.findByToken(ctx.input.token);
  const userId = proof?.userId;
  if (proof === undefined || userId === undefined) throw invalidProofError();
  const ip = addressOf(ctx.req);
  const { email, createdAt: since } = proof;
  await host.transaction(async (tx) => {
    const locked = await accounts.lockUser(userId, tx.database);
    if (locked === undefined || !(await proofs.undo.redeem(proof.id, tx.database))) throw invalidProofError();
    if (locked.user.email !== email) await freeAddress(context, email, ip, tx);
    const changes = { email, emailVerifiedAt: proof.data.emailVerifiedAt };
    const user = await tx.service('user').update(userId, changes, { as: 'system' });
    await accounts.removePassword(userId, tx.database);
    await accounts.revoke({ cause: 'email_change_undone', userIds: [userId], since, ip }, tx);
    const undone = new Date().toISOString();
    await host.mail.sendComposed(RESET_MAIL, { email, ip, undone, locale: preferredLocaleOf(ctx.req) }, tx);
    tx.afterCommit(() => host.events.emit('auth.email_changed', { user, ip, undone: true }));
  });
}
