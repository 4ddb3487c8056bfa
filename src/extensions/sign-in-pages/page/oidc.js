import { readStored, request, requestAsUser, requestedPath } from './session.js';

const FLOW_KEY = 'belfry.oidc';

const encode = (bytes) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

/** Remembers in this tab what the return from the provider is for. Returns the challenge of the new verifier. */
async function startFlow(flow) {
  const codeVerifier = encode(crypto.getRandomValues(new Uint8Array(32)));
  sessionStorage.setItem(FLOW_KEY, JSON.stringify({ ...flow, codeVerifier }));
  return encode(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(codeVerifier))));
}

const callbackUrl = () => `${location.origin}/auth/callback`;

export const listProviders = () => request('GET', '/auth/oidc');

/** Opens a provider to sign in. */
export async function startSignIn(provider) {
  const codeChallenge = await startFlow({ purpose: 'sign-in', provider, next: requestedPath() });
  const query = new URLSearchParams({ codeChallenge, redirectUrl: callbackUrl() });
  location.assign(`/api/auth/oidc/${encodeURIComponent(provider)}/start?${query}`);
}

/** Opens a provider to link an account there. @param {{ provider: string, name: string }} which */
export async function startLink({ provider, name }) {
  const codeChallenge = await startFlow({ purpose: 'link', provider, name });
  const body = { codeChallenge, redirectUrl: callbackUrl() };
  const { url } = await requestAsUser('POST', `/auth/oidc/${encodeURIComponent(provider)}/link`, body);
  location.assign(url);
}

/** Returns what this tab has started at a provider, once. */
export function takeFlow() {
  const flow = readStored(sessionStorage, FLOW_KEY);
  sessionStorage.removeItem(FLOW_KEY);
  return flow;
}
