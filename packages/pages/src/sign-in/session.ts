import { RequestError, sendRequest, toRequestError } from '../kit/request.ts';
import type { Feature, PageConfig } from './page-config.ts';
import type { Challenge, SignInResponse } from './responses.ts';
import { safePath } from './safe-path.ts';
import { texts } from './texts.ts';

/** What the server says about the app: title, features, the fields of the registration. */
export const config: PageConfig = JSON.parse(document.getElementById('config')?.textContent ?? '');

/** Whether the app has a feature. */
export const offers = (feature: Feature): boolean => config.features.includes(feature);

/** The key in localStorage of the session's token. The app reads it there, too. */
const SESSION_KEY = 'belfry.token';
/** The key in localStorage of the secret that finishes a registration or login whose address must be confirmed first. */
const VERIFICATION_KEY = 'belfry.verificationToken';
const CHALLENGE_KEY = 'belfry.challenge';
/** The key in sessionStorage of an address that another page knows: typed by the user, or that of an invitation. */
const KNOWN_EMAIL_KEY = 'belfry.email';

export const readToken = (): string | undefined => localStorage.getItem(SESSION_KEY) ?? undefined;
export const forgetSession = (): void => localStorage.removeItem(SESSION_KEY);
export const readVerificationToken = (): string | undefined => localStorage.getItem(VERIFICATION_KEY) ?? undefined;

/** Reads an object from a storage; undefined if there is none or its text is not JSON. */
export function readStored<T>(storage: Storage, key: string): T | undefined {
  try {
    return JSON.parse(storage.getItem(key) ?? 'null') ?? undefined;
  } catch {
    return undefined;
  }
}

export const readChallenge = (): Challenge | undefined => readStored(sessionStorage, CHALLENGE_KEY);
export const forgetChallenge = (): void => sessionStorage.removeItem(CHALLENGE_KEY);

/** Passes an address to the pages that ask for one. */
export const rememberEmail = (email: string): void => sessionStorage.setItem(KNOWN_EMAIL_KEY, email);

/** The address that another page knows, or an empty text. */
export const knownEmail = (): string => sessionStorage.getItem(KNOWN_EMAIL_KEY) ?? '';

/** Whether the server has refused the session itself. Other 401 responses name the field that is wrong. */
function isSessionRefused(error: unknown): boolean {
  const { status, details } = toRequestError(error);
  return status === 401 && Object.keys(details).length === 0;
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

const TEXTS = { unreachable: texts.errors.offline, unexpected: texts.errors.unknown };

async function send<T>(method: Method, path: string, body?: unknown, token?: string): Promise<T> {
  try {
    const response = await sendRequest(`/api${path}`, { method, body, token }, TEXTS);
    const { data } = response.status === 204 ? {} : await response.json();
    return data;
  } catch (thrown) {
    const error = toRequestError(thrown);
    const { status, code, message, retryAfter = 0 } = error;
    // Every error of the app has a code. Another response, such as the page of a proxy, says nothing about the session.
    if (code === undefined) throw new RequestError(0, texts.errors.offline);
    if (retryAfter <= 0) throw error;
    throw new RequestError(status, `${message}. ${texts.errors.retryAfter(retryAfter)}`, error);
  }
}

/** Sends a request without a session. Returns the data of the response. @throws RequestError */
export const request = <T>(method: Method, path: string, body?: unknown): Promise<T> => send(method, path, body);

/** Sends a request with the session, if there is one; without it if it has ended. @throws RequestError */
export async function requestAsAnyone<T>(method: Method, path: string, body?: unknown): Promise<T> {
  const token = readToken();
  try {
    return await send<T>(method, path, body, token);
  } catch (error) {
    if (token === undefined || !isSessionRefused(error)) throw error;
    forgetSession();
    return send<T>(method, path, body);
  }
}

/** Sends a request with the session. If it has ended, the user signs in and returns to this page. @throws RequestError */
export async function requestAsUser<T>(method: Method, path: string, body?: unknown): Promise<T> {
  const token = readToken();
  try {
    if (token !== undefined) return await send<T>(method, path, body, token);
  } catch (error) {
    if (!isSessionRefused(error)) throw error;
    forgetSession();
  }
  location.replace(pagePath('sign-in', location.pathname));
  return new Promise(() => {});
}

/** The page that the user wants after the sign-in, if the link to this page names one. */
export const requestedPath = (): string | undefined =>
  safePath(new URLSearchParams(location.search).get('next'), location.origin);

/** The path of another page, which leads to the same page after the sign-in. */
export function pagePath(page: string, next = requestedPath()): string {
  return `/auth/${page}${next === undefined ? '' : `?next=${encodeURIComponent(next)}`}`;
}

/** Opens the page that follows a sign-in. Replaces this page in the history, because its form is done. */
export function leave(next = requestedPath()): void {
  location.replace(safePath(next, location.origin) ?? config.afterSignIn);
}

/**
 * Continues with the response to a sign-in: stores the session and leaves, or opens the page of the step that is still missing.
 *
 * @param next the page after the sign-in
 */
export function continueSignIn(data: SignInResponse, next = requestedPath()): void {
  forgetChallenge();
  if (data.mfaRequired) {
    sessionStorage.setItem(CHALLENGE_KEY, JSON.stringify(data));
    location.replace(pagePath('two-factor', next));
  } else if (data.emailVerificationRequired) {
    forgetSession();
    localStorage.setItem(VERIFICATION_KEY, data.verificationToken);
    location.replace(pagePath('verify', next));
  } else {
    if (typeof data.token !== 'string') throw new RequestError(0, texts.errors.unknown);
    localStorage.setItem(SESSION_KEY, data.token);
    localStorage.removeItem(VERIFICATION_KEY);
    leave(next);
  }
}

const linkKey = () => `belfry.link:${location.pathname}`;

/**
 * Returns the token of the link that opened this page. Removes it from the address bar and the history, and keeps it in the tab, so that the
 * user can sign in first.
 */
export function takeLinkToken(): string | undefined {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const query = new URLSearchParams(location.search);
  const token = fragment.get('token') ?? query.get('token');
  query.delete('token');
  if (token !== null) {
    sessionStorage.setItem(linkKey(), token);
    history.replaceState(null, '', location.pathname + (query.size > 0 ? `?${query}` : ''));
  }
  return sessionStorage.getItem(linkKey()) ?? undefined;
}

/** Forgets the token of the link, which is used up or does not work. */
export const forgetLinkToken = (): void => sessionStorage.removeItem(linkKey());
