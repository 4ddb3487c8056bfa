import type { z } from 'zod';
import { ApiError, generateSecret, hashToken, type RouteContext } from '../../extension/index.ts';
import { findProviderClient, type OidcContext, reportRefusal } from './context.ts';
import { type Proven, signInWithIdentity } from './exchange.ts';
import { AccountRefusedError, toIdentity } from './provider/claims.ts';
import type { ProviderClient } from './provider/client.ts';
import type { nonceShape, tokenInput } from './shapes.ts';
import { CLAIM_NONCE, INSERT_NONCE } from './sql.ts';

/** ms within which an app must send the ID token. */
const NONCE_LIFETIME_MS = 600_000;

function findNativeClient(context: OidcContext, ctx: RouteContext): ProviderClient {
  const client = findProviderClient(context, ctx);
  if (!client.hasIdTokens) throw new ApiError('NOT_FOUND', 'This provider issues no ID tokens; use the web flow');
  return client;
}

/** `POST /auth/oidc/:provider/nonce`: creates a nonce with which an app requests an ID token. */
export async function createNonce(context: OidcContext, ctx: RouteContext): Promise<z.input<typeof nonceShape>> {
  const { provider } = findNativeClient(context, ctx);
  const nonce = generateSecret();
  const statement = { text: INSERT_NONCE, values: [hashToken(nonce), provider, NONCE_LIFETIME_MS] };
  const [row] = await context.host.database.write<[string]>(statement);
  return { nonce, expiresAt: row![0] };
}

/** The same error for every reason, so that it does not help to construct a token. */
function invalidTokenError(): ApiError {
  const details = { idToken: 'Must be a current ID token of this provider for this app, with an unused nonce' };
  return new ApiError('UNAUTHORIZED', 'This ID token is not valid', { details });
}

/** Verifies an ID token. @throws ApiError UNAUTHORIZED; FORBIDDEN if the account is not accepted; UNAVAILABLE */
async function proveByIdToken(
  context: OidcContext,
  { req, input }: RouteContext<z.output<typeof tokenInput>>,
  { provider, settings, verifyIdToken }: ProviderClient,
): Promise<Proven> {
  const { idToken, nonce, name } = input;
  const nonces = settings.hashedNonce ? [nonce, hashToken(nonce)] : [nonce];
  try {
    const verified = await verifyIdToken(idToken, nonces);
    const claims = name === undefined ? verified : { name, ...verified };
    return { claims, identity: toIdentity(provider, settings, claims) };
  } catch (error) {
    if (error instanceof ApiError) throw error;
    reportRefusal(context, provider, req, error);
    if (error instanceof AccountRefusedError) throw new ApiError('FORBIDDEN', 'This account may not sign in here');
    throw invalidTokenError();
  }
}

/** `POST /auth/oidc/:provider/token`: starts a session with an ID token that an app got from the provider's SDK. */
export async function signInWithIdToken(
  context: OidcContext,
  ctx: RouteContext<z.output<typeof tokenInput>>,
): Promise<object> {
  const client = findNativeClient(context, ctx);
  const { provider } = client;
  const proven = await proveByIdToken(context, ctx, client);
  const statement = { name: 'oidc_nonce_use', text: CLAIM_NONCE, values: [hashToken(ctx.input.nonce), provider] };
  if ((await context.host.database.write(statement)).length === 0) {
    reportRefusal(context, provider, ctx.req, new Error('the nonce is unknown or used up'));
    throw invalidTokenError();
  }
  return signInWithIdentity(context, ctx, proven);
}
