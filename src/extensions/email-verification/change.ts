import type { z } from 'zod';
import {
  ApiError,
  addressOf,
  type EmailChangeStep,
  type EmailProof,
  isEmailVerified,
  MINUTE_MS,
  RESET_MAIL,
  type RouteContext,
  type StoredRecord,
  type Transaction,
  validationError,
} from '../../extension/index.ts';
import type { EmailVerificationContext } from './context.ts';
import { CHANGE_MAIL, CHANGED_MAIL } from './mails.ts';
import type { changeInput, confirmInput, undoInput, verifiedShape } from './shapes.ts';
import { invalidProofError, redeemProof } from './verify.ts';

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
  await accounts.confirmSecondFactor(ctx, ctx.input.code, 'code');
  await host.transaction(async (tx) => {
    // A reset of the password ends requested changes: one that is requested at the same time must not escape it.
    await accounts.holdCredential(ctx, tx.database);
    const { id } = await proofs.change.request({ email, userId }, { boundToClient: false }, tx.database);
    await host.mail.sendComposed(CHANGE_MAIL, { user: userId, proof: id }, tx);
  });
  const message = 'If this address can be used, an e-mail with a link and a code is on its way to it';
  return { message: host.languages.for(ctx.req).text(message) };
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

/**
 * Creates the step that tells the former address about a change, with a link that undoes it if the address was verified: another person may
 * own an address that was never verified, and must not get a link to the account.
 */
export function createFormerAddressNotice({ host, proofs, settings }: EmailVerificationContext): EmailChangeStep {
  return async ({ user, ip }, tx) => {
    const { id: userId, emailVerifiedAt } = user;
    const formerEmail = String(user.email);
    const data = { user: userId, at: new Date().toISOString(), ip, minutes: settings.undoTtl / MINUTE_MS };
    if (!isEmailVerified(user)) {
      await host.mail.sendComposed(CHANGED_MAIL, { ...data, email: formerEmail }, tx);
      return;
    }
    const undo = { email: formerEmail, userId, data: { emailVerifiedAt } };
    const { id } = await proofs.undo.request(undo, { boundToClient: false, keepsFormer: true }, tx.database);
    await host.mail.sendComposed(CHANGED_MAIL, { ...data, proof: id }, tx);
  };
}

/** `POST /auth/email/confirm`: changes the address. Other sessions end, and the former address gets a link that undoes the change. */
export async function confirmChange(
  context: EmailVerificationContext,
  ctx: RouteContext<z.output<typeof confirmInput>>,
): Promise<z.input<typeof verifiedShape>> {
  const { host, accounts, proofs } = context;
  const userId = ctx.user!.id;
  const { token } = ctx.input;
  const proof = await (token === undefined ? proofs.change.findByUser(userId) : proofs.change.findByToken(token));
  const emailVerifiedAt = new Date().toISOString();
  const ip = addressOf(ctx.req);
  const notifyFormerAddress = createFormerAddressNotice(context);

  const target = { proof, userId, email: String(ctx.user!.email) };
  await withClientErrors(() =>
    redeemProof(context, 'change', target, ctx, async (tx, former) => {
      const changes = { email: proof!.email, emailVerifiedAt };
      const user = await tx.service('user').update(userId, changes, { as: 'system' });
      await accounts.revoke({ cause: 'email_change', userIds: [userId], exceptSession: ctx.auth!.id, ip }, tx);
      await notifyFormerAddress({ user: former, ip }, tx);
      tx.afterCommit(() => host.events.emit('auth.email_changed', { user, ip, undone: false }));
      return true;
    }),
  );
  return { email: proof!.email, emailVerifiedAt };
}

/** Whether a user was created at a time (ISO 8601) or later, by the seconds at the beginning of the id. */
function wasCreatedSince({ id }: StoredRecord, since: string): boolean {
  return Number.parseInt(id.slice(0, 8), 16) >= Math.floor(Date.parse(since) / 1000);
}

/**
 * Frees an address for its owner, who has just proved that they own it. An attacker may have registered it to prevent that, or the owner
 * may have signed in with it meanwhile and got a new account. Such an account is claimed, and gets an address that cannot exist (RFC 2606).
 * An older account that has verified the address keeps it.
 *
 * @param holder the user with the address, whose row is locked
 */
async function freeAddress(
  { accounts, users }: EmailVerificationContext,
  { email, createdAt }: EmailProof,
  { holder, ip }: { holder: StoredRecord; ip: string },
  tx: Transaction,
): Promise<void> {
  const locked = await accounts.lockUser(holder.id, tx.database);
  if (locked?.user.email !== email) return;
  if (isEmailVerified(locked.user) && !wasCreatedSince(holder, createdAt)) return;
  await accounts.removePassword(holder.id, tx.database);
  await accounts.revoke({ cause: 'account_claimed', userIds: [holder.id], ip }, tx);
  await tx.service(users.name).update(holder.id, { email: `${holder.id}@displaced.invalid` }, { as: 'system' });
}

/**
 * `POST /auth/email/undo`: restores the former address with the link that was sent to it. Ends everything that an attacker may
 * have created, and removes the password; an e-mail with a link to choose a new one follows.
 */
export async function undoChange(
  context: EmailVerificationContext,
  ctx: RouteContext<z.output<typeof undoInput>>,
): Promise<void> {
  const { host, accounts, proofs, settings } = context;
  const proof = await proofs.undo.findByToken(ctx.input.token);
  const userId = proof?.userId;
  if (proof === undefined || userId === undefined) throw invalidProofError();
  const ip = addressOf(ctx.req);
  const { email, createdAt } = proof;
  // An attacker may have added a way to sign in before changing the address.
  const since = new Date(Date.parse(createdAt) - settings.undoTtl).toISOString();
  await host.transaction(async (tx) => {
    // Two undos may free the addresses of each other's accounts, so lock both accounts before anything else.
    await accounts.lockInOrder({ emails: [email] }, tx.database);
    const holder = await accounts.findUserByEmail(email);
    await accounts.lockInOrder({ userIds: [userId, holder?.id ?? userId] }, tx.database);
    const locked = await accounts.lockUser(userId, tx.database);
    if (locked === undefined || !(await proofs.undo.redeem(proof.id, tx.database))) throw invalidProofError();
    if (holder !== undefined && holder.id !== userId) await freeAddress(context, proof, { holder, ip }, tx);
    const changes = { email, emailVerifiedAt: proof.data.emailVerifiedAt };
    const user = await tx.service('user').update(userId, changes, { as: 'system' });
    await accounts.removePassword(userId, tx.database);
    await accounts.revoke({ cause: 'email_change_undone', userIds: [userId], since, ip }, tx);
    await proofs.undo.removeNewer(userId, createdAt, tx.database);
    const undone = new Date().toISOString();
    await host.mail.sendComposed(RESET_MAIL, { email, ip, undone }, tx);
    tx.afterCommit(() => host.events.emit('auth.email_changed', { user, ip, undone: true }));
  });
}
