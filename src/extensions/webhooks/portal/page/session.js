import { signal } from '@preact/signals';

const STORED = 'belfry.webhookPortal';
const TOKEN = /^#token=([\w.-]+)$/;

/** `loading`, `ready`, `missing` (no link), `expired`, `forbidden` or `failed`. */
export const state = signal('loading');
/** What the link allows: the response of `GET /api/webhooks/portal`. */
export const link = signal(undefined);

let token;

/** An error of the server, or of the connection (`status` 0). `details` has a message for each field. */
export class RequestError extends Error {
  constructor(status, { code, message, details } = {}) {
    super(message ?? 'The server did not respond as expected. Try again.');
    this.status = status;
    this.code = code;
    this.details = details ?? {};
  }
}

/** Sets or reads the token of this tab or frame. A frame that may store nothing keeps it in memory: a reload then needs a new link. */
function accessStorage(access) {
  try {
    return access(sessionStorage);
  } catch (error) {
    if (error instanceof DOMException) return undefined;
    throw error;
  }
}

function end(reason) {
  token = undefined;
  accessStorage((storage) => storage.removeItem(STORED));
  link.value = undefined;
  state.value = reason;
}

/**
 * Sends a request with the link's token.
 *
 * @param {string} path below `/api/webhooks`
 * @returns {Promise<{ data: any, meta: any }>} the body of a successful response; empty for 204
 * @throws RequestError
 */
export async function send(path = '', { method = 'GET', body, signal: abort } = {}) {
  const mine = token;
  let response;
  try {
    response = await fetch(`/api/webhooks${path}`, {
      method,
      signal: abort,
      credentials: 'omit',
      headers: {
        Authorization: `Bearer ${mine}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new RequestError(0, { message: 'The server cannot be reached. Check your connection and try again.' });
  }
  const text = await response.text();
  const isJson = (response.headers.get('content-type') ?? '').includes('json');
  const parsed = isJson && text !== '' ? JSON.parse(text) : {};
  if (response.ok) return parsed;
  // The frame may have got a new link meanwhile.
  if (response.status === 401 && mine === token) end('expired');
  throw new RequestError(response.status, parsed.error);
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Begins with a token: reads what the link allows, and watches for its end. */
async function begin() {
  state.value = 'loading';
  const mine = token;
  try {
    const { data } = await send('/portal');
    if (mine !== token) return;
    link.value = data;
    state.value = 'ready';
    const left = Date.parse(data.expiresAt) - Date.now();
    setTimeout(() => mine === token && end('expired'), Math.min(Math.max(left, 0), LONGEST_TIMER_MS));
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    if (mine === token) state.value = error.status === 403 ? 'forbidden' : 'failed';
  }
}

/** Takes a token out of the address bar. Returns whether there was one. */
function takeToken() {
  const found = TOKEN.exec(location.hash)?.[1];
  if (found === undefined) return false;
  history.replaceState(null, '', `${location.pathname}${location.search}`);
  token = found;
  accessStorage((storage) => storage.setItem(STORED, found));
  return true;
}

/** Begins with the token of the address, else with the one that this tab or frame has kept. */
export function startSession() {
  if (!takeToken()) token = accessStorage((storage) => storage.getItem(STORED)) ?? undefined;
  if (token === undefined) state.value = 'missing';
  else begin();
  // The embedding page may give the frame a new link.
  addEventListener('hashchange', () => takeToken() && begin());
}

export const retrySession = () => begin();
