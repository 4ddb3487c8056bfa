import type { Request } from 'express';
import { z } from 'zod';
import {
  ApiError,
  type EmailProof,
  isAccountActive,
  type LockedUser,
  type RouteContext,
  suggestName,
  type Transaction,
} from '../../extension/index.ts';
import type { EmailSignInContext } from './settings.ts';

const secret = (longest: number) =>
  z
    .string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') })
    .max(longest, { error: `Must be at most ${longest} characters` });

/** The body of `POST /auth/email-sign-in/verify`. */
export const verifyInput = z
  .strictObject({
    signInToken: secret(128).meta({ description: 'The `signInToken` of the request that caused the e-mail' }),
    token: secret(128).optional().meta({ description: 'The token of the link; required without `code`' }),
    code: secret(64).optional().meta({ description: 'The six digits of the e-mail; required without `token`' }),
  })
  .refine(({ token, code }) => (token === undefined) !== (code === undefined), {
    path: ['token'],
    error: 'Send either token or code',
  });

/** The 400 of every link and code that does not work, so that the answer does not reveal the reason. */
function invalidProofError(): ApiError {
  return new ApiError('INVALID_TOKEN', 'This link or code is invalid or has expired');
}

/** Attempts while other requests create, delete or change the account with the address. */
const MAX_ATTEMPTS = 5;

/** An id that no user has. */
const NO_USER = '';

/** An attempt to use a proof up. */
interface ProofAttempt {
  proof: EmailProof;
  /** Undefined if the proof was found by the token of its link. */
  code: string | undefined;
  request: Request;
}

/** A user who proved access to the mailbox of their address. */
type ProvedUser = Pick<LockedUser, 'proof'> & { userId: string };

/** The account with an address has been created, deleted or given another address since it was looked up. */
const ACCOUNT_CHANGED = Symbol('account changed');

async function createAccount(
  { accounts, users, settings }: EmailSignInContext,
  email: string,
  request: Request,
  tx: Transaction,
): Promise<string> {
  const additional = await settings.createUser?.({ email });
  const values = {
    ...suggestName(users, email.split('@')[0]),
    ...additional,
    email,
    emailVerifiedAt: new Date().toISOString(),
  };
  return (await accounts.createUser(values, request, { tx })).id;
}

/** Reads the proof of the sign-in. Call it after the last change of the account, because claiming removes the password. */
async function toProvedUser(userId: string, { accounts }: EmailSignInContext, tx: Transaction): Promise<ProvedUser> {
  const { proof } = (await accounts.lockUser(userId, tx.database))!;
  return { userId, proof };
}

/**
 * Uses a proof up and returns its user, in one transaction. Locks the address and the user's row before the proof, as revocations do. If creating an account
 * fails, the proof is not used up.
 *
 * @param userId the user with the proof's address; undefined if there is none
 * @returns undefined if the code is wrong, or the proof is used or exhausted
 */
async function redeemForUser(
  context: EmailSignInContext,
  userId: string | undefined,
  { proof: { id, email }, code, request }: ProofAttempt,
): Promise<ProvedUser | typeof ACCOUNT_CHANGED | undefined> {
  const { host, accounts, proofs, canRegister } = context;
  return host.transaction(async (tx) => {
    const { database } = tx;
    // Without it, two requests for an address without an account could deadlock: each locks its own proof, creates the user, and removes the
    // proof of the other.
    await accounts.lockInOrder({ emails: [email] }, database);
    // Also without an account, so that wrong codes need the same statements with and without one.
    const locked = await accounts.lockUser(userId ?? NO_USER, database);
    if (userId !== undefined && locked?.user.email !== email) return ACCOUNT_CHANGED;
    const redeemed =
      code === undefined ? await proofs.redeem(id, database) : await proofs.redeemCode(id, code, database);
    // Do not throw: a counted wrong code must be committed.
    if (!redeemed || (locked === undefined && !canRegister)) return undefined;
    await proofs.removeOfAddress(email, database);
    if (locked === undefined) return toProvedUser(await createAccount(context, email, request, tx), context, tx);
    // Claiming an account ends its proofs, so this comes after the proof is used up. A disabled account stays as it is: no session starts.
    if (isAccountActive(locked.user)) await accounts.verifyEmail(locked.user.id, email, tx, { claim: true, request });
    return toProvedUser(locked.user.id, context, tx);
  });
}

async function redeem(context: EmailSignInContext, given: ProofAttempt): Promise<ProvedUser | undefined> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const user = await context.accounts.findUserByEmail(given.proof.email);
    try {
      const outcome = await redeemForUser(context, user?.id, given);
      if (outcome !== ACCOUNT_CHANGED) return outcome;
    } catch (error) {
      // The account may have been created meanwhile: then sign in to it.
      const isTaken = error instanceof ApiError && error.code === 'CONFLICT' && user === undefined;
      if (!isTaken || attempt === MAX_ATTEMPTS) throw error;
    }
  }
  throw invalidProofError();
}

/**
 * `POST /auth/email-sign-in/verify`: starts the session of a user who proved access to their mailbox, in the browser that requested the
 * e-mail. A wrong code counts as a failed sign-in of the address. A link does not, and works while the address is locked: its token cannot be
 * guessed.
 */
export async function verifyAndSignIn(
  context: EmailSignInContext,
  ctx: RouteContext<z.output<typeof verifyInput>>,
): Promise<object> {
  const { accounts, proofs } = context;
  const { signInToken, token, code } = ctx.input;
  const request = ctx.req;
  const proof =
    token === undefined ? await proofs.findByClient(signInToken) : await proofs.findByToken(token, signInToken);
  if (proof === undefined) throw invalidProofError();
  const redeemCountedCode = async () => {
    const proved = await redeem(context, { proof, code, request });
    // An attempt that throws is not counted: another request of this browser has used the proof up, such as that of a double click.
    if (proved === undefined && (await proofs.findByClient(signInToken)) === undefined) throw invalidProofError();
    return proved;
  };
  const proved = await (code === undefined
    ? redeem(context, { proof, code, request })
    : accounts.checkSecret({ email: proof.email, request }, redeemCountedCode, invalidProofError));
  if (proved === undefined) throw invalidProofError();
  const method = code === undefined ? 'email_link' : 'email_code';
  return accounts.startSession(proved.userId, { method, proof: proved.proof, request });
}
