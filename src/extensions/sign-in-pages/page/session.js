import { safePath } from './safe-path.js';
import { texts } from './texts.js';

/** What the server says about the app: title, features, the fields of the registration. */
export const config = JSON.parse(document.getElementById('config').textContent);

export const offers = (feature) => config.features.includes(feature);

/** The key in localStorage of the session's token. The app reads it there, too. */
const SESSION_KEY = 'belfry.token';
/** The key in localStorage of the secret that finishes a registration or login whose address must be confirmed first. */
const VERIFICATION_KEY = 'belfry.verificationToken';
const CHALLENGE_KEY = 'belfry.challenge';

export const readToken = () => localStorage.getItem(SESSION_KEY) ?? undefined;
export const forgetSession = () => localStorage.removeItem(SESSION_KEY);
export const readVerificationToken = () => localStorage.getItem(VERIFICATION_KEY) ?? undefined;

/** Reads an object from a storage; undefined if there is none or its text is not JSON. */
export function readStored(storage, key) {
  try {
    return JSON.parse(storage.getItem(key)) ?? undefined;
  } catch {
    return undefined;
  }
}

export const readChallenge = () => readStored(sessionStorage, CHALLENGE_KEY);
export const forgetChallenge = () => sessionStorage.removeItem(CHALLENGE_KEY);

/** An error of the server. `details` has a message for each field. */
export class RequestError extends Error {
  constructor(status, { code, message, details = {} }, retryAfter) {
    super(retryAfter > 0 ? `${message}. ${texts.errors.retryAfter(retryAfter)}` : message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** Whether the server has refused the session itself. Other 401 responses name the field that is wrong. */
const isSessionRefused = ({ status, details }) => status === 401 && Object.keys(details).length === 0;

async function send(method, path, body, token) {
  const headers = {
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
  };
  let response;
  let content = {};
  try {
    response = await fetch(`/api${path}`, { method, headers, body: JSON.stringify(body), cache: 'no-store' });
    if (response.status !== 204) content = await response.json();
  } catch {
    throw new RequestError(0, { message: texts.errors.offline });
  }
  if (response.ok) return content.data;
  throw new RequestError(
    response.status,
    content.error ?? { message: texts.errors.unknown },
    Number(response.headers.get('Retry-After')),
  );
}

/** Sends a request without a session. Returns the data of the response. @throws RequestError */
export const request = (method, path, body) => send(method, path, body);

/** Sends a request with the session, if there is one; without it if it has ended. @throws RequestError */
export async function requestAsAnyone(method, path, body) {
  const token = readToken();
  try {
    return await send(method, path, body, token);
  } catch (error) {
    if (token === undefined || !isSessionRefused(error)) throw error;
    forgetSession();
    return send(method, path, body);
  }
}

/** Sends a request with the session. If it has ended, the user signs in and returns to this page. @throws RequestError */
export async function requestAsUser(method, path, body) {
  const token = readToken();
  try {
    if (token !== undefined) return await send(method, path, body, token);
  } catch (error) {
    if (!isSessionRefused(error)) throw error;
    forgetSession();
  }
  location.replace(pagePath('sign-in', location.pathname));
  return new Promise(() => {});
}

/** The page that the user wants after the sign-in, if the link to this page names one. */
export const requestedPath = () => safePath(new URLSearchParams(location.search).get('next'), location.origin);

/** The path of another page, which leads to the same page after the sign-in. */
export function pagePath(page, next = requestedPath()) {
  return `/auth/${page}${next === undefined ? '' : `?next=${encodeURIComponent(next)}`}`;
}

/** Opens the page that follows a sign-in. Replaces this page in the history, because its form is done. */
export function leave(next = requestedPath()) {
  location.replace(safePath(next, location.origin) ?? config.afterSignIn);
}

/**
 * Continues with the response to a sign-in: stores the session and leaves, or opens the page of the step that is still missing.
 *
 * @param {string} [next] the page after the sign-in
 */
export function continueSignIn(data, next = requestedPath()) {
  forgetChallenge();
  if (data.mfaRequired) {
    sessionStorage.setItem(CHALLENGE_KEY, JSON.stringify(data));
    location.replace(pagePath('two-factor', next));
  } else if (data.emailVerificationRequired) {
    forgetSession();
    localStorage.setItem(VERIFICATION_KEY, data.verificationToken);
    location.replace(pagePath('verify', next));
  } else {
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
export function takeLinkToken() {
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
export const forgetLinkToken = () => sessionStorage.removeItem(linkKey());
