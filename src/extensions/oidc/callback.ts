import { hashToken, type RouteContext } from '../../extension/index.ts';
import { deriveFlowSecrets, readBrowserSecret, redirectBrowser } from './browser.ts';
import { findProviderClient, type OidcContext, reportRefusal } from './context.ts';
import { issueCode, serializeProven } from './exchange.ts';
import { AccountRefusedError, toIdentity } from './provider/claims.ts';
import type { ProviderClient } from './provider/client.ts';
import { isProviderUnavailable } from './provider/fetch.ts';
import { loadOpenidClient } from './provider/libraries.ts';
import type { OidcClaims } from './provider/settings.ts';
import { CLAIM_FLOW } from './sql.ts';
import type { Flow } from './start.ts';

/** The most parameters of a callback. Providers send fewer than ten. */
const MAX_PARAMETERS = 50;

/** Returns the parameters of a callback, whose body middleware has parsed if there is one. Repeated parameters stay repeated. */
function readParameters({ req }: RouteContext): URLSearchParams {
  const source: unknown = req.method === 'POST' ? req.body : req.query;
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(source ?? {}).slice(0, MAX_PARAMETERS))
    for (const each of [value].flat()) parameters.append(name, String(each));
  return parameters;
}

/** Uses up the state; undefined if it is unknown, expired, of another provider, or was started in another browser. */
async function claimFlow(
  { host, baseUrl }: OidcContext,
  { req }: RouteContext,
  { provider, settings }: ProviderClient,
  parameters: URLSearchParams,
): Promise<{ flow: Flow; browserSecret: string; state: string } | undefined> {
  const isForm = req.method === 'POST';
  const [state, ...others] = parameters.getAll('state');
  const browserSecret = readBrowserSecret(req, settings, baseUrl);
  if (isForm !== (settings.responseMode === 'form_post')) return undefined;
  if (state === undefined || others.length > 0 || browserSecret === undefined) return undefined;
  const values = [hashToken(state), provider, hashToken(browserSecret)];
  const statement = { name: 'oidc_callback', text: CLAIM_FLOW, values };
  const [row] = await host.database.write<[Flow['purpose'], string | null, string, string]>(statement);
  if (row === undefined) return undefined;
  const [purpose, userId, redirectUrl, codeChallenge] = row;
  return { flow: { purpose, userId, redirectUrl, codeChallenge }, browserSecret, state };
}

/**
 * Adds the name that Apple sends with the first sign-in of a user only, beside the ID token and unsigned. A name proves nothing, so that is
 * good enough.
 */
function addNameBesideToken(claims: OidcClaims, parameters: URLSearchParams): OidcClaims {
  if (claims.name !== undefined) return claims;
  try {
    const { firstName, lastName } = JSON.parse(parameters.get('user') ?? '').name;
    const name = [firstName, lastName].filter((part) => typeof part === 'string' && part !== '').join(' ');
    return name === '' ? claims : { ...claims, name };
  } catch {
    return claims;
  }
}

/** Returns the error for the front end. Those of the provider are the codes of RFC 6749 §4.1.2.1. */
function errorCodeOf(error: unknown): string {
  if (error instanceof AccountRefusedError) return 'account_refused';
  if (isProviderUnavailable(error)) return 'provider_unavailable';
  if (!(error instanceof loadOpenidClient().AuthorizationResponseError)) return 'provider_error';
  return /^[a-z_]{1,64}$/.test(error.error) ? error.error : 'provider_error';
}

/** Returns a page of the front end with additional parameters in its query. */
function withQuery(page: string, parameters: Record<string, string>): URL {
  const url = new URL(page);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url;
}

/**
 * `GET` and `POST /auth/oidc/:provider/callback`: the provider returns the user. It neither creates a user nor starts a session: the page of
 * the front end does that with the code, and proves that it started the sign-in.
 */
export async function finishAtProvider(context: OidcContext, ctx: RouteContext): Promise<void> {
  const client = findProviderClient(context, ctx);
  const { provider, settings } = client;
  const parameters = readParameters(ctx);
  const claimed = await claimFlow(context, ctx, client, parameters);
  if (claimed === undefined) {
    redirectBrowser(ctx.res, withQuery(context.redirectUrls[0]!, { error: 'sign_in_expired', provider }));
    return;
  }
  const { flow, browserSecret, state } = claimed;
  let content: string;
  try {
    const { claims, tokens } = await client.redeem(parameters, deriveFlowSecrets(browserSecret, state));
    content = serializeProven({
      claims: addNameBesideToken(claims, parameters),
      identity: toIdentity(provider, settings, claims),
      tokens: context.settings.storeTokens ? tokens : undefined,
    });
  } catch (error) {
    const code = errorCodeOf(error);
    // A user who changes their mind is no incident.
    if (code !== 'access_denied') reportRefusal(context, provider, ctx.req, error);
    redirectBrowser(ctx.res, withQuery(flow.redirectUrl, { error: code, provider }));
    return;
  }
  const code = await issueCode(context, provider, flow, content);
  redirectBrowser(ctx.res, withQuery(flow.redirectUrl, { code }));
}
