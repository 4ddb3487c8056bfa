import type { z } from 'zod';
import { ApiError, generateSecret, hashToken, type RouteContext } from '../../extension/index.ts';
import {
  computeChallenge,
  deriveFlowSecrets,
  FLOW_LIFETIME_MS,
  redirectBrowser,
  renewBrowserSecret,
} from './browser.ts';
import { findProviderClient, type OidcContext, resolveRedirectUrl } from './context.ts';
import type { ProviderClient } from './provider/client.ts';
import type { linkInput, linkShape, startQuery, ticketQuery } from './shapes.ts';
import { CLAIM_TICKET, INSERT_FLOW } from './sql.ts';

/** A sign-in or a link of an identity at a provider. */
export interface Flow {
  purpose: 'sign_in' | 'link';
  /** The user who links an identity. */
  userId: string | null;
  redirectUrl: string;
  codeChallenge: string;
}

/** Sends the browser to the provider, and remembers it by a cookie. */
async function sendToProvider(
  { host, baseUrl }: OidcContext,
  { req, res }: RouteContext,
  client: ProviderClient,
  { purpose, userId, redirectUrl, codeChallenge }: Flow,
): Promise<void> {
  const state = generateSecret();
  const browserSecret = renewBrowserSecret(req, res, client.settings, baseUrl);
  const secrets = deriveFlowSecrets(browserSecret, state);
  const url = await client.createAuthorizationUrl(secrets, computeChallenge(secrets.codeVerifier));
  const browserHash = hashToken(browserSecret);
  const { provider } = client;
  const values = [
    hashToken(state),
    provider,
    purpose,
    userId,
    browserHash,
    redirectUrl,
    codeChallenge,
    FLOW_LIFETIME_MS,
  ];
  await host.database.write({ name: 'oidc_flow', text: INSERT_FLOW, values });
  redirectBrowser(res, url);
}

/**
 * `GET /auth/oidc/:provider/start`. The browser must open it itself: a response to `fetch` of a front end on another origin could not set
 * the cookie.
 */
export async function startSignIn(
  context: OidcContext,
  ctx: RouteContext<unknown, unknown, z.output<typeof startQuery>>,
): Promise<void> {
  const client = findProviderClient(context, ctx);
  const { codeChallenge } = ctx.query;
  const redirectUrl = resolveRedirectUrl(context, ctx.query.redirectUrl);
  await sendToProvider(context, ctx as RouteContext, client, {
    purpose: 'sign_in',
    userId: null,
    redirectUrl,
    codeChallenge,
  });
}

/**
 * `POST /auth/oidc/:provider/link`: returns the URL that starts linking an identity. The URL contains a ticket, because the browser that
 * opens it sends no session.
 */
export async function createLinkTicket(
  context: OidcContext,
  ctx: RouteContext<z.output<typeof linkInput>>,
): Promise<z.input<typeof linkShape>> {
  const { provider } = findProviderClient(context, ctx);
  const redirectUrl = resolveRedirectUrl(context, ctx.input.redirectUrl);
  const ticket = generateSecret();
  const userId = ctx.user!.id;
  const { codeChallenge } = ctx.input;
  const values = [hashToken(ticket), provider, 'ticket', userId, null, redirectUrl, codeChallenge, FLOW_LIFETIME_MS];
  const expiresAt = await context.host.transaction(async ({ database }) => {
    await context.accounts.holdCredential(ctx, database);
    return (await database.write<[string]>({ text: INSERT_FLOW, values }))[0]![0];
  });
  return { url: `${context.baseUrl}/api/auth/oidc/${provider}/link?ticket=${ticket}`, expiresAt };
}

/** `GET /auth/oidc/:provider/link`: uses up the ticket and sends the browser to the provider. */
export async function startLink(
  context: OidcContext,
  ctx: RouteContext<unknown, unknown, z.output<typeof ticketQuery>>,
): Promise<void> {
  const client = findProviderClient(context, ctx);
  const statement = { text: CLAIM_TICKET, values: [hashToken(ctx.query.ticket), client.provider] };
  const [row] = await context.host.database.write<[string, string, string]>(statement);
  if (row === undefined) throw new ApiError('BAD_REQUEST', 'This link is no longer valid; start again');
  const [userId, redirectUrl, codeChallenge] = row;
  await sendToProvider(context, ctx as RouteContext, client, { purpose: 'link', userId, redirectUrl, codeChallenge });
}
