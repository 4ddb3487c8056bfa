import { createHmac, hash } from 'node:crypto';
import type { Request, Response } from 'express';
import { generateSecret } from '../../extension/index.ts';
import type { FlowSecrets } from './provider/client.ts';
import type { ProviderSettings } from './provider/settings.ts';

/** ms within which the user must return from the provider. */
export const FLOW_LIFETIME_MS = 600_000;
/** See `generateSecret`. */
const SECRET = /^[\w-]{43}$/;

/** Returns the S256 challenge of a verifier (RFC 7636 §4.2). */
export const computeChallenge = (verifier: string) => hash('sha256', verifier, 'base64url');

/**
 * Returns the values that bind one request at the provider to this browser. They are derived from the secret in its cookie, so the server
 * stores none of them.
 */
export function deriveFlowSecrets(browserSecret: string, state: string): FlowSecrets {
  const derive = (purpose: string) =>
    createHmac('sha256', browserSecret).update(`${purpose}.${state}`).digest('base64url');
  return { state, nonce: derive('nonce'), codeVerifier: derive('verifier') };
}

/** The cookie that identifies a browser between start and callback. */
interface BrowserCookie {
  name: string;
  attributes: string;
}

/**
 * Returns the cookie for a provider. A provider that posts a form to the callback needs `SameSite=None`: browsers send other cookies only
 * with links. The prefix `__Host-` keeps other hosts of the same domain from setting the cookie; it requires https.
 */
function cookieFor({ responseMode }: ProviderSettings, baseUrl: string): BrowserCookie {
  const isHttps = baseUrl.startsWith('https:');
  const isForm = responseMode === 'form_post';
  const name = `${isHttps ? '__Host-' : ''}oidc${isForm ? '-form' : ''}`;
  const site = isForm ? 'None' : 'Lax';
  const secure = isHttps || isForm ? '; Secure' : '';
  return { name, attributes: `Path=/; Max-Age=${FLOW_LIFETIME_MS / 1000}; HttpOnly; SameSite=${site}${secure}` };
}

/** Returns the secret in the cookie of the browser; undefined if there is none. */
export function readBrowserSecret(request: Request, settings: ProviderSettings, baseUrl: string): string | undefined {
  const start = `${cookieFor(settings, baseUrl).name}=`;
  const pair = (request.headers.cookie ?? '').split(/; */).find((each) => each.startsWith(start));
  const secret = pair?.slice(start.length);
  return secret !== undefined && SECRET.test(secret) ? secret : undefined;
}

/**
 * Returns the secret of the browser and renews its cookie. All tabs share one secret, so that they can sign in at the same time; each of
 * them has its own state.
 */
export function renewBrowserSecret(
  request: Request,
  response: Response,
  settings: ProviderSettings,
  baseUrl: string,
): string {
  const secret = readBrowserSecret(request, settings, baseUrl) ?? generateSecret();
  const { name, attributes } = cookieFor(settings, baseUrl);
  response.append('Set-Cookie', `${name}=${secret}; ${attributes}`);
  return secret;
}

/** Sends the browser to a URL. The response must not be cached, and the URL must not be passed on as a referrer. */
export function redirectBrowser(response: Response, url: string | URL): void {
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Referrer-Policy', 'no-referrer');
  response.writeHead(303, { Location: String(url) }).end();
}
