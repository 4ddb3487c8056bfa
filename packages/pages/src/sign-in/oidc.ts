import type { Provider } from './responses.ts';
import { readStored, request, requestAsUser, requestedPath } from './session.ts';

const FLOW_KEY = 'belfry.oidc';

/** A sign-in that was started at a provider. */
interface SignInFlow {
  purpose: 'sign-in';
  provider: string;
  codeVerifier: string;
  next?: string;
}

/** The linking of an account that was started at a provider. */
export interface LinkFlow {
  purpose: 'link';
  provider: string;
  codeVerifier: string;
  name: string;
  icon?: string;
}

/** What this tab has started at a provider. */
export type Flow = SignInFlow | LinkFlow;

const encode = (bytes: Uint8Array) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

/** Remembers in this tab what the return from the provider is for. Returns the challenge of the new verifier. */
async function startFlow(createFlow: (codeVerifier: string) => Flow): Promise<string> {
  const codeVerifier = encode(crypto.getRandomValues(new Uint8Array(32)));
  sessionStorage.setItem(FLOW_KEY, JSON.stringify(createFlow(codeVerifier)));
  return encode(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(codeVerifier))));
}

const callbackUrl = () => `${location.origin}/auth/callback`;

export const listProviders = (): Promise<Provider[]> => request('GET', '/auth/oidc');

/** Opens a provider to sign in. */
export async function startSignIn(provider: string): Promise<void> {
  const next = requestedPath();
  const codeChallenge = await startFlow((codeVerifier) => ({ purpose: 'sign-in', provider, next, codeVerifier }));
  const query = new URLSearchParams({ codeChallenge, redirectUrl: callbackUrl() });
  location.assign(`/api/auth/oidc/${encodeURIComponent(provider)}/start?${query}`);
}

/** Opens a provider to link an account there. */
export async function startLink({ provider, name, icon }: Provider): Promise<void> {
  const codeChallenge = await startFlow((codeVerifier) => ({ purpose: 'link', provider, name, icon, codeVerifier }));
  const body = { codeChallenge, redirectUrl: callbackUrl() };
  const path = `/auth/oidc/${encodeURIComponent(provider)}/link`;
  const { url } = await requestAsUser<{ url: string }>('POST', path, body);
  location.assign(url);
}

/** Returns what this tab has started at a provider, once. */
export function takeFlow(): Flow | undefined {
  const flow = readStored<Flow>(sessionStorage, FLOW_KEY);
  sessionStorage.removeItem(FLOW_KEY);
  return flow;
}
