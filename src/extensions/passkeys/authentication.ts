import type { z } from 'zod';
import {
  ApiError,
  addressOf,
  type Executor,
  MINUTE_MS,
  type RouteContext,
  validationError,
} from '../../extension/index.ts';
import {
  type ChallengeOwner,
  claimChallenge,
  noSession,
  openCallerChallenge,
  openSignInChallenge,
  type Purpose,
  toChallengeOwner,
  tokenInResponse,
} from './challenges.ts';
import { recordConfirmation } from './confirmation.ts';
import { readDescriptors } from './passkeys.ts';
import type { PasskeyContext } from './settings.ts';
import type { Assertion, confirmationInput, requestOptionsShape, signInInput, signInOptionsShape } from './shapes.ts';
import { RECORD_USE, SELECT_PASSKEY, SELECT_USER_OF_CREDENTIAL } from './sql.ts';
import { createRequestOptions, verifyUse } from './webauthn.ts';

/** The outcome of using a passkey. Whatever it is, the challenge is used up. */
type PasskeyUse =
  | { kind: 'passed'; passwordProof: string }
  /** The challenge is used, expired, or was opened for another purpose, user or session. */
  | { kind: 'no-challenge' }
  | { kind: 'refused'; reason: string; cause?: unknown }
  /** The counter says that a copy of the passkey exists. */
  | { kind: 'cloned'; userId: string; passkeyId: string; name: string };

/** A response of a passkey, and the challenge that it answers. */
export interface GivenUse {
  purpose: Exclude<Purpose, 'registration'>;
  /** Names the challenge. */
  token: string;
  owner: ChallengeOwner;
  response: Assertion;
}

const UNKNOWN_PASSKEY = 'Must be the response of a passkey that is registered here';

type PasskeyRow = [id: string, publicKey: string, counter: number, deviceType: string, name: string];

/**
 * Uses a passkey of a user in the caller's transaction, which holds the lock on the user's row: uses the challenge up, verifies the
 * response, and records the use. The caller must not throw before the commit; otherwise the challenge could be used again.
 */
export async function usePasskey(
  tx: Executor,
  { settings }: Pick<PasskeyContext, 'settings'>,
  userId: string,
  { purpose, token, owner, response }: GivenUse,
): Promise<PasskeyUse> {
  const claimed = await claimChallenge(tx, purpose, token, owner);
  if (claimed === undefined) return { kind: 'no-challenge' };
  const [row] = await tx.write<PasskeyRow>({ text: SELECT_PASSKEY, values: [response.id, userId] });
  if (row === undefined) return { kind: 'refused', reason: UNKNOWN_PASSKEY };
  const [passkeyId, publicKey, storedCounter, deviceType, name] = row;
  const stored = { userId, publicKey, deviceType };
  const verified = await verifyUse(settings, response, claimed.isChallenge, stored, purpose === 'sign-in');
  if (!verified.ok) return { kind: 'refused', reason: verified.reason, cause: verified.cause };
  const { counter, backedUp } = verified.value;
  // Most synced passkeys do not count: then both are 0.
  if ((counter > 0 || storedCounter > 0) && counter <= storedCounter)
    return { kind: 'cloned', userId, passkeyId, name };
  await tx.write({ text: RECORD_USE, values: [passkeyId, counter, backedUp] });
  return { kind: 'passed', passwordProof: claimed.passwordProof };
}

/**
 * Emits the event of a committed use and throws unless it passed.
 *
 * @param errors create the errors of a challenge that is no longer valid and of a refused response
 * @throws ApiError the errors; UNAUTHORIZED for a cloned passkey
 */
export function reportAndAssertPassed(
  { host }: PasskeyContext,
  { req, log }: Pick<RouteContext, 'req' | 'log'>,
  use: PasskeyUse,
  errors: { noChallenge: () => ApiError; refused: (reason: string) => ApiError },
): asserts use is Extract<PasskeyUse, { kind: 'passed' }> {
  if (use.kind === 'no-challenge') throw errors.noChallenge();
  if (use.kind === 'refused') {
    log.info({ err: use.cause, reason: use.reason }, 'Refused the response of a passkey');
    throw errors.refused(use.reason);
  }
  if (use.kind === 'cloned') {
    const { userId, passkeyId, name } = use;
    host.events.emit('security.passkey_clone_suspected', { userId, passkeyId, name, ip: addressOf(req) });
    const message = 'There may be a copy of this passkey; sign in in another way, remove it and add a new one';
    throw new ApiError('UNAUTHORIZED', message);
  }
}

