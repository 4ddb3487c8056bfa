import { signal } from '@preact/signals';
import { RequestError, type RequestOptions, sendRequest } from '../kit/request.ts';
import { suspectsOf, waitForRecovery } from './outage.ts';
import { texts } from './texts.ts';

const API = '/console/api';
/** The key of the session's token, which the sign-in pages use, too. */
const TOKEN_KEY = 'belfry.token';

/** Why the console shows no data. */
export type Blocked =
  | { kind: 'loading' | 'signedOut' | 'forbidden' | 'updated' }
  | { kind: 'failed'; error: RequestError };

/** The reason why the console shows no data; undefined: it shows data. */
export const blocked = signal<Blocked | undefined>({ kind: 'loading' });

/** Returns what this browser tab has stored under a key; undefined for nothing, and for text that another script has stored. */
export function readStored(key: string): unknown {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? 'null') ?? undefined;
  } catch {
    return undefined;
  }
}

export const readToken = (): string | undefined =>
  sessionStorage.getItem(TOKEN_KEY) ?? localStorage.getItem(TOKEN_KEY) ?? undefined;

/** Keeps the session for this browser tab only. */
export const storeToken = (token: string): void => sessionStorage.setItem(TOKEN_KEY, token);

export function forgetToken(): void {
  sessionStorage.removeItem(TOKEN_KEY);
  localStorage.removeItem(TOKEN_KEY);
}

/** Asks the user to prove again who they are; set by the sign-in. */
let askForIdentity = async () => false;
/** The question that is open, because several requests may need the same confirmation. */
let openQuestion: Promise<boolean> | undefined;

/** Sets the function that asks the user; it resolves to whether the user has confirmed. */
export function onRecentSignInRequired(ask: () => Promise<boolean>): void {
  askForIdentity = ask;
}

function confirmIdentity() {
  openQuestion ??= askForIdentity().finally(() => {
    openQuestion = undefined;
  });
  return openQuestion;
}

/** Sends a request with the session, if there is one. */
const send = (path: string, options: RequestOptions = {}) =>
  sendRequest(path, { token: readToken(), ...options }, texts.shell);

/** Sends a request. One that only reads waits while the app or its servers cannot be reached, and is then sent again. */
async function sendWhenReachable(path: string, options: RequestOptions = {}) {
  const { method = 'GET', signal: abort } = options;
  for (let isLast = method !== 'GET'; ; ) {
    try {
      return await send(path, options);
    } catch (error) {
      const suspects = suspectsOf(error);
      if (suspects.length === 0) throw error;
      const recovered = waitForRecovery(suspects);
      if (isLast) throw error;
      isLast = !(await recovered);
      abort?.throwIfAborted();
    }
  }
}

/** Sends a request; if it needs a recent sign-in, the user confirms who they are, and the request is sent again. */
async function sendConfirmed(path: string, options?: RequestOptions) {
  try {
    return await sendWhenReachable(path, options);
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    if (error.code === 'RECENT_SIGN_IN_REQUIRED' && (await confirmIdentity())) return send(path, options);
    // Every error of the app has a code: the page of a proxy says nothing about the session.
    if (error.status === 401 && error.code !== undefined) {
      forgetToken();
      blocked.value = { kind: 'signedOut' };
    }
    throw error;
  }
}

/** The `meta` of a page of a list. */
export interface PageMeta {
  /** The cursor of the next page; null if there is none. */
  next?: string | null;
}

/**
 * Calls a route of the console, which is expected to respond with data of type `T`.
 *
 * @param path below `/console/api`
 * @throws RequestError
 */
export async function call<T, Meta extends object = PageMeta>(
  path: string,
  options?: RequestOptions,
): Promise<{ data: T; meta: Meta }> {
  const response = await sendConfirmed(API + path, options);
  const { data, meta = {} } = response.status === 204 ? {} : await response.json();
  return { data, meta };
}

/** Calls a route of the console whose response is a file. @throws RequestError */
export async function download(path: string): Promise<Blob> {
  const response = await sendConfirmed(API + path);
  return response.blob();
}

/** Calls a route of the app itself, below `/api`. @throws RequestError */
export async function callApp<T>(path: string, options?: RequestOptions): Promise<T> {
  const response = await send(`/api${path}`, options);
  const { data } = response.status === 204 ? {} : await response.json();
  return data;
}

interface StreamEvent {
  name: string;
  data: string;
}

/** Splits the text of an event stream into its events; the rest, which is not complete yet, stays in the buffer. */
function takeEvents(buffer: string): { events: StreamEvent[]; rest: string } {
  const parts = buffer.split('\n\n');
  const rest = parts.pop() ?? '';
  const events = parts.map((part) => {
    const lines = part.split('\n');
    const read = (name: string) =>
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
 * @param path below `/console/api`
 * @throws RequestError; AbortError
 */
export async function readStream(
  path: string,
  {
    onOpen,
    onEvent,
    signal: abort,
  }: { onOpen: () => void; onEvent: (event: StreamEvent) => void; signal: AbortSignal },
): Promise<void> {
  const { body } = await send(API + path, { signal: abort });
  onOpen();
  if (body === null) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const { events, rest } = takeEvents(buffer + value);
    buffer = rest;
    for (const event of events) onEvent(event);
  }
}
