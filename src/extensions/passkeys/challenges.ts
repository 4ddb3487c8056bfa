import { randomBytes } from 'node:crypto';
import {
  type CheckedLogin,
  type Executor,
  generateSecret,
  generateToken,
  hashToken,
  type ResourceGateway,
  type RouteContext,
} from '../../extension/index.ts';
import { readClientData } from './client-data.ts';
import { CLAIM_CHALLENGE, CONFIRMED, OPEN_CHALLENGE, openSecondFactorSql } from './sql.ts';

/** 256 random bits, so that a fast hash of them cannot be guessed. */
const RANDOM_BYTES = 32;
const MFA_PREFIX = 'svc_mfa_';

/** What the response to a challenge is used for. A response for one purpose is refused for all others. */
export type Purpose = 'registration' | 'confirmation' | 'sign-in' | 'second-factor';

/** The user and the session that may answer a challenge. Null: it belongs to none. */
export interface ChallengeOwner {
  userId: string | null;
  sessionId: string | null;
}

/** The owner of a challenge that belongs to no session, because the user is signing in. */
export const noSession = (userId: string | null): ChallengeOwner => ({ userId, sessionId: null });

/** Returns the caller as the owner of a challenge. */
export function toChallengeOwner({ user, auth }: Pick<RouteContext, 'user' | 'auth'>): ChallengeOwner {
  return { userId: user!.id, sessionId: auth!.id };
}

const encode = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url');

function generateChallenge(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(randomBytes(RANDOM_BYTES));
}

/** Opens a challenge for the caller's session, and returns it. The response itself names it, by repeating it. */
export async function openCallerChallenge(
  on: Executor,
  purpose: Extract<Purpose, 'registration' | 'confirmation'>,
  { userId, sessionId }: ChallengeOwner,
  minutes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const challenge = generateChallenge();
  const hash = hashToken(encode(challenge));
  await on.write({ text: OPEN_CHALLENGE, values: [hash, hash, purpose, userId, sessionId, minutes] });
  return challenge;
}

/** Stores that the owner has just confirmed with a passkey. Kept with the challenges, so that it ends with them. */
export async function openConfirmedPeriod(
  on: Executor,
  { userId, sessionId }: ChallengeOwner,
  minutes: number,
): Promise<void> {
  const hash = hashToken(generateSecret());
  await on.write({ text: OPEN_CHALLENGE, values: [hash, hash, CONFIRMED, userId, sessionId, minutes] });
}

/** A challenge that a client without a session can answer. */
interface NamedChallenge {
  /** Names the challenge. Only the client that asked for it knows the token. */
  token: string;
  challenge: Uint8Array<ArrayBuffer>;
  /** ISO 8601. */
  expiresAt: string;
}

/** Opens a challenge for a sign-in of any user. */
export async function openSignInChallenge(on: Executor, minutes: number): Promise<NamedChallenge> {
  const challenge = generateChallenge();
  const token = generateSecret();
  const values = [hashToken(token), hashToken(encode(challenge)), 'sign-in', null, null, minutes];
  const [row] = await on.write<[string]>({ name: 'passkey_sign_in', text: OPEN_CHALLENGE, values });
  return { token, challenge, expiresAt: row![0] };
}

/** Opens a challenge for a login that waits for a passkey. Returns undefined if the user no longer exists. */
export async function openSecondFactorChallenge(
  on: Executor,
  users: ResourceGateway,
  { user, passwordProof }: CheckedLogin,
  minutes: number,
): Promise<NamedChallenge | undefined> {
  const challenge = generateChallenge();
  const token = generateToken(MFA_PREFIX);
  const values = [hashToken(token), hashToken(encode(challenge)), user.id, passwordProof, minutes];
  const [row] = await on.write<[string]>({ text: openSecondFactorSql(users.table), values });
  return row && { token, challenge, expiresAt: row[0] };
}

/** A challenge that has been used up. */
interface ClaimedChallenge {
  /** Whether the challenge in a response is this one. */
  isChallenge(challenge: string): boolean;
  /** Of a second factor; otherwise empty. */
  passwordProof: string;
}

/** Uses a challenge up. Returns undefined if it is used, expired, or was opened for another purpose, user or session. */
export async function claimChallenge(
  on: Executor,
  purpose: Purpose,
  token: string,
  { userId, sessionId }: ChallengeOwner,
): Promise<ClaimedChallenge | undefined> {
  const values = [hashToken(token), purpose, userId, sessionId];
  const [row] = await on.write<[hash: string, proof: string | null]>({ text: CLAIM_CHALLENGE, values });
  if (row === undefined) return undefined;
  const [hash, passwordProof] = row;
  return { isChallenge: (challenge) => hashToken(challenge) === hash, passwordProof: passwordProof ?? '' };
}

/** Returns the token of the challenge that a response repeats, for challenges of a session. */
export function tokenInResponse({ response }: { response: { clientDataJSON: string } }): string {
  return readClientData(response.clientDataJSON)?.challenge ?? '';
}
