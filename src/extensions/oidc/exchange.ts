import type { z } from 'zod';
import {
  ApiError,
  type ErrorDetails,
  generateSecret,
  hashToken,
  isAccountActive,
  type RouteContext,
  suggestName,
} from '../../extension/index.ts';
import { computeChallenge } from './browser.ts';
import { findProviderClient, type OidcContext } from './context.ts';
import { type ProvenIdentity, readName } from './provider/claims.ts';
import type { ProviderTokens } from './provider/client.ts';
import type { OidcClaims } from './provider/settings.ts';
import type { exchangeInput } from './shapes.ts';
import { CLAIM_LINK_CODE, CLAIM_SIGN_IN_CODE, INSERT_CODE, SELECT_LINK } from './sql.ts';
import type { Flow } from './start.ts';
import { codeEncryptionContext, storeTokens } from './tokens.ts';

/** ms within which the front end must use a code. */
const CODE_LIFETIME_MS = 60_000;
/** The largest claims and tokens of a sign-in, in characters. Those of large providers are below 5,000. */
const MAX_CONTENT = 65_536;

/** An identity that a user has proved to be theirs, with everything that the provider says about it. */
export interface Proven {
  identity: ProvenIdentity;
  claims: OidcClaims;
  tokens?: ProviderTokens | undefined;
}

/** Returns the content of a code. @throws Error if the claims and tokens are too large */
export function serializeProven(proven: Proven): string {
  const content = JSON.stringify(proven);
  if (content.length > MAX_CONTENT) throw new Error('the claims and tokens of the provider are too large');
  return content;
}

/** Stores a proven identity under a new one-time code, and returns the code. @param content of `serializeProven` */
export async function issueCode(
  { host }: OidcContext,
  provider: string,
  { purpose, userId, codeChallenge }: Flow,
  content: string,
): Promise<string> {
  const code = generateSecret();
  const codeHash = hashToken(code);
  const ciphertext = host.keyring.encrypt(content, codeEncryptionContext(codeHash));
  const values = [codeHash, provider, purpose, userId, codeChallenge, ciphertext, CODE_LIFETIME_MS];
  await host.database.write({ name: 'oidc_code', text: INSERT_CODE, values });
  return code;
}

function readContent({ host }: OidcContext, codeHash: string, content: string): Proven {
  return JSON.parse(host.keyring.decrypt(content, codeEncryptionContext(codeHash)));
}

/** @param details none if the client has sent nothing wrong */
function invalidSignInError(details?: ErrorDetails): ApiError {
  const text = 'This sign-in is no longer valid; sign in again';
  return new ApiError('UNAUTHORIZED', text, details === undefined ? {} : { details });
}

function invalidCodeError(): ApiError {
  return invalidSignInError({
    code: 'Must be an unused code of at most one minute ago, with the verifier that started it',
  });
}

/** Says what is missing, instead of naming fields of a form that the user has not seen. */
function missingEmailError(): ApiError {
  const text = 'The provider did not share a valid e-mail address, which a new account needs';
  return new ApiError('VALIDATION_ERROR', text, { details: { email: 'Is required' } });
}

/**
 * Starts the session of the user with a proven identity, who is created if they are new.
 *
 * @throws ApiError as `accounts.findOrCreateByIdentity` and `accounts.startSession` do
 */
export async function signInWithIdentity(context: OidcContext, ctx: RouteContext, proven: Proven): Promise<object> {
  const { accounts, host, settings, users } = context;
  const { identity, claims } = proven;
  const { provider, email } = identity;
  const profile = {
    ...suggestName(users, readName(claims, email)),
    ...(await settings.createUser?.(claims, provider)),
  };
  const { userId } = await accounts
    .findOrCreateByIdentity({ ...identity, profile }, ctx.req)
    .catch((error: unknown) => {
      const lacksEmail = email === undefined && error instanceof ApiError && error.code === 'VALIDATION_ERROR';
      throw lacksEmail ? missingEmailError() : error;
    });
  const proof = await host.transaction(async ({ database }) => {
    const locked = await accounts.lockUser(userId, database);
    // The owner of the address may have claimed the account meanwhile, which ends its identities.
    const values = [provider, identity.subject, userId];
    const isLinked = (await database.write({ text: SELECT_LINK, values })).length > 0;
    if (locked === undefined || !isLinked) throw invalidSignInError();
    // A disabled account stays as it is: no session starts.
    if (proven.tokens !== undefined && isAccountActive(locked.user))
      await storeTokens(host, userId, identity, proven.tokens, database);
    return locked.proof;
  });
  return accounts.startSession(userId, { method: `oidc:${provider}`, request: ctx.req, proof });
}

/** `POST /auth/oidc/exchange`: starts the session of a user who has returned from a provider. */
export async function exchangeCode(
  context: OidcContext,
  ctx: RouteContext<z.output<typeof exchangeInput>>,
): Promise<object> {
  const codeHash = hashToken(ctx.input.code);
  const values = [codeHash, computeChallenge(ctx.input.codeVerifier)];
  const statement = { name: 'oidc_exchange', text: CLAIM_SIGN_IN_CODE, values };
  const [row] = await context.host.database.write<[provider: string, content: string]>(statement);
  if (row === undefined) throw invalidCodeError();
  return signInWithIdentity(context, ctx, readContent(context, codeHash, row[1]));
}

/**
 * `POST /auth/oidc/:provider/link/complete`: links the identity to the signed-in user. Session and verifier show that the same user in the
 * same browser started it: otherwise an attacker could make another person's browser link its identity to the attacker's account.
 */
export async function completeLink(
  context: OidcContext,
  ctx: RouteContext<z.output<typeof exchangeInput>>,
): Promise<void> {
  const { provider } = findProviderClient(context, ctx);
  const userId = ctx.user!.id;
  const codeHash = hashToken(ctx.input.code);
  const values = [codeHash, computeChallenge(ctx.input.codeVerifier), userId, provider];
  await context.host.transaction(async (tx) => {
    await context.accounts.holdCredential(ctx, tx.database);
    const [row] = await tx.database.write<[content: string]>({ text: CLAIM_LINK_CODE, values });
    if (row === undefined) throw invalidCodeError();
    const { identity, tokens } = readContent(context, codeHash, row[0]);
    await context.accounts.linkIdentity(userId, identity, tx, ctx.req);
    if (tokens !== undefined) await storeTokens(context.host, userId, identity, tokens, tx.database);
  });
}
