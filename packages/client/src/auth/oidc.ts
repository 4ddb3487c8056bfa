import { createCodeVerifier } from '../request/base64url.ts';
import type { CallOptions } from '../request/request.ts';
import { type AuthContext, createClientError } from './context.ts';
import type { AuthUser } from './session.ts';
import type { SignInResult } from './sign-in-result.ts';

/** An identity provider of the app. */
export interface SignInProvider {
  /** Its key, such as `google`. */
  provider: string;
  /** Its name for people. */
  name: string;
  /** Its logo, such as `google`, if it is one of those that Belfry knows. */
  icon?: string;
}

/** The result of a return from a provider: that of a sign-in, or a linked account. */
export type ProviderReturn<User = AuthUser> = SignInResult<User> | { status: 'linked'; provider: string };

/** Where the user returns to: one of the pages in the setting `redirectUrls`. Default: the first of them. */
interface RedirectOptions {
  redirectUrl?: string;
}

/** `client.auth.oidc`: sign-in with Google, Apple, Microsoft and other identity providers. */
export interface OidcMethods<User = AuthUser> {
  /** Lists the providers of the app, for sign-in pages. */
  providers(options?: CallOptions): Promise<SignInProvider[]>;
  /** Opens the page of a provider in this tab. The user returns to `redirectUrl`, which calls `complete`. */
  signIn(provider: string, options?: RedirectOptions): Promise<void>;
  /** Like `signIn`, but returns the URL at the API that the page has to open itself. Do not `fetch` it. */
  createSignInUrl(provider: string, options?: RedirectOptions): Promise<string>;
  /** Opens the page of a provider to link an account there to the signed-in user. Needs a recent sign-in. */
  link(provider: string, options?: RedirectOptions & CallOptions): Promise<void>;
  /** Like `link`, but returns the URL that the page has to open. */
  createLinkUrl(provider: string, options?: RedirectOptions & CallOptions): Promise<string>;
  /**
   * Finishes what `signIn` or `link` started, on the page that the user returns to. Removes the code from the address bar.
   *
   * @param options `url` that the user returned to; default: that of the page
   * @throws ApiError `PROVIDER_REFUSED` with the reason in `details.error`: `access_denied` if the user has cancelled, `sign_in_expired` if
   *   it took too long or began in another tab
   */
  complete(options?: CallOptions & { url?: string }): Promise<ProviderReturn<User>>;
  /** Returns the nonce for the SDK of a provider, in a native app. It works once, for ten minutes. */
  createNonce(provider: string, options?: CallOptions): Promise<{ nonce: string; expiresAt: string }>;
  /** Signs in with the ID token from the SDK of a provider. `name`: of a new user, which Apple tells only the app. */
  signInWithIdToken(
    provider: string,
    proof: { idToken: string; nonce: string; name?: string },
    options?: CallOptions,
  ): Promise<SignInResult<User>>;
}

/** What this tab has started at a provider. */
interface Flow {
  purpose: 'sign-in' | 'link';
  provider: string;
  codeVerifier: string;
}

/** The parts of a browser's `window` that a sign-in at a provider needs. */
interface OidcBrowser {
  location?: { href: string; pathname: string; hash: string; assign(url: string): void };
  history?: { state: unknown; replaceState(state: unknown, title: string, url: string): void };
}

const page = globalThis as unknown as OidcBrowser;

const pathOf = (provider: string) => `/auth/oidc/${encodeURIComponent(provider)}`;

const createRefusal = (error: string, message: string) =>
  createClientError('PROVIDER_REFUSED', message, { details: { error } });

/** Removes the response of the provider from the address bar and the history, where it would stay readable. */
function cleanAddressBar(url: URL): void {
  if (page.location?.href !== url.href || page.history === undefined) return;
  const query = new URLSearchParams(url.search);
  for (const name of ['code', 'error', 'provider']) query.delete(name);
  const path = page.location.pathname + (`${query}` === '' ? '' : `?${query}`) + page.location.hash;
  page.history.replaceState(page.history.state, '', path);
}

/** Creates `client.auth.oidc`. */
export function createOidcMethods<User extends AuthUser>(context: AuthContext<User>): OidcMethods<User> {
  const { requester, flows, call, callAnonymously, finishSignIn } = context;

  /** Remembers what the return from the provider is for. Returns the challenge of a new verifier. */
  async function startFlow(flow: Omit<Flow, 'codeVerifier'>): Promise<string> {
    const { codeVerifier, codeChallenge } = await createCodeVerifier();
    await flows.write('oidc', { ...flow, codeVerifier });
    return codeChallenge;
  }

  async function createSignInUrl(provider: string, { redirectUrl }: RedirectOptions = {}): Promise<string> {
    const codeChallenge = await startFlow({ purpose: 'sign-in', provider });
    const query = new URLSearchParams({ codeChallenge, ...(redirectUrl === undefined ? {} : { redirectUrl }) });
    return `${requester.url}/api${pathOf(provider)}/start?${query}`;
  }

  async function createLinkUrl(
    provider: string,
    { redirectUrl, ...options }: RedirectOptions & CallOptions = {},
  ): Promise<string> {
    const codeChallenge = await startFlow({ purpose: 'link', provider });
    const body = { codeChallenge, ...(redirectUrl === undefined ? {} : { redirectUrl }) };
    return (await call<{ url: string }>('POST', `${pathOf(provider)}/link`, body, options)).url;
  }

  function open(url: string): void {
    if (page.location === undefined) throw new TypeError('There is no page: open the URL of createSignInUrl yourself');
    page.location.assign(url);
  }

  async function complete({ url, ...options }: CallOptions & { url?: string } = {}): Promise<ProviderReturn<User>> {
    const returned = new URL(url ?? page.location?.href ?? '');
    const { searchParams } = returned;
    cleanAddressBar(returned);
    const flow = await flows.read<Flow>('oidc');
    // The verifier works once, like the code.
    await flows.remove('oidc');
    const error = searchParams.get('error');
    if (error !== null) throw createRefusal(error, `The provider has not signed the user in: ${error}`);
    const code = searchParams.get('code');
    if (code === null || flow === undefined)
      throw createRefusal('sign_in_expired', 'This sign-in is no longer valid, or began in another tab; sign in again');
    const { purpose, provider, codeVerifier } = flow;
    if (purpose === 'sign-in')
      return finishSignIn(await callAnonymously<object>('/auth/oidc/exchange', { code, codeVerifier }, options));
    await call('POST', `${pathOf(provider)}/link/complete`, { code, codeVerifier }, options);
    return { status: 'linked', provider };
  }

  return {
    providers: (options) => call('GET', '/auth/oidc', undefined, options),
    createSignInUrl,
    signIn: async (provider, options) => open(await createSignInUrl(provider, options)),
    createLinkUrl,
    link: async (provider, options) => open(await createLinkUrl(provider, options)),
    complete,
    createNonce: (provider, options) => callAnonymously(`${pathOf(provider)}/nonce`, undefined, options),
    signInWithIdToken: async (provider, proof, options) =>
      finishSignIn(await callAnonymously<object>(`${pathOf(provider)}/token`, proof, options)),
  };
}
