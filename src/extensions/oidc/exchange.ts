import type { z } from 'zod';
import type { RouteContext } from '../../declare/route.ts';
import { ApiError } from '../../platform/errors.ts';
import { computeChallenge, generateSecret, hashSecret } from './browser.ts';
import { clientOf, type OidcContext } from './context.ts';
import { type ProvenIdentity, readName } from './provider/claims.ts';
import type { ProviderTokens } from './provider/client.ts';
import type { OidcClaims } from './settings.ts';
import type { exchangeInput } from './shapes.ts';
import { CLAIM_LINK_CODE, CLAIM_SIGN_IN_CODE, INSERT_CODE } from './sql.ts';
import type { Flow } from './start.ts';
import { codeEncryptionContext, storeTokens } from './tokens.ts';

/** ms within which the front end must use a code. */
const CODE_LIFETIME_MS = 60_000;
/** The largest claims and tokens of a sign-in, in characters. Those of large providers are below 5,000. */
const MAX_CONTENT = 65_536;

/** An identity that a user has proved to own, with everything that the provider says about it. */
export interface Proven {
  identity: ProvenIdentity;
  claims: OidcClaims;
  tokens?: ProviderTokens | undefined;
}

/** Stores a proven identity under a new one-time code, and returns the code. @throws Error if the claims are too large */
export async function issueCode({ host }: OidcContext, flow: Flow, proven: Proven): Promise<string> {
  const code = generateSecret();
  const codeHash = hashSecret(code);
  const plain = JSON.stringify(proven);
  if (plain.length > MAX_CONTENT) throw new Error('the claims and tokens of the provider are too large');
  const content = host.keyring.encrypt(plain, codeEncryptionContext(codeHash));
  const { purpose, userId, codeChallenge } = flow;
  const { provider } = proven.identity;
  const values = [codeHash, provider, purpose, userId, codeChallenge, content, CODE_LIFETIME_MS];
  await host.database.write({ name: 'oidc_code', text: INSERT_CODE, values });
  return code;
}

function readContent({ host }: OidcContext, codeHash: string, content: string): Proven {
  return JSON.parse(host.keyring.decrypt(content, codeEncryptionContext(codeHash)));
}

function invalidCodeError(): ApiError {
  const details = { code: 'Must be an unused code of at most one minute ago, with the verifier that started it' };
  return new ApiError('UNAUTHORIZED', 'This sign-in is no longer valid; sign in again', { details });
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
  const { accounts, host, settings } = context;
  const { identity, claims } = proven;
  const { provider, email } = identity;
  const profile = { name: readName(claims, email), ...(await settings.createUser?.(claims, provider)) };
  const { userId } = await accounts
    .findOrCreateByIdentity({ ...identity, profile }, ctx.req)
    .catch((error: unknown) => {
      const lacksEmail = email === undefined && error instanceof ApiError && error.code === 'VALIDATION_ERROR';
      throw lacksEmail ? missingEmailError() : error;
    });
  const proof = await host.transaction(async ({ database }) => {
    const locked = await accounts.lockUser(userId, database);
    if (locked !== undefined && proven.tokens !== undefined)
      await storeTokens(host, userId, identity, proven.tokens, database);
    return locked?.proof;
  });
  return accounts.startSession(userId, { method: `oidc:${provider}`, request: ctx.req, proof });
}

/** `POST /auth/oidc/exchange`: starts the session of a user who has returned from a provider. */
export async function exchangeCode(
  context: OidcContext,
  ctx: RouteContext<z.output<typeof exchangeInput>>,
): Promise<object> {
  const codeHash = hashSecret(ctx.input.code);
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
  const { provider } = clientOf(context, ctx);
  const userId = ctx.user!.id;
  const codeHash = hashSecret(ctx.input.code);
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
