import { signal } from '@preact/signals';
import { RequestError, type RequestOptions, sendRequest } from '../kit/request.ts';
import type { PortalLink } from './responses.ts';
import { texts } from './texts.ts';

const STORED = 'belfry.webhookPortal';
const TOKEN = /^#token=([\w.-]+)$/;

/** Why the page shows no endpoints: it has no link, the link has ended, its user may not have webhooks, or the server failed. */
export type Blocked = 'missing' | 'expired' | 'forbidden' | 'failed';

export const session = signal<{ kind: 'loading' | Blocked } | { kind: 'ready'; link: PortalLink }>({ kind: 'loading' });

let token: string | undefined;

/** Sets or reads the token of this tab or frame. A frame that may store nothing keeps it in memory: a reload then needs a new link. */
function accessStorage<T>(access: (storage: Storage) => T): T | undefined {
  try {
    return access(sessionStorage);
  } catch (error) {
    if (error instanceof DOMException) return undefined;
    throw error;
  }
}

/** Whether the link survives a reload of the page: a frame may not be allowed to store it. */
export const keepsLink = (): boolean => accessStorage((storage) => storage.length) !== undefined;

function end(kind: Blocked): void {
  token = undefined;
  accessStorage((storage) => storage.removeItem(STORED));
  session.value = { kind };
}

/** A response. */
export interface Answer<T> {
  data: T;
  meta: { next: string | null };
}

/** Reads the body of a response; that of a 204 is empty. @throws RequestError if it is not from the app */
function readAnswer<T>(text: string): Answer<T> {
  try {
    const answer = text === '' ? {} : JSON.parse(text);
    if (text === '' || answer?.data !== undefined) return answer;
  } catch {
    // As if there were no data.
  }
  throw new RequestError(0, texts.errors.unexpected);
}

/**
 * Sends a request with the link's token.
 *
 * @param path below `/api/webhooks`
 * @throws RequestError; AbortError
 */
export async function send<T>(path: string, options: RequestOptions = {}): Promise<Answer<T>> {
  const mine = token;
  try {
    const response = await sendRequest(
      `/api/webhooks${path}`,
      { ...options, token, credentials: 'omit' },
      texts.errors,
    );
    // 204 has no body.
    return readAnswer(await response.text());
  } catch (error) {
    // The frame may have got a new link meanwhile.
    // Every error of the app has a code: the page of a proxy says nothing about the link.
    if (error instanceof RequestError && error.status === 401 && error.code !== undefined && mine === token)
      end('expired');
    throw error;
  }
}

/** Begins with a token: reads what the link allows, and watches for its end. */
async function begin(): Promise<void> {
  session.value = { kind: 'loading' };
  const mine = token;
  try {
    const { data: link } = await send<PortalLink>('/portal');
    if (mine !== token) return;
    session.value = { kind: 'ready', link };
    setTimeout(() => mine === token && end('expired'), Date.parse(link.expiresAt) - Date.now());
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    const isForbidden = error.status === 403 && error.code !== undefined;
    if (mine === token) session.value = { kind: isForbidden ? 'forbidden' : 'failed' };
  }
}

/** Takes a token out of the address bar. Returns whether there was one. */
function takeToken(): boolean {
  const found = TOKEN.exec(location.hash)?.[1];
  if (found === undefined) return false;
  history.replaceState(null, '', `${location.pathname}${location.search}`);
  token = found;
  accessStorage((storage) => storage.setItem(STORED, found));
  return true;
}

/** Begins with the token of the address, else with the one that this tab or frame has kept. */
export function startSession(): void {
  if (!takeToken()) token = accessStorage((storage) => storage.getItem(STORED)) ?? undefined;
  if (token === undefined) session.value = { kind: 'missing' };
  else begin();
  // The embedding page may give the frame a new link.
  addEventListener('hashchange', () => takeToken() && begin());
}

/** Reads again what the link allows, after the server failed. */
export const retrySession = () => begin();