/** The errors of a sign-in, with or without a second factor. */
export const signInErrors = {
  noChallenge: () => new ApiError('UNAUTHORIZED', 'This sign-in is no longer valid; try again'),
  refused: (reason: string) =>
    new ApiError('UNAUTHORIZED', 'This passkey could not be verified', { details: { response: reason } }),
};

// A 401 would make clients end the caller's session.
const confirmationErrors = {
  noChallenge: () => new ApiError('INVALID_TOKEN', 'This confirmation is no longer valid; start again'),
  refused: (reason: string) => validationError({ response: reason }),
};

/** `POST /auth/passkeys/sign-in/options`. The options name no passkeys, so they do not tell which accounts exist. */
export async function startSignIn({ host, settings }: PasskeyContext): Promise<z.input<typeof signInOptionsShape>> {
  const { token, challenge, expiresAt } = await openSignInChallenge(host.database, settings.challengeTtl / MINUTE_MS);
  return { challengeId: token, expiresAt, options: await createRequestOptions(settings, challenge) };
}

/** `POST /auth/passkeys/sign-in`: starts the session of the user who owns the passkey. */
export async function finishSignIn(
  context: PasskeyContext,
  ctx: RouteContext<z.output<typeof signInInput>>,
): Promise<object> {
  const { host, accounts } = context;
  const { challengeId, response } = ctx.input;
  const given: GivenUse = { purpose: 'sign-in', token: challengeId, owner: noSession(null), response };
  const find = { name: 'passkey_user', text: SELECT_USER_OF_CREDENTIAL, values: [response.id] };
  const [found] = await host.database.read<[userId: string]>(find);
  // An unknown passkey takes the same way, so that its challenge is used up, too.
  const userId = found?.[0] ?? '';
  let proof = '';
  const use = await host.database.transaction(async (tx) => {
    const locked = await accounts.lockUser(userId, tx);
    proof = locked?.proof ?? '';
    return usePasskey(tx, context, userId, given);
  });
  reportAndAssertPassed(context, ctx, use, signInErrors);
  // With user verification, a passkey is two factors: the device, and the fingerprint or PIN.
  return accounts.startSession(userId, { method: 'passkey', multiFactor: true, proof, request: ctx.req });
}

/** `POST /auth/passkeys/confirm/options`. */
export async function startConfirmation(
  { host, settings }: PasskeyContext,
  ctx: RouteContext,
): Promise<z.input<typeof requestOptionsShape>> {
  const allowed = await readDescriptors(host.database, ctx.user!.id);
  if (allowed.length === 0) throw new ApiError('CONFLICT', 'You have no passkey; sign in again instead');
  const challengeMinutes = settings.challengeTtl / MINUTE_MS;
  const challenge = await openCallerChallenge(host.database, 'confirmation', toChallengeOwner(ctx), challengeMinutes);
  return createRequestOptions(settings, challenge, allowed);
}

/** `POST /auth/passkeys/confirm`: the caller's session counts as a recent sign-in. */
export async function finishConfirmation(
  context: PasskeyContext,
  ctx: RouteContext<z.output<typeof confirmationInput>>,
): Promise<void> {
  const { host, accounts } = context;
  const { response } = ctx.input;
  const owner = toChallengeOwner(ctx);
  const given: GivenUse = { purpose: 'confirmation', token: tokenInResponse(response), owner, response };
  const use = await host.database.transaction(async (tx) => {
    await accounts.holdCredential(ctx, tx);
    const used = await usePasskey(tx, context, ctx.user!.id, given);
    if (used.kind === 'passed') await recordConfirmation(tx, context, owner);
    return used;
  });
  reportAndAssertPassed(context, ctx, use, confirmationErrors);
  await accounts.renewRecentSignIn(ctx);
}
