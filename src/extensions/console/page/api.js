import { signal } from '@preact/signals';

const API = '/console/api';
/** The key of the session's token, which the sign-in pages use, too. */
const TOKEN_KEY = 'belfry.token';

/** The reason why the console shows no data: `undefined`, or `{ kind: 'signedOut' | 'forbidden' | 'failed', error? }`. */
export const blocked = signal({ kind: 'loading' });

/** An error of the server, or of the connection (`status` 0). `details` has a message for each field. */
class RequestError extends Error {
  constructor(status, { code, message, details, requestId } = {}) {
    super(message ?? 'The server did not respond as expected.');
    this.status = status;
    this.code = code;
    this.details = details ?? {};
    this.requestId = requestId;
  }
}

/** Returns what this browser tab has stored under a key. @returns {any} undefined for nothing, and for text that another script has stored */
export function readStored(key) {
  try {
    return JSON.parse(sessionStorage.getItem(key)) ?? undefined;
  } catch {
    return undefined;
  }
}

export const readToken = () => sessionStorage.getItem(TOKEN_KEY) ?? localStorage.getItem(TOKEN_KEY) ?? undefined;

/** Keeps the session for this browser tab only. */
export const storeToken = (token) => sessionStorage.setItem(TOKEN_KEY, token);

export function forgetToken() {
  sessionStorage.removeItem(TOKEN_KEY);
  localStorage.removeItem(TOKEN_KEY);
}

/** Asks the user to prove again who they are; set by the sign-in. */
let askForIdentity = async () => false;
/** The question that is open, because several requests may need the same confirmation. */
let openQuestion;

/** @param {() => Promise<boolean>} ask resolves to whether the user has confirmed */
export function onRecentSignInRequired(ask) {
  askForIdentity = ask;
}

function confirmIdentity() {
  openQuestion ??= askForIdentity().finally(() => {
    openQuestion = undefined;
  });
  return openQuestion;
}

/**
 * Sends a request with the session, if there is one.
 *
 * @param {string} path below the origin
 * @param {{ body?: unknown, headers?: Record<string, string>, signal?: AbortSignal, method?: string }} options a string, Blob or FormData is
 *   sent as it is, everything else as JSON
 * @returns {Promise<Response>} a response that is a success
 * @throws RequestError
 */
async function send(path, { method = 'GET', body, headers = {}, signal: abort } = {}) {
  const token = readToken();
  const isRaw = body === undefined || typeof body === 'string' || body instanceof Blob || body instanceof FormData;
  let response;
  try {
    response = await fetch(path, {
      method,
      body: isRaw ? body : JSON.stringify(body),
      headers: {
        ...(isRaw ? {} : { 'Content-Type': 'application/json' }),
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        ...headers,
      },
      signal: abort,
      cache: 'no-store',
    });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new RequestError(0, { message: 'The server cannot be reached.' });
  }
  if (response.ok) return response;
  const content = await response.json().catch(() => ({}));
  throw new RequestError(response.status, content.error);
}

/** Sends a request; if it needs a recent sign-in, the user confirms who they are, and the request is sent again. */
async function sendConfirmed(path, options) {
  try {
    return await send(path, options);
  } catch (error) {
    if (error.code === 'RECENT_SIGN_IN_REQUIRED' && (await confirmIdentity())) return send(path, options);
    if (error.status === 401) {
      forgetToken();
      blocked.value = { kind: 'signedOut' };
    }
    throw error;
  }
}

/**
 * Calls a route of the console.
 *
 * @param {string} path below `/console/api`
 * @returns {Promise<{ data: any, meta: any }>}
 * @throws RequestError
 */
export async function call(path, options) {
  const response = await sendConfirmed(API + path, options);
  if (response.status === 204) return { data: undefined, meta: {} };
  const { data, meta = {} } = await response.json();
  return { data, meta };
}

/** Calls a route of the console whose response is a file. @throws RequestError */
export async function download(path) {
  const response = await sendConfirmed(API + path);
  return response.blob();
}

/** Calls a route of the app itself, below `/api`. @throws RequestError */
export async function callApp(path, options) {
  const response = await send(`/api${path}`, options);
  return response.status === 204 ? undefined : (await response.json()).data;
}

/** Splits the text of an event stream into its events; the rest, which is not complete yet, stays in the buffer. */
function takeEvents(buffer) {
  const parts = buffer.split('\n\n');
  const rest = parts.pop();
  const events = parts.map((part) => {
    const lines = part.split('\n');
    const read = (name) =>
      lines
        .find((line) => line.startsWith(`${name}:`))
        ?.slice(name.length + 1)
        .trim();
    return { name: read('event') ?? 'message', data: read('data') ?? '' };
  });
  return { events, rest };
}

/**
 * Reads an event stream until it ends. `EventSource` cannot send the session.
 *
 * @param {string} path below `/console/api`
 * @param {{ onOpen: () => void, onEvent: (event: { name: string, data: string }) => void, signal: AbortSignal }} options
 * @throws RequestError; AbortError
 */
export async function readStream(path, { onOpen, onEvent, signal: abort }) {
  const response = await send(API + path, { signal: abort });
  onOpen();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const { events, rest } = takeEvents(buffer + value);
    buffer = rest;
    for (const event of events) onEvent(event);
  }
}
