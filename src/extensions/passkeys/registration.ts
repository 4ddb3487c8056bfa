import type { z } from 'zod';
import {
  ApiError,
  addressOf,
  type Executor,
  MINUTE_MS,
  newId,
  type RouteContext,
  validationError,
} from '../../extension/index.ts';
import { claimChallenge, openCallerChallenge, toChallengeOwner, tokenInResponse } from './challenges.ts';
import { assertConfirmedWithPasskey } from './confirmation.ts';
import { type OwnPasskey, type PasskeyRow, readDescriptors, toOwnPasskey } from './passkeys.ts';
import type { PasskeyContext } from './settings.ts';
import type { creationOptionsShape, registrationInput, startRegistrationInput } from './shapes.ts';
import { COUNT_PASSKEYS, INSERT_PASSKEY } from './sql.ts';
import { createCreationOptions, type NewCredential, verifyCreation } from './webauthn.ts';

const limitReachedError = (max: number) =>
  new ApiError('LIMIT_REACHED', `You can have at most ${max} passkeys; remove one first`);

/** `POST /auth/passkeys/options`: the options with which the browser creates a passkey. */
export async function startRegistration(
  context: PasskeyContext,
  ctx: RouteContext<z.output<typeof startRegistrationInput>>,
): Promise<z.input<typeof creationOptionsShape>> {
  const { host, accounts, settings } = context;
  const user = ctx.user!;
  const existing = await readDescriptors(host.database, user.id);
  if (existing.length >= settings.maxPasskeysPerUser) throw limitReachedError(settings.maxPasskeysPerUser);
  await assertConfirmedWithPasskey(host.database, context, ctx);
  // A sign-in with the passkey needs no code from then on, so an attacker with a stolen session must not be able to add one.
  await accounts.confirmSecondFactor(ctx, ctx.input.code, 'code');
  const challengeMinutes = settings.challengeTtl / MINUTE_MS;
  const challenge = await openCallerChallenge(host.database, 'registration', toChallengeOwner(ctx), challengeMinutes);
  return createCreationOptions(settings, user, challenge, existing);
}

/** Stores a verified passkey, or returns the error to throw. The caller holds the lock on the user's row, so the count is exact. */
async function storePasskey(
  tx: Executor,
  { maxPasskeysPerUser }: PasskeyContext['settings'],
  userId: string,
  name: string,
  { credentialId, publicKey, counter, deviceType, backedUp, transports }: NewCredential,
): Promise<OwnPasskey | ApiError> {
  const [count] = await tx.write<[number]>({ text: COUNT_PASSKEYS, values: [userId] });
  if (count![0] >= maxPasskeysPerUser) return limitReachedError(maxPasskeysPerUser);
  const values = [newId(), userId, credentialId, publicKey, counter, deviceType, backedUp, transports, name];
  const [row] = await tx.write<PasskeyRow>({ text: INSERT_PASSKEY, values });
  return row === undefined ? new ApiError('CONFLICT', 'This passkey is already registered') : toOwnPasskey(row);
}

/** `POST /auth/passkeys`: stores the passkey that the browser has created. */
export async function finishRegistration(
  context: PasskeyContext,
  ctx: RouteContext<z.output<typeof registrationInput>>,
): Promise<OwnPasskey> {
  const { host, accounts, settings } = context;
  const userId = ctx.user!.id;
  const { response, name } = ctx.input;
  // Errors are returned, not thrown: a rollback would make the challenge usable again.
  const stored = await host.database.transaction(async (tx): Promise<OwnPasskey | ApiError> => {
    await accounts.holdCredential(ctx, tx);
    // Again, because the user may have added a first passkey since the options were created.
    await assertConfirmedWithPasskey(tx, context, ctx);
    const claimed = await claimChallenge(tx, 'registration', tokenInResponse(response), toChallengeOwner(ctx));
    if (claimed === undefined)
      return new ApiError('INVALID_TOKEN', 'This registration is no longer valid; start again');
    const verified = await verifyCreation(settings, response, claimed.isChallenge);
    if (!verified.ok) return validationError({ response: verified.reason });
    return storePasskey(tx, settings, userId, name, verified.value);
  });
  if (stored instanceof ApiError) throw stored;
  const payload = { userId, passkeyId: stored.id, name, ip: addressOf(ctx.req) };
  host.events.emit('security.passkey_added', payload);
  return stored;
}
